/* What the engines share: which blocks of a file a request touches, and what of it has come.
 *
 * Direct I/O moves whole blocks. A read takes those around its range; the payload then begins at
 * data + lead:
 *
 *	blocks   |.......|.......|.......|
 *	range         [--------------)
 *	data     ^ lead ^
 *
 * A write begins at a block; its last block is padded with zeroes, which commit cuts off. */
#ifndef HAUL_BACKENDS_FILE_SPAN_H
#define HAUL_BACKENDS_FILE_SPAN_H

#include <errno.h>
#include <string.h>

#include "backends/file/file.h"
#include "backends/store.h"

/* What is left of a request: a range of the file, and where in data it starts. */
struct reach {
	uint64_t at, bytes, data;
};

static inline struct reach reach_of(const struct io *io, uint64_t align)
{
	uint64_t base = io->offset - io->offset % align;
	uint64_t from = io->offset + io->done_bytes;
	uint64_t end = io->offset + io->length;
	struct reach r;

	r.at = from - from % align;
	r.bytes = (end + align - 1) / align * align - r.at;
	r.data = r.at - base;
	return r;
}

/* Before an attempt: sets lead or pads the last block. A negative errno: it cannot be made. */
static inline int reach_begin(const struct store *store, struct io *io, struct reach *r)
{
	uint64_t align = store->alignment;

	if (file_descriptor(io->object) < 0)
		return -EBADF;
	*r = reach_of(io, align);
	if (io->op == IO_READ) {
		io->lead = (uint32_t)(io->offset % align);
		file_ask_ahead(store, file_descriptor(io->object), io->offset + io->length);
		return 0;
	}
	if (io->offset % align)
		return -EINVAL;
	memset((char *)io->data + io->length, 0, r->data + r->bytes - io->length);
	return 0;
}

/* After it. Of what moved only the range counts: not the block before it, not the one behind. */
static inline void reach_end(struct io *io, const struct reach *r, uint64_t moved)
{
	uint64_t end = r->at + moved;

	if (end > io->offset + io->length)
		end = io->offset + io->length;
	if (end > io->offset + io->done_bytes)
		io->done_bytes = end - io->offset;
	if (io->op == IO_WRITE)
		word_raise(&io->object->state[FILE_WRITTEN], end);
}

/* The attempt itself by one pread or pwrite, in the calling thread (file_psync.c). */
void reach_move(struct io *io, const struct reach *r);

#endif

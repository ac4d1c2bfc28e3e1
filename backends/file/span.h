/* SPDX-License-Identifier: Apache-2.0 */
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
struct file_span {
	uint64_t at, bytes, data;
};

static inline struct file_span file_span_of(const struct request *req, uint64_t align)
{
	uint64_t base = req->offset - req->offset % align;
	uint64_t from = req->offset + req->answer.done_bytes;
	uint64_t end = req->offset + req->length;
	struct file_span r;

	r.at = from - from % align;
	r.bytes = (end + align - 1) / align * align - r.at;
	r.data = r.at - base;
	return r;
}

/* Before an attempt: sets lead or pads the last block. A negative errno: it cannot be made. */
static inline int file_span_begin(const struct store *store, struct request *req,
				  struct file_span *r)
{
	uint64_t align = store->alignment;

	if (file_descriptor(req->object) < 0)
		return -EBADF;
	*r = file_span_of(req, align);
	if (req->op == REQ_READ) {
		req->answer.lead = (uint32_t)(req->offset % align);
		file_ask_ahead(store, file_descriptor(req->object), req->offset + req->length);
		return 0;
	}
	if (req->offset % align)
		return -EINVAL;
	memset((char *)req->data + req->length, 0, r->data + r->bytes - req->length);
	return 0;
}

/* After it. Of what moved only the range counts: not the block before it, not the one behind. */
static inline void file_span_end(struct request *req, const struct file_span *r, uint64_t moved)
{
	uint64_t end = r->at + moved;

	if (end > req->offset + req->length)
		end = req->offset + req->length;
	if (end > req->offset + req->answer.done_bytes)
		req->answer.done_bytes = end - req->offset;
	if (req->op == REQ_WRITE)
		word_raise(&req->object->state[FILE_WRITTEN], end);
}

/* The attempt itself by one pread or pwrite, in the calling thread (psync.c). */
void file_span_move(struct request *req, const struct file_span *r);

#endif

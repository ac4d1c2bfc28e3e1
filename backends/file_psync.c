/* The psync engine: one pread or pwrite an attempt.
 *
 * Direct I/O moves whole blocks. A read takes those around its range; the payload then begins at
 * data + lead:
 *
 *	blocks   |.......|.......|.......|
 *	range         [--------------)
 *	data     ^ lead ^
 *
 * A write begins at a block; its last block is padded with zeroes, which commit cuts off. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "backends/file.h"
#include "backends/store.h"

/* What is left of a request: a range of the file, and where in data it starts. */
struct reach {
	uint64_t at, bytes, data;
};

static struct reach reach_of(const struct io *io, uint64_t align)
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

static void psync_read(int fd, struct io *io, uint64_t align)
{
	struct reach r = reach_of(io, align);
	uint64_t end;
	ssize_t got;

	io->lead = (uint32_t)(io->offset % align);
	do {
		got = pread(fd, (char *)io->data + r.data, r.bytes, (off_t)r.at);
	} while (got < 0 && errno == EINTR);
	if (got < 0) {
		io->status = -errno;
		return;
	}
	/* Of what came only the range counts: not the block before it, not the one behind. */
	end = r.at + (uint64_t)got;
	if (end > io->offset + io->length)
		end = io->offset + io->length;
	if (end > io->offset + io->done_bytes)
		io->done_bytes = end - io->offset;
}

static void psync_write(int fd, struct io *io, uint64_t align)
{
	struct reach r = reach_of(io, align);
	uint64_t end;
	ssize_t put;

	if (io->offset % align) {
		io->status = -EINVAL;
		return;
	}
	memset((char *)io->data + io->length, 0, r.data + r.bytes - io->length);
	do {
		put = pwrite(fd, (const char *)io->data + r.data, r.bytes, (off_t)r.at);
	} while (put < 0 && errno == EINTR);
	if (put < 0) {
		io->status = -errno;
		return;
	}
	end = r.at + (uint64_t)put;
	if (end > io->offset + io->length)
		end = io->offset + io->length;
	if (end > io->offset + io->done_bytes)
		io->done_bytes = end - io->offset;
	word_raise(&io->object->state[FILE_WRITTEN], end);
}

static void psync_move(struct channel *c, struct io *io)
{
	int fd = file_descriptor(io->object);

	if (fd < 0)
		io->status = -EBADF;
	else if (io->op == IO_READ)
		psync_read(fd, io, c->store->alignment);
	else
		psync_write(fd, io, c->store->alignment);
}

const struct file_engine file_psync = {
	.name = "psync",
	.depth_max = 1,
	.move = psync_move,
};

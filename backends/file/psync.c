/* The psync engine: one pread or pwrite an attempt. */
#include <errno.h>
#include <unistd.h>

#include "backends/file/file.h"
#include "backends/file/span.h"

void reach_move(struct io *io, const struct reach *r)
{
	char *data = (char *)io->data + r->data;
	int fd = file_descriptor(io->object);
	ssize_t moved;

	do {
		moved = io->op == IO_READ ? pread(fd, data, r->bytes, (off_t)r->at)
					  : pwrite(fd, data, r->bytes, (off_t)r->at);
	} while (moved < 0 && errno == EINTR);
	if (moved < 0)
		io->status = -errno;
	else
		reach_end(io, r, (uint64_t)moved);
}

static void psync_move(struct channel *c, struct io *io)
{
	struct reach r;

	io->status = reach_begin(c->store, io, &r);
	if (!io->status)
		reach_move(io, &r);
}

const struct file_engine file_psync = {
	.name = "psync",
	.depth_max = 1,
	.move = psync_move,
};

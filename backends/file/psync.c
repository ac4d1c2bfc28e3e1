/* SPDX-License-Identifier: Apache-2.0 */
/* The psync engine: one pread or pwrite an attempt. */
#include <errno.h>
#include <unistd.h>

#include "backends/file/file.h"
#include "backends/file/span.h"

void file_span_move(struct request *req, const struct file_span *r)
{
	char *data = (char *)req->data + r->data;
	int fd = file_descriptor(req->object);
	ssize_t moved;

	do {
		moved = req->op == REQ_READ ? pread(fd, data, r->bytes, (off_t)r->at)
					    : pwrite(fd, data, r->bytes, (off_t)r->at);
	} while (moved < 0 && errno == EINTR);
	if (moved < 0)
		req->answer.status = -errno;
	else
		file_span_end(req, r, (uint64_t)moved);
}

static void psync_move(struct channel *c, struct request *req)
{
	struct file_span r;

	req->answer.status = file_span_begin(c->store, req, &r);
	if (!req->answer.status)
		file_span_move(req, &r);
}

const struct file_engine file_psync = {
	.name = "psync",
	.depth_max = 1,
	.move = psync_move,
};

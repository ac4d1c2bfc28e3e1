/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/queue/steps.h"

#include <errno.h>

#include "backends/queue/attempt.h"

bool piece_begin(struct queue *q, struct request *req, struct request *piece, uint64_t at)
{
	uint64_t align = q->channel.store->alignment;
	uint64_t room = req->buffer_bytes - req->buffer_bytes % align;
	uint64_t end = req->offset + req->length;
	uint64_t stop = at - at % align + room;
	uint32_t ticket = piece->ticket;
	int rc = 0;

	if (req->answer.status || at >= end)
		return false;
	if (stop > end)
		stop = end;
	*piece = (struct request){.op = req->op,
				  .object = req->object,
				  .offset = at,
				  .length = stop - at,
				  .data = req->data,
				  .user = req,
				  .answer.attempts = 1,
				  .ticket = ticket};
	attempt_of(q, piece)->before_bytes = 0;
	if (!room)
		rc = -EINVAL;
	else if (req->op == REQ_WRITE)
		rc = req->chunk(req, at, req->data, piece->length);
	if (rc < 0)
		req->answer.status = rc;
	return rc >= 0;
}

void piece_end(struct request *req, const struct request *piece)
{
	const struct answer *a = &piece->answer;
	int rc = a->status;

	if (req->op == REQ_READ && rc == 0)
		rc = req->chunk(req, piece->offset, (char *)req->data + a->lead, piece->length);
	req->answer.status = rc < 0 ? rc : 0;
	req->answer.done_bytes += a->done_bytes;
	req->answer.protocol_status = a->protocol_status;
	req->answer.fault = a->fault;
	req->answer.why = a->why;
	req->answer.endpoint = a->endpoint;
	req->answer.wire_bytes += a->wire_bytes;
	req->answer.connections += a->connections;
	if (a->attempts > 1 && req->answer.attempts == 1)
		req->answer.first_attempt_ns = a->first_attempt_ns;
	req->answer.attempts += a->attempts - 1;
	if (!req->answer.first_byte_ns)
		req->answer.first_byte_ns = a->first_byte_ns;
}

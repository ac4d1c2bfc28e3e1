/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/vector/stream.h"

#include <errno.h>

#include "core/content/random.h"
#include "core/numbers.h"
#include "workloads/common/answer_text.h"

static const uint64_t verify_stream = 0x6d65726765; /* "merge" */

int stream_open(struct stream *s, struct err *err)
{
	const struct queue_latency reads = {.service = &s->reads};
	int rc = queue_open(&s->queue, s->store, s->depth, err);

	if (rc < 0)
		return rc;
	meter_attach(&s->member->meter, &s->queue);
	queue_record(&s->queue, REQ_READ, &reads);
	return 0;
}

void stream_close(struct stream *s)
{
	queue_close(&s->queue);
}

static void stream_send(struct stream *s)
{
	while (s->rc == 0 && s->sent < s->index->size &&
	       s->reads_sent < s->reads_taken + s->depth) {
		uint64_t at = s->reads_sent % s->depth;
		struct request *req = &s->requests[at];

		*req = (struct request){.op = REQ_READ,
					.object = s->object,
					.offset = s->sent,
					.length = min_u64(s->piece, s->index->size - s->sent)};
		if (s->memory)
			req->data = (char *)s->memory + at * s->buffer_bytes;
		s->back[at] = false;
		s->sent += req->length;
		s->reads_sent++;
		queue_submit(&s->queue, &req, 1);
	}
}

void stream_begin(struct stream *s, const struct vector_index *x, struct object *object)
{
	s->index = x;
	s->object = object;
	s->sent = s->taken = s->reads_sent = s->reads_taken = 0;
	s->rc = 0;
	stream_send(s);
}

static void stream_reap(struct stream *s)
{
	struct request *done[STREAM_READS];
	uint32_t n = queue_reap(&s->queue, done, 1, s->depth, UINT64_MAX);

	while (n--)
		s->back[done[n] - s->requests] = true;
}

/* Whether the bytes are as they were made, all or 4 KiB of them; where they are not, text says so. */
static bool stream_verified(struct stream *s, const struct request *req,
			    char text[FAILURE_TEXT_BYTES])
{
	uint64_t from = 0, length = req->length, at, begin_ns = clock_now(s->store->clock);
	bool same;

	if (!s->memory || s->verify == VERIFY_NONE)
		return true;
	if (s->verify == VERIFY_SAMPLED && length > VERIFY_SAMPLE_BYTES) {
		from = random_at(s->index->key ^ verify_stream, req->offset, 0) %
		       (length - VERIFY_SAMPLE_BYTES + 1);
		length = VERIFY_SAMPLE_BYTES;
	}
	same = vector_index_bytes_same(s->index, req->offset + from,
				       (const char *)req->data + req->answer.lead + from, length,
				       &at);
	s->verify_ns += clock_now(s->store->clock) - begin_ns;
	if (!same)
		answer_text_differs(text, at);
	return same;
}

static int stream_look(struct stream *s, const struct request *req)
{
	char text[FAILURE_TEXT_BYTES];

	if (req->answer.status < 0) {
		answer_text_failed(text, req, s->index->size);
		return crew_fail(s->member, req, req->answer.status, text);
	}
	if (stream_verified(s, req, text))
		return 0;
	s->payload_errors++;
	meter_error(&s->member->meter);
	return crew_fail(s->member, req, -EILSEQ, text);
}

int stream_until(struct stream *s, uint64_t at)
{
	while (s->rc == 0 && s->taken < min_u64(at, s->index->size)) {
		uint64_t next = s->reads_taken % s->depth;

		while (!s->back[next] && s->queue.in_flight)
			stream_reap(s);
		s->rc = stream_look(s, &s->requests[next]);
		s->taken += s->requests[next].length;
		s->reads_taken++;
		crew_look(s->member);
		stream_send(s);
	}
	return s->rc;
}

void stream_end(struct stream *s)
{
	while (s->queue.in_flight)
		stream_reap(s);
}

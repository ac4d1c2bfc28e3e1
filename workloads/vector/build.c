/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/vector/work.h"

#include <errno.h>
#include <stdlib.h>

#include "core/content/random.h"
#include "core/numbers.h"
#include "workloads/common/crew.h"

static const uint64_t merge_stream = 0x6d65726765; /* "merge" */

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
		from = random_at(s->index->key ^ merge_stream, req->offset, 0) %
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

enum { BUILD_BYTES };
/* Builders write blocks of 64 MiB; in memory, a few of that much less do. */
enum { BUILD_BUFFER = 8 << 20 };

uint64_t vector_build_piece(const struct backend_ops *ops, uint64_t part)
{
	if (part == UINT64_MAX)
		return BUILD_BUFFER;
	return ops->part ? part : min_u64(part, BUILD_BUFFER);
}

uint64_t vector_build_buffers(const struct backend_ops *ops, uint64_t part)
{
	return VECTOR_BUILD_BUFFERS * min_u64(vector_build_piece(ops, part), BUILD_BUFFER);
}

uint64_t vector_builder_bytes(const struct vector_shape *shape)
{
	/* While it is built, a node may have more neighbours than in the end. */
	static const double overhead = 1.1, slack = 1.3;
	struct vector_index x;

	if (shape->index != VECTOR_DISKANN && shape->index != VECTOR_AISAQ)
		return 0;
	vector_index_of(&x, shape, 0, 0);
	return (uint64_t)(overhead * (double)x.vectors *
			  ((double)x.vector_bytes +
			   slack * (double)(sizeof(uint32_t) * shape->degree)));
}

static int vector_write_failed(void *member, const struct request *req, int rc)
{
	return crew_fail(member, req, rc, request_text(req));
}

static void vector_written(void *member, struct object *object, uint64_t at, uint64_t length)
{
	(void)object;
	(void)at;
	(void)length;
	crew_look(member);
}

int vector_build_open(struct vector_build *b, struct crew *crew, struct err *err)
{
	bool content = store_can(b->store, BACKEND_CONTENT);
	uint64_t bytes = crew->buffer_bytes / VECTOR_BUILD_BUFFERS;
	uint32_t fillers = content && b->piece <= bytes ? crew->threads : 0;
	int rc = fillers_open(&b->fillers, fillers, crew->threads, b->store->clock, err);

	b->writers = calloc(crew->threads, sizeof(*b->writers));
	if (!b->writers)
		return err_set(err, -ENOMEM, "no memory for %u threads", crew->threads);
	for (uint32_t i = 0; rc == 0 && i < crew->threads; i++) {
		struct crew_thread *w = &crew->members[i];

		b->writers[i] = (struct writer){.queue = &w->queue,
						.fillers = fillers ? &b->fillers : NULL,
						.memory = content ? w->buffer : NULL,
						.buffer_bytes = bytes,
						.buffers = VECTOR_BUILD_BUFFERS,
						.depth = min_u32(crew->depth, VECTOR_BUILD_BUFFERS),
						.halt = &crew->halt,
						.failed = vector_write_failed,
						.written = vector_written,
						.argument = w};
		rc = writer_open(&b->writers[i], err);
	}
	return rc;
}

void vector_build_close(struct vector_build *b, const struct crew *crew)
{
	fillers_close(&b->fillers);
	for (uint32_t i = 0; b->writers && i < crew->threads; i++)
		writer_close(&b->writers[i]);
	free(b->writers);
	b->writers = NULL;
}

static int vector_build_write(struct crew_thread *w, struct object *o, const struct vector_index *x)
{
	struct vector_build *b = w->crew->argument;
	struct request req = {.op = REQ_COMMIT, .object = o, .length = x->size};
	const struct writer_object what = {.object = o,
					   .size = x->size,
					   .piece = b->piece,
					   .image = vector_index_image,
					   .argument = x};
	char text[FAILURE_TEXT_BYTES];
	int rc = writer_put(&b->writers[w - w->crew->members], &what);

	if (rc == 0)
		rc = crew_do(w, &req);
	if (rc < 0 || !store_can(b->store, BACKEND_CONTENT) ||
	    answer_text_committed(text, &req, x->size))
		return rc;
	meter_error(&w->meter);
	return crew_fail(w, &req, -EIO, text);
}

int vector_build_one(struct crew_thread *w, uint64_t segment)
{
	struct vector_build *b = w->crew->argument;
	struct vector_index x;
	struct object o = {0};
	struct request req;
	int rc;

	vector_index_of(&x, &b->set->shape, b->set->seed, segment);
	vector_set_key(b->set, segment, o.key);
	req = (struct request){
		.op = REQ_BEGIN, .object = &o, .length = x.size, .begin.part = b->piece};
	rc = crew_do(w, &req);
	if (rc < 0)
		return rc;
	rc = vector_build_write(w, &o, &x);
	if (rc < 0) {
		queue_do(&w->queue, &(struct request){.op = REQ_ABORT, .object = &o});
		return rc;
	}
	w->counts[BUILD_BYTES] += x.size;
	meter_operation(&w->meter, w->queue.now_ns, w->queue.now_ns);
	return 0;
}

void vector_build_name(const struct crew *crew, uint64_t segment, char key[OBJECT_KEY_BYTES])
{
	const struct vector_build *b = crew->argument;

	vector_set_key(b->set, segment, key);
}

uint64_t vector_build_bytes(const struct crew_thread *w)
{
	return w->counts[BUILD_BYTES];
}

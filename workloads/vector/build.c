/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/vector/build.h"

#include <errno.h>
#include <stdlib.h>

#include "core/numbers.h"
#include "workloads/common/answer_text.h"

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
	meter_operation(&w->meter, w->queue.now_ns);
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

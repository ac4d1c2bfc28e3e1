/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/vector/work.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "backends/queue/failure.h"
#include "core/content/random.h"
#include "core/numbers.h"
#include "workloads/common/crew.h"

static const uint64_t load_stream = 0x6c6f6164; /* "load" */

/* A thread of it. */
struct vector_loader {
	struct vector_load *load;
	struct piece_reader pieces;
	struct vector_index index; /* of the segment that is open */
	struct queue out;          /* on the store `to` */
	struct object copy;
	bool open; /* the copy */
	uint64_t verify_ns, payload_errors;
};

/* What piece_reader_range hands to its hooks. */
struct loaded_segment {
	struct vector_loader *loader;
	uint64_t number;
};

uint64_t vector_load_depth(const struct vector_options *o, const struct job_store *from)
{
	return min_u64(min_u64(o->depth, backend_depth(from)), PIECES_MAX);
}

/* A request on the other store failed. */
static int loader_copy_failed(struct vector_loader *l, const struct request *req, int rc)
{
	struct crew_thread *w = l->pieces.thread;

	if (w->meter.failure_count == 0)
		failure_set(&w->err, rc, &l->load->to, req, request_text(req));
	meter_fail(&w->meter, req, rc, req->answer.done_ns, request_text(req));
	return rc;
}

static int loader_copy_do(struct vector_loader *l, struct request *req)
{
	int rc = queue_do(&l->out, req);

	if (request_failed(req))
		rc = loader_copy_failed(l, req, rc);
	crew_look(l->pieces.thread);
	return rc;
}

static int loader_copy_close(struct vector_loader *l)
{
	struct request req = {.op = REQ_CLOSE, .object = &l->copy};

	if (!l->open)
		return 0;
	l->open = false;
	return loader_copy_do(l, &req);
}

static int loader_open(struct piece_reader *x, const void *range)
{
	const struct loaded_segment *s = range;
	struct vector_loader *l = s->loader;
	struct vector_load *load = l->load;
	struct request req;
	int rc = loader_copy_close(l);

	vector_set_index(load->set, s->number, &l->index);
	vector_set_key(load->set, s->number, x->object.key);
	x->object.size = l->index.size;
	if (rc < 0 || !load->copies)
		return rc;
	l->copy = (struct object){.size = 0};
	vector_set_key(&load->copy, s->number, l->copy.key);
	req = (struct request){.op = REQ_UPDATE, .object = &l->copy, .length = l->index.size};
	rc = loader_copy_do(l, &req);
	l->open = rc == 0;
	return rc;
}

static uint64_t loader_begin(const struct piece_reader *x, const void *range)
{
	(void)x;
	(void)range;
	return 0;
}

/* Compares a slice, or 4 KiB of it. */
static int loader_verify(struct vector_loader *l, const struct request *req, const char *bytes)
{
	const struct vector_load *load = l->load;
	struct clock *clock = load->ctx->clock;
	uint64_t from = 0, length = req->length, at, begin_ns = clock_now(clock);
	char text[FAILURE_TEXT_BYTES];
	bool same;

	if (load->options->verify == VERIFY_NONE)
		return 0;
	if (load->options->verify == VERIFY_SAMPLED && length > VERIFY_SAMPLE_BYTES) {
		from = random_at(l->index.key ^ load_stream, req->offset, 0) %
		       (length - VERIFY_SAMPLE_BYTES + 1);
		length = VERIFY_SAMPLE_BYTES;
	}
	same = vector_index_bytes_same(&l->index, req->offset + from, bytes + from, length, &at);
	l->verify_ns += clock_now(clock) - begin_ns;
	if (same)
		return 0;
	l->payload_errors++;
	meter_error(&l->pieces.thread->meter);
	answer_text_differs(text, at);
	return piece_reader_fail(&l->pieces, req, -EILSEQ, text);
}

static int loader_received(struct piece_reader *x, const struct request *read, const void *bytes)
{
	struct vector_loader *l = x->owner;
	struct request req = {.op = REQ_WRITE,
			      .object = &l->copy,
			      .offset = read->offset,
			      .length = read->length,
			      .data = (void *)(uintptr_t)bytes};
	int rc = bytes ? loader_verify(l, read, bytes) : 0;

	if (rc == 0 && l->load->copies)
		rc = loader_copy_do(l, &req);
	if (rc == 0)
		meter_operation(&x->thread->meter, read->answer.submit_ns, read->answer.done_ns);
	return rc;
}

static const struct piece_hooks loader_hooks = {
	.open = loader_open, .begin = loader_begin, .received = loader_received};

static int loader_start(struct vector_load *l, uint32_t i, struct err *err)
{
	struct vector_loader *loader = &l->loaders[i];
	struct crew_thread *w = &l->crew->members[i];
	uint32_t depth = w->queue.channel.depth;
	int rc = 0;

	loader->load = l;
	loader->pieces = (struct piece_reader){
		.thread = w,
		.hooks = &loader_hooks,
		.owner = loader,
		.next = &l->next,
		.chunk = l->options->slice,
		.depth = depth,
		.memory = w->buffer,
		.window_bytes = l->crew->buffer_bytes / depth,
		.counts_errors = l->options->on_error == ON_ERROR_COUNT,
	};
	if (l->copies)
		rc = queue_open(&loader->out, &l->to, 1, err);
	if (rc == 0 && l->copies)
		meter_attach(&w->meter, &loader->out);
	return rc == 0 ? piece_reader_open(&loader->pieces, err) : rc;
}

int vector_load_open(struct vector_load *l, struct err *err)
{
	const struct job_store *to;
	int rc = vector_load_to(l->ctx->job, l->ctx->phase, &to, err);

	l->copies = rc == 0 && to;
	if (l->copies)
		rc = workload_store_open(l->ctx, to, &l->to, err);
	if (rc == 0 && l->copies)
		rc = queue_open(&l->side, &l->to, 1, err);
	if (rc == 0 && l->copies)
		queue_unlogged(&l->side);
	l->loaders = calloc(l->crew->threads, sizeof(*l->loaders));
	if (rc == 0 && !l->loaders)
		rc = err_set(err, -ENOMEM, "no memory for %" PRIu32 " threads", l->crew->threads);
	for (uint32_t i = 0; rc == 0 && i < l->crew->threads; i++)
		rc = loader_start(l, i, err);
	return group_agree(l->ctx->group, rc, err);
}

void vector_load_close(struct vector_load *l)
{
	for (uint32_t i = 0; l->loaders && i < l->crew->threads; i++) {
		piece_reader_close(&l->loaders[i].pieces);
		if (l->copies)
			queue_close(&l->loaders[i].out);
	}
	free(l->loaders);
	if (!l->copies)
		return;
	queue_close(&l->side);
	place_give(&l->place);
	store_close(&l->to);
}

static int vector_load_one(struct crew_thread *w, uint64_t number)
{
	struct vector_load *load = w->crew->argument;
	struct vector_loader *l = &load->loaders[number];
	const struct group *g = load->ctx->group;
	struct loaded_segment s = {.loader = l};
	uint64_t own = vector_own(load->options, g->rank, g->size, &s.number);
	uint64_t end = s.number + own;
	struct vector_index x;
	int rc = 0, ended;

	clock_sleep_until(load->ctx->clock, load->start_ns);
	piece_reader_start(&l->pieces);
	for (; rc == 0 && s.number < end; s.number++) {
		vector_set_index(load->set, s.number, &x);
		rc = piece_reader_range(&l->pieces, s.number, x.size, &s);
	}
	ended = piece_reader_end(&l->pieces);
	rc = rc ? rc : ended;
	ended = loader_copy_close(l);
	return rc ? rc : ended;
}

/* What is there in the other store is replaced, or refused as a build would. */
static int vector_load_replace(struct vector_load *l, enum stop_reason *stopped, struct err *err)
{
	int rc = place_wait(&l->place, &l->to, l->options->folder, l->ctx, stopped, err);

	if (rc < 0 || *stopped != STOP_NONE)
		return rc;
	l->copy = *l->set;
	return vector_set_begin(&l->copy, true, &l->side, l->ctx->group, err);
}

int vector_load_run(struct vector_load *l, enum stop_reason *stopped, struct err *err)
{
	struct phase_context *ctx = l->ctx;
	uint64_t *row = ctx->tally->rank_row;
	int rc = l->copies ? vector_load_replace(l, stopped, err) : 0;

	if (rc < 0 || *stopped != STOP_NONE)
		return rc;
	rc = start_line(ctx, true, &l->start_ns);
	if (rc < 0)
		return rc;
	crew_start(l->crew, l->start_ns);
	snapshot_start(l->crew->snapshot, l->start_ns);
	rc = crew_run(l->crew, vector_load_one, stopped, err);
	row[VECTOR_DONE_NS] = clock_now(ctx->clock) - l->start_ns;
	if (rc == 0 && *stopped == STOP_NONE && l->copies)
		rc = vector_set_end(&l->copy, &l->side, ctx->group, err);
	if (rc == 0 && *stopped == STOP_NONE)
		row[VECTOR_READY_NS] = clock_now(ctx->clock) - l->start_ns;
	return rc;
}

void vector_load_count(const struct vector_load *l, uint32_t thread, uint64_t *row)
{
	if (!l->loaders)
		return;
	row[VECTOR_LOADED_BYTES] += l->loaders[thread].pieces.bytes;
	row[VECTOR_VERIFY_NS] += l->loaders[thread].verify_ns;
	row[VECTOR_PAYLOAD_ERRORS] += l->loaders[thread].payload_errors;
}

#include "workloads/common/piece_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/units.h"
#include "workloads/common/read_text.h"

int piece_check_memory(uint64_t buffers, uint64_t chunk, uint64_t least, const char *path,
		       struct err *err)
{
	char all[UNITS_TEXT_BYTES], one[UNITS_TEXT_BYTES];
	uint64_t pieces = buffers / chunk;

	units_bytes_binary(all, (double)buffers);
	units_bytes_binary(one, (double)chunk);
	if (chunk > buffers)
		return err_set(err, -EINVAL, "%s/chunk: %s do not fit into buffers of %s", path,
			       one, all);
	if (pieces >= least && pieces <= PIECES_MAX)
		return 0;
	return err_set(err, -EINVAL,
		       "%s/buffers: must hold %" PRIu64 " to %d chunks; %s hold %" PRIu64 " of %s",
		       path, least, PIECES_MAX, all, pieces, one);
}

int piece_check_threads(uint64_t buffers, uint64_t chunk, uint64_t threads, const char *key,
			const char *path, struct err *err)
{
	if (threads <= buffers / chunk)
		return 0;
	return err_set(err, -EINVAL,
		       "%s/%s: %" PRIu64 " threads share the %" PRIu64
		       " chunks that buffers hold, at least one for each",
		       path, key, threads, buffers / chunk);
}

int piece_reader_open(struct piece_reader *x, struct err *err)
{
	x->windows = calloc(x->depth, sizeof(*x->windows));
	x->done = calloc(x->depth, sizeof(struct request *));
	x->idle = calloc(x->depth, sizeof(*x->idle));
	if (!x->windows || !x->done || !x->idle)
		return err_set(err, -ENOMEM, "no memory for %u reads in flight", x->depth);
	for (uint32_t i = 0; x->memory && i < x->depth; i++)
		x->windows[i].memory = (char *)x->memory + i * x->window_bytes;
	return 0;
}

void piece_reader_close(struct piece_reader *x)
{
	free(x->windows);
	free(x->done);
	free(x->idle);
	x->windows = NULL;
	x->done = NULL;
	x->idle = NULL;
}

void piece_reader_start(struct piece_reader *x)
{
	x->files = x->bytes = x->request_ns = 0;
	x->walked = 0;
	x->idle_count = 0;
	x->in_flight = 0;
	for (uint32_t i = 0; i < x->depth; i++)
		x->idle[x->idle_count++] = i;
	x->taken = atomic_fetch_add_explicit(x->next, 1, memory_order_relaxed);
}

int piece_reader_fail(struct piece_reader *x, const struct request *req, int rc, const char *text)
{
	crew_fail(x->thread, req, rc, text);
	return x->counts_errors ? 0 : rc;
}

static int piece_reader_done(struct piece_reader *x, const struct piece_window *v)
{
	const struct request *req = &v->req;
	char text[FAILURE_TEXT_BYTES];

	if (req->answer.status == 0) {
		x->bytes += req->length;
		if (!x->hooks->received)
			return 0;
		return x->hooks->received(
			x, req, v->memory ? (const char *)v->memory + req->answer.lead : NULL);
	}
	snprintf(text, sizeof(text), "%s", request_text(req));
	if (req->answer.status == -ENODATA)
		read_text_ends(text, req, x->size);
	return piece_reader_fail(x, req, req->answer.status, text);
}

/* Receives at least so many of the reads in flight. */
static int piece_reader_receive(struct piece_reader *x, uint32_t least)
{
	int rc = 0;

	while (least) {
		uint32_t n = queue_reap(&x->thread->queue, x->done, 1, x->depth, UINT64_MAX);

		for (uint32_t i = 0; i < n; i++) {
			struct piece_window *v = x->done[i]->user;
			int one = piece_reader_done(x, v);

			rc = rc ? rc : one;
			x->idle[x->idle_count++] = (uint32_t)(v - x->windows);
		}
		x->in_flight -= n;
		least -= n < least ? n : least;
		crew_look(x->thread);
	}
	return rc;
}

/* An open or close. */
static void piece_reader_ask(struct piece_reader *x, struct request *req)
{
	queue_do(&x->thread->queue, req);
	x->request_ns += req->answer.done_ns - req->answer.submit_ns;
}

int piece_reader_end(struct piece_reader *x)
{
	struct request req = {.op = REQ_CLOSE, .object = &x->object};
	int rc = piece_reader_receive(x, x->in_flight);

	if (!x->open)
		return rc;
	x->open = false;
	piece_reader_ask(x, &req);
	return rc;
}

/* Opens the file of the range for this thread, and closes the one before. */
static int piece_reader_turn(struct piece_reader *x, uint64_t file, const void *range)
{
	struct request req = {.op = REQ_OPEN, .object = &x->object};
	int rc;

	if (x->open && x->file == file)
		return 0;
	rc = piece_reader_end(x);
	if (rc < 0)
		return rc;
	x->file = file;
	x->object = (struct object){.size = 0};
	rc = x->hooks->open(x, range);
	if (rc < 0)
		return rc;
	x->size = x->object.size;
	piece_reader_ask(x, &req);
	if (request_failed(&req))
		return piece_reader_fail(x, &req, req.answer.status, request_text(&req));
	x->open = true;
	x->files++;
	return 0;
}

static int piece_reader_send(struct piece_reader *x, uint64_t at, uint64_t length)
{
	struct piece_window *v;
	struct request *req;
	int rc = x->idle_count ? 0 : piece_reader_receive(x, 1);

	if (rc < 0)
		return rc;
	v = &x->windows[x->idle[--x->idle_count]];
	v->req = (struct request){.op = REQ_READ,
				  .object = &x->object,
				  .offset = at,
				  .length = length,
				  .data = v->memory,
				  .user = v};
	req = &v->req;
	x->in_flight++;
	return queue_submit(&x->thread->queue, &req, 1);
}

int piece_reader_range(struct piece_reader *x, uint64_t file, uint64_t length, const void *range)
{
	uint64_t pieces = (length + x->chunk - 1) / x->chunk, from;
	int rc = 0;

	while (rc == 0 && x->taken < x->walked + pieces) {
		if (atomic_load_explicit(&x->thread->crew->halt, memory_order_relaxed))
			return -ECANCELED;
		rc = piece_reader_turn(x, file, range);
		from = (x->taken - x->walked) * x->chunk;
		if (rc == 0 && x->open)
			rc = piece_reader_send(x, x->hooks->begin(x, range) + from,
					       length - from < x->chunk ? length - from : x->chunk);
		x->taken = atomic_fetch_add_explicit(x->next, 1, memory_order_relaxed);
	}
	x->walked += pieces;
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/common/piece_reader.h"

#include <errno.h>
#include <inttypes.h>

#include "core/units.h"
#include "workloads/common/crew.h"

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

static void piece_reader_received(void *reader, struct slot *slot);
static const struct slot_hooks piece_reader_slots = {.step = piece_reader_received};

int piece_reader_open(struct piece_reader *x, struct err *err)
{
	x->slots = (struct slots){.hooks = &piece_reader_slots,
				  .owner = x,
				  .member = x->thread,
				  .depth = x->depth,
				  .slot_bytes = sizeof(struct slot),
				  .buffers = x->memory,
				  .buffer_bytes = x->window_bytes};
	return slots_open(&x->slots, err);
}

void piece_reader_close(struct piece_reader *x)
{
	slots_close(&x->slots);
}

static uint64_t piece_reader_take(struct piece_reader *x)
{
	uint64_t i = atomic_fetch_add_explicit(x->next, 1, memory_order_relaxed);

	return x->stride ? i * x->stride + x->first : i;
}

void piece_reader_start(struct piece_reader *x)
{
	x->files = x->bytes = x->request_ns = 0;
	x->walked = 0;
	x->slots.rc = 0;
	x->taken = piece_reader_take(x);
}

int piece_reader_fail(struct piece_reader *x, const struct request *req, int rc, const char *text)
{
	crew_fail(x->thread, req, rc, text);
	return x->counts_errors ? 0 : rc;
}

static int piece_reader_piece(struct piece_reader *x, const struct slot *slot)
{
	const struct request *req = &slot->req;
	char text[FAILURE_TEXT_BYTES];

	if (req->answer.status == 0) {
		x->bytes += req->length;
		if (!x->hooks->received)
			return 0;
		return x->hooks->received(
			x, req,
			slot->buffer ? (const char *)slot->buffer + req->answer.lead : NULL);
	}
	answer_text_failed(text, req, x->size);
	return piece_reader_fail(x, req, req->answer.status, text);
}

static void piece_reader_received(void *reader, struct slot *slot)
{
	struct piece_reader *x = reader;
	int rc = piece_reader_piece(x, slot);

	x->slots.rc = x->slots.rc ? x->slots.rc : rc;
	slots_free(&x->slots, slot);
}

/* Waits until no more than that are in flight. Returns the first error so far. */
static int piece_reader_wait(struct piece_reader *x, uint32_t most)
{
	struct queue *q = &x->thread->queue;

	while (q->in_flight > most)
		slots_reap(&x->slots, q, 1, UINT64_MAX);
	return x->slots.rc;
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
	int rc = piece_reader_wait(x, 0);

	if (!x->open)
		return rc;
	x->open = false;
	piece_reader_ask(x, &req);
	return rc;
}

/* Opens the file of the range for this thread, and closes the one before. */
static int piece_reader_turn(struct piece_reader *x, uint64_t file, const void *range)
{
	struct request req = {.op = REQ_OPEN, .object = &x->object, .touch = x->touch};
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
	int rc = piece_reader_wait(x, x->depth - 1);
	struct request *req;
	struct slot *slot;

	if (rc < 0)
		return rc;
	slot = slots_take(&x->slots);
	slot->req = (struct request){.op = REQ_READ,
				     .object = &x->object,
				     .offset = at,
				     .length = length,
				     .touch = x->touch,
				     .data = slot->buffer};
	req = &slot->req;
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
		x->taken = piece_reader_take(x);
	}
	x->walked += pieces;
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on blocks: an operation opens its object if it is not open, moves its block, and
 * closes the object after the last block. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "workloads/common/crew.h"
#include "workloads/io/work.h"

enum data_step { STEP_EVICT, STEP_OPEN, STEP_MOVE, STEP_CLOSE, STEP_DROP };
static const uint64_t verify_stream = 0x76657269; /* "veri" */

static void io_data_want(struct io_thread *t, struct io_slot *slot);

/* Written whole: begun and committed, not opened in place. */
static bool io_data_whole(const struct io_thread *t)
{
	return t->work->options->operation == IO_DO_WRITE && !t->work->in_place;
}

static void io_data_open(struct io_thread *t, struct io_slot *slot)
{
	const struct io_options *o = t->work->options;
	struct io_handle *h = slot->handle;

	h->number = slot->item.object;
	h->bytes = 0;
	h->last = false;
	memset(h->object.state, 0, sizeof(h->object.state));
	io_set_key(t->work->set, t->share.rank, h->number, h->object.key);
	slot->s.req =
		(struct request){.op = o->operation == IO_DO_READ ? REQ_OPEN
				       : io_data_whole(t)         ? REQ_BEGIN
								  : REQ_UPDATE,
				 .object = &h->object,
				 .length = io_set_bytes(t->work->set, t->share.rank, h->number),
				 .begin = {.part = o->block, .unasked = o->verify != VERIFY_FULL},
				 .due_ns = slot->s.due_ns};
	io_send(t, slot, STEP_OPEN);
}

/* A version that is not whole goes up only where nothing stood before. */
static enum request_op io_data_closing(const struct io_thread *t, const struct io_handle *h)
{
	if (!io_data_whole(t))
		return REQ_CLOSE;
	return h->bytes == t->work->set->size || (h->bytes && !t->work->set->complete) ? REQ_COMMIT
										       : REQ_ABORT;
}

static void io_data_close(struct io_thread *t, struct io_slot *slot, enum data_step step)
{
	struct io_handle *h = slot->handle;

	h->state = HANDLE_BUSY;
	slot->s.req = (struct request){
		.op = io_data_closing(t, h), .object = &h->object, .length = h->bytes};
	io_send(t, slot, step);
}

void io_data_fill(struct io_thread *t, struct io_slot *slot)
{
	struct io_work *work = t->work;
	uint64_t begin_ns;

	if (!slot->s.buffer)
		return;
	begin_ns = clock_now(work->store->clock);
	pattern_fill(&work->pattern, t->share.rank * work->objects + slot->item.object,
		     slot->s.req.offset, slot->s.buffer, slot->s.req.length);
	t->fill_ns += clock_now(work->store->clock) - begin_ns;
}

static void io_data_move(struct io_thread *t, struct io_slot *slot)
{
	struct io_work *work = t->work;
	struct io_handle *h = slot->handle;

	h->users++;
	h->last = h->last || (slot->item.last && !work->shared);
	slot->s.req = (struct request){.op = slot->writes ? REQ_WRITE : REQ_READ,
				       .object = &h->object,
				       .offset = slot->item.offset,
				       .length = slot->item.length,
				       .data = slot->s.buffer,
				       .discard = work->options->discard,
				       .due_ns = slot->s.due_ns};
	if (slot->writes)
		io_data_fill(t, slot);
	else
		io_cold_reads(t, slot);
	io_send(t, slot, STEP_MOVE);
}

/* Consecutive objects have places of their own, more of them than there are slots. */
static void io_data_want(struct io_thread *t, struct io_slot *slot)
{
	struct io_handle *h = &t->handles[slot->item.object % t->handle_count];

	slot->handle = h;
	if (h->state == HANDLE_OPEN && h->number == slot->item.object) {
		io_data_move(t, slot);
	} else if (h->state == HANDLE_BUSY || h->users) {
		list_append(&h->waiting, &slot->s.link);
	} else if (h->state == HANDLE_OPEN) {
		io_data_close(t, slot, STEP_EVICT);
	} else {
		h->state = HANDLE_BUSY;
		io_data_open(t, slot);
	}
}

/* Those in line ask again, in their order. Some may join the line again. */
static void io_data_wake(struct io_thread *t, struct io_handle *h)
{
	struct list waited = h->waiting;
	struct list_link *link;

	h->waiting = (struct list){0};
	while ((link = list_take(&waited)))
		io_data_want(t, list_member(link, struct io_slot, s.link));
}

static void io_data_opened(struct io_thread *t, struct io_slot *slot)
{
	struct io_handle *h = slot->handle;

	if (slot->s.req.answer.status < 0) {
		h->state = HANDLE_CLOSED;
		io_end(t, slot, slot->s.req.answer.status, NULL);
	} else {
		h->state = HANDLE_OPEN;
		io_cold_opened(t, slot);
		io_data_move(t, slot);
	}
	io_data_wake(t, h);
}

static uint64_t io_data_verified(struct io_thread *t, const struct io_slot *slot)
{
	const struct io_work *work = t->work;
	uint64_t at = 0, length = slot->s.req.length, begin_ns = clock_now(work->store->clock),
		 good;

	if (work->options->verify == VERIFY_SAMPLED && length > VERIFY_SAMPLE_BYTES) {
		at = random_at(t->key ^ verify_stream, slot->number, slot->s.req.offset);
		at = at % (length - VERIFY_SAMPLE_BYTES + 1) & ~(uint64_t)7;
		length = VERIFY_SAMPLE_BYTES;
	}
	good = pattern_verify(&work->pattern, t->share.rank * work->objects + slot->item.object,
			      slot->s.req.offset + at,
			      (const char *)slot->s.buffer + slot->s.req.answer.lead + at, length);
	t->verify_ns += clock_now(work->store->clock) - begin_ns;
	return good == length ? slot->s.req.length : at + good;
}

/* A block has moved: whether all of it is as it should be. */
int io_data_check(struct io_thread *t, struct io_slot *slot, char text[FAILURE_TEXT_BYTES])
{
	const struct request *req = &slot->s.req;
	uint64_t good;

	if (req->answer.status < 0) {
		answer_text_failed(text, req,
				   io_set_bytes(t->work->set, t->share.rank, slot->item.object));
		return req->answer.status;
	}
	slot->moved += io_inside(t, slot, req->length);
	if (slot->writes || !slot->s.buffer || t->work->options->verify == VERIFY_NONE)
		return 0;
	good = io_data_verified(t, slot);
	if (good == req->length)
		return 0;
	t->payload_errors++;
	meter_error(&t->member->meter);
	answer_text_differs(text, req->offset + good);
	return -EILSEQ;
}

static void io_data_moved(struct io_thread *t, struct io_slot *slot)
{
	struct io_handle *h = slot->handle;
	char text[FAILURE_TEXT_BYTES];
	int rc = io_data_check(t, slot, text);

	h->users--;
	if (rc == 0 && slot->writes)
		h->bytes += slot->s.req.length;
	if (h->users == 0 && h->last && rc == 0) {
		io_data_close(t, slot, STEP_CLOSE);
		return;
	}
	io_end(t, slot, rc, text);
	if (h->users == 0)
		io_data_wake(t, h);
}

/* What a commit says that the store has. */
int io_data_check_closed(struct io_thread *t, const struct request *req,
			 char text[FAILURE_TEXT_BYTES])
{
	snprintf(text, FAILURE_TEXT_BYTES, "%s", request_text(req));
	if (req->answer.status < 0 || req->op != REQ_COMMIT || !t->work->content ||
	    answer_text_committed(text, req, req->length))
		return req->answer.status;
	meter_error(&t->member->meter);
	return -EIO;
}

static void io_data_closed(struct io_thread *t, struct io_slot *slot)
{
	struct io_handle *h = slot->handle;
	char text[FAILURE_TEXT_BYTES];
	int rc = io_data_check_closed(t, &slot->s.req, text);

	/* What could not be published must not stay as a part of something. */
	if (slot->s.req.op == REQ_COMMIT && slot->s.req.answer.status < 0) {
		io_fails(t, slot, rc, text);
		slot->s.req = (struct request){.op = REQ_ABORT, .object = &h->object};
		io_send(t, slot, STEP_DROP);
		return;
	}
	/* Where another's object was closed to make room, and its bytes may be lost, this operation
	 * pays. */
	if (rc == 0 && slot->s.step == STEP_EVICT) {
		io_data_open(t, slot);
		return;
	}
	h->state = HANDLE_CLOSED;
	io_end(t, slot, rc, text);
	io_data_wake(t, h);
}

static void io_data_dropped(struct io_thread *t, struct io_slot *slot)
{
	slot->handle->state = HANDLE_CLOSED;
	io_let_go(t, slot);
	io_data_wake(t, slot->handle);
}

void io_data_share(struct io_thread *t, const struct object *object)
{
	struct io_handle *h = &t->handles[0];

	h->object = *object;
	h->state = HANDLE_OPEN;
}

static int io_data_end(struct io_thread *t)
{
	int rc = 0;

	for (uint32_t i = 0; i < t->handle_count; i++) {
		struct io_handle *h = &t->handles[i];
		char text[FAILURE_TEXT_BYTES];
		struct request req;
		int closed_rc;

		if (h->state != HANDLE_OPEN || t->work->shared)
			continue;
		/* More of it may follow where the time was over. */
		if (t->slots.timed_out && io_data_whole(t) && t->work->options->stonewall &&
		    t->slots.rc == 0 && !h->last)
			continue;
		req = (struct request){
			.op = io_data_closing(t, h), .object = &h->object, .length = h->bytes};
		queue_do(&t->member->queue, &req);
		if (req.op == REQ_COMMIT && req.answer.status < 0)
			queue_do(&t->member->queue,
				 &(struct request){.op = REQ_ABORT, .object = &h->object});
		h->state = HANDLE_CLOSED;
		closed_rc = io_data_check_closed(t, &req, text);
		if (closed_rc < 0 && rc == 0)
			rc = crew_fail(t->member, &req, closed_rc, text);
	}
	return rc;
}

static io_step *const data_steps[] = {
	[STEP_EVICT] = io_data_closed, [STEP_OPEN] = io_data_opened,  [STEP_MOVE] = io_data_moved,
	[STEP_CLOSE] = io_data_closed, [STEP_DROP] = io_data_dropped,
};
const struct io_operations io_block_operations = {
	.begin = io_data_want, .steps = data_steps, .end = io_data_end};

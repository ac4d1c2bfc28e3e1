/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on whole objects: an object is read (open, blocks, close), written (begin, blocks,
 * commit), asked for, deleted, or a page of the folder is listed. Each slot has an object of its
 * own; its blocks go one after the other. */
#include <errno.h>
#include <string.h>

#include "workloads/io/work.h"

enum whole_step {
	STEP_OPENED,
	STEP_MOVED,
	STEP_ENDED,
	STEP_ANSWERED,
	STEP_LISTED,
	STEP_WHOLE_DROPPED
};

static void io_whole_send(struct io_thread *t, struct io_slot *slot, enum request_op op,
			  enum whole_step step)
{
	slot->s.req = (struct request){
		.op = op, .object = &slot->name->object, .length = slot->item.length};
	io_send(t, slot, step);
}

/* The block that follows. Of an operation only the first request was due at a time. */
static void io_whole_move(struct io_thread *t, struct io_slot *slot, uint64_t offset)
{
	uint64_t left = slot->item.length - offset, block = t->work->options->block;

	slot->s.req = (struct request){.op = slot->writes ? REQ_WRITE : REQ_READ,
				       .object = &slot->name->object,
				       .offset = offset,
				       .length = left < block ? left : block,
				       .data = slot->s.buffer,
				       .discard = t->work->options->discard,
				       .due_ns = offset ? 0 : slot->s.due_ns};
	if (slot->writes)
		io_data_fill(t, slot);
	io_send(t, slot, STEP_MOVED);
}

static enum io_kind io_whole_kind(struct io_thread *t, struct io_slot *slot)
{
	if (t->work->options->operation != IO_DO_MIXED)
		return slot->writes ? IO_PUT : IO_GET;
	slot->turn = io_mix_next(&t->mix, slot->number);
	slot->item = (struct io_item){.object = t->share.first + slot->turn.name};
	slot->writes = slot->turn.kind == IO_PUT;
	return slot->turn.kind;
}

static void io_whole_begin(struct io_thread *t, struct io_slot *slot)
{
	const struct io_work *work = t->work;
	struct object *object = &slot->name->object;
	enum io_kind kind = io_whole_kind(t, slot);

	memset(object->state, 0, sizeof(object->state));
	object->size = 0;
	if (kind == IO_LIST) {
		io_names_list(t, slot, STEP_LISTED);
		return;
	}
	io_set_key(work->set, t->share.rank, slot->item.object, object->key);
	if (kind == IO_STAT || kind == IO_DELETE) {
		io_whole_send(t, slot, kind == IO_STAT ? REQ_STAT : REQ_DELETE, STEP_ANSWERED);
		slot->s.req.length = 0;
		slot->s.req.due_ns = slot->s.due_ns;
		return;
	}
	slot->item.length = io_set_bytes(work->set, t->share.rank, slot->item.object);
	t->issued_bytes += slot->item.length;
	io_whole_send(t, slot, slot->writes ? REQ_BEGIN : REQ_OPEN, STEP_OPENED);
	slot->s.req.due_ns = slot->s.due_ns;
	if (!slot->writes)
		return;
	slot->s.req.begin.part = work->options->block;
	slot->s.req.begin.unasked = work->options->verify != VERIFY_FULL;
}

/* It has failed: nothing may remain of what was written, or open of what was read. */
static void io_whole_drop(struct io_thread *t, struct io_slot *slot)
{
	io_whole_send(t, slot, slot->writes ? REQ_ABORT : REQ_CLOSE, STEP_WHOLE_DROPPED);
}

/* An object that may be missing is no error, but nothing was done either. */
static bool io_whole_missing(struct io_thread *t, const struct io_slot *slot)
{
	if (slot->writes || slot->s.req.answer.status != -ENOENT || !t->mix.lost)
		return false;
	t->absent++;
	return true;
}

static void io_whole_opened(struct io_thread *t, struct io_slot *slot)
{
	if (io_whole_missing(t, slot)) {
		io_let_go(t, slot);
		return;
	}
	if (slot->s.req.answer.status < 0) {
		io_end(t, slot, slot->s.req.answer.status, NULL);
		return;
	}
	if (!slot->writes && t->residency.every_bytes)
		residency_look(&t->residency, t->work->store, &slot->name->object, 0,
			       slot->item.length);
	io_whole_move(t, slot, 0);
}

static void io_whole_moved(struct io_thread *t, struct io_slot *slot)
{
	uint64_t at = slot->s.req.offset + slot->s.req.length;
	char text[FAILURE_TEXT_BYTES];
	int rc;

	if (io_whole_missing(t, slot)) {
		io_whole_drop(t, slot);
		return;
	}
	rc = io_data_check(t, slot, text);
	if (rc < 0) {
		io_fails(t, slot, rc, text);
		io_whole_drop(t, slot);
	} else if (at < slot->item.length && slots_halted(&t->slots)) {
		slot->s.failed = true;
		io_whole_drop(t, slot);
	} else if (at < slot->item.length) {
		io_whole_move(t, slot, at);
	} else {
		io_whole_send(t, slot, slot->writes ? REQ_COMMIT : REQ_CLOSE, STEP_ENDED);
	}
}

static void io_whole_ended(struct io_thread *t, struct io_slot *slot)
{
	char text[FAILURE_TEXT_BYTES];
	int rc = io_data_check_closed(t, &slot->s.req, text);

	if (rc == 0) {
		if (io_measured(t, slot)) {
			t->gets += !slot->writes;
			t->puts += slot->writes;
			hist_record(meter_hist(&t->member->meter,
					       slot->writes ? IO_HIST_PUT : IO_HIST_GET),
				    slot_took_ns(&slot->s));
		}
		io_end(t, slot, 0, NULL);
		return;
	}
	io_fails(t, slot, rc, text);
	if (slot->writes && slot->s.req.answer.status < 0)
		io_whole_drop(t, slot);
	else
		io_let_go(t, slot);
}

static io_step *const whole_steps[] = {
	[STEP_OPENED] = io_whole_opened,      [STEP_MOVED] = io_whole_moved,
	[STEP_ENDED] = io_whole_ended,        [STEP_ANSWERED] = io_names_answered,
	[STEP_LISTED] = io_names_listed_page, [STEP_WHOLE_DROPPED] = io_let_go,
};
const struct io_operations io_object_operations = {.begin = io_whole_begin, .steps = whole_steps};

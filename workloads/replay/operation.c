/* SPDX-License-Identifier: Apache-2.0 */
/* How a thread does what a row says: open, reads, close; or begin, writes, commit; or a delete. A
 * request moves as much as the store takes at once, usually the whole object, which passes through
 * the buffer of the slot piece by piece. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/content/fill.h"
#include "core/content/random.h"
#include "workloads/common/crew.h"
#include "workloads/replay/objects.h"
#include "workloads/replay/work.h"

enum step { STEP_OPENED, STEP_MOVED, STEP_ENDED, STEP_DROPPED };

void replay_content_begin(struct replay_content *c, const struct pattern *pattern, uint64_t seed,
			  uint64_t hash)
{
	c->pattern = *pattern;
	c->pattern.key = fill_key(seed, hash);
	c->wrong = false;
}

/* For a read of [at, at + length): chooses what is compared. draw: a random number. */
static void content_expect(struct replay_content *c, uint64_t at, uint64_t length, uint64_t draw)
{
	c->check_at = at;
	c->check_end = c->verify == VERIFY_NONE ? at : at + length;
	if (c->verify == VERIFY_SAMPLED && length > VERIFY_SAMPLE_BYTES) {
		c->check_at = at + draw % (length - VERIFY_SAMPLE_BYTES + 1);
		c->check_end = c->check_at + VERIFY_SAMPLE_BYTES;
	}
}

int replay_content_fill(struct request *req, uint64_t offset, void *data, uint64_t length)
{
	struct replay_content *c = req->user;
	uint64_t begin_ns = clock_now(c->clock);

	pattern_fill(&c->pattern, 0, offset, data, length);
	c->fill_ns += clock_now(c->clock) - begin_ns;
	return 0;
}

static int content_check(struct request *req, uint64_t offset, void *data, uint64_t length)
{
	struct replay_content *c = req->user;
	uint64_t from = offset > c->check_at ? offset : c->check_at;
	uint64_t to = offset + length < c->check_end ? offset + length : c->check_end;
	uint64_t begin_ns, good;

	if (from >= to || c->wrong)
		return 0;
	begin_ns = clock_now(c->clock);
	good = pattern_verify(&c->pattern, 0, from, (const char *)data + (from - offset),
			      to - from);
	c->verify_ns += clock_now(c->clock) - begin_ns;
	if (good < to - from) {
		c->wrong = true;
		c->wrong_at = from + good;
	}
	return 0;
}

static void operation_send(struct replay_thread *t, struct replay_slot *slot, enum request_op op,
			   enum step step)
{
	slot->s.req =
		(struct request){.op = op, .object = &slot->object, .length = slot->row->bytes};
	slots_send(&t->slots, &slot->s, step);
}

static bool operation_writes(const struct replay_slot *slot)
{
	return slot->row->operation == TRACE_WRITE;
}

void replay_operation_begin(struct replay_thread *t, struct replay_slot *slot)
{
	struct replay_work *work = t->work;
	const struct replay_row *row = slot->row;
	bool writes = operation_writes(slot);

	memset(slot->object.state, 0, sizeof(slot->object.state));
	slot->object.size = 0;
	replay_object_key(work->options->folder, row->tier,
			  trace_names_text(&work->rows->names, row->key), slot->object.key);
	replay_content_begin(&slot->content, &work->pattern, work->seed,
			     work->rows->keys[row->key].hash);
	if (row->operation == TRACE_DELETE) {
		operation_send(t, slot, REQ_DELETE, STEP_ENDED);
		slot->s.req.length = 0;
		slot->s.req.due_ns = slot->s.due_ns;
		return;
	}
	slot->part = writes ? store_part(work->store, row->bytes)
			    : store_range(work->store, row->bytes, 1);
	operation_send(t, slot, writes ? REQ_BEGIN : REQ_OPEN, STEP_OPENED);
	slot->s.req.due_ns = slot->s.due_ns;
	if (writes)
		slot->s.req.begin.part = slot->part < row->bytes ? slot->part : row->bytes;
}

/* The request that follows. */
static void operation_move(struct replay_thread *t, struct replay_slot *slot, uint64_t offset)
{
	uint64_t left = slot->row->offset + slot->row->bytes - offset;
	bool writes = operation_writes(slot);

	slot->s.req = (struct request){.op = writes ? REQ_WRITE : REQ_READ,
				       .object = &slot->object,
				       .offset = offset,
				       .length = left < slot->part ? left : slot->part,
				       .data = slot->s.buffer,
				       .user = &slot->content};
	if (slot->s.buffer) {
		slot->s.req.buffer_bytes = t->work->options->chunk;
		slot->s.req.chunk = writes ? replay_content_fill : content_check;
	}
	if (!writes)
		content_expect(&slot->content, offset, slot->s.req.length,
			       random_at(t->key, t->draws++, offset));
	slots_send(&t->slots, &slot->s, STEP_MOVED);
}

/* It has failed: nothing may remain of what was written, or open of what was read. */
static void operation_drop(struct replay_thread *t, struct replay_slot *slot)
{
	operation_send(t, slot, operation_writes(slot) ? REQ_ABORT : REQ_CLOSE, STEP_DROPPED);
}

static void operation_close(struct replay_thread *t, struct replay_slot *slot)
{
	operation_send(t, slot, operation_writes(slot) ? REQ_COMMIT : REQ_CLOSE, STEP_ENDED);
}

/* This and the following go on with the operation; they return whether it has ended. */
static bool operation_opened(struct replay_thread *t, struct replay_slot *slot)
{
	if (slot->s.req.answer.status < 0) {
		slots_fail(&t->slots, &slot->s, slot->s.req.answer.status, NULL);
		return true;
	}
	if (slot->row->bytes)
		operation_move(t, slot, slot->row->offset);
	else
		operation_close(t, slot);
	return false;
}

/* A request has moved its bytes: whether all of them are as they should be. */
static int operation_check(struct replay_thread *t, struct replay_slot *slot,
			   char text[FAILURE_TEXT_BYTES])
{
	const struct request *req = &slot->s.req;

	if (req->answer.status < 0) {
		answer_text_failed(text, req, slot->row->offset + slot->row->bytes);
		return req->answer.status;
	}
	if (!slot->content.wrong)
		return 0;
	t->payload_errors++;
	meter_error(&t->member->meter);
	answer_text_differs(text, slot->content.wrong_at);
	return -EILSEQ;
}

static bool operation_moved(struct replay_thread *t, struct replay_slot *slot)
{
	uint64_t at = slot->s.req.offset + slot->s.req.length;
	uint64_t end = slot->row->offset + slot->row->bytes;
	char text[FAILURE_TEXT_BYTES];
	int rc = operation_check(t, slot, text);

	if (rc < 0) {
		slots_fail(&t->slots, &slot->s, rc, text);
		operation_drop(t, slot);
	} else if (at < end && slots_halted(&t->slots)) {
		slot->s.failed = true;
		operation_drop(t, slot);
	} else if (at < end) {
		operation_move(t, slot, at);
	} else {
		operation_close(t, slot);
	}
	return false;
}

/* What a commit says that the store has. */
static int operation_check_ended(struct replay_thread *t, const struct replay_slot *slot,
				 char text[FAILURE_TEXT_BYTES])
{
	const struct request *req = &slot->s.req;

	snprintf(text, FAILURE_TEXT_BYTES, "%s", request_text(req));
	/* A trace may delete what it has deleted before. */
	if (req->op == REQ_DELETE && !request_failed(req))
		return 0;
	if (req->answer.status < 0 || req->op != REQ_COMMIT || !t->work->content ||
	    answer_text_committed(text, req, slot->row->bytes))
		return req->answer.status;
	meter_error(&t->member->meter);
	return -EIO;
}

static bool operation_ended(struct replay_thread *t, struct replay_slot *slot)
{
	char text[FAILURE_TEXT_BYTES];
	int rc = operation_check_ended(t, slot, text);

	if (rc < 0)
		slots_fail(&t->slots, &slot->s, rc, text);
	/* What could not be published must not stay as a part of something. */
	if (slot->s.req.op != REQ_COMMIT || slot->s.req.answer.status >= 0)
		return true;
	operation_drop(t, slot);
	return false;
}

bool replay_operation_step(struct replay_thread *t, struct replay_slot *slot)
{
	switch ((enum step)slot->s.step) {
	case STEP_OPENED:
		return operation_opened(t, slot);
	case STEP_MOVED:
		return operation_moved(t, slot);
	case STEP_ENDED:
		return operation_ended(t, slot);
	case STEP_DROPPED:
		break;
	}
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Stages of entries: see stages.h. */
#include "workloads/kvcache/stages.h"

#include <errno.h>
#include <string.h>

#include "backends/queue/failure.h"

/* Whether a stage applies to what has become of the entry so far. */
static bool stage_applies(const struct kv_worker *w, const struct kv_transfer *t,
			  enum kv_entry_stage stage)
{
	const struct kv_task *task = &t->task;
	bool whole = task->rc == 0 && !task->present;
	bool moves_bytes =
		task->what.kind != KV_OPERATION_DELETE && task->what.kind != KV_OPERATION_LOOKUP;
	bool from = task->from.kind == KV_TIER_STORE, to = task->to.kind == KV_TIER_STORE;

	/* The rank's file of slots is open, and its index is the main thread's. */
	if (w->work->setup->slots && stage != KV_ENTRY_PIECES && stage != KV_ENTRY_DONE)
		return false;
	switch (stage) {
	case KV_ENTRY_STAT:
		if (task->what.kind == KV_OPERATION_WRITE)
			return to && w->work->setup->looks_before_writes &&
			       !w->work->setup->buckets;
		return (task->what.kind == KV_OPERATION_LOOKUP && whole) ||
		       (from && task->what.kind == KV_OPERATION_READ &&
			w->work->setup->options->lookup);
	case KV_ENTRY_OPEN:
		return whole && from && moves_bytes;
	case KV_ENTRY_BEGIN:
		return whole && to && moves_bytes;
	case KV_ENTRY_PIECES:
		return whole && moves_bytes && task->what.bytes;
	case KV_ENTRY_CLOSE:
		return t->opened;
	case KV_ENTRY_COMMIT:
		return whole && t->begun;
	case KV_ENTRY_ABORT:
		/* What could not be written whole does not stay. */
		return t->begun;
	case KV_ENTRY_DELETE:
		return whole && from &&
		       (task->what.kind == KV_OPERATION_MOVE ||
			task->what.kind == KV_OPERATION_DELETE);
	case KV_ENTRY_DONE:
		break;
	}
	return true;
}

void kv_transfer_advance(const struct kv_worker *w, struct kv_transfer *t)
{
	do
		t->stage++;
	while (!stage_applies(w, t, t->stage));
}

void kv_stage_first(const struct kv_worker *w, struct kv_transfer *t)
{
	t->stage = KV_ENTRY_STAT;
	if (!stage_applies(w, t, t->stage))
		kv_transfer_advance(w, t);
}

/* The request of a stage, and the queue that it goes to. */
static struct queue *stage_request(const struct kv_worker *w, struct kv_transfer *t,
				   struct request *req)
{
	static const struct {
		enum request_op op;
		bool to;
	} stages[] = {
		[KV_ENTRY_STAT] = {REQ_STAT, false},     [KV_ENTRY_OPEN] = {REQ_OPEN, false},
		[KV_ENTRY_BEGIN] = {REQ_BEGIN, true},    [KV_ENTRY_CLOSE] = {REQ_CLOSE, false},
		[KV_ENTRY_COMMIT] = {REQ_COMMIT, true},  [KV_ENTRY_ABORT] = {REQ_ABORT, true},
		[KV_ENTRY_DELETE] = {REQ_DELETE, false},
	};
	const struct kv_task *task = &t->task;
	bool to = stages[t->stage].to ||
		  (t->stage == KV_ENTRY_STAT && task->what.kind == KV_OPERATION_WRITE);

	*req = (struct request){.op = stages[t->stage].op, .object = to ? &t->to : &t->from};
	if (task->listing) {
		req->op = REQ_LIST;
		req->listing = task->listing;
		req->user = task->owner;
		strrchr(t->from.key, '/')[1] = '\0';
	}
	if (t->stage == KV_ENTRY_OPEN)
		t->from.size = task->at + task->what.bytes;
	if (t->stage == KV_ENTRY_BEGIN)
		req->begin.part = w->work->setup->options->chunk;
	kv_transfer_layout(w, t, req);
	if (t->stage == KV_ENTRY_BEGIN || t->stage == KV_ENTRY_COMMIT)
		req->length = task->what.bytes;
	/* What is deleted is named anew: it is not open any more. */
	if (t->stage == KV_ENTRY_DELETE)
		kv_transfer_key(w, t, &task->from, &t->from);
	return kv_transfer_queue(w, to ? &task->to : &task->from);
}

static void stage_committed(struct kv_worker *w, struct kv_transfer *t, const struct queue *q,
			    const struct request *req)
{
	char text[FAILURE_TEXT_BYTES];

	t->begun = false;
	t->sync_ns = req->answer.sync_ns;
	if (!store_can(q->channel.store, BACKEND_CONTENT) ||
	    answer_text_committed(text, req, t->task.what.bytes))
		return;
	meter_error(&w->member->meter);
	kv_transfer_fail(w, t, q, req, -EIO, text);
}

void kv_stage_answered(struct kv_worker *w, struct kv_transfer *t, const struct queue *q,
		       const struct request *req)
{
	bool done = req->answer.status == 0;

	t->asked = false;
	if (!kv_transfer_absent(w, t, req->answer.status) && request_failed(req) &&
	    t->stage != KV_ENTRY_ABORT)
		kv_transfer_fail(w, t, q, req, req->answer.status, NULL);
	if (t->stage == KV_ENTRY_STAT && t->task.what.kind == KV_OPERATION_WRITE)
		t->task.present = done && w->work->keeps;
	else if (t->stage == KV_ENTRY_OPEN)
		t->opened = done;
	else if (t->stage == KV_ENTRY_BEGIN)
		t->begun = done;
	else if (t->stage == KV_ENTRY_CLOSE)
		t->opened = false;
	else if (t->stage == KV_ENTRY_COMMIT && done)
		stage_committed(w, t, q, req);
	else if (t->stage == KV_ENTRY_ABORT)
		t->begun = false;
	kv_transfer_advance(w, t);
}

void kv_stage_ask(struct kv_worker *w, struct kv_transfer *t)
{
	struct kv_window *win;
	struct request req, *ask;
	struct queue *q = stage_request(w, t, &req);

	if (q->channel.synchronous && !q->in_flight) {
		queue_do(q, &req);
		kv_stage_answered(w, t, q, &req);
		return;
	}
	win = kv_window_take(w, t);
	win->state = KV_WINDOW_ASKS;
	win->slot.req = req;
	win->queue = q;
	t->asked = true;
	ask = &win->slot.req;
	queue_submit(q, &ask, 1);
}

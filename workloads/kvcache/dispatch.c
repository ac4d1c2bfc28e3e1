/* What the tiers decide, as operations for the I/O threads.
 *
 *	event of the tiers ──► operation ──► may begin ──► idle I/O thread ──► answer ──► next step of the request
 *	                                       └─ nothing to do for it (an accelerator's memory) ─┘
 *
 * When the phase is over, what has not begun is dropped: entries are neither read nor written, and what was to be moved is
 * only deleted, so that nothing stays in a store that its tier does not know. */
#include <errno.h>
#include <stdlib.h>

#include "workloads/kvcache/run.h"

int kv_dispatch_open(struct kv_run *r, struct err *err)
{
	uint32_t threads = r->crew.threads;

	r->asking = KV_NONE;
	r->chain = KV_NONE;
	r->idle = calloc(threads, sizeof(*r->idle));
	r->at_work = calloc(threads, sizeof(*r->at_work));
	if (!r->idle || !r->at_work || kv_operations_init(&r->operations, threads) < 0)
		return err_set(err, -ENOMEM, "no memory for the operations under way");
	return 0;
}

void kv_dispatch_close(struct kv_run *r)
{
	kv_operations_free(&r->operations);
	free(r->idle);
	free(r->at_work);
	r->idle = NULL;
	r->at_work = NULL;
}

static enum kv_tier_kind dispatch_kind(const struct kv_run *r, uint32_t tier)
{
	return r->setup.tiers[tier].kind;
}

/* Whether an I/O thread has something to do for it. */
static bool dispatch_needs_thread(const struct kv_run *r, const struct kv_operation *op)
{
	enum kv_tier_kind from = dispatch_kind(r, op->from), to = dispatch_kind(r, op->to);

	switch (op->kind) {
	case KV_OPERATION_READ:
		return from != KV_TIER_GPU;
	case KV_OPERATION_WRITE:
		return to != KV_TIER_GPU;
	case KV_OPERATION_MOVE:
		return from == KV_TIER_STORE || to != KV_TIER_GPU;
	case KV_OPERATION_DELETE:
		return from == KV_TIER_STORE;
	}
	return false;
}

static void dispatch_add(struct kv_run *r, const struct kv_event *e, enum kv_operation_kind kind,
			 bool promotes)
{
	struct kv_served *s = r->asking == KV_NONE ? NULL : &r->served[r->asking];
	struct kv_operation op = {.kind = kind,
				  .from = e->from,
				  .to = e->to,
				  .owner = r->asking,
				  .promotes = promotes,
				  .bytes = e->bytes,
				  .asked_ns = r->now_ns,
				  .id = e->id};
	uint32_t number;

	if (dispatch_needs_thread(r, &op))
		op.priority = 1 + (s ? r->class_rank[s->request.class] : 0);
	number = kv_operations_add(&r->operations, &op, r->chain);
	if (number == KV_NONE) {
		r->rc = r->rc ? r->rc : -ENOMEM;
		return;
	}
	r->chain = number;
	if (s)
		s->under_way++;
}

void kv_dispatch_event(void *run, const struct kv_event *e)
{
	struct kv_run *r = run;

	switch (e->kind) {
	case KV_EVENT_WRITE:
		dispatch_add(r, e, KV_OPERATION_WRITE, false);
		return;
	case KV_EVENT_READ:
		dispatch_add(r, e, KV_OPERATION_READ, false);
		return;
	case KV_EVENT_DEMOTE:
		dispatch_add(r, e, KV_OPERATION_MOVE, false);
		return;
	case KV_EVENT_PROMOTE:
		/* Its bytes have just been read. */
		dispatch_add(r, e, KV_OPERATION_WRITE, true);
		if (r->setup.policy.write == KV_WRITE_MOVE)
			dispatch_add(r, e, KV_OPERATION_DELETE, true);
		return;
	case KV_EVENT_EVICT:
	case KV_EVENT_DELETE:
		dispatch_add(r, e, KV_OPERATION_DELETE, false);
		return;
	}
}

/* An operation has ended, or there was nothing to do for it. */
static void dispatch_end(struct kv_run *r, uint32_t number)
{
	const struct kv_operation *op = kv_operation_at(&r->operations, number);
	uint32_t owner = op->owner;
	bool leaves = op->kind == KV_OPERATION_MOVE || op->kind == KV_OPERATION_DELETE;

	if (leaves && dispatch_kind(r, op->from) == KV_TIER_CPU)
		kv_memory_remove(&r->memory, op->id);
	kv_operations_end(&r->operations, number);
	if (owner != KV_NONE && --r->served[owner].under_way == 0)
		kv_serve_ended(r, owner);
}

/* Where the bytes of a task are. Returns false where an entry is not in memory, or has no room there. */
static bool dispatch_ends(struct kv_run *r, const struct kv_operation *op, struct kv_task *t)
{
	const struct kv_end nowhere = {.kind = KV_TIER_GPU, .block = KV_NONE};

	t->from = nowhere;
	t->to = nowhere;
	if (op->kind != KV_OPERATION_WRITE)
		t->from = (struct kv_end){dispatch_kind(r, op->from), op->from, KV_NONE};
	if (op->kind == KV_OPERATION_WRITE || op->kind == KV_OPERATION_MOVE)
		t->to = (struct kv_end){dispatch_kind(r, op->to), op->to, KV_NONE};
	if (t->from.kind == KV_TIER_CPU) {
		t->from.block = kv_memory_find(&r->memory, op->id);
		/* A write that failed has left nothing. */
		if (t->from.block == KV_NONE)
			return false;
	}
	if (t->to.kind == KV_TIER_CPU) {
		t->to.block = kv_memory_put(&r->memory, op->id, op->bytes);
		if (t->to.block == KV_NONE) {
			r->rc = r->rc ? r->rc : -ENOMEM;
			return false;
		}
	}
	return true;
}

static bool dispatch_stores(const struct kv_task *t)
{
	return t->from.kind == KV_TIER_STORE || t->to.kind == KV_TIER_STORE;
}

static void dispatch_give(struct kv_run *r, uint32_t number)
{
	const struct kv_operation *op = kv_operation_at(&r->operations, number);
	struct kv_operation what = *op;
	struct kv_worker *w;
	uint32_t thread;

	if (r->over && what.kind == KV_OPERATION_MOVE)
		what.kind = KV_OPERATION_DELETE;
	if (r->over && (what.kind != KV_OPERATION_DELETE || !dispatch_needs_thread(r, &what))) {
		dispatch_end(r, number);
		return;
	}
	thread = r->idle[r->idle_count - 1];
	w = &r->work.workers[thread];
	w->task = (struct kv_task){
		.kind = what.kind, .number = number, .bytes = what.bytes, .id = what.id};
	if (!dispatch_ends(r, &what, &w->task)) {
		dispatch_end(r, number);
		return;
	}
	r->idle_count--;
	r->at_work[thread] = true;
	r->given++;
	r->given_stores += dispatch_stores(&w->task);
	snapshot_wake(&w->member->part);
	sem_post(&w->given);
}

void kv_dispatch(struct kv_run *r)
{
	for (;;) {
		/* Those of the first priority need no thread. */
		uint32_t number =
			kv_operations_take(&r->operations, r->idle_count ? KV_PRIORITIES : 1);
		const struct kv_operation *op;

		if (number == KV_NONE)
			return;
		op = kv_operation_at(&r->operations, number);
		if (op->priority) {
			dispatch_give(r, number);
			continue;
		}
		if (!r->over)
			kv_measure_operation(r, op, 0, 0);
		dispatch_end(r, number);
	}
}

static void dispatch_answered(struct kv_run *r, const struct kv_task *t)
{
	const struct kv_operation *op = kv_operation_at(&r->operations, t->number);

	r->given--;
	r->given_stores -= dispatch_stores(t);
	/* What was to be moved and has only been deleted is no move. */
	if (t->rc == 0 && t->kind == op->kind)
		kv_measure_operation(r, op, t->begin_ns, t->end_ns);
	if (t->rc < 0 && t->to.kind == KV_TIER_CPU)
		kv_memory_remove(&r->memory, t->id);
	if (t->rc < 0 && r->setup.options->on_error == ON_ERROR_STOP)
		r->rc = r->rc ? r->rc : t->rc;
	dispatch_end(r, t->number);
}

void kv_dispatch_collect(struct kv_run *r)
{
	for (uint32_t word = 0; word * 64 < r->crew.threads; word++) {
		uint64_t bits;

		if (!atomic_load_explicit(&r->work.answered[word], memory_order_relaxed))
			continue;
		bits = atomic_exchange_explicit(&r->work.answered[word], 0, memory_order_acquire);
		while (bits) {
			uint32_t thread = word * 64 + (uint32_t)__builtin_ctzll(bits);

			bits &= bits - 1;
			if (r->at_work[thread])
				dispatch_answered(r, &r->work.workers[thread].task);
			r->at_work[thread] = false;
			r->idle[r->idle_count++] = thread;
		}
	}
}

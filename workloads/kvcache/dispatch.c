/* What the tiers decide, as operations for the I/O threads, and for the other ranks of a tensor group.
 *
 *	event of the tiers ──► operation ──► may begin ──► an I/O thread ────► answer ──► next step of the request
 *	                                       ├─ board ──► other ranks ──► last one ─┤
 *	                                       └─ nothing to do for it (an accelerator's memory) ─┘   bus.c: after its time
 *
 * When the phase is over, what has not begun is dropped: entries are neither read nor written, and what was to be moved is
 * only deleted, so that nothing stays in a store that its tier does not know. */
#include <errno.h>

#include "workloads/kvcache/run.h"

int kv_dispatch_open(struct kv_run *r, struct err *err)
{
	uint32_t threads = r->crew.threads, depth = r->crew.depth;

	r->asking = KV_NONE;
	r->chain = KV_NONE;
	for (uint32_t k = 0; k < KV_TIERS_MAX; k++)
		r->buses[k].taken = (struct kv_fifo){KV_NONE, KV_NONE};
	if (kv_loads_open(&r->loads, threads, depth) < 0 ||
	    kv_operations_init(&r->operations, threads) < 0)
		return err_set(err, -ENOMEM, "no memory for the operations under way");
	return 0;
}

void kv_dispatch_close(struct kv_run *r)
{
	kv_operations_free(&r->operations);
	kv_loads_close(&r->loads);
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
				  .asks = e->asks,
				  .bytes = e->bytes,
				  .asked_ns = r->now_ns,
				  .id = e->id};
	uint32_t number;

	if (kv_shard_needs_thread(r, &op))
		op.priority = 1 + (s ? r->class_rank[s->request.class] : 0);
	number = kv_operations_add(&r->operations, &op, r->chain);
	r->chain = number;
	if (number == KV_NONE) {
		r->rc = r->rc ? r->rc : -ENOMEM;
		return;
	}
	if (s)
		s->under_way++;
}

/* A copy of an entry comes from the fastest tier that has it; a new entry comes from none. */
static void dispatch_write(struct kv_run *r, const struct kv_event *e)
{
	uint32_t entry = kv_entries_find(&r->tiers.entries, e->id);
	uint8_t tiers = entry == KV_NONE ? 0 : kv_entry_at(&r->tiers.entries, entry)->tiers;
	struct kv_event from = *e;

	if (tiers)
		from.from = (uint32_t)__builtin_ctz(tiers);
	dispatch_add(r, &from, KV_OPERATION_WRITE, false);
}

void kv_dispatch_event(void *run, const struct kv_event *e)
{
	struct kv_run *r = run;

	switch (e->kind) {
	case KV_EVENT_WRITE:
		dispatch_write(r, e);
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
		if (r->setup.policy.write == KV_WRITE_MOVE && !kv_tiers_shared(&r->tiers, e->from))
			dispatch_add(r, e, KV_OPERATION_DELETE, true);
		return;
	case KV_EVENT_EVICT:
	case KV_EVENT_DELETE:
		dispatch_add(r, e, KV_OPERATION_DELETE, false);
		return;
	}
}

void kv_dispatch_admit(struct kv_run *r, uint32_t number, bool moves)
{
	struct kv_operation *op = kv_operation_at(&r->operations, number);

	if (!moves) {
		op->kind = KV_OPERATION_DELETE;
		op->to = op->from;
		if (!kv_shard_needs_thread(r, op))
			op->priority = 0;
	}
	kv_operations_admit(&r->operations, number);
}

void kv_dispatch_ended(struct kv_run *r, uint32_t number)
{
	const struct kv_operation *op = kv_operation_at(&r->operations, number);
	uint32_t owner = op->owner;

	kv_sharing_ended(r, op);
	kv_operations_end(&r->operations, number);
	if (owner != KV_NONE && --r->served[owner].under_way == 0)
		kv_serve_ended(r, owner);
}

static void dispatch_outcome(struct kv_run *r, uint32_t number, enum kv_outcome outcome)
{
	struct kv_operation *op = kv_operation_at(&r->operations, number);

	if (op->outcome == KV_OUTCOME_DONE)
		op->outcome = outcome;
}

void kv_dispatch_failed(struct kv_run *r, uint32_t number)
{
	dispatch_outcome(r, number, KV_OUTCOME_FAILED);
}

/* There is nothing to do for an operation, or nothing any more. */
static void dispatch_drop(struct kv_run *r, uint32_t number, const struct kv_operation *what)
{
	kv_shard_done(r, what);
	kv_dispatch_ended(r, number);
}

/* The slot in which the other ranks of the group find an operation. */
static uint32_t dispatch_post(struct kv_run *r, const struct kv_operation *what, bool counts,
			      uint32_t number)
{
	struct kv_view *view = &r->part.view;

	return view->board ? kv_board_post(view, what, counts, number) : KV_NONE;
}

static void dispatch_give(struct kv_run *r, uint32_t number)
{
	struct kv_operation what = *kv_operation_at(&r->operations, number);
	struct kv_task task;

	/* What was to be moved and is only deleted is no move. */
	task.counts = !(r->over && what.kind == KV_OPERATION_MOVE);
	if (!task.counts)
		what.kind = KV_OPERATION_DELETE;
	if (r->over)
		dispatch_outcome(r, number, KV_OUTCOME_DROPPED);
	if (r->over && (what.kind != KV_OPERATION_DELETE || !kv_shard_needs_thread(r, &what))) {
		dispatch_drop(r, number, &what);
		return;
	}
	kv_bus_pass(r, &what);
	task.what = kv_shard_of(r, &what);
	task.number = number;
	task.slot = dispatch_post(r, &what, task.counts, number);
	if (kv_shard_give(r, &task))
		return;
	if (task.slot == KV_NONE) {
		dispatch_outcome(r, number, KV_OUTCOME_DROPPED);
		dispatch_drop(r, number, &what);
		return;
	}
	kv_board_fail(&r->part.view, task.slot);
	kv_shard_done(r, &what);
	kv_board_answer(&r->part.view, task.slot);
}

/* It has ended, and no rank needs a thread for it. The others hear of it, and nobody waits until they have. times: NULL where it took
 * none. */
static void dispatch_at_once(struct kv_run *r, uint32_t number, const struct kv_times *times)
{
	const struct kv_operation what = *kv_operation_at(&r->operations, number);
	struct kv_operation shard = kv_shard_of(r, &what);
	uint32_t slot = r->over ? KV_NONE : dispatch_post(r, &what, true, KV_NONE);

	if (slot != KV_NONE)
		kv_board_answer(&r->part.view, slot);
	if (!r->over)
		kv_measure_operation(r, &shard, times);
	dispatch_drop(r, number, &what);
}

/* Whether an operation could be posted. */
static bool dispatch_room(const struct kv_run *r)
{
	return !r->part.view.board || r->part.view.free_count;
}

uint64_t kv_dispatch_due(const struct kv_run *r)
{
	return dispatch_room(r) ? kv_bus_due(r) : UINT64_MAX;
}

void kv_dispatch(struct kv_run *r)
{
	struct kv_times times;
	uint32_t ended;

	while (dispatch_room(r) && (ended = kv_bus_ended(r, &times)) != KV_NONE)
		dispatch_at_once(r, ended, &times);
	while (dispatch_room(r)) {
		/* Those of the first priority need no thread. */
		uint32_t number = kv_operations_take(&r->operations,
						     kv_loads_room(&r->loads) ? KV_PRIORITIES : 1);

		if (number == KV_NONE)
			return;
		if (kv_operation_at(&r->operations, number)->priority)
			dispatch_give(r, number);
		else if (!kv_bus_take(r, number))
			dispatch_at_once(r, number, NULL);
	}
}

/* Operations whose last shard is done. */
static void dispatch_closed(struct kv_run *r)
{
	struct kv_view *view = &r->part.view;

	for (uint32_t word = 0; word * 64 < view->board->slots; word++) {
		uint64_t bits = kv_board_closed(view, word);

		while (bits) {
			uint32_t slot = word * 64 + (uint32_t)__builtin_ctzll(bits);
			uint32_t number = view->note[slot];

			bits &= bits - 1;
			if (number != KV_NONE && kv_board_failed(view, slot))
				kv_dispatch_failed(r, number);
			kv_board_free(view, slot);
			if (number != KV_NONE)
				kv_dispatch_ended(r, number);
		}
	}
}

void kv_dispatch_collect(struct kv_run *r)
{
	kv_shard_collect(r);
	if (r->part.view.board)
		dispatch_closed(r);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What the tiers decide, as operations: see run.h. */

#include <errno.h>

#include "core/grow.h"
#include "core/numbers.h"
#include "core/time_ns.h"
#include "workloads/kvcache/run.h"

enum { DECISIONS_LEAST = 64 };

/* The operations of one step of a request, while they are added: each waits for the one before
 * it. */
struct chain {
	struct kv_run *r;
	struct kv_served *owner; /* NULL: nobody waits for them */
	struct kv_operation *last;
};

int kv_dispatch_open(struct kv_run *r, struct err *err)
{
	r->buses.setup = &r->setup;
	if (kv_loads_open(&r->loads, r->crew.threads, kv_worker_tasks(&r->setup)) < 0 ||
	    kv_operations_init(&r->operations) < 0)
		return err_set(err, -ENOMEM, "no memory for the operations under way");
	return 0;
}

void kv_dispatch_close(struct kv_run *r)
{
	kv_operations_free(&r->operations);
	kv_loads_close(&r->loads);
	free(r->decisions.all);
}

static int decisions_add(struct kv_decisions *d, const struct kv_decision *what)
{
	d->lost |= !grow(&d->all, d->count, &d->room, DECISIONS_LEAST, sizeof(*d->all));
	if (d->lost)
		return -ENOMEM;
	d->all[d->count++] = *what;
	return 0;
}

void kv_decisions_event(void *decisions, const struct kv_event *e)
{
	const struct kv_decision what = {.event = *e};

	decisions_add(decisions, &what);
}

int kv_decisions_ask(void *decisions, const struct kv_question *q)
{
	const struct kv_decision what = {.asks = true, .question = *q};

	return decisions_add(decisions, &what);
}

static void dispatch_add(struct chain *c, const struct kv_event *e, uint32_t from,
			 enum kv_operation_kind kind, bool promotes)
{
	struct kv_run *r = c->r;
	struct kv_operation op = {.kind = kind,
				  .from = from,
				  .to = e->to,
				  .owner = c->owner,
				  .promotes = promotes,
				  .asks = e->asks,
				  .bytes = e->bytes,
				  .asked_ns = r->now_ns,
				  .id = e->id};

	if (kv_shard_needs_thread(r, &op))
		op.priority = 1 + (c->owner ? r->serving.class_rank[c->owner->request.class] : 0);
	c->last = kv_operations_add(&r->operations, &op, c->last);
	if (!c->last)
		kv_run_fail(r, -ENOMEM);
	else if (c->owner)
		c->owner->under_way++;
}

/* A copy of an entry comes from the fastest tier that has it; a new entry comes from none. */
static uint32_t dispatch_source(const struct kv_run *r, const struct kv_event *e)
{
	uint32_t number = kv_entries_find(&r->tiers.entries, e->id);
	uint8_t tiers = number == KV_NONE ? 0 : kv_entry_at(&r->tiers.entries, number)->tiers;

	return tiers ? (uint32_t)__builtin_ctz(tiers) : e->from;
}

static void dispatch_event(struct chain *c, const struct kv_event *e)
{
	switch (e->kind) {
	case KV_EVENT_WRITE:
		dispatch_add(c, e, dispatch_source(c->r, e), KV_OPERATION_WRITE, false);
		return;
	case KV_EVENT_READ:
		dispatch_add(c, e, e->from, KV_OPERATION_READ, false);
		return;
	case KV_EVENT_DEMOTE:
		dispatch_add(c, e, e->from, KV_OPERATION_MOVE, false);
		return;
	case KV_EVENT_PROMOTE:
		/* Its bytes have just been read. */
		dispatch_add(c, e, e->from, KV_OPERATION_WRITE, true);
		if (c->r->setup.policy.write == KV_WRITE_MOVE &&
		    !kv_tiers_shared(&c->r->tiers, e->from))
			dispatch_add(c, e, e->from, KV_OPERATION_DELETE, true);
		return;
	case KV_EVENT_EVICT:
	case KV_EVENT_DELETE:
		dispatch_add(c, e, e->from, KV_OPERATION_DELETE, false);
		return;
	}
}

/* An operation has asked whether it may move an entry. Else it only deletes it where it is. */
static void dispatch_admit(struct kv_run *r, struct kv_operation *op, bool moves)
{
	if (!moves) {
		op->kind = KV_OPERATION_DELETE;
		op->to = op->from;
		if (!kv_shard_needs_thread(r, op))
			op->priority = 0;
	}
	kv_operations_admit(&r->operations, op);
}

/* Whether the step of a request waits for the answer. One that asks for an operation waits for
 * that. */
static bool asked_holds(const struct kv_asked *asked)
{
	return asked->owner && asked->what.kind != KV_ASK_MOVE && asked->what.kind != KV_ASK_ENDED;
}

static void dispatch_ask(struct chain *c, const struct kv_question *q)
{
	struct kv_asked asked = {.what = *q, .owner = c->owner};

	if (q->kind == KV_ASK_MOVE)
		asked.operation = c->last;
	/* There was no memory for the operation, so nothing makes the request wait. */
	if (q->kind == KV_ASK_MOVE && !c->last)
		asked.owner = NULL;
	if (kv_remote_ask(&c->r->remote, &asked) < 0) {
		kv_run_fail(c->r, -ENOMEM);
		if (asked.operation)
			dispatch_admit(c->r, asked.operation, false);
	} else if (asked_holds(&asked)) {
		c->owner->under_way++;
	}
}

void kv_dispatch_decided(struct kv_run *r, struct kv_served *owner)
{
	struct kv_decisions *d = &r->decisions;
	struct chain c = {.r = r, .owner = owner};

	for (uint64_t i = 0; i < d->count; i++)
		if (d->all[i].asks)
			dispatch_ask(&c, &d->all[i].question);
		else
			dispatch_event(&c, &d->all[i].event);
	if (d->lost)
		kv_run_fail(r, -ENOMEM);
	d->count = 0;
	d->lost = false;
}

/* Another node has answered; the step that asked goes on. */
static void dispatch_answered(struct kv_run *r, struct kv_asked *asked,
			      const struct kv_answer *answer)
{
	const struct kv_asked was = *asked;
	bool ends = was.what.kind == KV_ASK_ENDED;
	int rc = kv_tiers_answered(&r->tiers, &was.what, answer);

	kv_dispatch_decided(r, ends ? NULL : was.owner);
	if (rc == -EAGAIN) {
		asked->what.victims += answer->count;
		kv_remote_ask_again(&r->remote, asked);
		return;
	}
	kv_remote_done(&r->remote, asked);
	if (rc == -ENOMEM)
		kv_run_fail(r, rc);
	if (was.operation)
		dispatch_admit(r, was.operation, rc == 0);
	if (!asked_holds(&was))
		return;
	if (was.what.kind == KV_ASK_READ)
		kv_measure_found(r, was.owner, rc >= 0);
	if (--was.owner->under_way == 0)
		kv_served_ended(&r->serving, was.owner, r->now_ns);
}

/* The directory of the shared tier hears of the end of an operation there. */
static void dispatch_tell_directory(struct kv_run *r, const struct kv_operation *op)
{
	bool from = kv_tiers_shared(&r->tiers, op->from), to = kv_tiers_shared(&r->tiers, op->to);
	static const enum kv_shared_end written[] = {[KV_OUTCOME_DONE] = KV_SHARED_WRITTEN,
						     [KV_OUTCOME_FAILED] = KV_SHARED_FAILED,
						     [KV_OUTCOME_DROPPED] = KV_SHARED_DROPPED};
	struct kv_tiers *t = &r->tiers;

	switch (op->kind) {
	case KV_OPERATION_READ:
		if (from)
			kv_tiers_ended(t, op->id, KV_SHARED_READ);
		return;
	case KV_OPERATION_WRITE:
	case KV_OPERATION_MOVE:
		if (to)
			kv_tiers_ended(t, op->id, written[op->outcome]);
		return;
	case KV_OPERATION_DELETE:
		if (from)
			kv_tiers_ended(t, op->id, KV_SHARED_DELETED);
		return;
	case KV_OPERATION_LOOKUP:
		return;
	}
}

static void dispatch_ended(struct kv_run *r, struct kv_operation *op)
{
	struct kv_served *owner = op->owner;

	dispatch_tell_directory(r, op);
	kv_dispatch_decided(r, NULL); /* the part of another node may have to be told */
	kv_operations_end(&r->operations, op);
	if (owner && --owner->under_way == 0)
		kv_served_ended(&r->serving, owner, r->now_ns);
}

static void dispatch_outcome(struct kv_operation *op, enum kv_outcome outcome)
{
	if (op->outcome == KV_OUTCOME_DONE)
		op->outcome = outcome;
}

static void dispatch_done(struct kv_run *r, struct kv_operation *op, bool failed)
{
	if (failed)
		dispatch_outcome(op, KV_OUTCOME_FAILED);
	dispatch_ended(r, op);
}

/* There is nothing to do for an operation, or nothing any more. what: as it is, or as what is left
 * of it. */
static void dispatch_drop(struct kv_run *r, struct kv_operation *op,
			  const struct kv_operation *what)
{
	kv_shard_done(r, what);
	dispatch_ended(r, op);
}

/* The slot in which the other ranks of the group find an operation. */
static uint32_t dispatch_post(struct kv_run *r, const struct kv_operation *what, bool counts,
			      struct kv_operation *op)
{
	struct kv_view *view = &r->part.view;

	return view->board ? kv_board_post(view, what, counts, op) : KV_NONE;
}

typedef unsigned __int128 bus_wide; /* C11 has no name for this type */

/* The tiers whose buses an operation takes, where it leaves and where it arrives; KV_NONE: there is
 * none. */
struct bus_ends {
	uint32_t from, to;
};

static struct bus_ends bus_ends(const struct kv_buses *b, const struct kv_operation *op)
{
	bool writes = op->kind == KV_OPERATION_WRITE || op->kind == KV_OPERATION_MOVE;
	bool reads = op->kind == KV_OPERATION_READ || op->kind == KV_OPERATION_MOVE;
	struct bus_ends ends = {KV_NONE, KV_NONE};

	/* A copy comes from the tier that has the entry. What is promoted has been read before. */
	if (op->kind == KV_OPERATION_WRITE && op->from != op->to)
		reads = !op->promotes;
	if (reads && b->setup->tiers[op->from].bandwidth)
		ends.from = op->from;
	if (writes && b->setup->tiers[op->to].bandwidth)
		ends.to = op->to;
	return ends;
}

/* Takes the bus of a tier behind all that have it. Returns until when; 0: there is no bus. */
static uint64_t bus_use(struct kv_buses *b, uint32_t tier, uint64_t bytes, uint64_t now_ns)
{
	struct kv_bus *bus;

	if (tier == KV_NONE)
		return 0;
	bus = &b->bus[tier];
	bus->free_ns = max_u64(bus->free_ns, now_ns) +
		       (uint64_t)((bus_wide)bytes * NS_PER_S / b->setup->tiers[tier].bandwidth);
	return bus->free_ns;
}

/* Whether an operation that has been taken, and needs no thread, takes time on a bus; the time is
 * set in it. It is under way until bus_ended returns it. */
static bool bus_take(struct kv_buses *b, struct kv_operation *op, uint64_t now_ns)
{
	struct bus_ends ends = bus_ends(b, op);
	uint64_t from_ns, to_ns;

	if (ends.from == KV_NONE && ends.to == KV_NONE)
		return false;
	from_ns = bus_use(b, ends.from, op->bytes, now_ns);
	to_ns = bus_use(b, ends.to, op->bytes, now_ns);
	/* With two buses, it ends with the later one. In the list of that one, the order is that of
	 * the ends. */
	op->begins_ns = now_ns;
	op->ends_ns = max_u64(from_ns, to_ns);
	list_append(&b->bus[to_ns > from_ns ? ends.to : ends.from].taken, &op->link);
	return true;
}

/* The one of that bus that ends first; NULL: there is none. */
static struct kv_operation *bus_first(const struct kv_buses *b, uint32_t tier)
{
	struct list_link *link = b->bus[tier].taken.first;

	return link ? list_member(link, struct kv_operation, link) : NULL;
}

/* One whose time is over; NULL: there is none. */
static struct kv_operation *bus_ended(struct kv_buses *b, uint64_t now_ns)
{
	for (uint32_t k = 0; k < b->setup->tier_count; k++) {
		struct kv_operation *op = bus_first(b, k);

		if (!op || op->ends_ns > now_ns)
			continue;
		list_remove(&b->bus[k].taken, &op->link);
		return op;
	}
	return NULL;
}

/* When the next one ends; UINT64_MAX: there is none. */
static uint64_t bus_due(const struct kv_buses *b)
{
	uint64_t due_ns = UINT64_MAX;

	for (uint32_t k = 0; k < b->setup->tier_count; k++) {
		const struct kv_operation *op = bus_first(b, k);

		due_ns = op ? min_u64(due_ns, op->ends_ns) : due_ns;
	}
	return due_ns;
}

static void dispatch_give(struct kv_run *r, struct kv_operation *op)
{
	struct kv_operation what = *op;
	struct kv_task task = {.operation = op};
	struct bus_ends ends;

	/* What was to be moved and is only deleted is no move. */
	task.counts = !(r->over && what.kind == KV_OPERATION_MOVE);
	if (!task.counts)
		what.kind = KV_OPERATION_DELETE;
	if (r->over)
		dispatch_outcome(op, KV_OUTCOME_DROPPED);
	if (r->over && (what.kind != KV_OPERATION_DELETE || !kv_shard_needs_thread(r, &what))) {
		dispatch_drop(r, op, &what);
		return;
	}
	/* It takes a bus on its way, which does not slow it. */
	ends = bus_ends(&r->buses, &what);
	bus_use(&r->buses, ends.from, what.bytes, r->now_ns);
	bus_use(&r->buses, ends.to, what.bytes, r->now_ns);
	task.what = kv_shard_of(r, &what);
	task.slot = dispatch_post(r, &what, task.counts, op);
	if (kv_shard_give(r, &task))
		return;
	if (task.slot == KV_NONE) {
		dispatch_outcome(op, KV_OUTCOME_DROPPED);
		dispatch_drop(r, op, &what);
		return;
	}
	kv_board_fail(&r->part.view, task.slot);
	kv_shard_done(r, &what);
	kv_board_answer(&r->part.view, task.slot);
}

/* It has ended, and no rank needs a thread for it. The others hear of it, and nobody waits until
 * they have. */
static void dispatch_at_once(struct kv_run *r, struct kv_operation *op)
{
	struct kv_operation shard = kv_shard_of(r, op);
	uint32_t slot = r->over ? KV_NONE : dispatch_post(r, op, true, NULL);

	if (slot != KV_NONE)
		kv_board_answer(&r->part.view, slot);
	if (!r->over)
		kv_measure_at_once(r, &shard);
	dispatch_drop(r, op, op);
}

/* Whether an operation could be posted. */
static bool dispatch_room(const struct kv_run *r)
{
	return !r->part.view.board || r->part.view.free_count;
}

uint64_t kv_dispatch_due(const struct kv_run *r)
{
	return dispatch_room(r) ? bus_due(&r->buses) : UINT64_MAX;
}

void kv_dispatch(struct kv_run *r)
{
	uint64_t now_ns = r->over ? UINT64_MAX : r->now_ns;
	struct kv_operation *op;

	while (dispatch_room(r) && (op = bus_ended(&r->buses, now_ns)))
		dispatch_at_once(r, op);
	while (dispatch_room(r)) {
		/* Those of the first priority need no thread. */
		op = kv_operations_take(&r->operations,
					kv_loads_room(&r->loads) ? KV_PRIORITIES : 1);
		if (!op)
			return;
		if (op->priority)
			dispatch_give(r, op);
		else if (r->over || !bus_take(&r->buses, op, r->now_ns))
			dispatch_at_once(r, op);
	}
}

/* Operations whose last shard is done. */
static void dispatch_closed(struct kv_run *r)
{
	struct kv_view *view = &r->part.view;

	for (uint32_t word = 0; word * 64 < view->board->slots; word++)
		for (uint64_t bits = kv_board_closed(view, word); bits; bits &= bits - 1) {
			uint32_t slot = word * 64 + (uint32_t)__builtin_ctzll(bits);
			struct kv_operation *op = view->note[slot];
			bool failed = kv_board_failed(view, slot);

			kv_board_free(view, slot);
			if (op)
				dispatch_done(r, op, failed);
		}
}

static void dispatch_task(struct kv_run *r, const struct kv_task *task)
{
	dispatch_done(r, task->operation, task->rc < 0);
}

void kv_dispatch_collect(struct kv_run *r)
{
	kv_shard_collect(r, dispatch_task);
	if (r->part.view.board)
		dispatch_closed(r);
}

void kv_dispatch_poll(struct kv_run *r)
{
	kv_remote_poll(r, dispatch_answered);
}

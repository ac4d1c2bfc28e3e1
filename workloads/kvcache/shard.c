/* SPDX-License-Identifier: Apache-2.0 */
/* This rank's shard of an operation: see run.h. */

#include <errno.h>

#include "workloads/kvcache/run.h"

static enum kv_tier_kind shard_kind(const struct kv_run *r, uint32_t tier)
{
	return kv_part_puts(r, tier) ? r->setup.tiers[tier].kind : KV_TIER_GPU;
}

struct kv_operation kv_shard_of(const struct kv_run *r, const struct kv_operation *op)
{
	struct kv_operation shard = *op;

	shard.bytes =
		kv_model_shard_of(&r->setup.model, op->bytes, 1, r->setup.tensor, r->part.rank);
	return shard;
}

bool kv_shard_needs_thread(const struct kv_run *r, const struct kv_operation *op)
{
	enum kv_tier_kind from = shard_kind(r, op->from), to = shard_kind(r, op->to);

	switch (op->kind) {
	case KV_OPERATION_READ:
		return r->setup.tiers[op->from].kind != KV_TIER_GPU;
	case KV_OPERATION_WRITE:
		return to != KV_TIER_GPU;
	case KV_OPERATION_MOVE:
		return from == KV_TIER_STORE || to != KV_TIER_GPU;
	case KV_OPERATION_DELETE:
	case KV_OPERATION_LOOKUP:
		return from == KV_TIER_STORE;
	}
	return false;
}

/* Where the bytes of a task are. Returns false where an entry is not in memory, or has no room
 * there. */
static bool shard_ends(struct kv_run *r, struct kv_task *t)
{
	const struct kv_end nowhere = {.kind = KV_TIER_GPU, .block = KV_NONE};
	const struct kv_operation *op = &t->what;

	t->from = nowhere;
	t->to = nowhere;
	if (op->kind == KV_OPERATION_READ)
		t->from = (struct kv_end){r->setup.tiers[op->from].kind, op->from, KV_NONE};
	else if (op->kind != KV_OPERATION_WRITE)
		t->from = (struct kv_end){shard_kind(r, op->from), op->from, KV_NONE};
	if (op->kind == KV_OPERATION_WRITE || op->kind == KV_OPERATION_MOVE)
		t->to = (struct kv_end){shard_kind(r, op->to), op->to, KV_NONE};
	if (t->from.kind == KV_TIER_CPU) {
		t->from.block = kv_memory_find(&r->memory, op->id);
		/* A write that failed has left nothing. */
		if (t->from.block == KV_NONE)
			return false;
	}
	if (t->to.kind == KV_TIER_CPU) {
		t->to.block = kv_memory_put(&r->memory, op->id, op->bytes);
		if (t->to.block == KV_NONE) {
			kv_run_fail(r, -ENOMEM);
			return false;
		}
	}
	return true;
}

static bool shard_stores(const struct kv_task *t)
{
	return t->from.kind == KV_TIER_STORE || t->to.kind == KV_TIER_STORE;
}

bool kv_shard_give(struct kv_run *r, const struct kv_task *task)
{
	struct kv_task given = *task;
	struct kv_worker *w;

	if (!shard_ends(r, &given))
		return false;
	r->given++;
	r->given_stores += shard_stores(&given);
	w = &r->work.workers[kv_loads_take(&r->loads)];
	snapshot_wake(&w->member->part);
	kv_worker_give(w, &given);
	return true;
}

void kv_shard_done(struct kv_run *r, const struct kv_operation *what)
{
	bool leaves = what->kind == KV_OPERATION_MOVE || what->kind == KV_OPERATION_DELETE;

	if (leaves && r->setup.tiers[what->from].kind == KV_TIER_CPU)
		kv_memory_remove(&r->memory, what->id);
}

static void shard_answered(struct kv_run *r, const struct kv_task *t, kv_shard_ended *ended)
{
	r->given--;
	r->given_stores -= shard_stores(t);
	if (t->rc == 0 && t->counts && !t->present)
		kv_measure_operation(r, &t->what, &t->times);
	if (t->rc < 0 && t->to.kind == KV_TIER_CPU)
		kv_memory_remove(&r->memory, t->what.id);
	if (t->rc < 0 && !t->absent && r->setup.options->on_error == ON_ERROR_STOP)
		kv_run_fail(r, t->rc);
	kv_shard_done(r, &t->what);
	if (t->slot == KV_NONE) {
		if (ended)
			ended(r, t);
		return;
	}
	if (t->rc < 0)
		kv_board_fail(&r->part.view, t->slot);
	kv_board_answer(&r->part.view, t->slot);
}

static void shard_collect_thread(struct kv_run *r, uint32_t thread, kv_shard_ended *ended)
{
	struct kv_worker *w = &r->work.workers[thread];
	uint32_t number;

	while (kv_worker_answered(w, &number)) {
		shard_answered(r, &w->transfers[number].task, ended);
		kv_worker_free(w, number);
		/* Without a task it counts nothing, until it is given one. */
		if (kv_loads_done(&r->loads, thread))
			snapshot_rest(&w->member->part);
	}
}

void kv_shard_collect(struct kv_run *r, kv_shard_ended *ended)
{
	for (uint32_t word = 0; word * 64 < r->crew.threads; word++) {
		uint64_t bits = kv_work_answered(&r->work, word);

		for (; bits; bits &= bits - 1)
			shard_collect_thread(r, word * 64 + (uint32_t)__builtin_ctzll(bits), ended);
	}
}

void kv_shard_follow(struct kv_run *r)
{
	struct kv_view *view = &r->part.view;
	uint32_t slot;

	kv_shard_collect(r, NULL);
	while ((slot = kv_board_next(view)) != KV_NONE) {
		const struct kv_slot *s = kv_board_slot(view, slot);
		struct kv_task task = {
			.what = kv_shard_of(r, &s->operation), .counts = s->counts, .slot = slot};
		bool thread = kv_shard_needs_thread(r, &task.what);

		if (thread && !kv_loads_room(&r->loads))
			return;
		kv_board_take(view);
		if (thread && kv_shard_give(r, &task))
			continue;
		if (thread)
			kv_board_fail(view, slot);
		/* The leader's times on the bus of an accelerator are those of all ranks. */
		else if (task.counts)
			kv_measure_at_once(r, &task.what);
		kv_shard_done(r, &task.what);
		kv_board_answer(view, slot);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Board of a tensor group: see board.h. */
#include "workloads/kvcache/board.h"

uint64_t kv_board_bytes(uint32_t ranks)
{
	return sizeof(struct kv_board) + ranks * sizeof(struct kv_seat);
}

void kv_board_init(struct kv_board *b, uint32_t ranks, uint32_t slots)
{
	b->ranks = ranks;
	b->slots = slots;
	for (uint32_t i = 0; i < ranks; i++)
		sem_init(&b->seats[i].arrived, 1, 0);
}

void kv_view_open(struct kv_view *v, struct kv_board *b, uint32_t rank)
{
	v->board = b;
	v->rank = rank;
	v->taken = 0;
	v->free_count = 0;
	for (uint32_t i = b->slots; i-- > 0;)
		v->free[v->free_count++] = i;
}

static void board_wake_others(const struct kv_view *v)
{
	struct kv_board *b = v->board;

	for (uint32_t i = 0; i < b->ranks; i++)
		if (i != v->rank)
			sem_post(&b->seats[i].arrived);
}

uint32_t kv_board_post(struct kv_view *v, const struct kv_operation *op, bool counts, void *note)
{
	struct kv_board *b = v->board;
	uint64_t posted = atomic_load_explicit(&b->posted, memory_order_relaxed);
	uint32_t number = v->free[--v->free_count];
	struct kv_slot *slot = &b->slot[number];

	slot->operation = *op;
	slot->counts = counts;
	v->note[number] = note;
	atomic_store_explicit(&slot->failed, false, memory_order_relaxed);
	atomic_store_explicit(&slot->left, b->ranks, memory_order_relaxed);
	b->ring[posted % b->slots] = number;
	atomic_store_explicit(&b->posted, posted + 1, memory_order_release);
	board_wake_others(v);
	return number;
}

uint64_t kv_board_closed(struct kv_view *v, uint32_t word)
{
	_Atomic uint64_t *closed = &v->board->closed[word];

	if (!atomic_load_explicit(closed, memory_order_relaxed))
		return 0;
	return atomic_exchange_explicit(closed, 0, memory_order_acquire);
}

void kv_board_free(struct kv_view *v, uint32_t slot)
{
	v->free[v->free_count++] = slot;
}

void kv_board_tell(struct kv_view *v, enum kv_stage stage)
{
	atomic_store_explicit(&v->board->stage, stage, memory_order_release);
	board_wake_others(v);
}

uint32_t kv_board_next(const struct kv_view *v)
{
	const struct kv_board *b = v->board;

	if (v->taken == atomic_load_explicit(&b->posted, memory_order_acquire))
		return KV_NONE;
	return b->ring[v->taken % b->slots];
}

void kv_board_answer(struct kv_view *v, uint32_t slot)
{
	struct kv_board *b = v->board;

	if (atomic_fetch_sub_explicit(&b->slot[slot].left, 1, memory_order_acq_rel) > 1)
		return;
	atomic_fetch_or_explicit(&b->closed[slot / 64], UINT64_C(1) << slot % 64,
				 memory_order_release);
	sem_post(&b->seats[0].arrived);
}

bool kv_board_past(const struct kv_view *v, enum kv_stage stage)
{
	return atomic_load_explicit(&v->board->stage, memory_order_acquire) >= (uint32_t)stage &&
	       kv_board_next(v) == KV_NONE;
}

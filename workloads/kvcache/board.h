/* SPDX-License-Identifier: Apache-2.0 */
/* Board of a tensor group: operations that all ranks of the group do, each its shard, in memory that they share.
 *
 *	leader (rank 0)                       every other rank
 *	fills in a slot, puts its  ────────►  takes the numbers in their order, does its shard,
 *	number into the ring                  counts the word of the slot down
 *	takes the bits of slots    ◄────────  who counts it down to 0 sets the slot's bit and wakes the leader
 *
 * The leader does its shard, too, and counts down like the others. A slot belongs to the leader until it is posted, and again
 * from its bit on; meanwhile ranks read it. There are at most as many posts that a rank has not taken as there are slots, so
 * the ring has that many places, and nobody waits for room in it.
 *
 * All functions are for the main thread of a rank. None of them blocks. */
#ifndef HAUL_WORKLOADS_KVCACHE_BOARD_H
#define HAUL_WORKLOADS_KVCACHE_BOARD_H

#include <semaphore.h>
#include <stdatomic.h>

#include "workloads/kvcache/tiers/operations.h"

enum { KV_SLOTS_MAX = 2048, KV_BOARD_LINE = 64 };

/* How far the leader is. */
enum kv_stage {
	KV_STAGE_BEGINS,
	KV_STAGE_FILLED, /* what is there before the first request has been posted */
	KV_STAGE_ENDED   /* nothing more is posted */
};

/* Of a tier, as the leader sees it: entries, and bytes of their largest shards. */
struct kv_board_tier {
	_Atomic uint64_t entries, used, used_most;
};

struct kv_slot {
	_Alignas(KV_BOARD_LINE) struct kv_operation operation; /* bytes: of the largest shard */
	bool counts;                                           /* it is measured */
	_Atomic uint32_t left; /* the word: ranks that have not done their shard */
	_Atomic bool failed;   /* a rank could not write its shard */
};

struct kv_seat {
	_Alignas(KV_BOARD_LINE) sem_t arrived; /* wakes the main thread of the rank */
};

struct kv_board {
	uint32_t ranks, slots;
	_Atomic uint32_t stage;
	struct kv_board_tier tiers[KV_TIERS_MAX];
	_Alignas(KV_BOARD_LINE) _Atomic uint64_t posted; /* numbers in the ring, ever */
	uint32_t ring[KV_SLOTS_MAX];                     /* [slots] of them are used */
	struct kv_slot slot[KV_SLOTS_MAX];
	_Alignas(KV_BOARD_LINE) _Atomic uint64_t closed[KV_SLOTS_MAX / 64];
	struct kv_seat seats[]; /* [ranks] */
};

/* A rank's own view of a board. */
struct kv_view {
	struct kv_board *board; /* NULL: the rank is alone */
	uint32_t rank;
	uint64_t taken; /* numbers taken from the ring */
	/* Leader: slots that are free; what it noted of the others. */
	uint32_t free[KV_SLOTS_MAX], free_count;
	void *note[KV_SLOTS_MAX];
};

uint64_t kv_board_bytes(uint32_t ranks);
/* Prepares zeroed memory; slots: a power of two. One rank does, before any opens its view. */
void kv_board_init(struct kv_board *b, uint32_t ranks, uint32_t slots);
void kv_view_open(struct kv_view *v, struct kv_board *b, uint32_t rank);

/* Leader: gives an operation to all ranks, itself among them, in a free slot, of which there must
 * be one; notes something of its own beside it. Returns the slot. */
uint32_t kv_board_post(struct kv_view *v, const struct kv_operation *op, bool counts, void *note);
/* Leader: takes the bits of 64 slots that are closed, from number 64 * word on; and sets a slot
 * free that was among them. */
uint64_t kv_board_closed(struct kv_view *v, uint32_t word);
void kv_board_free(struct kv_view *v, uint32_t slot);
/* Leader: whether an operation has been posted that is not closed. */
static inline bool kv_board_open(const struct kv_view *v)
{
	return v->board && v->free_count < v->board->slots;
}

/* Leader: tells how far it is, and wakes all. */
void kv_board_tell(struct kv_view *v, enum kv_stage stage);

/* The slot that this rank takes next, or KV_NONE; and takes it. */
uint32_t kv_board_next(const struct kv_view *v);
static inline void kv_board_take(struct kv_view *v)
{
	v->taken++;
}

/* This rank could not write its shard. Call it before kv_board_answer. */
static inline void kv_board_fail(struct kv_view *v, uint32_t slot)
{
	atomic_store_explicit(&v->board->slot[slot].failed, true, memory_order_relaxed);
}

/* This rank has done its shard. It must not look at the slot any more. */
void kv_board_answer(struct kv_view *v, uint32_t slot);

/* Whether the leader has come so far, and this rank has taken all that was posted before. */
bool kv_board_past(const struct kv_view *v, enum kv_stage stage);

/* Whether a rank could not write its shard of an operation whose bit has been taken. */
static inline bool kv_board_failed(const struct kv_view *v, uint32_t slot)
{
	return atomic_load_explicit(&v->board->slot[slot].failed, memory_order_relaxed);
}

static inline const struct kv_slot *kv_board_slot(const struct kv_view *v, uint32_t slot)
{
	return &v->board->slot[slot];
}

#endif

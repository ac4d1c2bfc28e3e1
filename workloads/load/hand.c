/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/load/hand.h"

#include <errno.h>
#include <sched.h>
#include <stdalign.h>
#include <string.h>
#include <time.h>

#include "core/clock_wait.h"

enum { HAND_LINE = 64, HAND_YIELDS = 100 };
static const long hand_nap_ns = 50000;

struct hand_slot {
	/* Ranks that have not yet copied it. Only when it is 0, the rank that reads changes the
	 * slot. */
	alignas(HAND_LINE) _Atomic uint32_t left;
	uint64_t length;
};

/* At the beginning of the shared block, one for each lane; behind them the bytes of all slots. */
struct hand_lane {
	alignas(HAND_LINE) _Atomic uint64_t put; /* pieces so far */
	_Atomic bool ended;                      /* no more will come */
	struct hand_slot slots[HAND_SLOTS];
};

static struct hand_lane *hand_lane(const struct load_hand *h, uint32_t lane)
{
	uintptr_t at = ((uintptr_t)h->block + HAND_LINE - 1) / HAND_LINE * HAND_LINE;

	return (struct hand_lane *)at + lane;
}

static uint8_t *hand_bytes(const struct load_hand *h, uint32_t lane, uint64_t i)
{
	uint8_t *slots = (uint8_t *)hand_lane(h, h->lanes);

	return slots + ((uint64_t)lane * HAND_SLOTS + i % HAND_SLOTS) * h->slot_bytes;
}

uint64_t load_hand_bytes(uint32_t lanes, uint64_t slot_bytes)
{
	return HAND_LINE + lanes * (sizeof(struct hand_lane) + HAND_SLOTS * slot_bytes);
}

int load_hand_open(struct load_hand *h, const struct phase_context *ctx, uint64_t tensor,
		   uint32_t lanes, uint64_t slot_bytes, struct err *err)
{
	void *block = NULL;
	bool one_node;
	int rc;

	*h = (struct load_hand){.lanes = lanes, .slot_bytes = slot_bytes};
	rc = group_split(ctx->group, (uint32_t)(ctx->group->rank / tensor), &h->group, err);
	if (rc < 0) {
		h->group = NULL;
		return rc;
	}
	h->reads = h->group->rank == 0;
	h->others = h->group->size - 1;
	rc = group_same(h->group, ctx->place->node, &one_node);
	if (rc == 0 && !one_node)
		rc = err_set(
			err, -EINVAL,
			"%s/readers: \"first\" hands on through the memory of a node, and this tensor group has ranks on several",
			ctx->phase->path);
	rc = group_agree(ctx->group, rc, err);
	if (rc == 0)
		rc = group_shared(h->group, load_hand_bytes(lanes, slot_bytes), &block, err);
	h->block = block;
	return group_agree(ctx->group, rc, err);
}

void load_hand_close(struct load_hand *h)
{
	if (h->group)
		group_free(h->group);
	h->group = NULL;
}

void load_hand_reset(struct load_hand *h)
{
	for (uint32_t i = 0; h->reads && i < h->lanes; i++) {
		struct hand_lane *lane = hand_lane(h, i);

		for (unsigned k = 0; k < HAND_SLOTS; k++)
			atomic_store(&lane->slots[k].left, 0);
		atomic_store(&lane->ended, false);
		atomic_store(&lane->put, 0);
	}
}

/* One step of a wait; false: give up. */
static bool hand_wait(uint32_t *turns, const _Atomic bool *halt)
{
	if (atomic_load_explicit(halt, memory_order_relaxed))
		return false;
	if ((*turns)++ < HAND_YIELDS)
		sched_yield();
	else
		clock_nap(hand_nap_ns);
	return true;
}

int load_hand_give(struct load_hand *h, uint32_t lane, const void *bytes, uint64_t length,
		   const _Atomic bool *halt)
{
	struct hand_lane *l = hand_lane(h, lane);
	uint64_t i = atomic_load_explicit(&l->put, memory_order_relaxed);
	struct hand_slot *slot = &l->slots[i % HAND_SLOTS];
	uint32_t turns = 0;

	while (atomic_load_explicit(&slot->left, memory_order_acquire))
		if (!hand_wait(&turns, halt))
			return -ECANCELED;
	memcpy(hand_bytes(h, lane, i), bytes, length);
	slot->length = length;
	atomic_store_explicit(&slot->left, h->others, memory_order_relaxed);
	atomic_store_explicit(&l->put, i + 1, memory_order_release);
	return 0;
}

void load_hand_end(struct load_hand *h, uint32_t lane)
{
	atomic_store_explicit(&hand_lane(h, lane)->ended, true, memory_order_release);
}

int load_hand_take(struct load_hand *h, uint32_t lane, uint64_t i, void *into, uint64_t *length,
		   const _Atomic bool *halt)
{
	struct hand_lane *l = hand_lane(h, lane);
	struct hand_slot *slot = &l->slots[i % HAND_SLOTS];
	uint32_t turns = 0;
	bool ended;

	*length = 0;
	for (;;) {
		/* What was put before the end is seen after it. */
		ended = atomic_load_explicit(&l->ended, memory_order_acquire);
		if (atomic_load_explicit(&l->put, memory_order_acquire) > i)
			break;
		if (ended)
			return 0;
		if (!hand_wait(&turns, halt))
			return -ECANCELED;
	}
	*length = slot->length;
	memcpy(into, hand_bytes(h, lane, i), *length);
	atomic_fetch_sub_explicit(&slot->left, 1, memory_order_release);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the board of a tensor group: every rank sees every operation once, in the order of the
 * leader, and the leader sees the end of each when the last rank has done it. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit.h"
#include "workloads/kvcache/board.h"

enum { RANKS = 4, SLOTS = 8, POSTS = 4000, HELD = 5 };

struct rank {
	pthread_t thread;
	struct kv_view view;
	_Atomic uint64_t *done; /* [POSTS]: ranks that have done it */
	uint64_t wrong, taken;
};

static struct kv_board *board_new(uint32_t ranks, uint32_t slots)
{
	uint64_t bytes =
		(kv_board_bytes(ranks) + KV_BOARD_LINE - 1) / KV_BOARD_LINE * KV_BOARD_LINE;
	struct kv_board *b = aligned_alloc(KV_BOARD_LINE, bytes);

	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	if (b) {
		memset(b, 0, bytes);
		kv_board_init(b, ranks, slots);
	}
	return b;
}

/* A follower does operations in another order than it takes them, as I/O threads end. */
static void *follow(void *argument)
{
	struct rank *r = argument;
	uint32_t held[HELD], count = 0;

	while (!kv_board_past(&r->view, KV_STAGE_ENDED) || count) {
		uint32_t slot = count < HELD ? kv_board_next(&r->view) : KV_NONE;

		if (slot != KV_NONE) {
			const struct kv_slot *s = kv_board_slot(&r->view, slot);

			r->wrong += s->operation.bytes != r->taken ||
				    s->operation.id.low != ~r->taken || !s->counts;
			atomic_fetch_add_explicit(&r->done[r->taken], 1, memory_order_relaxed);
			r->taken++;
			kv_board_take(&r->view);
			held[count++] = slot;
			continue;
		}
		if (count)
			kv_board_answer(&r->view, held[--count]);
		else
			sched_yield();
	}
	return NULL;
}

static _Atomic uint64_t *note_of(const struct kv_view *v, uint32_t slot)
{
	return v->note[slot];
}

static uint64_t lead_closed(struct kv_view *v, uint64_t *wrong)
{
	uint64_t bits = kv_board_closed(v, 0), n = 0;

	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		if (!(bits >> slot & 1))
			continue;
		*wrong += atomic_load_explicit(note_of(v, slot), memory_order_relaxed) != RANKS - 1;
		kv_board_free(v, slot);
		n++;
	}
	return n;
}

static void test_ranks(void)
{
	static _Atomic uint64_t done[POSTS];
	static struct rank ranks[RANKS];
	struct kv_board *b = board_new(RANKS, SLOTS);
	uint64_t posted = 0, ended = 0, wrong = 0;

	if (!b)
		return;
	for (uint32_t i = 0; i < RANKS; i++) {
		kv_view_open(&ranks[i].view, b, i);
		ranks[i].done = done;
		if (i)
			pthread_create(&ranks[i].thread, NULL, follow, &ranks[i]);
	}
	while (ended < POSTS) {
		struct kv_view *lead = &ranks[0].view;

		while (posted < POSTS && lead->free_count) {
			struct kv_operation op = {.bytes = posted, .id = {0, ~posted}};

			kv_board_answer(lead, kv_board_post(lead, &op, true, &done[posted]));
			posted++;
		}
		ended += lead_closed(lead, &wrong);
	}
	kv_board_tell(&ranks[0].view, KV_STAGE_ENDED);
	for (uint32_t i = 1; i < RANKS; i++) {
		pthread_join(ranks[i].thread, NULL);
		CU_ASSERT_EQUAL(ranks[i].taken, POSTS);
		CU_ASSERT_EQUAL(ranks[i].wrong, 0);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_FALSE(kv_board_open(&ranks[0].view));
	free(b);
}

/* A rank that takes nothing keeps the leader from posting, and nobody else from what was posted. */
static void test_stopped(void)
{
	struct kv_board *b = board_new(3, 2);
	struct kv_view lead, fast, stopped;
	struct kv_operation op = {.bytes = 1};
	int wakes, notes[2];

	if (!b)
		return;
	kv_view_open(&lead, b, 0);
	kv_view_open(&fast, b, 1);
	kv_view_open(&stopped, b, 2);
	CU_ASSERT_EQUAL(kv_board_next(&fast), KV_NONE);
	for (uint32_t i = 0; i < 2; i++) {
		CU_ASSERT_TRUE(lead.free_count > 0);
		kv_board_answer(&lead, kv_board_post(&lead, &op, false, &notes[i]));
		CU_ASSERT_NOT_EQUAL_FATAL(kv_board_next(&fast), KV_NONE);
		kv_board_answer(&fast, kv_board_next(&fast));
		kv_board_take(&fast);
	}
	CU_ASSERT_EQUAL(kv_board_next(&fast), KV_NONE);
	CU_ASSERT_EQUAL(lead.free_count, 0);
	CU_ASSERT_TRUE(kv_board_open(&lead));
	CU_ASSERT_EQUAL(kv_board_closed(&lead, 0), 0);
	sem_getvalue(&b->seats[2].arrived, &wakes);
	CU_ASSERT_EQUAL(wakes, 2);
	sem_getvalue(&b->seats[0].arrived, &wakes);
	CU_ASSERT_EQUAL(wakes, 0);
	kv_board_tell(&lead, KV_STAGE_FILLED);
	CU_ASSERT_FALSE(kv_board_past(&stopped, KV_STAGE_FILLED));
	CU_ASSERT_TRUE(kv_board_past(&fast, KV_STAGE_FILLED));
	CU_ASSERT_FALSE(kv_board_past(&fast, KV_STAGE_ENDED));
	/* The second one ends first. */
	kv_board_take(&stopped);
	CU_ASSERT_PTR_EQUAL(lead.note[kv_board_next(&stopped)], &notes[1]);
	kv_board_answer(&stopped, kv_board_next(&stopped));
	sem_getvalue(&b->seats[0].arrived, &wakes);
	CU_ASSERT_EQUAL(wakes, 1);
	CU_ASSERT_EQUAL(__builtin_popcountll(kv_board_closed(&lead, 0)), 1);
	free(b);
}

/* The leader learns that a rank could not write its shard, and of nothing when the slot is used
 * again. */
static void test_failed(void)
{
	struct kv_board *b = board_new(2, 2);
	struct kv_operation op = {.bytes = 1};
	struct kv_view lead, other;

	if (!b)
		return;
	kv_view_open(&lead, b, 0);
	kv_view_open(&other, b, 1);
	for (int i = 0; i < 4; i++) {
		uint32_t slot = kv_board_post(&lead, &op, true, NULL);

		if (i == 0)
			kv_board_fail(&other, slot);
		if (i == 2)
			kv_board_fail(&lead, slot);
		kv_board_answer(&lead, slot);
		kv_board_answer(&other, slot);
		kv_board_take(&other);
		CU_ASSERT_EQUAL(kv_board_closed(&lead, 0), UINT64_C(1) << slot);
		CU_ASSERT_EQUAL(kv_board_failed(&lead, slot), i % 2 == 0);
		kv_board_free(&lead, slot);
	}
	free(b);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"four ranks", test_ranks},
		{"a rank that is stopped", test_stopped},
		{"a rank that fails", test_failed},
		CU_TEST_INFO_NULL,
	};

	return unit_main("kvcache_board", tests);
}

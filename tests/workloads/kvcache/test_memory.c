/* SPDX-License-Identifier: Apache-2.0 */
/* The tier in memory, and requests that wait: what is put is found again, in blocks that no other
 * entry has, and nothing is lost. */
#include <stdlib.h>
#include <string.h>

#include "core/content/random.h"
#include "tests/unit.h"
#include "workloads/kvcache/served.h"
#include "workloads/kvcache/tiers/memory.h"

enum { BLOCK = 4096, ENTRIES = 200, ROUNDS = 20000, CAPACITY = 64 * BLOCK };

static struct kv_id memory_id(uint64_t n)
{
	return (struct kv_id){1, n};
}

/* Marks the blocks of an entry, or checks that they still have its mark. Returns how many there
 * are. */
static uint32_t memory_mark(const struct kv_memory *m, uint32_t block, uint64_t mark, bool check)
{
	uint32_t count = 0;

	for (; block != KV_NONE; block = kv_memory_next(m, block), count++) {
		if (check)
			CU_ASSERT_EQUAL_FATAL(memcmp(kv_memory_block(m, block), &mark, 8), 0);
		memcpy(kv_memory_block(m, block), &mark, 8);
	}
	return count;
}

static void test_blocks(void)
{
	uint64_t bytes[ENTRIES] = {0}, used = 0;
	struct kv_memory m;
	struct err err = {0};

	CU_ASSERT_EQUAL_FATAL(kv_memory_open(&m, CAPACITY, 4 * BLOCK, BLOCK, &err), 0);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t draw = random_at(1, i, 0), n = draw % ENTRIES;
		uint32_t blocks = (uint32_t)((bytes[n] + BLOCK - 1) / BLOCK);

		if (bytes[n]) {
			CU_ASSERT_EQUAL(memory_mark(&m, kv_memory_find(&m, memory_id(n)), n, true),
					blocks);
			kv_memory_remove(&m, memory_id(n));
			used -= blocks;
			bytes[n] = 0;
		} else if (used < CAPACITY / BLOCK) {
			uint32_t first;

			bytes[n] = 1 + (draw >> 32) % (4 * BLOCK);
			first = kv_memory_put(&m, memory_id(n), bytes[n]);
			CU_ASSERT_NOT_EQUAL_FATAL(first, KV_NONE);
			CU_ASSERT_EQUAL(kv_memory_put(&m, memory_id(n), bytes[n]), first);
			used += memory_mark(&m, first, n, false);
		}
		CU_ASSERT_EQUAL(m.used, used);
	}
	CU_ASSERT_TRUE(m.made <= CAPACITY / BLOCK + 4);
	CU_ASSERT_EQUAL(kv_memory_find(&m, memory_id(ENTRIES)), KV_NONE);
	kv_memory_close(&m);
}

/* What is reserved is finite: more than that is refused, and can be put once there is room. */
static void test_full(void)
{
	struct kv_memory m;
	struct err err = {0};
	uint64_t n = 0;

	CU_ASSERT_EQUAL_FATAL(kv_memory_open(&m, CAPACITY, BLOCK, BLOCK, &err), 0);
	while (kv_memory_put(&m, memory_id(n), BLOCK) != KV_NONE)
		n++;
	CU_ASSERT_EQUAL(n, m.blocks);
	CU_ASSERT_TRUE(n >= 4 * CAPACITY / BLOCK);
	kv_memory_remove(&m, memory_id(0));
	CU_ASSERT_EQUAL(kv_memory_put(&m, memory_id(n), 2 * BLOCK), KV_NONE);
	CU_ASSERT_NOT_EQUAL(kv_memory_put(&m, memory_id(n), BLOCK), KV_NONE);
	kv_memory_close(&m);
}

/* First by rank, then in the order in which they came, also when the ring grows while it is not at
 * its beginning. */
static void test_waiting(void)
{
	struct kv_waiting w = {.count = 0};
	struct kv_request request = {.number = 0}, out;
	uint64_t next[2] = {0, 0}, added[2] = {0, 0};

	for (uint64_t i = 0; i < 1000; i++) {
		uint32_t rank = random_at(2, i, 0) % 4 == 0 ? 0 : 1;

		request.number = added[rank]++;
		request.class = rank;
		CU_ASSERT_EQUAL_FATAL(kv_waiting_add(&w, rank, &request), 0);
		if (i % 3 != 0)
			continue;
		CU_ASSERT_TRUE_FATAL(kv_waiting_take(&w, &out));
		CU_ASSERT_EQUAL(out.class, next[0] < added[0] ? 0 : 1);
		CU_ASSERT_EQUAL(out.number, next[out.class]);
		next[out.class]++;
	}
	CU_ASSERT_EQUAL(w.count, 1000 - next[0] - next[1]);
	CU_ASSERT_EQUAL(w.most, w.count + 1); /* the last one was taken */
	while (kv_waiting_take(&w, &out)) {
		CU_ASSERT_EQUAL(out.number, next[out.class]);
		next[out.class]++;
	}
	CU_ASSERT_EQUAL(next[0] + next[1], 1000);
	kv_pool_free(&w.pool);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"blocks", test_blocks},
		{"full", test_full},
		{"requests that wait", test_waiting},
		CU_TEST_INFO_NULL,
	};

	return unit_main("memory", tests);
}

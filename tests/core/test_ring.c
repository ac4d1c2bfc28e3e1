/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the ring buffer: records come in order, a full ring refuses, and two threads can share
 * it. */
#include <pthread.h>

#include "core/ring.h"
#include "tests/unit.h"

static void put(struct ring *r, uint64_t bytes, int fill)
{
	void *record = ring_claim(r, bytes);

	CU_ASSERT_PTR_NOT_NULL_FATAL(record);
	memset(record, fill, bytes);
	ring_publish(r);
}

static void take(struct ring *r, uint64_t bytes, int fill)
{
	const unsigned char *record = ring_front(r);

	CU_ASSERT_PTR_NOT_NULL_FATAL(record);
	CU_ASSERT_EQUAL((uintptr_t)record % 8, 0);
	for (uint64_t i = 0; i < bytes; i++)
		CU_ASSERT_EQUAL_FATAL(record[i], fill);
	ring_release(r);
}

static void test_records_come_in_order_across_the_end(void)
{
	struct ring r;

	CU_ASSERT_TRUE_FATAL(ring_init(&r, 1));
	CU_ASSERT_EQUAL(r.bytes, 2048);
	CU_ASSERT_PTR_NULL(ring_front(&r));
	/* Two records at a time, of varying lengths, so that every way of reaching the end
	 * occurs. */
	for (int i = 1; i < 5000; i++) {
		put(&r, (uint64_t)(i * 37 % 700 + 1), i & 255);
		put(&r, (uint64_t)(i * 11 % 90 + 1), ~i & 255);
		CU_ASSERT_FALSE(ring_empty(&r));
		take(&r, (uint64_t)(i * 37 % 700 + 1), i & 255);
		take(&r, (uint64_t)(i * 11 % 90 + 1), ~i & 255);
		CU_ASSERT_TRUE(ring_empty(&r));
		CU_ASSERT_PTR_NULL(ring_front(&r));
	}
	ring_free(&r);
}

static void test_a_full_ring_refuses_and_recovers(void)
{
	struct ring r;
	int held = 0;

	CU_ASSERT_TRUE_FATAL(ring_init(&r, 2048));
	while (ring_claim(&r, 120)) {
		ring_publish(&r);
		held++;
	}
	/* 2048 bytes / (8 bytes of header + 120) */
	CU_ASSERT_EQUAL(held, 16);
	CU_ASSERT_EQUAL(ring_held(&r), 2048);
	CU_ASSERT_PTR_NULL(ring_claim(&r, 1));
	CU_ASSERT_PTR_NOT_NULL(ring_front(&r));
	ring_release(&r);
	CU_ASSERT_PTR_NULL(ring_claim(&r, 121));
	CU_ASSERT_PTR_NOT_NULL(ring_claim(&r, 120));
	ring_free(&r);
}

enum { RECORDS = 200000 };

static void *write_all(void *argument)
{
	struct ring *r = argument;

	for (uint64_t i = 0; i < RECORDS;) {
		uint64_t words = 1 + i % 9, *record = ring_claim(r, words * 8);

		if (!record)
			continue;
		for (uint64_t k = 0; k < words; k++)
			record[k] = i;
		ring_publish(r);
		i++;
	}
	return NULL;
}

static void test_two_threads(void)
{
	uint64_t wrong = 0;
	pthread_t writer;
	struct ring r;

	CU_ASSERT_TRUE_FATAL(ring_init(&r, 4096));
	CU_ASSERT_EQUAL_FATAL(pthread_create(&writer, NULL, write_all, &r), 0);
	for (uint64_t i = 0; i < RECORDS;) {
		const uint64_t *record = ring_front(&r);

		if (!record)
			continue;
		for (uint64_t k = 0; k < 1 + i % 9; k++)
			wrong += record[k] != i;
		ring_release(&r);
		i++;
	}
	pthread_join(writer, NULL);
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_TRUE(ring_empty(&r));
	ring_free(&r);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"records come in order across the end", test_records_come_in_order_across_the_end},
		{"a full ring refuses and recovers", test_a_full_ring_refuses_and_recovers},
		{"two threads", test_two_threads},
		CU_TEST_INFO_NULL,
	};

	return unit_main("ring", tests);
}

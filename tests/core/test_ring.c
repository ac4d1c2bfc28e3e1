#include <CUnit/CUnit.h>
#include <errno.h>
#include <pthread.h>

#include "core/clock.h"
#include "core/ring.h"
#include "tests/unit.h"

enum { ITEMS = 100000 };

struct work {
	struct ring ring;
	uintptr_t items;
};

static void *produce(void *argument)
{
	struct work *w = argument;

	for (uintptr_t i = 1; i <= w->items; i++) {
		if (ring_put(&w->ring, (void *)i, UINT64_MAX) != 0)
			return w;
	}
	return NULL;
}

static void two_threads_keep_the_order(void)
{
	static const uint32_t capacities[] = {1, 3, 64};

	for (unsigned k = 0; k < 3; k++) {
		struct work w = {.items = capacities[k] == 64 ? ITEMS : ITEMS / 20};
		struct err err = {0};
		pthread_t producer;
		unsigned bad = 0;
		void *item;

		CU_ASSERT_EQUAL_FATAL(ring_init(&w.ring, capacities[k], &err), 0);
		pthread_create(&producer, NULL, produce, &w);
		for (uintptr_t i = 1; i <= w.items; i++) {
			uint64_t minute = clock_kernel_ns() + UINT64_C(60000000000);

			bad += ring_take(&w.ring, &item, i & 1 ? UINT64_MAX : minute) != 0 ||
			       item != (void *)i;
		}
		CU_ASSERT_EQUAL(bad, 0);
		pthread_join(producer, &item);
		CU_ASSERT_PTR_NULL(item);
		CU_ASSERT_EQUAL(ring_take(&w.ring, &item, 0), -ETIMEDOUT);
		ring_free(&w.ring);
	}
}

static void waits_are_bounded(void)
{
	struct ring r;
	struct err err = {0};
	uint64_t until;
	void *item;
	int x, y;

	CU_ASSERT_EQUAL_FATAL(ring_init(&r, 2, &err), 0);
	CU_ASSERT_EQUAL(ring_take(&r, &item, 0), -ETIMEDOUT);
	until = clock_kernel_ns() + 3000000;
	CU_ASSERT_EQUAL(ring_take(&r, &item, until), -ETIMEDOUT);
	CU_ASSERT_TRUE(clock_kernel_ns() >= until);
	CU_ASSERT_EQUAL(ring_take(&r, &item, 1), -ETIMEDOUT); /* long past */

	CU_ASSERT_EQUAL(ring_put(&r, &x, 0), 0);
	CU_ASSERT_EQUAL(ring_put(&r, &y, 1), 0); /* past, but there is room */
	CU_ASSERT_EQUAL(ring_put(&r, &x, 0), -ETIMEDOUT);
	until = clock_kernel_ns() + 3000000;
	CU_ASSERT_EQUAL(ring_put(&r, &x, until), -ETIMEDOUT);
	CU_ASSERT_TRUE(clock_kernel_ns() >= until);

	CU_ASSERT_EQUAL(ring_take(&r, &item, 0), 0);
	CU_ASSERT_PTR_EQUAL(item, &x);
	CU_ASSERT_EQUAL(ring_take(&r, &item, 0), 0);
	CU_ASSERT_PTR_EQUAL(item, &y);
	ring_free(&r);
}

static void refuses_odd_capacities(void)
{
	struct ring r = {0};
	struct err err = {0};

	CU_ASSERT_EQUAL(ring_init(&r, 0, &err), -EINVAL);
	CU_ASSERT_EQUAL(ring_init(&r, UINT32_MAX, &err), -EINVAL);
	ring_free(&r);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"two threads keep the order", two_threads_keep_the_order},
		{"waits are bounded", waits_are_bounded},
		{"odd capacities are refused", refuses_odd_capacities},
		CU_TEST_INFO_NULL,
	};

	return unit_main("ring", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of sim:// on a machine that wakes sleepers late, in virtual time. */
#include <stdio.h>

#include "tests/backends/rig.h"
#include "tests/unit.h"
#include "tests/virtual_time.h"

enum { US = 1000, MB = 1000000, COUNT = 100 };

/* Time from the end of the first of COUNT reads to the end of the last. */
static uint64_t reads_take(void)
{
	uint64_t first = 0, last = 0;
	struct object o = {.key = "x"};
	struct clock clock;
	struct queue q;
	struct rig r;

	rig_init(&r);
	clock_init(&clock);
	r.clock = &clock;
	CU_ASSERT_EQUAL_FATAL(rig_open(&r, "{\"uri\": \"sim://x\", \"bandwidth\": \"2 GB/s\"}"), 0);
	CU_ASSERT_EQUAL_FATAL(queue_open(&q, &r.store, 1, NULL), 0);
	for (int i = 0; i <= COUNT; i++) {
		struct request req = {.op = REQ_READ, .object = &o, .length = MB / 5};

		CU_ASSERT_EQUAL(queue_do(&q, &req), 0);
		first = first ? first : req.answer.done_ns;
		last = req.answer.done_ns;
	}
	CU_ASSERT(clock_now(&clock) >= last);
	queue_close(&q);
	rig_close(&r);
	return last - first;
}

/* 200 kB at 2 GB/s take 100 us. If late wake-ups counted as time of the store, one rank would
 * measure less than 2 GB/s. */
static void test_late_wakeups_do_not_slow_the_store(void)
{
	static const uint64_t late_us[] = {0, 17, 60, 99};

	for (unsigned i = 0; i < sizeof(late_us) / sizeof(late_us[0]); i++) {
		uint64_t took_ns;

		virtual_time_oversleep(late_us[i] * US);
		took_ns = reads_take();
		CU_ASSERT(took_ns >= COUNT * 100 * US && took_ns < COUNT * 101 * US);
		if (took_ns >= COUNT * 101 * US)
			printf("%d us late: %.1f us per read\n", (int)late_us[i],
			       (double)took_ns / COUNT / US);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"late wake-ups do not slow the store", test_late_wakeups_do_not_slow_the_store},
		CU_TEST_INFO_NULL,
	};

	return unit_main("sim_time", tests);
}

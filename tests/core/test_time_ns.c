/* SPDX-License-Identifier: Apache-2.0 */
/* Times in ns and in the kernel's seconds and ns. */
#include "core/time_ns.h"
#include "tests/unit.h"

static void test_both_ways(void)
{
	static const struct {
		uint64_t ns;
		time_t s;
		long rest;
	} rows[] = {{0, 0, 0},
		    {999999999, 0, 999999999},
		    {1000000000, 1, 0},
		    {12345678901234, 12345, 678901234}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct timespec t = ns_to_timespec(rows[i].ns);

		CU_ASSERT_EQUAL(t.tv_sec, rows[i].s);
		CU_ASSERT_EQUAL(t.tv_nsec, rows[i].rest);
		CU_ASSERT_EQUAL(timespec_to_ns(&t), rows[i].ns);
	}
}

/* The clock of the thread counts what it computes, and not what it sleeps. */
static void test_thread_clock(void)
{
	const struct timespec nap = ns_to_timespec(50 * NS_PER_MS);
	uint64_t before = kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID), asleep, after;

	nanosleep(&nap, NULL);
	asleep = kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	do
		after = kernel_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	while (after - asleep < 2 * NS_PER_MS);
	CU_ASSERT(asleep - before < 40 * NS_PER_MS);
	CU_ASSERT(after > asleep && asleep > 0);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"both ways", test_both_ways},
		{"clock of a thread", test_thread_clock},
		CU_TEST_INFO_NULL,
	};

	return unit_main("time_ns", tests);
}

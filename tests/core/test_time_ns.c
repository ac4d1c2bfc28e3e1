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

int main(void)
{
	CU_TestInfo tests[] = {
		{"both ways", test_both_ways},
		CU_TEST_INFO_NULL,
	};

	return unit_main("time_ns", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Time limit of a write of results: a fixed part, and what the bytes take at the least rate. */
#include "ranks/run/state.h"
#include "tests/unit.h"

static void test_limit(void)
{
	static const struct {
		uint64_t bytes, limit_s;
	} cases[] = {
		{0, 120},
		{10000000, 121},
		{1600000000, 280}, /* a run of 1.6 GB on a slow NFS */
		{160000000000, 16120},
		{1ull << 56, 120 + 7205759403}, /* 64 PiB: nothing overflows */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		CU_ASSERT_EQUAL(run_write_limit_ns(cases[i].bytes) / 1000000000, cases[i].limit_s);
	CU_ASSERT_EQUAL(run_write_limit_ns(5000000), 120500000000);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"the limit grows with bytes", test_limit},
		CU_TEST_INFO_NULL,
	};

	return unit_main("write watch", tests);
}

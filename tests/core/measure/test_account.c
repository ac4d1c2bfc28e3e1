/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of time accounts: they add up to the wall time, whatever is charged to whom. */
#include "core/measure/account.h"
#include "tests/unit.h"

static void sum_is_wall(void)
{
	struct accounts a;
	uint64_t now = 1000;

	account_start(&a, ACCOUNT_HAUL, now);
	for (int i = 0; i < 1000; i++) {
		now += (uint64_t)i * 7919 % 1013;
		account_switch(&a, (enum account)(i % ACCOUNTS), now);
	}
	CU_ASSERT_EQUAL(account_wall(&a), now - 1000);
	CU_ASSERT_EQUAL(a.ns[ACCOUNT_COMPUTE] > 0, 1);
}

static void stamps_never_run_back(void)
{
	struct accounts a;

	account_start(&a, ACCOUNT_COMPUTE, 100);
	account_switch(&a, ACCOUNT_HAUL, 200);
	account_switch(&a, ACCOUNT_RANKS, 150);
	account_switch(&a, ACCOUNT_HAUL, 300);
	CU_ASSERT_EQUAL(a.ns[ACCOUNT_COMPUTE], 100);
	CU_ASSERT_EQUAL(a.ns[ACCOUNT_RANKS], 100);
	CU_ASSERT_EQUAL(account_wall(&a), 200);
}

static void blame_moves_no_more_than_the_wait(void)
{
	uint64_t blamed[ACCOUNTS] = {
		[ACCOUNT_OPEN] = 30, [ACCOUNT_TRANSFER] = 50, [ACCOUNT_HAUL] = 1000};
	struct accounts a;

	account_start(&a, ACCOUNT_HAUL, 0);
	account_switch(&a, ACCOUNT_HAUL, 100);
	account_blame(&a, 100, blamed);
	CU_ASSERT_EQUAL(a.ns[ACCOUNT_OPEN], 30);
	CU_ASSERT_EQUAL(a.ns[ACCOUNT_TRANSFER], 50);
	CU_ASSERT_EQUAL(a.ns[ACCOUNT_HAUL], 20);
	account_switch(&a, ACCOUNT_HAUL, 140);
	account_blame(&a, 40, blamed); /* more blame than time waited */
	CU_ASSERT_EQUAL(a.ns[ACCOUNT_OPEN], 60);
	CU_ASSERT_EQUAL(a.ns[ACCOUNT_TRANSFER], 60);
	CU_ASSERT_EQUAL(a.ns[ACCOUNT_HAUL], 20);
	CU_ASSERT_EQUAL(account_wall(&a), 140);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"the sum is the wall time", sum_is_wall},
		{"stamps never run back", stamps_never_run_back},
		{"blame moves no more than the wait", blame_moves_no_more_than_the_wait},
		CU_TEST_INFO_NULL,
	};

	return unit_main("account", tests);
}

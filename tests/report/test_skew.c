/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of skew: which ranks stand out because the others wait for them, or because they are done
 * later, and the exact bounds of both. */
#include "report/skew.h"

#include <stdio.h>
#include <string.h>

#include "core/measure/account.h"
#include "tests/unit.h"

enum { RANKS = 8 };
static struct results_column done_columns[] = {
	{.name = "rank"}, {.name = "node"}, {.name = "done_ns", .role = ROLE_RANK_DONE}};
static struct results_column waited_columns[] = {
	{.name = "rank"},
	{.name = "node"},
	{.name = "ranks_ns", .role = ROLE_ACCOUNT_OTHER},
	{.name = "compute_ns", .role = ROLE_ACCOUNT_COMPUTE}};
static union results_cell cells[RANKS][4];
static char hosts[2][RESULTS_NAME_BYTES] = {"a", "b"};
static const struct results_file file = {.nodes = 2, .hosts = hosts, .ranks = RANKS};

/* Ranks 0 to 3 are on node a, the others on node b. value: in ms. */
static void all(uint64_t value)
{
	for (unsigned i = 0; i < RANKS; i++) {
		cells[i][0].count = i;
		cells[i][1].count = i / 4;
		cells[i][2].count = value * 1000000;
	}
}

static void rank_is(unsigned rank, uint64_t value)
{
	cells[rank][2].count = value * 1000000;
}

/* who: NULL: none stands out. */
static void expect_of(uint64_t ranks, bool waits, const char *who)
{
	struct results_phase_read p = {.record = {.seconds = 1}};
	char found[SKEW_TEXT_BYTES] = "";
	union results_cell rows[RANKS * 4];
	uint32_t columns = waits ? 4 : 3;

	for (unsigned i = 0; i < RANKS; i++)
		memcpy(&rows[i * columns], cells[i], columns * sizeof(rows[0]));
	p.ranks = (struct results_table){.column_count = columns,
					 .row_count = ranks,
					 .columns = waits ? waited_columns : done_columns,
					 .cells = rows};
	CU_ASSERT_EQUAL(skew_of(&file, &p, found), who != NULL);
	if (who && strcmp(found, who) != 0)
		fprintf(stderr, "\nfound: %s, wanted: %s\n", found, who);
	CU_ASSERT_STRING_EQUAL(found, who ? who : "");
}

static void test_done(void)
{
	all(400);
	expect_of(RANKS, false, NULL);
	rank_is(3, 500);
	expect_of(RANKS, false, NULL); /* a quarter later, and no more */
	rank_is(3, 501);
	expect_of(RANKS, false, "rank 3 on a");
	/* Shorter than a hundredth of the phase of 1 s. */
	all(10);
	rank_is(3, 100);
	expect_of(RANKS, false, NULL);
	all(11);
	rank_is(3, 100);
	expect_of(RANKS, false, "rank 3 on a");
}

/* Of ranks that stand out, there may be a quarter at most, and they share their node. */
static void test_crowd(void)
{
	all(400);
	rank_is(4, 900);
	rank_is(5, 900);
	expect_of(RANKS, false, "2 ranks on b");
	expect_of(RANKS - 1, false, NULL);
	rank_is(6, 900);
	expect_of(RANKS, false, NULL);
	all(400);
	rank_is(3, 900);
	rank_is(4, 900);
	expect_of(RANKS, false, NULL);
	/* One rank is never a crowd. */
	all(400);
	rank_is(1, 900);
	expect_of(3, false, "rank 1 on a");
	expect_of(1, false, NULL);
}

static void test_waits(void)
{
	all(400);
	rank_is(7, 200);
	expect_of(RANKS, true, NULL); /* half as long, and no less */
	rank_is(7, 199);
	expect_of(RANKS, true, "rank 7 on b");
	rank_is(7, 900);
	expect_of(RANKS, true, NULL);
}

int main(void)
{
	const CU_TestInfo tests[] = {
		{"a rank that is done later", test_done},
		{"several ranks", test_crowd},
		{"a rank that waits less", test_waits},
		CU_TEST_INFO_NULL,
	};

	return unit_main("skew", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the sampler of a node: when rows are due, and whose processor time a row has. */
#include "ranks/node/sampler.h"

#include "core/clock.h"
#include "core/time_ns.h"
#include "tests/libs/doubles/thread_group.h"
#include "tests/unit.h"

#define MS UINT64_C(1000000)

/* Rows that a late thread has missed are left out, and the next stays on its second. */
static void test_due(void)
{
	static const struct {
		uint64_t due_ms, last_ms, next_ms;
	} rows[] = {
		{1000, 1000, 2000},   {1000, 1001, 2000},
		{1000, 900, 2000}, /* woken before its time, at the end of a phase */
		{1000, 1999, 2000},   {1000, 2000, 3000}, /* the second row is missed */
		{1000, 2500, 3000},   {3000, 63999, 64000},
		{3250, 64250, 65250},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		CU_ASSERT_EQUAL(sampler_due_after(rows[i].due_ms * MS, rows[i].last_ms * MS),
				rows[i].next_ms * MS);
}

/* The cost of a row is that of the thread which takes it, whatever the rest of the process does. */
static void test_own_cost(void)
{
	const uint64_t busy_ns = 200 * MS;
	const struct client_series *series;
	struct sampler *s = NULL;
	struct err err = {0};
	struct group *g;
	uint64_t cost_ns = 0, until_ns;

	CU_ASSERT_EQUAL_FATAL(group_alone(&g, &err), 0);
	CU_ASSERT_EQUAL_FATAL(sampler_open(&s, g, NULL, &err), 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	sampler_start(s);
	until_ns = clock_thread_cpu_ns() + busy_ns;
	while (clock_thread_cpu_ns() < until_ns)
		;
	series = sampler_stop(s);
	CU_ASSERT_FATAL(series->rows > 0);
	for (uint32_t i = 0; i < series->rows; i++)
		cost_ns += series->row[i][CLIENT_SAMPLER_CPU_NS];
	CU_ASSERT(cost_ns > 0);
	CU_ASSERT(cost_ns < busy_ns / 2);
	sampler_close(s);
	group_free(g);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"when rows are due", test_due},
		{"what a row costs", test_own_cost},
		CU_TEST_INFO_NULL,
	};

	return unit_main("sampler", tests);
}

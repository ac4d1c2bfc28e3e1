/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of which phases a search runs only once. */
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"
#include "plan/search/once.h"
#include "tests/unit.h"

static const char job_begins[] =
	"{\"name\":\"o\",\"stores\":{\"d\":{\"uri\":\"file:///tmp/haul-once\"}},\"phases\":["
	"{\"io\":{\"name\":\"make\",\"operation\":\"write\",\"size\":\"1 MiB\"}},";

/* Looks at the job with a change; "": without. */
static void see(struct once *o, const char *phases, uint32_t judged, const char *change,
		const struct phase_filter *filter)
{
	const char *sets[] = {change};
	struct err err = {0};
	struct job job;
	char text[1024];

	snprintf(text, sizeof(text), "%s%s]}", job_begins, phases);
	CU_ASSERT_EQUAL_FATAL(job_parse(&job, plan_schema(), "job.json", text, strlen(text), sets,
					*change != '\0', &err),
			      0);
	CU_ASSERT_EQUAL(once_see(o, &job, judged, filter, &err), 0);
	job_free(&job);
}

#define READ   "{\"io\":{\"name\":\"read\",\"operation\":\"read\",\"size\":\"1 MiB\"}}"
#define DELETE "{\"io\":{\"name\":\"delete\",\"operation\":\"delete\",\"size\":\"1 MiB\"}}"

/* What is judged, a change to the second job, and whether all has to run again. */
static void test_again(void)
{
	static const char make[] = "make";
	static const char *const skipped[] = {make};
	static const struct phase_filter no_make = {.skip = skipped, .skip_count = 1};
	static const struct {
		uint32_t judged;
		const char *change;
		const struct phase_filter *filter;
		bool again;
	} cases[] = {
		{1, "", NULL, false},
		{1, "read.depth=4", NULL, false},
		/* How data are moved does not change them. */
		{1, "stores.d.engine=uring", NULL, false},
		{1, "stores.d.direct=true", NULL, false},
		{1, "stores.d.uri=file:///tmp/haul-other", NULL, true},
		{1, "make.block=\"64 KiB\"", NULL, true},
		{1, "seed=7", NULL, true},
		/* Each rank has objects of its own. */
		{1, "ranks=2", NULL, true},
		{1, "ranks=2", &no_make, false},
		{1, "make.block=\"64 KiB\"", &no_make, false},
		{1, "delete.threads=2", NULL, false},
		/* What the judged phase removes or overwrites has to be made again. */
		{2, "", NULL, true},
		{0, "", NULL, true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct once o = {.before = NULL};

		see(&o, READ "," DELETE, cases[i].judged, "", cases[i].filter);
		see(&o, READ "," DELETE, cases[i].judged, cases[i].change, cases[i].filter);
		if (o.again != cases[i].again)
			printf("judged %u, %s\n", cases[i].judged, cases[i].change);
		CU_ASSERT_EQUAL(o.again, cases[i].again);
		/* Once is once: a job that is like the first one does not change that. */
		see(&o, READ "," DELETE, cases[i].judged, "", cases[i].filter);
		CU_ASSERT_EQUAL(o.again, cases[i].again);
		once_free(&o);
		CU_ASSERT_PTR_NULL(o.before);
	}
}

/* The phases that run at the same time as the judged one run in each run. */
static void test_each(void)
{
	static const char text[] =
		"{\"name\":\"o\",\"stores\":{\"d\":{\"uri\":\"null://\"}},\"phases\":["
		"{\"io\":{\"name\":\"make\",\"operation\":\"write\"}},{\"together\":["
		"{\"io\":{\"name\":\"a\",\"operation\":\"read\",\"ranks\":\"0\"}},"
		"{\"io\":{\"name\":\"b\",\"operation\":\"read\",\"ranks\":\"1\"}}]},"
		"{\"io\":{\"name\":\"delete\",\"operation\":\"delete\"}}]}";
	static const bool each[] = {false, true, true, false};
	static const bool before[] = {true, false, false, false};
	struct err err = {0};
	struct job job;
	bool is_before;

	if (job_parse(&job, plan_schema(), "job.json", text, strlen(text), NULL, 0, &err) < 0)
		printf("%s\n", err.text);
	CU_ASSERT_EQUAL_FATAL(job.phase_count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(once_each(&job, 1, i, &is_before), each[i]);
		if (!each[i])
			CU_ASSERT_EQUAL(is_before, before[i]);
	}
	job_free(&job);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"what has to run again", test_again},
		{"what runs in each run", test_each},
		CU_TEST_INFO_NULL,
	};

	return unit_main("once", tests);
}

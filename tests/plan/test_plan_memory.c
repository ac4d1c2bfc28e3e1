/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of a plan that cannot be made since there is no memory: whichever allocation fails, there is
 * no plan, rather than one without what could not be computed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"
#include "tests/libs/doubles/failing_memory.h"
#include "tests/unit.h"

/* Several phases with tables of their own, of which any may fail. */
static const char text[] =
	"{\"stores\": {\"d\": {\"uri\": \"null://d\"}}, \"cluster\": {\"tensor\": 2},"
	"\"dataset\": {\"format\": \"raw\", \"files\": 64, \"sample_bytes\": 4096},"
	"\"phases\": [{\"train\": {\"name\": \"a\", \"batch\": 1}},"
	"{\"checkpoint\": {\"name\": \"b\", \"model\": \"llama3_8b\", \"operation\": \"write\"}},"
	"{\"train\": {\"name\": \"c\", \"batch\": 1}}]}";

static void test_each_allocation(void)
{
	struct err err = {0};
	struct job job;
	uint32_t n = 0;
	bool failed = true;

	CU_ASSERT_EQUAL_FATAL(
		job_parse(&job, plan_schema(), "job.json", text, strlen(text), NULL, 0, &err), 0);
	for (; failed; n++) {
		struct plan plan;
		int rc;

		failing_memory_begin(n);
		rc = plan_make(&plan, &job, 8, 2, &err);
		failed = failing_memory_end();
		CU_ASSERT_EQUAL(rc, failed ? -ENOMEM : 0);
		if (rc != (failed ? -ENOMEM : 0))
			fprintf(stderr, "allocation %u\n", n);
		if (rc == 0)
			plan_free(&plan);
	}
	CU_ASSERT(n > 8);
	job_free(&job);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"each allocation", test_each_allocation},
		CU_TEST_INFO_NULL,
	};

	return unit_main("plan_memory", tests);
}

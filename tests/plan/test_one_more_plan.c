/* SPDX-License-Identifier: Apache-2.0 */
/* Test of one more figure of a plan: tests/plan/CMakeLists.txt adds one row to the figures of a
 * phase, and nothing else. The text and JSON have it; the page has JSON's object. */
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "tests/unit.h"

static const char one_phase[] =
	"{\"stores\": {\"data\": {\"uri\": \"null://\"}}, \"dataset\": {\"store\": \"data\", \"format\": \"raw\", "
	"\"files\": 64, \"sample_bytes\": 1000}, \"phases\": [{\"train\": {\"batch\": 2, \"compute\": \"1 ms\", "
	"\"epochs\": 3}}]}";

static void expect_in(char *text, const char *wanted)
{
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, wanted));
	free(text);
}

static void test_phase(void)
{
	struct plan plan;
	struct job job;
	struct err err = {0};

	CU_ASSERT_EQUAL_FATAL(job_parse(&job, plan_schema(), "job.json", one_phase,
					strlen(one_phase), NULL, 0, &err),
			      0);
	CU_ASSERT_EQUAL_FATAL(plan_make(&plan, &job, 1, 1, &err), 0);
	expect_in(plan_text(&plan, &job), " · one more 3\n");
	expect_in(plan_json(&plan, &job), "\"one_more\": 3");
	plan_free(&plan);
	job_free(&job);
}

int main(void)
{
	const CU_TestInfo tests[] = {
		{"a figure more of a phase", test_phase},
		CU_TEST_INFO_NULL,
	};

	return unit_main("one more figure of a plan", tests);
}

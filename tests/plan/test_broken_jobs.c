/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of broken jobs: each file of tests/fixtures/jobs is refused with one line that contains the
 * words in expected.txt, by the steps that rank 0 of a run takes. system/test_broken.py shows that
 * such a run ends on all ranks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "tests/unit.h"

enum { RANKS = 2, NODES = 1, CASES_MIN = 120 };

static const char *folder = ".";

static int read_and_check(const char *path, struct err *err)
{
	struct job job;
	size_t bytes;
	char *text;
	int rc = job_read_file(path, &text, &bytes, err);

	if (rc < 0)
		return rc;
	rc = job_parse(&job, plan_schema(), path, text, bytes, NULL, 0, err);
	if (rc == 0) {
		rc = plan_scale(&job, RANKS, NODES, err);
		if (rc == 0)
			rc = plan_check(&job, RANKS, NODES, true, err);
		job_free(&job);
	}
	free(text);
	return rc;
}

static void refuses(const char *name, const char *fragment)
{
	struct err err = {0};
	char path[1600];
	bool good;
	int rc;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	rc = read_and_check(path, &err);
	good = rc < 0 && strstr(err.text, fragment) && !strchr(err.text, '\n');
	CU_ASSERT_TRUE(good);
	if (!good)
		fprintf(stderr, "%s: %d, \"%s\" does not say \"%s\"\n", name, rc, err.text,
			fragment);
}

static void test_refused(void)
{
	char path[1600], line[1024];
	unsigned cases = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/expected.txt", folder);
	f = fopen(path, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	while (f && fgets(line, sizeof(line), f)) {
		char *fragment = strchr(line, '\t');

		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '#' || !fragment)
			continue;
		*fragment++ = '\0';
		refuses(line, fragment);
		cases++;
	}
	if (f)
		fclose(f);
	CU_ASSERT_TRUE(cases >= CASES_MIN);
}

int main(int argc, char **argv)
{
	CU_TestInfo tests[] = {
		{"broken jobs are refused", test_refused},
		CU_TEST_INFO_NULL,
	};

	folder = argc > 1 ? argv[1] : folder;
	return unit_main("broken jobs", tests);
}

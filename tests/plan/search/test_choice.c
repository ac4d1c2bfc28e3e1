/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the question of --tune: which phase it judges, by which figure, and how its runs become
 * shorter. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/numbers.h"
#include "plan/plan.h"
#include "plan/search/choice.h"
#include "tests/unit.h"

/* Phases 0 to 4: generate; train "first"; io "make"; io "read" for 10 s; io "delete". */
static const char job_phases[] =
	"{\"name\":\"c\",\"stores\":{\"d\":{\"uri\":\"null://\"}},"
	"\"dataset\":{\"store\":\"d\",\"files\":100,\"sample_bytes\":4096},\"phases\":["
	"{\"generate\":{}},{\"train\":{\"name\":\"first\",\"batch\":2}},"
	"{\"io\":{\"name\":\"make\",\"operation\":\"write\"}},"
	"{\"io\":{\"name\":\"read\",\"operation\":\"read\",\"seconds\":10}},"
	"{\"io\":{\"name\":\"delete\",\"operation\":\"delete\"}}]}";

static void load(struct job *job)
{
	struct err err = {0};

	CU_ASSERT_EQUAL_FATAL(job_parse(job, plan_schema(), "job.json", job_phases,
					strlen(job_phases), NULL, 0, &err),
			      0);
}

static void test_phase(void)
{
	static const char *const read_only[] = {"read"}, *const no_train[] = {"first"};
	static const struct phase_filter only = {.only = read_only, .only_count = 1};
	static const struct phase_filter skip = {.skip = no_train, .skip_count = 1};
	static const struct {
		const char *by, *paths[2];
		const struct phase_filter *filter;
		uint32_t phase;
		const char *place, *limit, *judge;
	} cases[] = {
		/* The last one that a path names, by its name, its kind or its place. */
		{NULL, {"read.depth"}, NULL, 3, "phases.3.io", "seconds", NULL},
		{NULL, {"read.depth", "make.block"}, NULL, 3, "phases.3.io", "seconds", NULL},
		{NULL, {"first.loader.workers"}, NULL, 1, "phases.1.train", NULL, NULL},
		{NULL, {"train.batch"}, NULL, 1, "phases.1.train", NULL, NULL},
		{NULL, {"phases.2.io.block"}, NULL, 2, "phases.2.io", NULL, NULL},
		{NULL, {"io.threads"}, NULL, 4, "phases.4.io", NULL, NULL},
		/* Of what belongs to no phase, and of what only makes data, it is the last. */
		{NULL, {"stores.d.uri"}, NULL, 4, "phases.4.io", NULL, NULL},
		{NULL, {"generate.threads"}, NULL, 4, "phases.4.io", NULL, NULL},
		{NULL, {"stores.d.uri"}, &only, 3, "phases.3.io", "seconds", NULL},
		{NULL, {"first.batch"}, &skip, 4, "phases.4.io", NULL, NULL},
		/* A phase that is named, and a figure without a phase. */
		{"read.p99", {"make.block"}, NULL, 3, "phases.3.io", "seconds", "target_p99"},
		{"phases.3.io.p99",
		 {"make.block"},
		 NULL,
		 3,
		 "phases.3.io",
		 "seconds",
		 "target_p99"},
		{"p99", {"read.depth"}, NULL, 3, "phases.3.io", "seconds", "target_p99"},
		{"first.au", {"read.depth"}, NULL, 1, "phases.1.train", NULL, "target_au"},
	};
	struct job job;

	load(&job);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct choice c = {.by = cases[i].by, .filter = cases[i].filter};
		struct err err = {0};
		int rc = choice_meet(&c, &job, cases[i].paths, cases[i].paths[1] ? 2 : 1, &err);

		CU_ASSERT_EQUAL(rc, 0);
		if (rc < 0 || c.phase_index != cases[i].phase)
			printf("case %zu: %s\n", i, err.text);
		CU_ASSERT_EQUAL(c.phase_index, cases[i].phase);
		CU_ASSERT_STRING_EQUAL(c.place, cases[i].place);
		CU_ASSERT_STRING_EQUAL(c.limit ? c.limit : "-",
				       cases[i].limit ? cases[i].limit : "-");
		CU_ASSERT_STRING_EQUAL(c.judge.name ? c.judge.name : "-",
				       cases[i].judge ? cases[i].judge : "-");
		if (cases[i].judge)
			CU_ASSERT_EQUAL(c.judge.bound,
					strstr(cases[i].judge, "p99") ? TARGET_MOST : TARGET_LEAST);
	}
	job_free(&job);
}

/* A figure of the results that is no target: more of it is better. */
static void test_figure(void)
{
	struct choice c = {.by = "read.bytes_rate_last_done"};
	const char *path = "read.depth";
	struct err err = {0};
	struct job job;

	load(&job);
	CU_ASSERT_EQUAL_FATAL(choice_meet(&c, &job, &path, 1, &err), 0);
	CU_ASSERT_STRING_EQUAL(c.judge.name, "bytes_rate_last_done");
	CU_ASSERT_EQUAL(c.judge.bound, TARGET_LEAST);
	job_free(&job);
}

static void test_refused(void)
{
	static const struct {
		const char *by, *words;
	} cases[] = {
		{"write.p99", "--tune-by: the job has no phase \"write\""},
		{".p99", "no phase \"\""},
		{"read.p98", "a phase of the kind io has no figure and no target \"p98\""},
		{"iops", "docs/reference-results.md"},
		{"first.p77", "the kind train"},
	};
	const char *path = "read.depth";
	struct job job;

	load(&job);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct choice c = {.by = cases[i].by};
		struct err err = {0};

		CU_ASSERT_EQUAL(choice_meet(&c, &job, &path, 1, &err), -EINVAL);
		if (!strstr(err.text, cases[i].words))
			printf("%s: %s\n", cases[i].by, err.text);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].words));
	}
	/* Only generate is left. */
	job.phase_count = 1;
	{
		struct choice c = {.by = NULL};
		struct err err = {0};

		CU_ASSERT_EQUAL(choice_meet(&c, &job, &path, 1, &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "no phase to judge settings by"));
	}
	job.phase_count = 5;
	job_free(&job);
}

/* What a shortened run is, as --set takes it. */
static void test_shorten(void)
{
	static const struct {
		uint32_t part;
		const char *set;
		uint64_t ns;
	} cases[] = {
		{1, "phases.3.io.seconds=10.000000 s", 10000000000},
		{2, "phases.3.io.seconds=5.000000 s", 5000000000},
		{8, "phases.3.io.seconds=1.250000 s", 1250000000},
	};
	struct choice c = {.by = NULL};
	const char *path = "read.depth";
	struct err err = {0};
	struct job job;

	load(&job);
	CU_ASSERT_EQUAL_FATAL(choice_meet(&c, &job, &path, 1, &err), 0);
	job_free(&job);
	CU_ASSERT_EQUAL(c.limit_ns, 10000000000);
	for (size_t i = 0; i < COUNT(cases); i++) {
		char set[2 * CHOICE_TEXT_BYTES];
		const char *sets[] = {set};
		struct choice again = {.by = NULL};

		choice_shorten(&c, cases[i].part, set);
		CU_ASSERT_STRING_EQUAL(set, cases[i].set);
		CU_ASSERT_EQUAL_FATAL(job_parse(&job, plan_schema(), "job.json", job_phases,
						strlen(job_phases), sets, 1, &err),
				      0);
		CU_ASSERT_EQUAL(choice_meet(&again, &job, &path, 1, &err), 0);
		CU_ASSERT_EQUAL(again.limit_ns, cases[i].ns);
		job_free(&job);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"which phase, and by what", test_phase},
		{"a figure of the results", test_figure},
		{"refused", test_refused},
		{"shorter runs", test_shorten},
		CU_TEST_INFO_NULL,
	};

	return unit_main("choice", tests);
}

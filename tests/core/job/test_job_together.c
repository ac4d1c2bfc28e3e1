/* SPDX-License-Identifier: Apache-2.0 */
/* Phases that run together: how a job names them, what is refused, and that the printed job is the
 * same. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/job.h"
#include "tests/core/job/sample_schema.h"
#include "tests/unit.h"

/* Text around a list of phases that run together, and keys beside the list. */
#define TOGETHER(list, beside) \
	"{\"stores\": {\"data\": {\"uri\": \"file:///d\"}}," \
	" \"dataset\": {\"store\": \"data\", \"files\": 8, \"sample_bytes\": 1}," \
	" \"phases\": [{\"generate\": {}}, {\"together\": [" list "]" beside "}]}"
#define PAIR \
	"{\"train\": {\"ranks\": \"0-2,5\", \"batch\": 2}}," \
	"{\"train\": {\"name\": \"other\", \"ranks\": \"3-4\"}}"

static int parse(struct job *job, const char *text, const char *set, struct err *err)
{
	err->text[0] = '\0';
	return job_parse(job, sample_schema(), "job.json", text, strlen(text), &set, set ? 1 : 0,
			 err);
}

static void check_pair(const struct job *job)
{
	const struct job_phase *a = &job->phases[1], *b = &job->phases[2];

	CU_ASSERT_EQUAL_FATAL(job->phase_count, 3);
	CU_ASSERT_PTR_NULL(job->phases[0].together);
	CU_ASSERT_PTR_NOT_NULL_FATAL(a->together);
	CU_ASSERT_PTR_EQUAL(a->together, b->together);
	CU_ASSERT_EQUAL(a->together->entry, 1);
	CU_ASSERT_EQUAL(a->together->until, JOB_UNTIL_ALL);
	CU_ASSERT_TRUE(a->together->alone);
	CU_ASSERT_EQUAL(job_phase_after_ns(a, &job->phases[0]), 5000000000);
	CU_ASSERT_EQUAL(job_phase_after_ns(b, a), 0);
	CU_ASSERT_STRING_EQUAL(a->path, "/phases/1/together/0/train");
	CU_ASSERT_STRING_EQUAL(b->name, "other");
	CU_ASSERT_EQUAL(number_set_size(&a->set.numbers), 4);
	CU_ASSERT_TRUE(number_set_has(&a->set.numbers, 5));
	CU_ASSERT_TRUE(number_set_has(&b->set.numbers, 4));
}

static void reads(void)
{
	static const char text[] =
		TOGETHER(PAIR, ", \"until\": \"all\", \"alone\": true, \"after\": \"5 s\"");
	struct job job, again;
	struct err err;
	char *printed;

	CU_ASSERT_EQUAL_FATAL(parse(&job, text, NULL, &err), 0);
	check_pair(&job);
	printed = job_text(&job, sample_schema());
	CU_ASSERT_EQUAL_FATAL(parse(&again, printed, NULL, &err), 0);
	check_pair(&again);
	free(printed);
	job_free(&job);
	job_free(&again);
}

static void defaults(void)
{
	static const char text[] = TOGETHER("{\"train\": {\"nodes\": \"0-3\"}}", "");
	struct job job;
	struct err err;

	CU_ASSERT_EQUAL_FATAL(parse(&job, text, NULL, &err), 0);
	CU_ASSERT_EQUAL(job.phases[1].together->until, JOB_UNTIL_FIRST);
	CU_ASSERT_FALSE(job.phases[1].together->alone);
	CU_ASSERT_STRING_EQUAL(job.phases[1].set.nodes, "0-3");
	CU_ASSERT_STRING_EQUAL(job.phases[1].set.ranks, "");
	job_free(&job);
}

/* A phase within is found by its name and by its place. */
static void sets(void)
{
	static const struct {
		const char *set;
		uint64_t first, second;
	} cases[] = {
		{"train.batch=7", 7, 1},
		{"other.batch=7", 2, 7},
		{"phases.1.together.1.train.batch=9", 2, 9},
		{"phases.1.together.0.train.loader.workers=3", 2, 1},
		{"phases.1.until=all", 2, 1},
	};
	struct err err;
	struct job job;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct sample_train *t[2];

		CU_ASSERT_EQUAL_FATAL(parse(&job, TOGETHER(PAIR, ""), cases[i].set, &err), 0);
		t[0] = job.phases[1].options;
		t[1] = job.phases[2].options;
		CU_ASSERT_EQUAL(t[0]->batch, cases[i].first);
		CU_ASSERT_EQUAL(t[1]->batch, cases[i].second);
		job_free(&job);
	}
}

#define AT "job.json: /phases/1/together"

static void refused(void)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{TOGETHER("", ""), AT ": must hold 1 to 16 phases, holds 0"},
		{TOGETHER("{\"train\": {}}", ""),
		 AT "/0/train: needs \"ranks\" or \"nodes\", because it runs together with others"},
		{TOGETHER("{\"train\": {\"ranks\": \"0\", \"nodes\": \"0\"}}", ""),
		 AT "/0/train/nodes: the phase also has \"ranks\"; keep one of them"},
		{TOGETHER("{\"train\": {\"ranks\": \"0-\"}}", ""),
		 AT "/0/train/ranks: must be numbers and ranges such as \"0-47,60\""},
		{TOGETHER("{\"train\": {\"ranks\": \"0-4\"}}, {\"generate\": {\"ranks\": \"4-5\"}}",
			  ""),
		 AT "/1/generate/ranks: /phases/1/together/0/train has rank 4 already"},
		{TOGETHER("{\"train\": {\"nodes\": \"0-4\"}}, {\"generate\": {\"nodes\": \"3\"}}",
			  ""),
		 AT "/1/generate/nodes: /phases/1/together/0/train has node 3 already"},
		{TOGETHER("{\"train\": {\"ranks\": \"0\"}}, {\"generate\": {\"nodes\": \"1\"}}",
			  ""),
		 AT "/1/generate/nodes: /phases/1/together/0/train has ranks; phases that run "
		    "together all have ranks, or all have nodes"},
		{TOGETHER("{\"train\": {\"ranks\": \"0\"}}, {\"train\": {\"ranks\": \"1\"}}", ""),
		 AT "/1/train/name: two of the phases that run together are called \"train\"; give "
		    "one another name"},
		{TOGETHER("{\"train\": {\"ranks\": \"0\", \"after\": 1}}", ""),
		 AT "/0/train/after: unknown key"},
		{TOGETHER("{\"train\": {\"ranks\": \"0\"}}", ", \"untill\": \"all\""),
		 "job.json: /phases/1/untill: unknown key; did you mean \"until\"?"},
		{TOGETHER("{\"train\": {\"ranks\": \"0\"}}", ", \"until\": \"last\""),
		 "job.json: /phases/1/until: must be \"first\" or \"all\", is \"last\""},
		{TOGETHER("{\"together\": []}", ""),
		 AT "/0/together: phases that run together cannot contain others"},
		{TOGETHER("{\"tran\": {}}", ""),
		 AT "/0/tran: unknown kind of phase; did you mean \"train\"?"},
		{"{\"phases\": [{\"together\": {}}]}",
		 "job.json: /phases/0/together: must be a list of phases, is an object"},
		{"{\"phases\": [{\"train\": {\"ranks\": \"0\"}}]}",
		 "job.json: /phases/0/train/ranks: unknown key"},
	};
	struct job job;
	struct err err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int rc = parse(&job, cases[i].text, NULL, &err);
		bool same = rc == -EINVAL &&
			    !strncmp(err.text, cases[i].sentence, strlen(cases[i].sentence));

		CU_ASSERT_TRUE(same);
		if (!same)
			fprintf(stderr, "%d, \"%s\" is not \"%s\"\n", rc, err.text,
				cases[i].sentence);
		job_free(&job);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"reads", reads},     {"defaults", defaults}, {"sets", sets},
		{"refused", refused}, CU_TEST_INFO_NULL,
	};

	return unit_main("job, together", tests);
}

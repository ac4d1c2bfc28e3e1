/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of series: how sweeps are divided, combined and refused, and which data sets a series has
 * already made. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"
#include "plan/series/series.h"
#include "tests/unit.h"

static void test_one(void)
{
	struct series s;
	struct err err = {0};

	CU_ASSERT_EQUAL(series_init(&s, NULL, 0, 3, 2, &err), 0);
	CU_ASSERT_EQUAL(s.combinations, 1);
	CU_ASSERT_EQUAL(series_runs(&s), 5);
	series_sets(&s, 0, NULL);
	series_free(&s);
}

static void test_combinations(void)
{
	static const char *const sweeps[] = {"train.batch=2, 4 ,8", "stores.d.latency=1 ms,2 ms"};
	static const char *const wanted[6][2] = {
		{"train.batch=2", "stores.d.latency=1 ms"},
		{"train.batch=2", "stores.d.latency=2 ms"},
		{"train.batch=4", "stores.d.latency=1 ms"},
		{"train.batch=4", "stores.d.latency=2 ms"},
		{"train.batch=8", "stores.d.latency=1 ms"},
		{"train.batch=8", "stores.d.latency=2 ms"},
	};
	struct series s;
	const char *sets[2];
	char label[64], cut[8];
	struct err err = {0};

	CU_ASSERT_EQUAL_FATAL(series_init(&s, sweeps, 2, 2, 1, &err), 0);
	CU_ASSERT_EQUAL(s.combinations, 6);
	CU_ASSERT_EQUAL(series_runs(&s), 18);
	for (uint32_t i = 0; i < 6; i++) {
		series_sets(&s, i, sets);
		CU_ASSERT_STRING_EQUAL(sets[0], wanted[i][0]);
		CU_ASSERT_STRING_EQUAL(sets[1], wanted[i][1]);
	}
	CU_ASSERT_STRING_EQUAL(series_label(sets, 2, label, sizeof(label)),
			       "train.batch=8, stores.d.latency=2 ms");
	CU_ASSERT_STRING_EQUAL(series_label(sets, 2, cut, sizeof(cut)), "train.b");
	series_free(&s);
}

/* Runs of two combinations with one warm-up and two repeats each, one combination after the other
 * or in turn. */
static void test_order(void)
{
	static const char *const sweeps[] = {"train.batch=2,4"};
	static const struct series_place apart[] = {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}},
					 in_turn[] = {{0, 0}, {1, 0}, {0, 1},
						      {1, 1}, {0, 2}, {1, 2}};
	struct err err = {0};
	struct series s;

	CU_ASSERT_EQUAL_FATAL(series_init(&s, sweeps, 1, 2, 1, &err), 0);
	for (uint32_t i = 0; i < series_runs(&s); i++) {
		struct series_place at;

		s.interleave = false;
		at = series_at(&s, i);
		CU_ASSERT(at.combination == apart[i].combination && at.nth == apart[i].nth);
		s.interleave = true;
		at = series_at(&s, i);
		CU_ASSERT(at.combination == in_turn[i].combination && at.nth == in_turn[i].nth);
	}
	series_free(&s);
}

/* A comma inside brackets or quotes does not separate values. */
static void test_values(void)
{
	static const char *const sweep =
		"x={\"a\":[1,2],\"b\":\"},\\\",\"},\"p,q\",[[3,4],5],bare=6";
	static const char *const wanted[] = {"x={\"a\":[1,2],\"b\":\"},\\\",\"}", "x=\"p,q\"",
					     "x=[[3,4],5]", "x=bare=6"};
	struct series s;
	struct err err = {0};

	CU_ASSERT_EQUAL_FATAL(series_init(&s, &sweep, 1, 1, 0, &err), 0);
	CU_ASSERT_EQUAL_FATAL(s.sweeps[0].count, 4);
	CU_ASSERT_STRING_EQUAL(s.sweeps[0].path, "x");
	for (unsigned i = 0; i < 4; i++)
		CU_ASSERT_STRING_EQUAL(s.sweeps[0].sets[i], wanted[i]);
	series_free(&s);
}

static void test_refusals(void)
{
	static const struct {
		const char *sweeps[2];
		uint32_t repeat, warmup;
		const char *message;
	} cases[] = {
		{{"train.batch"},
		 1,
		 0,
		 "--sweep train.batch: write it as path=a,b,c, as in train.batch=2,4,8"},
		{{"=1,2"}, 1, 0, "--sweep =1,2: write it as path=a,b,c, as in train.batch=2,4,8"},
		{{"a="}, 1, 0, "--sweep a=: its value number 1 is empty"},
		{{"a=1, ,2"}, 1, 0, "--sweep a=1, ,2: its value number 2 is empty"},
		{{"a=1,2,"}, 1, 0, "--sweep a=1,2,: its value number 3 is empty"},
		{{"a=1,[2"}, 1, 0, "--sweep a=1,[2: a bracket or a quote is not closed"},
		{{"a=\"1,2"}, 1, 0, "--sweep a=\"1,2: a bracket or a quote is not closed"},
		{{"a=1,2,1"}, 1, 0, "--sweep a=1,2,1: 1 is in it twice"},
		{{"a=1,2", "a=3"}, 1, 0, "--sweep a=3: a is already swept"},
		{{"cluster.tensor=1,2"},
		 1,
		 0,
		 "--sweep cluster.tensor=1,2: ranks are placed once for the whole series: /cluster "
		 "cannot change"},
		{{NULL}, 1000, 1, "1001 runs are too many: a series has at most 1000"},
		{{"a=1,2,3"}, 334, 0, "1002 runs are too many: a series has at most 1000"},
	};
	struct series s;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		unsigned count = 0;
		struct err err = {0};

		while (count < 2 && cases[i].sweeps[count])
			count++;
		CU_ASSERT_EQUAL(series_init(&s, cases[i].sweeps, count, cases[i].repeat,
					    cases[i].warmup, &err),
				-EINVAL);
		CU_ASSERT_STRING_EQUAL(err.text, cases[i].message);
	}
}

/* The series of --tune: all values of all settings are its combinations, and of a range they double. */
static void test_tune(void)
{
	static const char *const tunes[] = {"d.engine=psync,uring", "io.depth=1..20",
					    "io.block=64 KiB..256 KiB"};
	static const char *const last[] = {"d.engine=uring", "io.depth=20", "io.block=256 KiB"};
	const char *sets[SERIES_SWEEPS_MAX];
	struct series s;
	struct err err = {0};

	CU_ASSERT_EQUAL_FATAL(series_init(&s, NULL, 0, 1, 0, &err), 0);
	CU_ASSERT_EQUAL_FATAL(series_tune(&s, tunes, 3, 5, 0, &err), 0);
	CU_ASSERT_STRING_EQUAL(series_option(&s), "--tune");
	CU_ASSERT_EQUAL(s.sweep_count, 3);
	CU_ASSERT_EQUAL_FATAL(s.combinations, 2 * 6 * 3);
	CU_ASSERT(s.tunes && s.searches);
	/* Until a job is known, none of the combinations is the job as it is. */
	CU_ASSERT_EQUAL(s.as_is, s.combinations);
	series_sets(&s, s.combinations - 1, sets);
	for (unsigned i = 0; i < 3; i++)
		CU_ASSERT_STRING_EQUAL(sets[i], last[i]);
	/* 36 settings, 18, 9, 5; a final of 3 and the job as it is. */
	CU_ASSERT(s.runs_most >= 36 + 18 + 9 + 4 * 5 && s.runs_most < 36 * 5);
	series_free(&s);
}

static void test_tune_refused(void)
{
	static const struct {
		const char *tunes[3];
		uint32_t repeats;
		const char *words;
	} cases[] = {
		{{"io.depth"}, 5, "--tune io.depth: write it as path=a,b,c"},
		{{"io.depth=4"}, 5, "--tune io.depth: one value leaves no choice"},
		{{"io.depth=1-16"}, 5, "write io.depth=1,4,16, or io.depth=1..16"},
		{{"io.depth=1,2", "io.depth=4,8"}, 5, "io.depth is already"},
		{{"io.depth=1,2"}, 1, "--repeat: with --tune, 2 to 16"},
		{{"io.depth=1,2"}, 17, "--repeat: with --tune, 2 to 16"},
		{{"a=1..1024", "b=1..1024", "c=1..1024"}, 5, "too many"},
	};
	static const char *const swept = "a=1,2";
	struct err err = {0};
	struct series s;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned count = 0;

		err = (struct err){0};
		while (count < 3 && cases[i].tunes[count])
			count++;
		CU_ASSERT_EQUAL_FATAL(series_init(&s, NULL, 0, 1, 0, &err), 0);
		CU_ASSERT_EQUAL(series_tune(&s, cases[i].tunes, count, cases[i].repeats, 0, &err),
				-EINVAL);
		if (!strstr(err.text, cases[i].words))
			printf("%s: %s\n", cases[i].tunes[0], err.text);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].words));
		series_free(&s);
	}
	CU_ASSERT_EQUAL_FATAL(series_init(&s, &swept, 1, 1, 0, &err), 0);
	CU_ASSERT_EQUAL(series_tune(&s, &swept, 1, 5, 0, &err), -EINVAL);
	series_free(&s);
}

static enum generated_before before(struct generated_registry *m, const char *uri, const char *data,
				    const char *generate, uint32_t run)
{
	enum generated_before message = MADE_NOT;
	struct err err = {0};
	struct job job;
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"name\":\"m\",\"stores\":{\"d\":{\"uri\":\"%s\"}},\"dataset\":{\"files\":4,"
		 "\"sample_bytes\":4096%s},\"phases\":[{\"generate\":{%s}}]}",
		 uri, data, generate);
	CU_ASSERT_EQUAL_FATAL(
		job_parse(&job, plan_schema(), "job.json", text, strlen(text), NULL, 0, &err), 0);
	CU_ASSERT_EQUAL(generated_phase(m, &job, &job.phases[0], run, &message, &err), 0);
	job_free(&job);
	return message;
}

static void test_made(void)
{
	struct generated_registry m = {0};

	CU_ASSERT_EQUAL(before(&m, "file:///a", "", "", 1), MADE_NOT);
	CU_ASSERT_EQUAL(before(&m, "file:///a", "", "", 1), MADE_NOT); /* repeated in the job */
	CU_ASSERT_EQUAL(m.count, 1);
	CU_ASSERT_EQUAL(before(&m, "file:///a", "", "", 2), MADE_SAME);
	CU_ASSERT_EQUAL(before(&m, "file:///a", "", "\"threads\":2", 2), MADE_SAME);
	CU_ASSERT_EQUAL(before(&m, "file:///a", ",\"prefix\":\"p\"", "", 3), MADE_OTHER);
	CU_ASSERT_EQUAL(before(&m, "file:///a", ",\"folder\":\"f\"", "", 3), MADE_NOT);
	CU_ASSERT_EQUAL(before(&m, "file:///b", "", "", 3), MADE_NOT);
	/* A store without content has no folder that two data sets could share, so only the very
	 * same phase counts as made. */
	CU_ASSERT_EQUAL(before(&m, "null://n", "", "", 4), MADE_NOT);
	CU_ASSERT_EQUAL(before(&m, "null://n", "", "", 5), MADE_SAME);
	CU_ASSERT_EQUAL(before(&m, "null://n", ",\"prefix\":\"p\"", "", 5), MADE_NOT);
	CU_ASSERT_EQUAL(before(&m, "null://n", "", "\"threads\":2", 6), MADE_NOT);
	generated_free(&m);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"settings to choose from", test_tune},
		{"settings that leave no choice", test_tune_refused},
		{"one run, and repeats", test_one},
		{"combinations", test_combinations},
		{"order", test_order},
		{"values with commas", test_values},
		{"refusals", test_refusals},
		{"data are made once", test_made},
		CU_TEST_INFO_NULL,
	};

	return unit_main("series", tests);
}

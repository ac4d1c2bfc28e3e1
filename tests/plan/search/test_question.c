/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the question of a search: how it is read, and what is refused. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plan/search/question.h"
#include "tests/unit.h"

static void reads(void)
{
	static const struct {
		const char *until, *set;
		bool most, unitless;
	} signs[] = {
		{"io.p99 < 200ms", "io.target_p99=200ms", true, false},
		{"io.p99 ≤ 1 s", "io.target_p99=1 s", true, false},
		{"io.p99 <= 200", "io.target_p99=200", true, true},
		{"train.au > 0.9", "train.target_au=0.9", false, true},
		{"train.au≥90 %", "train.target_au=0.9", false, true},
		{"train.au >= 97.5%", "train.target_au=0.975", false, true},
		{"train.au >= %", "train.target_au=%", false, false},
	};
	char set[QUESTION_TEXT_BYTES + 24];
	struct err err = {0};
	struct question q;

	CU_ASSERT_EQUAL(question_parse(&q, "kvcache.users=10..1000/5",
				       " kvcache.request_p95<=  200 ms ", 3, &err),
			0);
	CU_ASSERT_STRING_EQUAL(q.path, "kvcache.users");
	CU_ASSERT_STRING_EQUAL(q.phase, "kvcache");
	CU_ASSERT_STRING_EQUAL(q.target, "target_request_p95");
	CU_ASSERT_STRING_EQUAL(q.set, "kvcache.target_request_p95=200 ms");
	CU_ASSERT_STRING_EQUAL(q.until, "kvcache.request_p95<=  200 ms");
	CU_ASSERT(q.ask.low == 10 && q.ask.high == 1000 && q.ask.by == 5);
	CU_ASSERT(q.ask.most && q.ask.repeats == 3);
	question_value(&q, 45, set);
	CU_ASSERT_STRING_EQUAL(set, "kvcache.users=45");
	/* A phase by its place, and the target by its whole name. */
	CU_ASSERT_EQUAL(
		question_parse(&q, "ranks=1..64", "phases.1.train.target_au >= 0.9", 1, &err), 0);
	CU_ASSERT_STRING_EQUAL(q.phase, "phases.1.train");
	CU_ASSERT_STRING_EQUAL(q.set, "phases.1.train.target_au=0.9");
	CU_ASSERT(!q.ask.most && q.ask.by == 1);
	/* Signs as people write them, and percent. */
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		CU_ASSERT_EQUAL(question_parse(&q, "ranks=1..64", signs[i].until, 1, &err), 0);
		CU_ASSERT_STRING_EQUAL(q.set, signs[i].set);
		CU_ASSERT_EQUAL(q.ask.most, signs[i].most);
		CU_ASSERT_EQUAL(q.unitless, signs[i].unitless);
	}
}

static void refuses(void)
{
	static const char until[] = "train.au >= 0.9";
	static const struct {
		const char *find, *until, *words;
	} cases[] = {
		{NULL, until, "needs --find"},
		{"ranks=1..4", NULL, "needs --until"},
		{"ranks", until, "PATH=LOW..HIGH"},
		{"=1..4", until, "PATH=LOW..HIGH"},
		{"ranks=", until, "LOW..HIGH"},
		{"ranks=1", until, "LOW..HIGH"},
		{"ranks=1..", until, "LOW..HIGH"},
		{"ranks=1..4/", until, "LOW..HIGH"},
		{"ranks=1..4 ", until, "LOW..HIGH"},
		{"ranks=-1..4", until, "LOW..HIGH"},
		{"ranks=1.5..4", until, "LOW..HIGH"},
		{"ranks=1..99999999999999999999", until, "LOW..HIGH"},
		{"ranks=1..18446744073709551615", until, "too large"},
		{"ranks=4..4", until, "at least two values"},
		{"ranks=1..4/8", until, "at least two values"},
		{"ranks=1..4", "", "PHASE.TARGET"},
		{"ranks=1..4", "train.au", "PHASE.TARGET"},
		{"ranks=1..4", "train.au = 0.9", "PHASE.TARGET"},
		{"ranks=1..4", "train.au >=", "PHASE.TARGET"},
		{"ranks=1..4", ">= 0.9", "PHASE.TARGET"},
		{"ranks=1..4", ".au >= 0.9", "PHASE.TARGET"},
		{"ranks=1..4", "train.a_target_with_a_name_that_is_too_long_for_any >= 1",
		 "longer"},
	};
	struct question q;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct err err = {0};

		CU_ASSERT_EQUAL(question_parse(&q, cases[i].find, cases[i].until, 5, &err),
				-EINVAL);
		if (!strstr(err.text, cases[i].words)) {
			printf("%s, %s: %s\n", cases[i].find, cases[i].until, err.text);
			CU_FAIL("a different sentence");
		}
	}
}

/* Any text ends in a question that is whole, or in a sentence. */
static void longest(void)
{
	char find[600], until[600];
	struct err err = {0};
	struct question q;

	for (size_t n = 1; n < sizeof(find) - 20; n++) {
		memset(find, 'p', n);
		strcpy(find + n, "=1..4");
		memset(until, 'p', n);
		strcpy(until + n, ".au >= 0.9");
		if (question_parse(&q, find, until, 5, &err) < 0) {
			CU_ASSERT(n > 200);
			continue;
		}
		CU_ASSERT_EQUAL(strlen(q.path), n);
		CU_ASSERT_EQUAL(strlen(q.phase), n);
		CU_ASSERT_EQUAL(strlen(q.set), n + strlen(".target_au=0.9"));
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"reads", reads},
		{"refuses", refuses},
		{"lengths", longest},
		CU_TEST_INFO_NULL,
	};

	return unit_main("question", tests);
}

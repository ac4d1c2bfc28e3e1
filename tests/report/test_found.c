/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what a search has found, in words: each way in which it may end. */
#include <string.h>

#include "report/answer.h"
#include "tests/unit.h"

static struct find_head base(const char *end)
{
	struct find_head f;
	struct answered a;

	CU_ASSERT_EQUAL_FATAL(answer_make(&a, ANSWER_FIND, 0), 0);
	f = *(struct find_head *)a.head;
	answer_free(&a);
	strcpy(f.path, "kvcache.users");
	strcpy(f.phase, "kvcache");
	strcpy(f.label, "95th percentile of requests");
	strcpy(f.unit, "ns");
	strcpy(f.end, end);
	f.most = 1;
	f.asked = 200e6;
	f.low = 1;
	f.high = 1000;
	return f;
}

static void says(struct find_head f, const char *wanted)
{
	struct results_file file = {.answer = {ANSWER_FIND, &f, NULL, 0}};
	char text[512] = "";

	answer_find.say(text, sizeof(text), &file);
	CU_ASSERT_STRING_EQUAL(text, wanted);
}

/* The least value was measured, and stayed undecided. */
static void says_open(struct find_head f, const char *wanted)
{
	struct find_row step = {.value = f.low};
	struct results_file file = {.answer = {ANSWER_FIND, &f, &step, 1}};
	char text[512] = "";

	strcpy(step.state, "undecided");
	answer_find.say(text, sizeof(text), &file);
	CU_ASSERT_STRING_EQUAL(text, wanted);
}

static void found(void)
{
	struct find_head f = base("found");

	f.carries = 46;
	f.misses = 47;
	f.missed_with = 213e6;
	f.least = 41;
	f.greatest = 50;
	says(f,
	     "kvcache carries 46 users, 41 to 50, with 95th percentile of requests ≤ 200 ms; 47 miss "
	     "it (213 ms)");
	f.least = f.greatest = 46;
	says(f,
	     "kvcache carries 46 users with 95th percentile of requests ≤ 200 ms; 47 miss it (213 "
	     "ms)");
	f.carries = f.least = f.greatest = 1;
	f.misses = 2;
	says(f,
	     "kvcache carries 1 user with 95th percentile of requests ≤ 200 ms; 2 miss it (213 ms)");
	/* A name that is no plural stands before its value; a figure that shall be reached. */
	strcpy(f.path, "io.depth");
	strcpy(f.phase, "io");
	strcpy(f.label, "bandwidth");
	strcpy(f.unit, "B/s");
	f.most = 0;
	f.asked = 2e9;
	f.missed_with = 1.5e9;
	says(f, "io carries depth 1 with bandwidth ≥ 2 GB/s; 2 miss it (1.5 GB/s)");
}

static void outside(void)
{
	struct find_head f = base("none");

	f.misses = 1;
	f.missed_with = 0.3e9;
	says(f, "kvcache: even 1 user misses 95th percentile of requests ≤ 200 ms (300 ms)");
	f.undecided = 1;
	says_open(
		f,
		"kvcache: it stayed undecided whether 1 user meets 95th percentile of requests ≤ 200 ms (300 ms)");
	f = base("all");
	f.carries = 1000;
	f.undecided = 1;
	says(f,
	     "kvcache: all of 1 to 1,000 users meet 95th percentile of requests ≤ 200 ms; 1 value "
	     "stayed undecided");
	says(base("unknown"),
	     "kvcache: it cannot be told whether 95th percentile of requests ≤ 200 ms is met");
}

static void stopped(void)
{
	struct find_head f = base("stopped");

	says(f,
	     "kvcache: stopped before any value was measured against 95th percentile of requests ≤ "
	     "200 ms");
	f.carries = 32;
	says(f,
	     "Stopped early: kvcache carries at least 32 users with 95th percentile of requests ≤ "
	     "200 ms");
	f.misses = 64;
	f.missed_with = 300e6;
	says(f,
	     "Stopped early: kvcache carries at least 32 users with 95th percentile of requests ≤ "
	     "200 ms; 64 miss it (300 ms)");
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"an answer", found},
		{"an answer outside the range", outside},
		{"a search that was stopped", stopped},
		CU_TEST_INFO_NULL,
	};

	return unit_main("found", tests);
}

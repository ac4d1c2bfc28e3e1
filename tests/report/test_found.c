/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what a search has found, in words: each way in which it may end. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
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
	f.by = 1;
	return f;
}

/* Rows as a search would have them: "met 41, unknown 46, missed 51", with a mean of 5 ms for each. */
static uint64_t rows_of(const char *text, struct find_row rows[8])
{
	uint64_t n = 0;
	int used;

	memset(rows, 0, 8 * sizeof(rows[0]));
	for (; sscanf(text, "%15s %" SCNu64 "%n", rows[n].state, &rows[n].value, &used) == 2; n++) {
		text += used + (text[used] == ',');
		rows[n].repeats = strcmp(rows[n].state, "open") != 0;
		rows[n].mean = rows[n].repeats ? 213e6 : (double)NAN;
		rows[n].low = rows[n].high = (double)NAN;
	}
	rows[n].state[0] = '\0';
	return n;
}

/* The sentence; and the claim, which is never better than the sentence. */
static void says(struct find_head f, const char *steps, enum claim_state state, const char *wanted)
{
	struct find_row rows[8];
	struct results_file file = {.answer = {ANSWER_FIND, &f, rows, rows_of(steps, rows)}};
	struct claim claim;
	char text[512] = "";

	answer_find.say(text, sizeof(text), &file);
	CU_ASSERT_STRING_EQUAL(text, wanted);
	answer_claim(&file.answer, &claim);
	CU_ASSERT_EQUAL(claim.state, state);
	CU_ASSERT_EQUAL(*claim.missing != '\0', state == CLAIM_UNKNOWN);
	CU_ASSERT(*claim.evidence != '\0');
}

static void found(void)
{
	struct find_head f = base("found");

	f.carries = 46;
	says(f, "met 1, met 41, unknown 46, unknown 47, missed 51", CLAIM_HELD,
	     "kvcache carries 46 users, 41 to 50, with 95th percentile of requests ≤ 200 ms; 51 miss "
	     "it (213 ms)");
	says(f, "met 46, missed 47", CLAIM_HELD,
	     "kvcache carries 46 users with 95th percentile of requests ≤ 200 ms; 47 miss it (213 "
	     "ms)");
	/* Nothing above is known to miss it. */
	says(f, "met 41, unknown 46, unknown 64", CLAIM_HELD,
	     "kvcache carries 46 users, at least 41, with 95th percentile of requests ≤ 200 ms; 2 "
	     "values are unknown");
	/* No value is known to meet it. */
	says(f, "unknown 1, unknown 46, missed 47", CLAIM_UNKNOWN,
	     "kvcache: it is unknown whether 1 user meets 95th percentile of requests ≤ 200 ms "
	     "(213 ms); 47 miss it (213 ms); 2 values are unknown");
	f.carries = 1;
	says(f, "met 1, missed 2", CLAIM_HELD,
	     "kvcache carries 1 user with 95th percentile of requests ≤ 200 ms; 2 miss it (213 ms)");
	/* A name that is no plural stands before its value; a figure that shall be reached. */
	strcpy(f.path, "io.depth");
	strcpy(f.phase, "io");
	strcpy(f.label, "bandwidth");
	strcpy(f.unit, "B/s");
	f.most = 0;
	f.asked = 2e9;
	says(f, "met 1, missed 2", CLAIM_HELD,
	     "io carries depth 1 with bandwidth ≥ 2 GB/s; 2 miss it (213 MB/s)");
}

static void outside(void)
{
	struct find_head f = base("none");

	says(f, "missed 1", CLAIM_MISSED,
	     "kvcache: even 1 user misses 95th percentile of requests ≤ 200 ms (213 ms)");
	says(f, "unknown 1", CLAIM_UNKNOWN,
	     "kvcache: it is unknown whether 1 user meets 95th percentile of requests ≤ 200 ms "
	     "(213 ms)");
	f = base("all");
	f.carries = 1000;
	says(f, "met 1, unknown 64, met 1000", CLAIM_HELD,
	     "kvcache: all of 1 to 1,000 users meet 95th percentile of requests ≤ 200 ms; 1 value "
	     "is unknown");
	/* The greatest value itself is unknown. */
	says(f, "met 1, met 512, unknown 1000", CLAIM_HELD,
	     "kvcache carries at least 512 users with 95th percentile of requests ≤ 200 ms; 1 value "
	     "is unknown");
	says(base("unknown"), "open 1", CLAIM_UNKNOWN,
	     "kvcache: it cannot be told whether 95th percentile of requests ≤ 200 ms is met");
}

static void stopped(void)
{
	struct find_head f = base("stopped");

	says(f, "", CLAIM_UNKNOWN,
	     "kvcache: stopped before any value was measured against 95th percentile of requests ≤ "
	     "200 ms");
	says(f, "met 16, met 32, open 64", CLAIM_HELD,
	     "Stopped early: kvcache carries at least 32 users with 95th percentile of requests ≤ "
	     "200 ms");
	says(f, "met 32, missed 64, open 48", CLAIM_HELD,
	     "Stopped early: kvcache carries at least 32 users with 95th percentile of requests ≤ "
	     "200 ms; 64 miss it (213 ms)");
	/* Means of unknown values lie on one side, and say nothing. */
	f.carries = 2;
	f.misses = 4;
	says(f, "unknown 1, unknown 2, unknown 4", CLAIM_UNKNOWN,
	     "Stopped early: kvcache: it is unknown whether 1 user meets 95th percentile of "
	     "requests ≤ 200 ms (213 ms); 3 values are unknown");
	says(f, "met 1, unknown 2, unknown 4", CLAIM_HELD,
	     "Stopped early: kvcache carries at least 1 user with 95th percentile of requests ≤ 200 "
	     "ms; 2 values are unknown");
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

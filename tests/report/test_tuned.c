/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of which settings a search has found to be the best, in words: each way in which it may
 * end. */
#include <math.h>
#include <string.h>

#include "report/answer.h"
#include "tests/unit.h"

static struct tune_head base(const char *end)
{
	struct tune_head t = {.level = NAN, .times = NAN, .times_low = NAN, .times_high = NAN};

	strcpy(t.phase, "read");
	strcpy(t.label, "bandwidth");
	strcpy(t.unit, "B/s");
	strcpy(t.end, end);
	t.combinations = 66;
	t.left_out = 2;
	return t;
}

static struct tune_row best_setting(void)
{
	struct tune_row s = {.mean = 1.25e9, .times = NAN};

	strcpy(s.sets, "read.threads=16\tread.depth=4");
	return s;
}

/* The sentence, where the phase of the best says that; and the claim that the best is better than the job as it is. */
static void says_of(struct results_phase_read *phase, struct tune_head t, struct tune_row best,
		    enum claim_state state, const char *wanted)
{
	struct claim claim;
	struct results_file file = {.answer = {ANSWER_TUNE, &t, &best, 1},
				    .phases = phase,
				    .phase_count = phase != NULL};
	char text[512] = "";

	answer_tune.say(text, sizeof(text), &file);
	CU_ASSERT_STRING_EQUAL(text, wanted);
	answer_claim(&file.answer, &claim);
	CU_ASSERT_EQUAL(claim.state, state);
	CU_ASSERT(*claim.evidence != '\0');
	CU_ASSERT_EQUAL(*claim.missing != '\0', state == CLAIM_UNKNOWN);
}

static void says(struct tune_head t, struct tune_row best, enum claim_state state,
		 const char *wanted)
{
	says_of(NULL, t, best, state, wanted);
}

static void found(void)
{
	struct tune_head t = base("found");
	struct tune_row best = best_setting();

	t.better = 1;
	t.times = 1.35;
	t.times_low = 1.31;
	t.times_high = 1.39;
	says(t, best, CLAIM_HELD,
	     "read: read.threads=16, read.depth=4 is the best of 64 settings with 1.25 GB/s, 1.35 "
	     "times as fast as the job as it is (1.31 to 1.39)");
	strcpy(t.unit, "fraction");
	best.mean = 0.9;
	says(t, best, CLAIM_HELD,
	     "read: read.threads=16, read.depth=4 is the best of 64 settings with 90 %, 1.35 times "
	     "as good as the job as it is (1.31 to 1.39)");
}

static void no_winner(void)
{
	struct tune_head t = base("found");
	struct tune_row best = best_setting();

	t.times = 1.02;
	t.times_low = 0.97;
	t.times_high = 1.07;
	says(t, best, CLAIM_UNKNOWN,
	     "read: none of 64 settings is shown to be better than the job as it is; read.threads=16, "
	     "read.depth=4 came out 1.020 times as fast as the job as it is (0.970 to 1.070), which may "
	     "be chance");
	best.as_is = 1;
	says(t, best, CLAIM_MISSED,
	     "read: none of 64 settings is shown to be better than the job as it is, with 1.25 "
	     "GB/s");
}

static void not_ended(void)
{
	static struct results_phase_read phase;
	struct tune_head t = base("stopped");
	struct tune_row best = best_setting();

	strcpy(phase.record.name, "read");
	strcpy(phase.record.usual, "depth=4");
	strcpy(phase.record.usual_as, "what others do");
	strcpy(phase.record.typed, "other: --depth 4");
	says_of(&phase, t, best, CLAIM_UNKNOWN,
		"Stopped early: of 64 settings, read.threads=16, read.depth=4 is the best of read so "
		"far, with 1.25 GB/s; it is what others do. To have it: other: --depth 4");

	says(t, best, CLAIM_UNKNOWN,
	     "Stopped early: of 64 settings, read.threads=16, read.depth=4 is the best of read so "
	     "far, with 1.25 GB/s");
	best.mean = NAN;
	says(t, best, CLAIM_UNKNOWN, "read: stopped before any setting was measured");
	says(base("unknown"), best, CLAIM_UNKNOWN, "read: no setting has a figure to judge it by");
}

static void states(void)
{
	static const char *const cases[][2] = {
		{"best", "best"},       {"tied", "not shown to differ from the best"},
		{"worse", "worse"},     {"dropped", "lost round 2"},
		{"open", "not judged"}, {"left out", "cannot run"}};
	struct tune_row s = best_setting();
	char cell[TABLE_CELL_BYTES];

	s.rounds = 2;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		strcpy(s.state, cases[i][0]);
		tune_show_state(cell, &s);
		CU_ASSERT_STRING_EQUAL(cell, cases[i][1]);
	}
	s.as_is = 1;
	tune_show_state(cell, &s);
	CU_ASSERT_STRING_EQUAL(cell, "cannot run; as it is");
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"an answer", found},
		{"no setting is shown to be better", no_winner},
		{"a search that has not ended", not_ended},
		{"what became of a setting", states},
		CU_TEST_INFO_NULL,
	};

	return unit_main("tuned", tests);
}

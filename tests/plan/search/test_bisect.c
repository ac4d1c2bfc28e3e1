/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the search for the greatest load that meets a target: against thresholds that are known,
 * with and without noise. */
#include <math.h>
#include <string.h>

#include "core/content/random.h"
#include "core/numbers.h"
#include "plan/search/bisect.h"
#include "tests/unit.h"

enum { DRAWS = 500, NOISY_DRAWS = 120 };

static uint64_t drawn(uint64_t *state)
{
	*state = random_at(*state, 1, 0);
	return *state;
}

/* A latency that grows with the load, and is 1 at the threshold; with a relative noise that is
 * normal enough: the sum of twelve uniform draws. */
static double latency(uint64_t value, uint64_t threshold, double noise, uint64_t *state)
{
	double sum = -6;

	for (int i = 0; noise > 0 && i < 12; i++)
		sum += (double)(drawn(state) >> 11) / 9007199254740992.0;
	return ((double)value / ((double)threshold + 0.5)) * (noise > 0 ? 1 + noise * sum : 1);
}

static void bisect_run(struct bisect *s, const struct bisect_ask *ask, uint64_t threshold,
		       double noise, uint64_t *state)
{
	uint64_t value;

	bisect_init(s, ask);
	while (bisect_next(s, &value)) {
		CU_ASSERT(value >= ask->low && value <= ask->high);
		CU_ASSERT_EQUAL((value - ask->low) % ask->by, 0);
		bisect_add(s, latency(value, threshold, noise, state));
	}
}

/* Without noise the answer is exact, and takes no more steps than were said. */
static void exact(void)
{
	static struct bisect s;
	struct find_head a;
	uint64_t state = 7;

	for (int i = 0; i < DRAWS; i++) {
		uint64_t by = 1 + drawn(&state) % 3, low = drawn(&state) % 5,
			 high = low + 1 + (drawn(&state) >> (drawn(&state) % 50 + 14)),
			 last = low + (high - low) / by * by,
			 threshold = low + drawn(&state) % (high - low + 3);
		struct bisect_ask ask = {low, high, by, 1, true, 1 + (uint32_t)i % 3, 0};

		bisect_run(&s, &ask, threshold, 0, &state);
		bisect_answer(&s, &a, NULL);
		CU_ASSERT(s.count <= bisect_steps_most(&ask));
		if (threshold >= last) {
			CU_ASSERT_EQUAL(s.end, BISECT_ALL);
			CU_ASSERT_EQUAL(a.carries, last);
			CU_ASSERT(a.misses == ANSWER_UNKNOWN);
			continue;
		}
		CU_ASSERT_EQUAL(s.end, BISECT_FOUND);
		CU_ASSERT_EQUAL(a.carries, low + (threshold - low) / by * by);
		CU_ASSERT_EQUAL(a.misses, a.carries + by);
		CU_ASSERT_EQUAL(a.least, a.carries);
		CU_ASSERT_EQUAL(a.greatest, a.carries);
		CU_ASSERT_EQUAL(a.undecided, 0);
	}
}

/* The first value misses already. */
static void none(void)
{
	static struct bisect s;
	const struct bisect_ask ask = {10, 100, 1, 1, true, 3, 0};
	struct find_head a;
	uint64_t state = 1;

	bisect_run(&s, &ask, 9, 0, &state);
	bisect_answer(&s, &a, NULL);
	CU_ASSERT_EQUAL(s.end, BISECT_NONE);
	CU_ASSERT(a.carries == ANSWER_UNKNOWN);
	CU_ASSERT_EQUAL(a.misses, 10);
	CU_ASSERT_EQUAL(s.count, 1);
	CU_ASSERT_EQUAL(s.steps[0].repeats, 2);
}

/* With noise, the range of the answer has the threshold in it, but for 5 of 100 searches; and what is far from the threshold takes two repeats. */
static void noisy(void)
{
	static struct bisect s;
	struct find_head a;
	uint64_t state = 11;
	unsigned outside = 0, far = 0;

	for (int i = 0; i < NOISY_DRAWS; i++) {
		const struct bisect_ask ask = {1, 4096, 1, 1, true, 8, 0};
		uint64_t threshold = 20 + drawn(&state) % 3000;

		bisect_run(&s, &ask, threshold, 0.03, &state);
		bisect_answer(&s, &a, NULL);
		CU_ASSERT_EQUAL(s.end, BISECT_FOUND);
		/* What is not known is an end of the range. */
		if (a.least == ANSWER_UNKNOWN)
			a.least = ask.low;
		if (a.greatest == ANSWER_UNKNOWN)
			a.greatest = ask.high;
		CU_ASSERT(a.least <= a.carries && a.carries <= a.greatest);
		CU_ASSERT(s.count < BISECT_STEPS_MAX);
		outside += threshold < a.least || threshold > a.greatest;
		far += fabs((double)a.carries / (double)threshold - 1) > 0.1;
		for (uint32_t k = 0; k < s.count; k++)
			if (s.steps[k].value < threshold / 4)
				CU_ASSERT(s.steps[k].repeats <= 3);
	}
	CU_ASSERT(outside <= NOISY_DRAWS * 5 / 100);
	CU_ASSERT_EQUAL(far, 0);
}

/* A figure that shall be reached, such as AU, falls with the load. */
static void least_bound(void)
{
	static struct bisect s;
	const struct bisect_ask ask = {1, 64, 1, 0.9, false, 5, 0};
	struct find_head a;
	uint64_t value;

	bisect_init(&s, &ask);
	while (bisect_next(&s, &value))
		bisect_add(&s, fmin(1, 11.0 / (double)value));
	bisect_answer(&s, &a, NULL);
	CU_ASSERT_EQUAL(s.end, BISECT_FOUND);
	CU_ASSERT_EQUAL(a.carries, 12);
	CU_ASSERT_EQUAL(a.misses, 13);
	CU_ASSERT_DOUBLE_EQUAL(a.missed_with, 11.0 / 13, 1e-12);
}

/* What is known only to a share is not decided by that share. */
static void blurred(void)
{
	static struct bisect s;
	struct bisect_ask ask = {1, 64, 1, 100, true, 3, 0.01};
	struct find_head a;
	uint64_t value;

	bisect_init(&s, &ask);
	/* 99.5 with 40, 101.5 with 41: the first may lie on the other side. */
	while (bisect_next(&s, &value))
		bisect_add(&s, value < 40 ? 50 : value == 40 ? 99.5 : 101.5);
	bisect_answer(&s, &a, NULL);
	CU_ASSERT_EQUAL(s.end, BISECT_FOUND);
	CU_ASSERT_EQUAL(a.carries, 40);
	CU_ASSERT_EQUAL(a.undecided, 1);
	CU_ASSERT(a.least == 39 && a.greatest == 40);
}

/* What cannot be told ends the search; a search that was stopped still knows what it knows. */
static void unknown_and_stopped(void)
{
	static struct bisect s;
	const struct bisect_ask ask = {1, 64, 1, 10.5, true, 1, 0};
	struct find_head a;
	uint64_t value;

	bisect_init(&s, &ask);
	while (bisect_next(&s, &value) && value < 16)
		bisect_add(&s, (double)value);
	bisect_answer(&s, &a, NULL);
	CU_ASSERT_EQUAL(s.end, BISECT_GOES_ON);
	CU_ASSERT_EQUAL(value, 16);
	CU_ASSERT(a.carries != ANSWER_UNKNOWN && a.misses == ANSWER_UNKNOWN);
	CU_ASSERT_EQUAL(a.carries, 8);
	bisect_add(&s, NAN);
	CU_ASSERT_EQUAL(s.end, BISECT_UNKNOWN);
	CU_ASSERT(!bisect_next(&s, &value));
}

/* Values that the caller has chosen, against answers by hand: at most 10 may be found. A value that was
 * seen once is decided by that; 4, which was seen twice, and differs, is not. */
static void seen(void)
{
	static const struct {
		struct {
			uint64_t value;
			double found;
		} rounds[6];
		enum bisect_end end;
		uint64_t carries, least, greatest, misses;
		uint32_t undecided;
	} table[] = {
		{{{2, 1}, {8, 30}, {4, 9}, {6, 12}}, BISECT_FOUND, 4, 4, 5, 6, 0},
		{{{2, 1}, {4, 5}, {8, 30}, {4, 13}}, BISECT_FOUND, 4, 2, 7, 8, 1},
		{{{2, 11}, {4, 12}}, BISECT_NONE, 0, 0, 0, 2, 0},
		{{{2, 1}, {16, 3}}, BISECT_ALL, 16, 16, 16, 0, 0},
		{{{2, 1}, {8, 3}}, BISECT_GOES_ON, 8, 8, ANSWER_UNKNOWN, 0, 0},
	};

	for (size_t i = 0; i < COUNT(table); i++) {
		const struct bisect_ask ask = {.low = 2,
					       .high = 16,
					       .asked = 10,
					       .most = true,
					       .repeats = BISECT_REPEATS_MAX};
		struct bisect s;
		struct find_head a;

		bisect_init(&s, &ask);
		for (size_t k = 0; k < COUNT(table[i].rounds) && table[i].rounds[k].value; k++)
			bisect_see(&s, table[i].rounds[k].value, table[i].rounds[k].found);
		bisect_close(&s);
		bisect_answer(&s, &a, NULL);
		CU_ASSERT_EQUAL(s.end, table[i].end);
		CU_ASSERT_EQUAL(a.carries != ANSWER_UNKNOWN, table[i].carries != 0);
		CU_ASSERT_EQUAL(a.misses != ANSWER_UNKNOWN, table[i].misses != 0);
		CU_ASSERT_EQUAL(a.undecided, table[i].undecided);
		if (a.carries != ANSWER_UNKNOWN) {
			CU_ASSERT_EQUAL(a.carries, table[i].carries);
			CU_ASSERT_EQUAL(a.least, table[i].least);
			CU_ASSERT_EQUAL(a.greatest, table[i].greatest);
		}
		if (a.misses != ANSWER_UNKNOWN)
			CU_ASSERT_EQUAL(a.misses, table[i].misses);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"without noise the answer is exact", exact},
		{"even the first value misses", none},
		{"with noise the threshold is in the range", noisy},
		{"a figure that falls with the load", least_bound},
		{"what is known only to a share of it", blurred},
		{"what cannot be told, and a search that was stopped", unknown_and_stopped},
		{"values that the caller has chosen", seen},
		CU_TEST_INFO_NULL,
	};

	return unit_main("search", tests);
}

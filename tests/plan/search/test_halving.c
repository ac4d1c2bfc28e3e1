/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the search for the best of many settings: against figures that are drawn, of which the
 * best is known, or of which all are the same. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/random.h"
#include "core/numbers.h"
#include "plan/search/halving.h"
#include "tests/unit.h"

enum { MANY = 64, SEEDS = 2000, FIRST = 100 };

struct drawing {
	uint64_t state;
	double noise;
	double best, others; /* the figure of the best candidate, and of all others */
	uint32_t which;
};

static double drawn(struct drawing *d, uint32_t candidate)
{
	double sum = -6;

	for (int i = 0; i < 12; i++) {
		d->state = random_at(d->state, 1, 0);
		sum += (double)(d->state >> 11) / 9007199254740992.0;
	}
	return (candidate == d->which ? d->best : d->others) * (1 + d->noise * sum);
}

/* Runs all of it. Returns its length in whole runs. */
static double run_all(struct halving *h, const struct halving_ask *ask, struct drawing *d)
{
	struct halving_look look;
	double whole = 0;

	halving_init(h, ask);
	while (halving_next(h, &look)) {
		CU_ASSERT(look.candidate <= ask->count);
		CU_ASSERT(look.part >= 1 && (look.part == 1 || ask->parts));
		whole += 1.0 / look.part;
		halving_add(h, drawn(d, look.candidate));
	}
	return whole;
}

static struct halving *halving_new(void)
{
	struct halving *h = calloc(1, sizeof(*h));

	CU_ASSERT_PTR_NOT_NULL_FATAL(h);
	return h;
}

struct found {
	struct tune_head head;
	uint32_t count;
	struct tune_row rows[HALVING_MOST + 1];
};

static struct found *answer_of(const struct halving *h)
{
	struct found *a = calloc(1, sizeof(*a));

	CU_ASSERT_PTR_NOT_NULL_FATAL(a);
	a->count = halving_rows(h);
	halving_answer(h, &a->head, a->rows);
	return a;
}

static bool is(const struct tune_row *row, enum halving_state state)
{
	return strcmp(row->state, halving_states[state]) == 0;
}

/* The best of 64 is found in less than a quarter of what all of them would take, with the figures
 * that are large, and with those that are small. */
static void best_of_many(void)
{
	struct halving *h = halving_new();

	for (uint32_t which = 0; which < MANY; which++) {
		const struct halving_ask ask = {.count = MANY,
						.base = MANY,
						.repeats = 5,
						.less = which % 2,
						.parts = true};
		struct drawing d = {which + 1, 0.02, which % 2 ? 80 : 125, 100, which};
		struct halving_cost cost = halving_cost(&ask);
		double whole = run_all(h, &ask, &d);
		struct found *a = answer_of(h);

		CU_ASSERT_EQUAL(h->end, HALVING_DONE);
		CU_ASSERT(whole <= MANY * 5 / 4.0);
		CU_ASSERT_DOUBLE_EQUAL(whole, cost.whole, 1e-9);
		CU_ASSERT_EQUAL(h->runs, cost.runs);
		CU_ASSERT_EQUAL(a->count, MANY + 1);
		CU_ASSERT_EQUAL(a->rows[0].combination, which + 1);
		CU_ASSERT(is(&a->rows[0], HALVING_BEST));
		CU_ASSERT(is(&a->rows[0], HALVING_BEST) && a->head.better);
		/* The job as it is, and two others, are worse; what lost a round stands below. */
		for (uint32_t i = 1; i < a->count; i++) {
			double times = a->rows[i].times;

			CU_ASSERT(is(&a->rows[i], i < 4 ? HALVING_WORSE : HALVING_DROPPED));
			if (i < 4)
				CU_ASSERT_DOUBLE_EQUAL(times, 1.25, 0.06);
		}
		free(a);
	}
	free(h);
}

/* Of 100 searches among settings that are all the same, at most 5 name a winner; and of many, at most
 * 5 of 100 call any two settings of the final different. */
static void ties(void)
{
	struct halving *h = halving_new();
	unsigned winners = 0, shown = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const struct halving_ask ask = {
			.count = 16, .base = seed % 3 ? 16 : 4, .repeats = 5, .parts = true};
		struct drawing d = {random_at(seed, 7, 0), 0.05, 100, 100, 0};
		struct found *a;

		run_all(h, &ask, &d);
		a = answer_of(h);
		winners += a->head.better && seed <= FIRST;
		for (uint32_t i = 1; i < a->count; i++)
			if (is(&a->rows[i], HALVING_WORSE)) {
				shown++;
				break;
			}
		free(a);
	}
	CU_ASSERT(winners <= 5);
	CU_ASSERT(shown <= SEEDS * 5 / 100);
	free(h);
}

/* What cannot run is never asked for, and stands last. */
static void left_out(void)
{
	struct halving *h = halving_new();
	uint8_t out[MANY] = {0};
	struct halving_ask ask = {
		.count = MANY, .left_out = out, .base = 1, .repeats = 2, .warmup = 1};
	struct drawing d = {3, 0.001, 200, 100, 10};
	struct halving_look look;
	struct found *a;
	uint32_t base = 0, warm = 0;

	for (uint32_t i = 0; i < MANY; i += 2)
		out[i] = i != 10;
	halving_init(h, &ask);
	while (halving_next(h, &look)) {
		CU_ASSERT(!out[look.candidate]);
		CU_ASSERT_EQUAL(look.part, 1);
		warm += look.warmup;
		base += look.candidate == 1 && !look.round;
		halving_add(h, look.warmup ? NAN : drawn(&d, look.candidate));
	}
	a = answer_of(h);
	CU_ASSERT_EQUAL(base, 3);
	CU_ASSERT_EQUAL(warm, h->racing);
	CU_ASSERT_EQUAL(a->count, MANY);
	CU_ASSERT_EQUAL(a->rows[0].combination, 10 + 1);
	CU_ASSERT(is(&a->rows[MANY - 1], HALVING_LEFT_OUT));
	CU_ASSERT(a->head.better);
	free(a);
	free(h);
}

/* Runs that are too short for a figure are made longer; and where no run has one, the search ends. */
static void no_figure(void)
{
	const struct halving_ask ask = {.count = 32, .base = 32, .repeats = 3, .parts = true};
	struct halving *h = halving_new();
	struct halving_look look;
	struct found *a;
	uint32_t short_ones = 0;

	halving_init(h, &ask);
	while (halving_next(h, &look)) {
		short_ones += look.part > 2;
		halving_add(h, look.part > 2 ? NAN : look.candidate + 1.0);
	}
	a = answer_of(h);
	CU_ASSERT_EQUAL(short_ones, 32 + 32);
	CU_ASSERT_EQUAL(a->rows[0].combination, 32 + 1); /* drawn as the greatest figure */
	CU_ASSERT(!a->head.better);
	free(a);
	halving_init(h, &ask);
	while (halving_next(h, &look))
		halving_add(h, NAN);
	CU_ASSERT_EQUAL(h->end, HALVING_UNKNOWN);
	a = answer_of(h);
	CU_ASSERT(!is(&a->rows[0], HALVING_BEST) && !a->head.better);
	free(a);
	free(h);
}

/* A search that is stopped ranks what it knows, and judges nothing. */
static void stopped(void)
{
	const struct halving_ask ask = {.count = 8, .base = 8, .repeats = 5};
	struct halving *h = halving_new();
	struct halving_look look;
	struct found *a;

	halving_init(h, &ask);
	for (uint32_t i = 0; i < 10 && halving_next(h, &look); i++)
		halving_add(h, look.candidate);
	a = answer_of(h);
	CU_ASSERT_EQUAL(h->end, HALVING_GOES_ON);
	CU_ASSERT(!is(&a->rows[0], HALVING_BEST) && !a->head.better);
	CU_ASSERT_EQUAL(a->count, 8);
	CU_ASSERT(a->rows[0].combination == 7 + 1 && is(&a->rows[0], HALVING_OPEN));
	CU_ASSERT(a->rows[7].combination == 0 + 1 && is(&a->rows[7], HALVING_DROPPED));
	free(a);
	free(h);
}

/* Few candidates go to the final at once. */
static void few(void)
{
	const struct halving_ask ask = {.count = 2, .base = 0, .repeats = 3};
	struct drawing d = {5, 0.001, 150, 100, 1};
	struct halving *h = halving_new();
	struct found *a;

	CU_ASSERT_DOUBLE_EQUAL(run_all(h, &ask, &d), 6, 1e-9);
	a = answer_of(h);
	CU_ASSERT(a->head.better && a->rows[0].combination == 1 + 1 &&
		  is(&a->rows[1], HALVING_WORSE));
	CU_ASSERT_DOUBLE_EQUAL(a->head.level, 0.95, 1e-12);
	free(a);
	free(h);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"the best of 64 in a quarter of the time", best_of_many},
		{"ties have no winner", ties},
		{"what cannot run is left out", left_out},
		{"runs that are too short for a figure", no_figure},
		{"a search that is stopped", stopped},
		{"few candidates", few},
		CU_TEST_INFO_NULL,
	};

	return unit_main("halving", tests);
}

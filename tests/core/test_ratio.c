/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the ratio of two sides: against values computed by hand, and how often it errs on
 * measurements drawn from known distributions. All draws are seeded. */
#include <math.h>
#include <stdio.h>

#include "core/content/random.h"
#include "core/ratio.h"
#include "core/stats.h"
#include "tests/unit.h"

enum { REPEATS = 5, TRIALS = 400 };

/* Integrals of the density by Simpson's rule. */
static void test_t(void)
{
	static const struct {
		double level, freedom, t;
	} table[] = {
		{0.95, 4, 2.77644511},      {0.99, 4, 4.60409487}, {0.95, 2.5, 3.57465484},
		{0.975, 8, 2.75152360},     {0.99, 7, 3.49948330}, {0.9, 1.5, 3.70518082},
		{0.999, 12.25, 4.29172607},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		CU_ASSERT_DOUBLE_EQUAL(stats_t(table[i].level, table[i].freedom), table[i].t, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(stats_t(0.95, 1e9), 1.95996, 1e-4);
	CU_ASSERT(isnan(stats_t(0.95, 0)) && isnan(stats_t(1, 4)) && isnan(stats_t(0, 4)));
}

static void exp_of(double *values, const double *logs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		values[i] = exp(logs[i]);
}

/* Logarithms with means 0.12 and 0.025, and variances of these means 0.0004 / 3 and 0.0005 / 3 / 4:
 * 3.2347 degrees of freedom, half of the interval 0.0404233. */
static void test_welch(void)
{
	static const double logs[2][4] = {{0.10, 0.12, 0.14}, {0.01, 0.02, 0.03, 0.04}};
	double values[2][4];
	struct ratio_side a = {values[0], NULL, 3}, b = {values[1], NULL, 4};
	struct ratio r, swapped;

	exp_of(values[0], logs[0], 3);
	exp_of(values[1], logs[1], 4);
	r = ratio_of(&a, &b, 0.95);
	swapped = ratio_of(&b, &a, 0.95);
	CU_ASSERT_DOUBLE_EQUAL(r.mean[0], exp(0.12), 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(r.mean[1], exp(0.025), 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(r.ratio, 1.09965886, 1e-7);
	CU_ASSERT_DOUBLE_EQUAL(r.low, 1.05609350, 1e-7);
	CU_ASSERT_DOUBLE_EQUAL(r.high, 1.14502135, 1e-7);
	CU_ASSERT(r.verdict == 1 && !r.paired && !r.widened && isnan(r.drift));
	CU_ASSERT(swapped.verdict == -1);
	CU_ASSERT_DOUBLE_EQUAL(swapped.low, 1 / r.high, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(swapped.high, 1 / r.low, 1e-12);
	CU_ASSERT(ratio_of(&a, &b, 0.9999).verdict == 0);
}

/* Differences 0.05, 0.07 and 0.09 of pairs whose means rise by 0.0075 per second, by the line
 * through 0, 0.02 and 0.03 at 0.5, 2.5 and 4.5 s. The second of each pair is a second later. */
static void test_pairs(void)
{
	static const double middles[] = {0, 0.02, 0.03}, differences[] = {0.05, 0.07, 0.09};
	static const double when[2][3] = {{0, 2, 4}, {1, 3, 5}}, late[] = {5, 6, 7};
	double values[2][3];
	struct ratio_side a = {values[0], when[0], 3}, b = {values[1], when[1], 3};
	struct ratio r;

	for (int i = 0; i < 3; i++) {
		values[0][i] = exp(middles[i] + differences[i] / 2);
		values[1][i] = exp(middles[i] - differences[i] / 2);
	}
	r = ratio_of(&a, &b, 0.95);
	CU_ASSERT(r.paired && r.verdict == 1 && !r.widened);
	CU_ASSERT_DOUBLE_EQUAL(r.ratio, exp(0.0775), 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(r.low, 1.02926564, 1e-7);
	CU_ASSERT_DOUBLE_EQUAL(r.high, 1.13445734, 1e-7);
	CU_ASSERT_DOUBLE_EQUAL(r.drift, exp(0.0375), 1e-9);
	b.when_s = late;
	CU_ASSERT(!ratio_of(&a, &b, 0.95).paired);
	b.when_s = NULL;
	CU_ASSERT(!ratio_of(&a, &b, 0.95).paired);
}

/* Only the first side becomes faster, by 30 %. The pairs are 1.1 to 1.43, and their ratio is what
 * is said. */
static void test_drift_of_one_side(void)
{
	static const double first[] = {1.1, 1.2, 1.3, 1.4, 1.43},
			    second[] = {1, 1.01, 0.99, 1.01, 1};
	static const double when[2][5] = {{0, 2, 4, 6, 8}, {1, 3, 5, 7, 9}},
			    late[] = {10, 12, 14, 16, 18};
	struct ratio_side a = {first, when[0], 5}, b = {second, when[1], 5};
	struct ratio r = ratio_of(&a, &b, 0.95);
	double product = 1;

	for (int i = 0; i < 5; i++)
		product *= first[i] / second[i];
	CU_ASSERT(r.paired && isnan(r.drift));
	CU_ASSERT_DOUBLE_EQUAL(r.ratio, pow(product, 0.2), 1e-9);
	b.when_s = late;
	r = ratio_of(&a, &b, 0.95);
	CU_ASSERT(!r.paired && isnan(r.drift) && !r.widened);
}

static void test_too_few(void)
{
	static const double one = 6, some[] = {2, 3}, zero[] = {0, 3}, same[] = {7, 7},
			    none[] = {NAN, 1};
	struct ratio_side a = {&one, NULL, 1}, b = {some, NULL, 2}, nothing = {some, NULL, 0};
	struct ratio r = ratio_of(&a, &b, 0.95);

	CU_ASSERT_DOUBLE_EQUAL(r.ratio, 6 / sqrt(6), 1e-12);
	CU_ASSERT(isnan(r.low) && isnan(r.high) && r.verdict == 0);
	CU_ASSERT(isnan(ratio_of(&nothing, &b, 0.95).ratio));
	a = (struct ratio_side){zero, NULL, 2};
	CU_ASSERT(isnan(ratio_of(&a, &b, 0.95).ratio) && ratio_of(&a, &b, 0.95).verdict == 0);
	a.values = none;
	CU_ASSERT(isnan(ratio_of(&b, &a, 0.95).ratio));
	a.values = b.values = same;
	r = ratio_of(&a, &b, 0.95);
	CU_ASSERT(r.ratio == 1 && r.verdict == 0);
}

/* How the repeats of a trial are made: side A is faster by a factor, all values vary by cv, and
 * speed changes evenly by a factor from the first measurement to the last one. */
struct trial {
	double faster, cv, drift;
	bool in_turn;
};

static struct ratio try_once(const struct trial *t, uint64_t seed)
{
	double values[2][REPEATS], when[2][REPEATS];
	struct ratio_side sides[2];

	for (unsigned s = 0; s < 2; s++) {
		for (unsigned i = 0; i < REPEATS; i++) {
			unsigned at = t->in_turn ? 2 * i + s : s * REPEATS + i;
			double noise = random_normal(random_at(seed, s, i)) * t->cv;

			when[s][i] = 100 + 10.0 * at;
			values[s][i] = 1e9 * (1 + noise) * (s ? 1 : t->faster) *
				       (1 + (t->drift - 1) * at / (2.0 * REPEATS - 1));
		}
		sides[s] = (struct ratio_side){values[s], when[s], REPEATS};
	}
	return ratio_of(&sides[0], &sides[1], 0.95);
}

struct outcome {
	unsigned verdicts, drifts;
};

static struct outcome try_often(const struct trial *t, uint64_t seed)
{
	struct outcome o = {0};

	for (uint64_t i = 0; i < TRIALS; i++) {
		struct ratio r = try_once(t, seed * TRIALS + i);

		CU_ASSERT_EQUAL(r.paired, t->in_turn);
		o.verdicts += r.verdict != 0;
		o.drifts += isfinite(r.drift);
	}
	return o;
}

/* Of 400 comparisons of equal sides 20 are expected to err, and 33 are 3 standard deviations
 * more. */
static void test_false_verdicts(void)
{
	static const struct trial trials[] = {
		{.faster = 1, .cv = 0.03, .drift = 1, .in_turn = false},
		{.faster = 1, .cv = 0.03, .drift = 1, .in_turn = true},
		{.faster = 1, .cv = 0.2, .drift = 1, .in_turn = false},
		{.faster = 1, .cv = 0.001, .drift = 1, .in_turn = true},
		{.faster = 1, .cv = 0.03, .drift = 1.1, .in_turn = true},
		{.faster = 1, .cv = 0.003, .drift = 1.1, .in_turn = true},
		{.faster = 1, .cv = 0.003, .drift = 0.9, .in_turn = true},
	};

	for (size_t i = 0; i < sizeof(trials) / sizeof(*trials); i++) {
		struct outcome o = try_often(&trials[i], i + 1);

		CU_ASSERT(o.verdicts <= 33);
		if (o.verdicts > 33)
			printf("trials %zu: %u false verdicts\n", i, o.verdicts);
	}
}

/* The power of five pairs is 95.1 %: of 400 trials 380 are expected to end in a verdict, and 367
 * are 3 standard deviations less. */
static void test_power(void)
{
	static const struct {
		struct trial trial;
		unsigned least;
	} cases[] = {
		{{.faster = 1.1, .cv = 0.03, .drift = 1, .in_turn = false}, 380},
		{{.faster = 1 / 1.1, .cv = 0.03, .drift = 1, .in_turn = false}, 380},
		{{.faster = 1.1, .cv = 0.03, .drift = 1, .in_turn = true}, 367},
		{{.faster = 1 / 1.1, .cv = 0.03, .drift = 1, .in_turn = true}, 367},
		{{.faster = 1.1, .cv = 0.03, .drift = 1.1, .in_turn = true}, 367},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct outcome o = try_often(&cases[i].trial, i + 50);

		CU_ASSERT(o.verdicts >= cases[i].least);
		if (o.verdicts < cases[i].least)
			printf("trials %zu: %u verdicts\n", i, o.verdicts);
	}
}

/* Of repeats one side after the other, a drift of 10 % is found, and does not pass for a
 * difference. A much larger difference is still judged. */
static void test_drift(void)
{
	static const struct trial equal = {.faster = 1, .cv = 0.005, .drift = 1.1};
	static const struct trial twice = {.faster = 2, .cv = 0.005, .drift = 1.1};
	static const struct trial steady = {.faster = 1, .cv = 0.03, .drift = 1};
	struct outcome o = try_often(&equal, 90);
	struct ratio r = try_once(&equal, 7);

	CU_ASSERT(o.drifts == TRIALS && o.verdicts <= 33);
	CU_ASSERT(r.widened && r.low < 1 && r.high > 1);
	CU_ASSERT_DOUBLE_EQUAL(r.drift, 1.1, 0.03);
	CU_ASSERT_EQUAL(try_often(&twice, 91).verdicts, TRIALS);
	CU_ASSERT(try_often(&steady, 92).drifts <= 12);
}

int main(void)
{
	const CU_TestInfo tests[] = {
		{"t of any level and freedom", test_t},
		{"Welch's interval by hand", test_welch},
		{"pairs by hand", test_pairs},
		{"a drift of one side", test_drift_of_one_side},
		{"too few values", test_too_few},
		{"false verdicts", test_false_verdicts},
		{"power", test_power},
		{"drift", test_drift},
		CU_TEST_INFO_NULL,
	};

	return unit_main("ratio", tests);
}

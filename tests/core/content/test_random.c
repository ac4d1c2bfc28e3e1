/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of random draws: mean and deviation, bounds, and independence. */
#include <CUnit/CUnit.h>
#include <math.h>

#include "core/content/random.h"
#include "tests/unit.h"

enum { DRAWS = 200000 };

static void moments(const struct draw *d, uint64_t key, double *mean, double *deviation)
{
	struct random r = {.key = key};
	double sum = 0, squares = 0;

	for (int i = 0; i < DRAWS; i++) {
		double x = (double)draw_next(d, &r);

		sum += x;
		squares += x * x;
	}
	*mean = sum / DRAWS;
	*deviation = sqrt(squares / DRAWS - *mean * *mean);
}

static void draws_have_their_mean_and_deviation(void)
{
	static const struct {
		struct draw draw;
		double mean, deviation;
	} cases[] = {
		{{DRAW_CONSTANT, 5e6, 0}, 5e6, 0},
		{{DRAW_NORMAL, 5e6, 1e6}, 5e6, 1e6},
		{{DRAW_NORMAL, 5e6, 0}, 5e6, 0},
		{{DRAW_UNIFORM, 1e6, 9e6}, 5e6, 8e6 / 3.4641016151377544},
		{{DRAW_GAMMA, 4, 1e6}, 4e6, 2e6},
		{{DRAW_GAMMA, 1, 1e6}, 1e6, 1e6},
		{{DRAW_GAMMA, 0.5, 1e6}, 0.5e6, 0.70710678e6},
		{{DRAW_GAMMA, 250, 1e4}, 2.5e6, 0.15811388e6},
		{{DRAW_EXPONENTIAL, 3e6, 0}, 3e6, 3e6},
		{{DRAW_POISSON, 3, 1e6}, 3e6, 1.7320508e6},
		{{DRAW_POISSON, 9.99, 1e6}, 9.99e6, 3.1606961e6},
		{{DRAW_POISSON, 10, 1e6}, 10e6, 3.1622777e6},
		{{DRAW_POISSON, 1000, 1e3}, 1e6, 31622.777},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		double mean, deviation;

		moments(&cases[i].draw, 42, &mean, &deviation);
		CU_ASSERT_DOUBLE_EQUAL(mean, cases[i].mean, 0.01 * cases[i].mean);
		CU_ASSERT_DOUBLE_EQUAL(deviation, cases[i].deviation,
				       0.01 * cases[i].deviation + 1e-3);
		CU_ASSERT_DOUBLE_EQUAL(draw_mean(&cases[i].draw), cases[i].mean,
				       1e-6 * cases[i].mean);
	}
}

/* A normal distribution that is often negative is cut off at 0; draw_mean returns the mean that
 * results. */
static void cut_normal_has_its_draw_mean(void)
{
	static const struct draw draws[] = {{DRAW_NORMAL, 1e6, 2e6}, {DRAW_NORMAL, 0, 1e6}};

	for (unsigned i = 0; i < 2; i++) {
		double mean, deviation;

		moments(&draws[i], 7, &mean, &deviation);
		CU_ASSERT_DOUBLE_EQUAL(mean, draw_mean(&draws[i]), 0.01 * mean);
	}
}

static void draws_are_whole_units(void)
{
	struct draw poisson = {DRAW_POISSON, 3, 1e6}, none = {DRAW_CONSTANT, -5, 0};
	struct draw odd[] = {{DRAW_POISSON, 0, 1},
			     {DRAW_GAMMA, 0, 5},
			     {DRAW_EXPONENTIAL, 0, 0},
			     {DRAW_UNIFORM, 0, 0},
			     {DRAW_NORMAL, -1e9, 1}};
	struct random r = {.key = 1};

	for (int i = 0; i < 1000; i++)
		CU_ASSERT_EQUAL(draw_next(&poisson, &r) % 1000000, 0);
	CU_ASSERT_EQUAL(draw_next(&none, &r), 0);
	for (unsigned i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		CU_ASSERT_EQUAL(draw_next(&odd[i], &r), 0);
}

static void same_key_same_draws(void)
{
	struct draw d = {DRAW_GAMMA, 2, 1e6};
	struct random a = {.key = 5}, b = {.key = 5}, c = {.key = 6};
	int differ = 0;

	for (int i = 0; i < 100; i++) {
		uint64_t x = draw_next(&d, &a);

		CU_ASSERT_EQUAL(x, draw_next(&d, &b));
		differ += x != draw_next(&d, &c);
	}
	CU_ASSERT_TRUE(differ > 90);
}

/* The inverse of the normal distribution function, at values from printed tables. */
static void normal_is_the_inverse(void)
{
	static const struct {
		double tail, x;
	} table[] = {{0.5, 0},
		     {0.158655253931457, -1},
		     {0.025, -1.959963984540054},
		     {0.001349898031630, -3},
		     {2.866515718791939e-07, -5},
		     {0x1p-55, -8.374388923067455}};

	for (unsigned i = 0; i < sizeof(table) / sizeof(*table); i++) {
		/* tail = (bits / 2 + 1/2) / 2^54 */
		double whole = floor(table[i].tail * 0x1p54);
		uint64_t bits = ((uint64_t)(whole > 0x1p53 - 1 ? 0x1p53 - 1 : whole)) << 10;
		double x = random_normal(bits);

		CU_ASSERT_DOUBLE_EQUAL(x, table[i].x, 2e-9);
		CU_ASSERT_EQUAL(random_normal(bits | UINT64_C(1) << 63), -x);
	}
	CU_ASSERT_TRUE(isfinite(random_normal(0)) && isfinite(random_normal(UINT64_MAX)));
}

static void unit_is_below_one(void)
{
	CU_ASSERT_EQUAL(random_unit(0), 0);
	CU_ASSERT_TRUE(random_unit(UINT64_MAX) < 1);
	CU_ASSERT_TRUE(random_unit(UINT64_MAX) > 0.9999999999999997);
}

/* Chi-squared over the 256 values of one byte: 255 degrees of freedom, deviation 22.6. */
static void arguments_are_independent(void)
{
	for (unsigned shift = 0; shift < 64; shift += 8) {
		for (unsigned argument = 0; argument < 3; argument++) {
			double count[256] = {0}, chi = 0;

			for (uint64_t i = 0; i < 65536; i++) {
				uint64_t bits = argument == 0   ? random_at(i, 3, 5)
						: argument == 1 ? random_at(9, i, 5)
								: random_at(9, 3, i);

				count[bits >> shift & 255]++;
			}
			for (unsigned b = 0; b < 256; b++)
				chi += (count[b] - 256) * (count[b] - 256) / 256;
			CU_ASSERT_TRUE(chi > 140 && chi < 390);
		}
	}
	CU_ASSERT_NOT_EQUAL(random_at(1, 2, 3), random_at(1, 3, 2));
	CU_ASSERT_NOT_EQUAL(random_at(1, 2, 3), random_at(2, 1, 3));
	CU_ASSERT_NOT_EQUAL(random_at(0, 0, 0), 0);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"draws have their mean and deviation", draws_have_their_mean_and_deviation},
		{"a normal cut off at 0 has its draw_mean", cut_normal_has_its_draw_mean},
		{"draws are whole units, never negative", draws_are_whole_units},
		{"the same key gives the same draws", same_key_same_draws},
		{"the normal is the inverse of its distribution", normal_is_the_inverse},
		{"units are below 1", unit_is_below_one},
		{"arguments are independent", arguments_are_independent},
		CU_TEST_INFO_NULL,
	};

	return unit_main("random", tests);
}

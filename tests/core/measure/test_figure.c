/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of figures: what a quotient is worth, when it is unknown, and how its formula reads. */
#include <CUnit/CUnit.h>
#include <math.h>
#include <string.h>

#include "core/measure/tally.h"
#include "tests/unit.h"

#define MEAL_LIST(X) \
	X(MEAL_BITES, "bites", "", SUM, "bites taken") \
	X(MEAL_NS, "meal_ns", "ns", SUM, "time of meals") \
	X(MEAL_PAUSE_NS, "pause_ns", "ns", SUM, "of that, pauses") \
	X(MEAL_GUESTS, "guests", "", SUM, "who came")
enum meal_measure { MEAL_LIST(MEASURE_ENUM) MEAL_MEASURES };

enum { RATE, CHEWING, SECONDS, PER_BITE, SHARE, OWN, BYTES, FIGURES };

static double own(const uint64_t *row)
{
	return (double)row[MEAL_BITES] + 0.5;
}

static const struct measure measures[] = {MEAL_LIST(MEASURE_ROW)};
/* clang-format off */
static const struct figure figures[FIGURES] = {
	[RATE] = FIGURE_PER("rate", "1/s", 1e9, OF(MEAL_BITES), OF(MEAL_NS), "bites per second")
	[CHEWING] = FIGURE_PER("chewing_rate", "1/s", 1e9, OF(MEAL_BITES), OF_DIFFERENCE(MEAL_NS, MEAL_PAUSE_NS),
			       "without pauses", .needs = {NEED(MEAL_GUESTS), NEED(MEAL_BITES)})
	[SECONDS] = FIGURE_PER("seconds", "s", 1e-9, OF_SUM(MEAL_NS, MEAL_PAUSE_NS), OF_NONE, "time")
	[PER_BITE] = FIGURE_PER("slowest", "1/s", 1, OF_NONE, OF(MEAL_NS), "inverse")
	[SHARE] = FIGURE_PER("share", "", 1, OF_SUM3(MEAL_BITES, MEAL_GUESTS, MEAL_NS), OF(MEAL_GUESTS), "share")
	[BYTES] = FIGURE_PER("bytes_rate", "B/s", 1e9, OF(MEAL_BITES), OF(MEAL_NS), "bites as bytes")
	[OWN] = FIGURE_ROW("own", "", own, "bites + 0.5", "by a function")
};
/* clang-format on */
static const struct columns columns = {measures, MEAL_MEASURES, figures, FIGURES};

static void quotient_of_sums(void)
{
	const uint64_t row[MEAL_MEASURES] = {[MEAL_BITES] = 6,
					     [MEAL_NS] = 3000000000,
					     [MEAL_PAUSE_NS] = 1000000000,
					     [MEAL_GUESTS] = 2};

	CU_ASSERT_DOUBLE_EQUAL(figure_value(&figures[RATE], row), 2, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(figure_value(&figures[CHEWING], row), 3, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(figure_value(&figures[SECONDS], row), 4, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(figure_value(&figures[PER_BITE], row), 1 / 3e9, 1e-24);
	CU_ASSERT_DOUBLE_EQUAL(figure_value(&figures[SHARE], row), 1500000004, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(figure_value(&figures[OWN], row), 6.5, 1e-12);
}

/* Nothing in a known time is a rate of 0, but of no bytes it is unknown; in no time, it is, too. */
static void unknown_where_nothing_divides(void)
{
	const uint64_t nothing[MEAL_MEASURES] = {[MEAL_NS] = 10000000000, [MEAL_GUESTS] = 1};
	const uint64_t no_time[MEAL_MEASURES] = {[MEAL_BITES] = 3, [MEAL_GUESTS] = 1};
	const uint64_t no_guests[MEAL_MEASURES] = {[MEAL_BITES] = 3, [MEAL_NS] = 1000000000};
	const uint64_t all_pause[MEAL_MEASURES] = {3, 1000, 1000, 1};

	CU_ASSERT_EQUAL(figure_value(&figures[RATE], nothing), 0);
	CU_ASSERT(isnan(figure_value(&figures[BYTES], nothing)));
	CU_ASSERT(isnan(figure_value(&figures[RATE], no_time)));
	CU_ASSERT_EQUAL(figure_value(&figures[SECONDS], no_time), 0);
	CU_ASSERT(isnan(figure_value(&figures[CHEWING], no_guests)));
	CU_ASSERT(isnan(figure_value(&figures[CHEWING], nothing)));
	CU_ASSERT(isnan(figure_value(&figures[CHEWING], all_pause)));
	CU_ASSERT(isnan(figure_value(&figures[SHARE], no_guests)));
}

static void formula_names_the_measures(void)
{
	static const char *const expected[FIGURES] = {
		[RATE] = "1e9 * bites / meal_ns",
		[CHEWING] =
			"1e9 * bites / (meal_ns - pause_ns), unknown where guests or bites is 0",
		[SECONDS] = "1e-9 * (meal_ns + pause_ns)",
		[PER_BITE] = "1 / meal_ns",
		[SHARE] = "(bites + guests + meal_ns) / guests",
		[OWN] = "bites + 0.5",
		[BYTES] = "1e9 * bites / meal_ns",
	};
	char formula[FIGURE_FORMULA_BYTES];

	for (int i = 0; i < FIGURES; i++) {
		figure_formula(&columns, &figures[i], formula);
		CU_ASSERT_STRING_EQUAL(formula, expected[i]);
	}
}

static void main_figure_is_the_first_known(void)
{
	const struct tally_schema schema = {.rank = columns,
					    .main_figures = {"chewing_rate", "rate"}};
	const uint64_t both[] = {1, 1000, 0, 1}, second[] = {1, 1000, 0, 0},
		       none[] = {0, 1000, 0, 0};

	CU_ASSERT_PTR_EQUAL(tally_main_figure(&schema, both), &figures[CHEWING]);
	CU_ASSERT_PTR_EQUAL(tally_main_figure(&schema, second), &figures[RATE]);
	CU_ASSERT_PTR_NULL(tally_main_figure(&schema, none));
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"a quotient of sums", quotient_of_sums},
		{"unknown where nothing divides", unknown_where_nothing_divides},
		{"a formula names the measures", formula_names_the_measures},
		{"the main figure is the first that is known", main_figure_is_the_first_known},
		CU_TEST_INFO_NULL,
	};

	return unit_main("figure", tests);
}

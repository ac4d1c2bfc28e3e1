/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of targets: whether they are met, and how values and sentences are printed. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/target.h"
#include "tests/unit.h"

static struct target_result result_of(const char *unit, bool most, double asked, double found)
{
	struct target_result r = {.most = most, .asked = asked, .found = found};

	strcpy(r.name, "target_it");
	strcpy(r.label, "It");
	strcpy(r.unit, unit);
	return r;
}

static void met(void)
{
	static const struct {
		bool most;
		double asked, found;
		bool met;
	} cases[] = {
		{false, 0.9, 0.9, true}, {false, 0.9, 0.899, false}, {false, 0.9, 0.91, true},
		{true, 20, 20, true},    {true, 20, 20.1, false},    {true, 20, 3, true},
		{false, 1, NAN, false},  {true, 1, NAN, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct target_result r =
			result_of("", cases[i].most, cases[i].asked, cases[i].found);

		CU_ASSERT_EQUAL(target_met(&r), cases[i].met);
	}
}

static void values(void)
{
	static const struct {
		const char *unit;
		double value;
		int digits;
		const char *text;
	} cases[] = {
		{"fraction", 0.9, 6, "90 %"},       {"fraction", 0.925, 6, "92.5 %"},
		{"fraction", 0.9999, 6, "99.99 %"}, {"fraction", 0.9999, 3, "100 %"},
		{"fraction", 0, 3, "0 %"},          {"ns", 20e6, 6, "20 ms"},
		{"ns", 1.5e9, 3, "1.5 s"},          {"ns", 90e9, 3, "1.5 min"},
		{"ns", 23456, 3, "23.5 us"},        {"B/s", 2e9, 6, "2 GB/s"},
		{"B/s", 1.2345e9, 3, "1.23 GB/s"},  {"1/s", 283857, 3, "283,857/s"},
		{"1/s", 12.345, 3, "12.3/s"},       {"", 12, 3, "12"},
		{"1/s", NAN, 3, "unknown"},
	};
	char text[TARGET_TEXT_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		target_value(text, cases[i].unit, cases[i].value, cases[i].digits);
		CU_ASSERT_STRING_EQUAL(text, cases[i].text);
	}
}

/* The value is printed with so many digits that it differs from the target, however close they
 * are. */
static void sentences(void)
{
	static const struct {
		const char *unit;
		bool most;
		double asked, found;
		const char *text;
	} cases[] = {
		{"fraction", false, 0.5, 0.05, "It 5 % misses the target of 50 %"},
		{"fraction", false, 0.9999, 0.99986, "It 99.986 % misses the target of 99.99 %"},
		{"fraction", false, 0.9, 0.964, "It 96.4 % meets the target of 90 %"},
		{"ns", true, 20e6, 20.004e6, "It 20.004 ms misses the target of at most 20 ms"},
		{"B/s", false, 2e9, NAN,
		 "It is unknown, so the target of 2 GB/s is neither met nor missed"},
	};
	char text[200];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct target_result r =
			result_of(cases[i].unit, cases[i].most, cases[i].asked, cases[i].found);

		target_sentence(text, sizeof(text), &r, "");
		CU_ASSERT_STRING_EQUAL(text, cases[i].text);
		/* Something between what was found and what follows has its own comma, which stays one. */
		target_sentence(text, sizeof(text), &r, ", on average over 3 repeats,");
		CU_ASSERT_PTR_NOT_NULL(strstr(text, "on average over 3 repeats, "));
		CU_ASSERT_PTR_NULL(strstr(text, ",,"));
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"met", met},
		{"values in words", values},
		{"sentences", sentences},
		CU_TEST_INFO_NULL,
	};

	return unit_main("target", tests);
}

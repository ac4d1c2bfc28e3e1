/* SPDX-License-Identifier: Apache-2.0 */
/* Number sets: what parses, what is refused, and what is in a set. */
#include "core/number_set.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit.h"

static void test_parse(void)
{
	static const struct {
		const char *text;
		uint64_t size;
		uint32_t last;
		uint32_t in, out;
	} cases[] = {
		{"0", 1, 0, 0, 1},          {"0-47", 48, 47, 47, 48},
		{"8,0-3", 5, 8, 8, 4},      {"1,3,5-6", 4, 6, 5, 4},
		{"10-12,0-2", 6, 12, 0, 9}, {"999999999", 1, 999999999, 999999999, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct number_set set;
		struct err err = {0};

		CU_ASSERT_EQUAL_FATAL(number_set_parse(&set, cases[i].text, &err), 0);
		CU_ASSERT_EQUAL(number_set_size(&set), cases[i].size);
		CU_ASSERT_EQUAL(number_set_last(&set), cases[i].last);
		CU_ASSERT_TRUE(number_set_has(&set, cases[i].in));
		CU_ASSERT_FALSE(number_set_has(&set, cases[i].out));
	}
}

static void test_refused(void)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{"", "such as"},
		{"a", "such as"},
		{"1-", "such as"},
		{"-1", "such as"},
		{"1,", "such as"},
		{"1 2", "such as"},
		{"1--2", "such as"},
		{"5-3", "backwards"},
		{"0-3,3", "names 3 twice"},
		{"4,0-9", "4 twice"},
		{"1,1", "names 1 twice"},
		{"1000000000", "such as"},
		{"0-5,2-3", "names 2 twice"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct number_set set;
		struct err err = {0};

		CU_ASSERT_EQUAL(number_set_parse(&set, cases[i].text, &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].sentence));
	}
}

static void test_most_ranges(void)
{
	char text[8 * NUMBER_SET_RANGES] = "0";
	struct number_set set;
	struct err err = {0};

	for (unsigned i = 1; i < NUMBER_SET_RANGES; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ",%u", 2 * i);
	CU_ASSERT_EQUAL(number_set_parse(&set, text, &err), 0);
	strcat(text, ",1001");
	CU_ASSERT_EQUAL(number_set_parse(&set, text, &err), -EINVAL);
}

static void test_meet(void)
{
	static const struct {
		const char *a, *b;
		bool meet;
		uint32_t number;
	} cases[] = {
		{"0-47", "48-63", false, 0},
		{"0-47", "47", true, 47},
		{"0,2,4", "1,3,5", false, 0},
		{"0,2,4", "1,3-9", true, 4},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct number_set a, b;
		uint32_t number;

		number_set_parse(&a, cases[i].a, NULL);
		number_set_parse(&b, cases[i].b, NULL);
		CU_ASSERT_EQUAL(number_sets_meet(&a, &b, &number), cases[i].meet);
		CU_ASSERT_EQUAL(number_sets_meet(&b, &a, &number), cases[i].meet);
		if (cases[i].meet)
			CU_ASSERT_EQUAL(number, cases[i].number);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"parse", test_parse}, {"refused", test_refused}, {"most ranges", test_most_ranges},
		{"meet", test_meet},   CU_TEST_INFO_NULL,
	};

	return unit_main("number set", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of UTF-8 text: width in columns, and cuts between characters. */
#include <string.h>

#include "core/utf8.h"
#include "tests/unit.h"

static void columns(void)
{
	static const struct {
		const char *text;
		size_t bytes;
		unsigned columns;
	} cases[] = {
		{"", UTF8_WHOLE, 0},  {"abc", UTF8_WHOLE, 3},     {"abc", 2, 2},
		{"µ", UTF8_WHOLE, 1}, {"10 µs …", UTF8_WHOLE, 7}, {"\xff\xfe", UTF8_WHOLE, 2},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		CU_ASSERT_EQUAL(utf8_columns(cases[i].text, cases[i].bytes), cases[i].columns);
}

/* The part that fits ends between two characters, whether bytes or columns are the limit. */
static void fits(void)
{
	static const struct {
		const char *text;
		size_t bytes;
		unsigned columns;
		size_t fits;
	} cases[] = {
		{"abc", 10, 10, 3}, {"abc", 2, 10, 2},  {"abc", 10, 2, 2}, {"aµc", 2, 10, 1},
		{"aµc", 3, 10, 3},  {"aµc", 10, 2, 3},  {"µµ", 3, 10, 2},  {"µ", 1, 10, 0},
		{"…", 2, 10, 0},    {"a…b", 10, 10, 5}, {"a…b", 10, 0, 0}, {"", 4, 4, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		CU_ASSERT_EQUAL(utf8_fit(cases[i].text, cases[i].bytes, cases[i].columns),
				cases[i].fits);
}

static void copies(void)
{
	char to[5];

	CU_ASSERT_TRUE(utf8_copy(to, sizeof(to), "abcd"));
	CU_ASSERT_STRING_EQUAL(to, "abcd");
	CU_ASSERT_FALSE(utf8_copy(to, sizeof(to), "abcde"));
	CU_ASSERT_STRING_EQUAL(to, "abcd");
	CU_ASSERT_FALSE(utf8_copy(to, sizeof(to), "abcµ"));
	CU_ASSERT_STRING_EQUAL(to, "abc");
	CU_ASSERT_TRUE(utf8_copy(to, sizeof(to), NULL));
	CU_ASSERT_STRING_EQUAL(to, "");
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"columns", columns},
		{"what fits ends between two characters", fits},
		{"copies are cut between two characters", copies},
		CU_TEST_INFO_NULL,
	};

	return unit_main("utf8", tests);
}

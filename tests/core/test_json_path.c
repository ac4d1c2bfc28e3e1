/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of values by their path. */
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "core/json_path.h"
#include "tests/unit.h"

static const char tree_text[] =
	"{\"a\": {\"b\": [10, {\"c\": 1.5}, \"text\", null], \"d.e\": true, \"\": 7},"
	" \"list\": [[1, 2], [3]], \"no\": false, \"none\": null, \"minus\": -3, \"large\": 1e30,"
	" \"ab\": 4, \"12\": \"digits\"}";

static void finds(void)
{
	static const struct {
		const char *path;
		double number; /* NaN: there is none */
		const char *text;
	} cases[] = {
		{"a.b.0", 10, ""},      {"a.b.1.c", 1.5, ""},
		{"a.b.2", NAN, "text"}, {"a.b.3", NAN, ""},
		{"a.b.4", NAN, ""},     {"a.b.-1", NAN, ""},
		{"a.b.01", NAN, ""},    {"a.b.1x", NAN, ""},
		{"a.b.", NAN, ""},      {"a.b.99999999999", NAN, ""},
		{"/a/b/1/c", 1.5, ""},  {"/a/d.e", 1, ""},
		{"a.d.e", NAN, ""},     {"list.0.1", 2, ""},
		{"/list/1/0", 3, ""},   {"list.1.1", NAN, ""},
		{"no", 0, ""},          {"none", NAN, ""},
		{"none.more", NAN, ""}, {"minus", -3, ""},
		{"ab", 4, ""},          {"a", NAN, ""},
		{"abc", NAN, ""},       {"ab.c", NAN, ""},
		{"12", NAN, "digits"},  {"A", NAN, ""},
		{"", NAN, ""},          {"/", NAN, ""},
	};
	cJSON *tree = cJSON_Parse(tree_text);

	CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		double number = json_number_at(tree, cases[i].path, NAN);

		if (isnan(cases[i].number) ? !isnan(number) : number != cases[i].number)
			CU_FAIL("a number differs");
		CU_ASSERT_STRING_EQUAL(json_text_at(tree, cases[i].path, ""), cases[i].text);
	}
	CU_ASSERT_PTR_EQUAL(json_at(tree, ""), tree);
	CU_ASSERT_PTR_EQUAL(json_at(tree, "/"), tree);
	CU_ASSERT_PTR_NULL(json_at(tree, "none"));
	CU_ASSERT_PTR_NULL(json_at(NULL, "a"));
	CU_ASSERT_PTR_NULL(json_at(NULL, ""));
	cJSON_Delete(tree);
}

static void stands_in(void)
{
	cJSON *tree = cJSON_Parse(tree_text);

	CU_ASSERT_EQUAL(json_whole_at(tree, "a.b.1.c", 9), 1);
	CU_ASSERT_EQUAL(json_whole_at(tree, "minus", 9), 9);
	CU_ASSERT_EQUAL(json_whole_at(tree, "large", 9), 9);
	CU_ASSERT_EQUAL(json_whole_at(tree, "a.b.2", 9), 9);
	CU_ASSERT_EQUAL(json_number_at(tree, "a.b.2", 9), 9);
	CU_ASSERT_PTR_NULL(json_text_at(tree, "ab", NULL));
	CU_ASSERT_TRUE(json_true_at(tree, "/a/d.e"));
	CU_ASSERT_TRUE(json_true_at(tree, "ab"));
	CU_ASSERT_FALSE(json_true_at(tree, "no"));
	CU_ASSERT_FALSE(json_true_at(tree, "12"));
	CU_ASSERT_FALSE(json_true_at(tree, "nothing"));
	cJSON_Delete(tree);
}

int main(void)
{
	CU_TestInfo tests[] = {{"finds", finds}, {"stands in", stands_in}, CU_TEST_INFO_NULL};

	return unit_main("json_path", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of published values: when haul's own value is held beside one, missed, or not computed. */
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "core/json.h"
#include "core/rule/published.h"
#include "tests/unit.h"

static const char tree_text[] =
	"{\"plan\": {\"bytes\": 2147483648, \"files\": 3, \"none\": null}, \"class\": \"ab\", \"unbuilt\": \"\"}";

static void test_compare(void)
{
	static const struct {
		struct published_row row;
		enum published_state state;
		double difference;
	} rows[] = {
		{{.fact = "plan.bytes", .value = 2147483648}, PUBLISHED_HELD, 0},
		{{.fact = "plan.bytes", .value = 2, .unit = 10}, PUBLISHED_HELD, 0},
		{{.fact = "plan.bytes", .value = 715827882.6666667, .over = "plan.files"},
		 PUBLISHED_HELD,
		 0},
		/* One more is another value, unless there is a tolerance. */
		{{.fact = "plan.files", .value = 4}, PUBLISHED_MISSED, -0.25},
		{{.fact = "plan.files", .value = 4, .tolerance = 0.25}, PUBLISHED_HELD, -0.25},
		{{.fact = "plan.files", .value = 2.5, .tolerance = 0.19}, PUBLISHED_MISSED, 0.2},
		{{.fact = "plan.files", .value = 2.5, .tolerance = 0.21}, PUBLISHED_HELD, 0.2},
		{{.fact = "plan.bytes", .value = 2147483648 * 1.0001}, PUBLISHED_MISSED, -0.0001},
		/* What is not there is no value that is held. */
		{{.fact = "plan.none", .value = 1, .tolerance = 1}, PUBLISHED_MISSED, NAN},
		{{.fact = "plan.other", .value = 1, .tolerance = 1}, PUBLISHED_MISSED, NAN},
		{{.fact = "plan.bytes", .value = 1, .over = "other"}, PUBLISHED_MISSED, NAN},
		{{.fact = "class", .value = 1}, PUBLISHED_MISSED, NAN},
		{{.fact = "class", .text = "ab"}, PUBLISHED_HELD, NAN},
		{{.fact = "class", .text = "abc"}, PUBLISHED_MISSED, NAN},
		{{.fact = "other", .text = "ab"}, PUBLISHED_MISSED, NAN},
		{{.fact = "plan.files", .text = "3"}, PUBLISHED_MISSED, NAN},
		{{.fact = "unbuilt", .text = "ab"}, PUBLISHED_UNKNOWN, NAN},
	};
	cJSON *tree = NULL;

	CU_ASSERT_FATAL(json_parse(&tree, tree_text, strlen(tree_text), 4, 16, NULL) == 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct published_match match;

		published_compare(&rows[i].row, tree, &match);
		CU_ASSERT_EQUAL(match.state, rows[i].state);
		if (isnan(rows[i].difference))
			CU_ASSERT(isnan(match.difference))
		else
			CU_ASSERT_DOUBLE_EQUAL(match.difference, rows[i].difference, 1e-6);
	}
	cJSON_Delete(tree);
}

int main(void)
{
	static const CU_TestInfo tests[] = {{"compare", test_compare}, CU_TEST_INFO_NULL};

	return unit_main("published", tests);
}

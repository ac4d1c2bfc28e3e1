/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of option tables as text: printing as JSON, schema, reference, lists, and the nearest
 * name. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "tests/core/option/sample_options.h"
#include "tests/unit.h"

/* Values at the limits of doubles are the same after printing and parsing. */
static void to_json_and_back(void)
{
	static const uint64_t wholes[] = {
		0, 1, 4096, 9007199254740991, 9007199254740992, 9007199254740993, UINT64_MAX};
	static const uint64_t times[] = {
		0, 1, 999, 93254000, 999999999999999, 1000000000000001, UINT64_MAX};
	static const struct option edge_options[] = {OPT_U64("number", struct all, number),
						     OPT_BYTES("size", struct all, size),
						     OPT_TIME("time", struct all, time_ns),
						     OPT_RATE("rate", struct all, rate),
						     OPT_REAL("real", struct all, real),
						     OPT_DRAW("draw", struct all, draw),
						     OPT_END};
	static const struct option *const edges[] = {edge_options, NULL};
	struct arena arena = {0};
	struct all a, b;
	struct cJSON *tree, *again;
	struct err err;
	char *text;
	size_t i;

	for (i = 0; i < 7; i++) {
		memset(&a, 0, sizeof(a));
		a.number = a.size = a.rate = wholes[i];
		a.time_ns = times[i];
		a.real = 0.1 + (double)i / 3;
		a.draw = (struct draw){i % 2 ? DRAW_NORMAL : DRAW_CONSTANT, (double)times[i],
				       i % 2 ? (double)i : 0};
		tree = options_to_json(edges, &a);
		text = json_print(tree);
		CU_ASSERT_EQUAL_FATAL(json_parse(&again, text, strlen(text), 4, 99, &err), 0);
		memset(&b, 0, sizeof(b));
		if (options_parse(edges, &b, again, "", &arena, &err)) {
			fprintf(stderr, "%s\n%s", err.text, text);
			CU_FAIL("does not read back");
		}
		CU_ASSERT_EQUAL(a.number, b.number);
		CU_ASSERT_EQUAL(a.size, b.size);
		CU_ASSERT_EQUAL(a.rate, b.rate);
		CU_ASSERT_EQUAL(a.time_ns, b.time_ns);
		CU_ASSERT_EQUAL(a.real, b.real);
		CU_ASSERT_EQUAL(a.draw.kind, b.draw.kind);
		CU_ASSERT_EQUAL(a.draw.a, b.draw.a);
		CU_ASSERT_EQUAL(a.draw.b, b.draw.b);
		free(text);
		cJSON_Delete(tree);
		cJSON_Delete(again);
	}
	arena_free(&arena);
}

/* A whole number is a number in JSON as long as each reader of JSON gets it exactly: up to 2^53 - 1.
 * A time is seconds up to where they are exact. Beyond, both are texts. */
static void numbers_or_texts(void)
{
	static const struct {
		uint64_t value;
		const char *number, *time;
	} rows[] = {
		{0, "0", "0"},
		{1, "1", "1e-09"},
		{999999999999999, "999999999999999", "999999.999999999"},
		{1000000000000000, "1000000000000000", "\"1000000000000000 ns\""},
		{9007199254740990, "9007199254740990", "\"9007199254740990 ns\""},
		{9007199254740991, "9007199254740991", "\"9007199254740991 ns\""},
		{9007199254740992, "\"9007199254740992\"", "\"9007199254740992 ns\""},
		{UINT64_MAX, "\"18446744073709551615\"", "\"18446744073709551615 ns\""},
	};
	static const struct option edge_options[] = {OPT_U64("number", struct all, number),
						     OPT_TIME("time", struct all, time_ns),
						     OPT_END};
	static const struct option *const edges[] = {edge_options, NULL};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct all a = {.number = rows[i].value, .time_ns = rows[i].value};
		struct cJSON *tree = options_to_json(edges, &a);
		char *text = json_print(tree), wanted[128];

		snprintf(wanted, sizeof(wanted), "{\n  \"number\": %s,\n  \"time\": %s\n}\n",
			 rows[i].number, rows[i].time);
		CU_ASSERT_STRING_EQUAL(text, wanted);
		free(text);
		cJSON_Delete(tree);
	}
}

static void unset_is_left_out(void)
{
	struct arena arena = {0};
	struct cJSON *tree;
	struct all a;
	char *text;

	CU_ASSERT_EQUAL_FATAL(options_parse(tables, &a, NULL, "", &arena, NULL), 0);
	tree = options_to_json(tables, &a);
	text = json_print(tree);
	CU_ASSERT_STRING_EQUAL(
		text,
		"{\n  \"number\": 1,\n  \"size\": 65536,\n  \"time\": 0.005,\n  \"rate\": 0,\n  \"real\": 0.9,\n"
		"  \"yes\": true,\n  \"text\": \"abc\",\n  \"texts\": \"one\",\n  \"choice\": \"green\",\n"
		"  \"draw\": 0.002,\n  \"factors\": {},\n  \"inner\": {\n    \"kind\": \"slow\",\n"
		"    \"workers\": 4\n  },\n  \"list\": []\n}\n");
	free(text);
	cJSON_Delete(tree);
	arena_free(&arena);
}

static void reference(void)
{
	char *text = options_reference(tables);

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_STRING_EQUAL(
		text,
		"  number         whole number, 1 … 1048576, default 1   samples a rank takes each step\n"
		"  size           size, 4 KiB … 1 GiB, default 64 KiB   of a request\n"
		"  time           time, 1 us … 1 min, default 5 ms   to wait\n"
		"  rate           rate, default unlimited   at most\n"
		"  unset          whole number, at least 5   not given by default\n"
		"  real           number, 0 … 1, default 0.9   share\n"
		"  yes            true or false, default true   or no\n"
		"  text           text, default \"abc\"   some words\n"
		"  texts          text or list of texts, default \"one\"   more words\n"
		"  choice         red | green | blue, default green   of a colour\n"
		"  draw           time or distribution, default 2 ms   a time\n"
		"  factors        {\"index\": factor}, 0.5 … 2   by index\n"
		"  inner.kind     slow | quick, default slow   how\n"
		"  inner.workers  whole number, 0 … 8, default 4   how many\n"
		"  list           list of at most 3   several\n"
		"  list.N.kind    slow | quick, default slow   how\n"
		"  list.N.workers whole number, 0 … 8, default 4   how many\n");
	free(text);
}

static void schema(void)
{
	struct cJSON *tree = options_schema(tables), *p, *item;

	CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
	CU_ASSERT_TRUE(cJSON_IsFalse(cJSON_GetObjectItem(tree, "additionalProperties")));
	p = cJSON_GetObjectItem(tree, "properties");
	CU_ASSERT_EQUAL(cJSON_GetArraySize(p), 14);
	item = cJSON_GetArrayItem(cJSON_GetObjectItem(cJSON_GetObjectItem(p, "number"), "oneOf"),
				  0);
	CU_ASSERT_EQUAL(cJSON_GetObjectItem(item, "minimum")->valuedouble, 1);
	CU_ASSERT_EQUAL(cJSON_GetObjectItem(item, "maximum")->valuedouble, 1 << 20);
	CU_ASSERT_EQUAL(cJSON_GetObjectItem(cJSON_GetObjectItem(p, "time"), "default")->valuedouble,
			0.005);
	CU_ASSERT_PTR_NULL(cJSON_GetObjectItem(cJSON_GetObjectItem(p, "unset"), "default"));
	CU_ASSERT_EQUAL(
		cJSON_GetArraySize(cJSON_GetObjectItem(cJSON_GetObjectItem(p, "draw"), "oneOf")),
		6);
	CU_ASSERT_EQUAL(
		cJSON_GetArraySize(cJSON_GetObjectItem(cJSON_GetObjectItem(p, "inner"), "anyOf")),
		2);
	item = cJSON_GetObjectItem(p, "list");
	CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(item, "type")->valuestring, "array");
	CU_ASSERT_EQUAL(cJSON_GetObjectItem(item, "maxItems")->valuedouble, 3);
	CU_ASSERT_EQUAL(cJSON_GetArraySize(
				cJSON_GetObjectItem(cJSON_GetObjectItem(item, "items"), "anyOf")),
			2);
	cJSON_Delete(tree);
}

/* A list of at least two entries is the same after printing and parsing. */
static void lists(void)
{
	struct two {
		struct inner items[4];
		uint32_t count;
	} a, b;
	static const struct option of_two[] = {{.name = "items",
						.kind = OPTION_LIST,
						.offset = offsetof(struct two, items),
						.size = sizeof(struct inner),
						.count_offset = offsetof(struct two, count),
						.min = 2,
						.max = 4,
						.table = inner_options},
					       OPT_END};
	static const struct option *const list_tables[] = {of_two, NULL};
	static const char good[] = "{\"items\": [{\"workers\": 3}, \"quick\"]}",
			  few[] = "{\"items\": [{}]}";
	struct arena arena = {0};
	struct cJSON *tree, *again;
	struct err err;

	CU_ASSERT_EQUAL_FATAL(json_parse(&tree, few, strlen(few), 8, 99, &err), 0);
	CU_ASSERT_EQUAL(options_parse(list_tables, &a, tree, "", &arena, &err), -EINVAL);
	CU_ASSERT_STRING_EQUAL(err.text, "/items: must hold at least 2 entries, holds 1");
	cJSON_Delete(tree);
	CU_ASSERT_EQUAL_FATAL(json_parse(&tree, good, strlen(good), 8, 99, &err), 0);
	CU_ASSERT_EQUAL(options_parse(list_tables, &a, tree, "", &arena, &err), 0);
	cJSON_Delete(tree);
	tree = options_to_json(list_tables, &a);
	CU_ASSERT_EQUAL(options_parse(list_tables, &b, tree, "", &arena, &err), 0);
	again = options_to_json(list_tables, &b);
	CU_ASSERT_TRUE(cJSON_Compare(tree, again, true));
	CU_ASSERT_EQUAL(b.count, 2);
	CU_ASSERT_EQUAL(b.items[0].workers, 3);
	CU_ASSERT_EQUAL(b.items[1].kind, 1);
	cJSON_Delete(tree);
	cJSON_Delete(again);
	arena_free(&arena);
}

static void spelled(void)
{
	static const char *const names[] = {"llama3_8b", "llama3_70b", "qwen3-32b",
					    "a_b",       "ab",         NULL};
	static const struct {
		const char *word, *name;
	} cases[] = {
		{"Llama3-8B", "llama3_8b"},
		{"llama3.1-8b", "llama3_8b"},
		{"QWEN3_32B", "qwen3-32b"},
		{"a-b", NULL},
		{"llama3.2-8b", NULL},
		{"", NULL},
		{"--", NULL},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *name = option_spelled(cases[i].word, names);

		CU_ASSERT(cases[i].name ? name && !strcmp(name, cases[i].name) : !name);
	}
}

static void nearest(void)
{
	static const char *const names[] = {"batch", "epochs", "compute", "on_error", "x", NULL};
	static const char *const cases[][2] = {
		{"bach", "batch"},
		{"epoch", "epochs"},
		{"comptue", "compute"},
		{"BATCH", "batch"},
		{"onerror", "on_error"},
		{"y", NULL},
		{"", NULL},
		{"something_else", NULL},
		{"batchbatchbatchbatchbatchbatchbatchbatchbatch", NULL},
	};
	const char *near;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		near = option_nearest(cases[i][0], names);
		if (cases[i][1] && near)
			CU_ASSERT_STRING_EQUAL(near, cases[i][1]);
		CU_ASSERT_EQUAL(near == NULL, cases[i][1] == NULL);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"to JSON and back", to_json_and_back},
		{"numbers or texts", numbers_or_texts},
		{"unset is left out", unset_is_left_out},
		{"reference", reference},
		{"schema", schema},
		{"lists", lists},
		{"nearest", nearest},
		{"spelled", spelled},
		CU_TEST_INFO_NULL,
	};

	return unit_main("option text", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the JSON check, its messages with line and column, and of the printer. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/random.h"
#include "core/json.h"
#include "tests/unit.h"

static void accepts(void)
{
	static const char *const cases[] = {
		"{}",
		"[]",
		"0",
		"-0",
		"1.5e-3",
		"\"\"",
		"true",
		" null ",
		"[1, 2, [3, {\"a\": []}]]",
		"{\"\": 1}",
		"\xef\xbb\xbf{}",
		"\"\\u00e4 \\ud83d\\ude00 \\\" \\\\ \\/ \\b\\f\\n\\r\\t\"",
		"\"\xc3\xa4 \xf0\x9f\x98\x80\"",
		"\t\r\n[\n]\n",
		"1e308",
		"123456789012345678901234567890",
	};
	struct err err;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (json_check(cases[i], strlen(cases[i]), 32, 100, &err)) {
			fprintf(stderr, "%s: %s\n", cases[i], err.text);
			CU_FAIL("refused");
		}
	}
}

static void refuses(void)
{
	static const char *const cases[][2] = {
		{"", "is empty"},
		{" \n\t", "is empty"},
		{"{", "line 1, column 2: expected a key in double quotes, found the end"},
		{"[1,]", "line 1, column 4: expected a value, found ']'"},
		{"{\"a\":1,}", "line 1, column 8: expected a key in double quotes, found '}'"},
		{"{\"a\" 1}", "line 1, column 6: expected ':', found '1'"},
		{"{'a':1}", "line 1, column 2: expected a key in double quotes, found '''"},
		{"{a:1}", "line 1, column 2: expected a key in double quotes, found 'a'"},
		{"{\"a\":1 \"b\":2}", "line 1, column 8: expected ',' or '}', found '\"'"},
		{"[1 2]", "line 1, column 4: expected ',' or ']', found '2'"},
		{"[1}", "line 1, column 3: expected ',' or ']', found '}'"},
		{"{} {}", "line 1, column 4: expected nothing more, found '{'"},
		{"{}\n\nx", "line 3, column 1: expected nothing more, found 'x'"},
		{"[01]", "line 1, column 3: expected ',' or ']', found '1'"},
		{"[+1]", "line 1, column 2: expected a value, found '+'"},
		{"[.5]", "line 1, column 2: expected a value, found '.'"},
		{"[1.]", "line 1, column 4: expected a digit, found ']'"},
		{"[1e]", "line 1, column 4: expected a digit, found ']'"},
		{"[-]", "line 1, column 3: expected a digit, found ']'"},
		{"[0x10]", "line 1, column 3: expected ',' or ']', found 'x'"},
		{"[NaN]", "line 1, column 2: expected a value, found 'N'"},
		{"[nan]", "line 1, column 2: expected a value, found 'n'"},
		{"[Infinity]", "line 1, column 2: expected a value, found 'I'"},
		{"[1e999]", "line 1, column 2: the number 1e999 is out of range"},
		{"[True]", "line 1, column 2: expected a value, found 'T'"},
		{"// x\n{}", "line 1, column 1: expected a value, found '/'"},
		{"\"abc", "line 1, column 1: this string has no end"},
		{"[\"a\nb\"]", "line 1, column 2: this string has no end"},
		{"[\"a\tb\"]", "line 1, column 4: control character 0x09 in a string"},
		{"\"\\x\"", "line 1, column 3: unknown escape in a string"},
		{"\"\\u12g4\"", "line 1, column 6: \\u needs four hexadecimal digits"},
		{"\"\\u0000\"", "line 1, column 8: \\u0000 in a string"},
		{"\"\\ud800\"", "line 1, column 8: half a surrogate pair in a string"},
		{"\"\\udc00\"", "line 1, column 8: half a surrogate pair in a string"},
		{"\"\\ud800\\u0041\"", "line 1, column 14: half a surrogate pair in a string"},
		{"\"\xff\"", "line 1, column 2: byte 0xff is not UTF-8"},
		{"\"\xc3\"", "line 1, column 2: byte 0xc3 is not UTF-8"},
		{"\"\xc0\xaf\"", "line 1, column 2: byte 0xc0 is not UTF-8"},
		{"\"\xed\xa0\x80\"", "line 1, column 2: byte 0xed is not UTF-8"},
		{"\"\xf4\x90\x80\x80\"", "line 1, column 2: byte 0xf4 is not UTF-8"},
		{"\"\xc3\xa4\xc3\xa4\" x", "line 1, column 6: expected nothing more, found 'x'"},
		{"\xff\xfe{", "line 1, column 1: expected a value, found byte 0xff"},
		{"\x7f\x45LF", "line 1, column 1: expected a value, found byte 0x7f"},
		{"[[[[[1]]]]]", "line 1, column 5: nested more than 4 deep"},
		{"[1,2,3,4,5,6,7,8,9,10]", "holds more than 8 values"},
		{"1234567890123456789012345678901234567890123456789012345678901",
		 "line 1, column 1: a number of more than 60 characters"},
	};
	struct err err;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		err.text[0] = '\0';
		CU_ASSERT_EQUAL(json_check(cases[i][0], strlen(cases[i][0]), 4, 8, &err), -EINVAL);
		if (strcmp(err.text, cases[i][1])) {
			fprintf(stderr, "%s\nfound:    %s\nexpected: %s\n", cases[i][0], err.text,
				cases[i][1]);
			CU_FAIL("a different sentence");
		}
	}
	CU_ASSERT_EQUAL(json_check("[\0]", 3, 4, 8, &err), -EINVAL);
	CU_ASSERT_STRING_EQUAL(err.text, "line 1, column 2: expected a value, found byte 0x00");
}

/* A million brackets cost nothing, because the check does not recurse. */
static void deep_is_cheap(void)
{
	size_t n = 1 << 20;
	char *text = malloc(n);
	struct err err;

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	memset(text, '[', n);
	CU_ASSERT_EQUAL(json_check(text, n, JSON_DEPTH_LIMIT, UINT32_MAX, &err), -EINVAL);
	CU_ASSERT_STRING_EQUAL(err.text, "line 1, column 65: nested more than 64 deep");
	CU_ASSERT_EQUAL(json_check(text, n, 1000, UINT32_MAX, &err), -EINVAL);
	free(text);
}

static void prints(void)
{
	static const char text[] = "{\n"
				   "  \"a\": [1, -2.5, true, null, \"x\\\"\\\\\\n\\u0001\"],\n"
				   "  \"b\": {},\n"
				   "  \"c\": [\n"
				   "    {\n"
				   "      \"d\": 9007199254740991\n"
				   "    },\n"
				   "    []\n"
				   "  ]\n"
				   "}\n";
	struct cJSON *tree;
	char *printed;

	CU_ASSERT_EQUAL_FATAL(json_parse(&tree, text, strlen(text), 8, 100, NULL), 0);
	printed = json_print(tree);
	CU_ASSERT_PTR_NOT_NULL_FATAL(printed);
	CU_ASSERT_STRING_EQUAL(printed, text);
	free(printed);
	printed = json_print_line(tree);
	CU_ASSERT_PTR_NOT_NULL_FATAL(printed);
	CU_ASSERT_STRING_EQUAL(printed, "{\"a\":[1,-2.5,true,null,\"x\\\"\\\\\\n\\u0001\"],"
					"\"b\":{},\"c\":[{\"d\":9007199254740991},[]]}");
	free(printed);
	cJSON_Delete(tree);
}

/* Every finite double reads back as itself. */
static void numbers_read_back(void)
{
	struct cJSON *number, *back;
	struct random r = {.key = 7};
	uint64_t bits;
	double d;
	char *text;
	int i;

	for (i = 0; i < 20000; i++) {
		bits = random_next(&r);
		memcpy(&d, &bits, sizeof(d));
		if (!isfinite(d))
			continue;
		number = cJSON_CreateNumber(d);
		text = json_print(number);
		CU_ASSERT_EQUAL_FATAL(json_parse(&back, text, strlen(text), 1, 1, NULL), 0);
		CU_ASSERT_EQUAL(back->valuedouble, d);
		free(text);
		cJSON_Delete(number);
		cJSON_Delete(back);
	}
}

static void quotes(void)
{
	char buf[JSON_QUOTE_BYTES], text[300];
	size_t i;

	CU_ASSERT_STRING_EQUAL(json_quote(buf, "a\"b\n\x01\xff"), "\"a\\\"b\\n\\u0001?\"");
	for (i = 0; i < 100; i++)
		memcpy(text + 3 * i, "\xe2\x82\xac", 3);
	text[299] = '\0';
	json_quote(buf, text);
	CU_ASSERT_TRUE(strlen(buf) < JSON_QUOTE_BYTES);
	CU_ASSERT_NSTRING_EQUAL(buf + strlen(buf) - 4, "\xe2\x80\xa6\"", 4);
	CU_ASSERT_TRUE(json_text_plain(buf));
	CU_ASSERT_FALSE(json_text_plain("a\x7f"));
	CU_ASSERT_FALSE(json_text_plain("a\nb"));
	CU_ASSERT_FALSE(json_text_plain("\xc3"));
}

int main(void)
{
	CU_TestInfo tests[] = {{"accepts", accepts},
			       {"refuses", refuses},
			       {"deep is cheap", deep_is_cheap},
			       {"prints", prints},
			       {"numbers read back", numbers_read_back},
			       {"quotes", quotes},
			       CU_TEST_INFO_NULL};

	return unit_main("json", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of tables and documents: columns of every type and format, each as text, JSON and CSV. */
#include "facts/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats.h"
#include "facts/document.h"
#include "tests/unit.h"

struct row {
	const char *text;
	char name[16];
	double real;
	uint64_t u64;
	uint32_t u32, several;
	bool flag;
	struct stats stats;
	char **texts;
};

static double tenfold(const void *row, int which)
{
	return 10 * ((const struct row *)row)->real + which;
}

static const char *word(const void *row)
{
	return ((const struct row *)row)->flag ? "yes" : "no";
}

static void shown(char cell[TABLE_CELL_BYTES], const void *row)
{
	if (((const struct row *)row)->flag)
		strcpy(cell, "seen");
}

static bool is_named(const void *row)
{
	return ((const struct row *)row)->name[0];
}

static char *first_texts[] = {(char[]){"x"}, NULL}, *second_texts[] = {(char[]){""}, (char[]){"y"}};
static const struct row rows[] = {
	{"a,\"b\"",
	 "one",
	 0.25,
	 12345678901,
	 7,
	 2,
	 true,
	 {3, 2e9, 1, 1.5e9, 2.5e9, 0, 0, 0},
	 first_texts},
	{NULL, "two", NAN, 0, 0, 0, false, {1, 0.5, NAN, NAN, NAN, NAN, NAN, NAN}, second_texts},
	{"hidden", "", 1, 1, 1, 1, true, {0}, first_texts},
};

static void expect(const char *found, const char *wanted)
{
	if (!found || strcmp(found, wanted) != 0)
		fprintf(stderr, "\nfound:\n%s\nwanted:\n%s\n", found ? found : "(nothing)", wanted);
	CU_ASSERT_TRUE(found && strcmp(found, wanted) == 0);
}

static bool write_types(struct document *d, const void *about)
{
	static const char *const headings[] = {"L", "R"};
	static const struct column columns[] = {
		COLUMN(NAME, struct row, name, "name", "name"),
		COLUMN(TEXT, struct row, text, "text", "text"),
		COLUMN(REAL, struct row, real, "real", NULL),
		COLUMN(U64, struct row, u64, "u64", "u64", .format = FORMAT_SOME),
		COLUMN(U32, struct row, u32, "u32", "u32", .format = FORMAT_COUNT),
		FIELD(FLAG, struct row, flag),
		COLUMN(STATS, struct row, stats, "stats", "stats", .format = FORMAT_GIGA),
		COLUMN(TEXTS, struct row, texts, "texts", NULL, .headings = headings, .count = 2),
		{.type = COLUMN_VALUE, .key = "value", .number = tenfold, .which = 1},
		COLUMN(VALUES, struct row, several, "values", NULL, .number = tenfold),
		{.type = COLUMN_WORD, .key = "word", .word = word},
		SHOWN("shown", shown),
		COLUMNS_END};
	const struct report_table table = {.key = "rows",
					   .columns = columns,
					   .flat = true,
					   .shown = is_named,
					   TABLE_ROWS(rows, 3)};

	(void)about;
	document_table(d, &table);
	return true;
}

static void test_types(void)
{
	char *text = document_text(REPORT_TEXT, write_types, NULL);

	expect(text, "name    text              u64   u32     stats   L   R   shown\n"
		     "one    a,\"b\"   12,345,678,901     7   2 ± 0.5   x   –    seen\n"
		     "two        –                –     0   <0.0001   –   y       –\n");
	free(text);
	text = document_text(REPORT_CSV, write_types, NULL);
	expect(text,
	       "name,text,real,u64,u32,flag,stats,stats_ci95_low,stats_ci95_high,value,word\n"
	       "one,\"a,\"\"b\"\"\",0.25,12345678901,7,1,2000000000,1500000000,2500000000,3.5,yes\n"
	       "two,,,0,0,0,0.5,,,,no\n"
	       ",hidden,1,1,1,1,0,0,0,11,yes\n");
	free(text);
	text = document_text(REPORT_JSON, write_types, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"values\": [2.5, 3.5],"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"texts\": [\"x\", null],"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"text\": null,"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"u64\": 12345678901,"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"flag\": true,"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"ci95_low\": 1500000000,"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"value\": 3.5,"));
	CU_ASSERT_PTR_NULL(strstr(text, "seen"));
	free(text);
}

static bool write_formats(struct document *d, const void *about)
{
	static const struct column columns[] = {
		COLUMN(REAL, struct row, real, NULL, "figure"),
		COLUMN(REAL, struct row, real, NULL, "giga", .format = FORMAT_GIGA),
		COLUMN(REAL, struct row, real, NULL, "count", .format = FORMAT_COUNT),
		COLUMN(REAL, struct row, real, NULL, "share", .format = FORMAT_SHARE),
		COLUMN(REAL, struct row, real, NULL, "whole", .format = FORMAT_WHOLE),
		COLUMN(REAL, struct row, real, NULL, "bytes", .format = FORMAT_BYTES),
		COLUMN(REAL, struct row, real, NULL, "rate", .format = FORMAT_RATE),
		COLUMN(REAL, struct row, real, NULL, "time", .format = FORMAT_TIME),
		COLUMN(REAL, struct row, real, NULL, "ns", .format = FORMAT_NS),
		COLUMN(STATS, struct row, stats, NULL, "stats", .format = FORMAT_SHARE),
		COLUMNS_END};
	const struct row values[] = {{.real = 1500, .stats = {2, 0.5, 0, 0.4, 0.6, 0, 0, 0}},
				     {.real = 0, .stats = {1, 0.5, 0, NAN, NAN, 0, 0, 0}},
				     {.real = NAN, .stats = {0, NAN, 0, NAN, NAN, 0, 0, 0}}};
	const struct report_table table = {
		.key = "rows", .columns = columns, TABLE_ROWS(values, 3)};

	(void)about;
	document_table(d, &table);
	return true;
}

static void test_formats(void)
{
	char *text = document_text(REPORT_TEXT, write_formats, NULL);

	expect(text,
	       "figure     giga  count       share     whole   bytes      rate    time      ns          stats\n"
	       "1,500   <0.0001  1,500  150000.0 %  150000 %  1.5 kB  1.5 kB/s  25 min  1.5 us  50.0 ± 10.0 %\n"
	       "0             0      0       0.0 %       0 %     0 B         0     0 s     0 s         50.0 %\n"
	       "–             –      –           –         –       –         –       –       –              –\n");
	free(text);
	/* No table of it is flat, so CSV has none. */
	text = document_text(REPORT_CSV, write_formats, NULL);
	expect(text, "");
	free(text);
}

/* A list of two rows, each with a table of its own by the names of its rows. */
static bool write_nested(struct document *d, const void *about)
{
	static const struct column outer[] = {FIELD(NAME, struct row, name), COLUMNS_END};
	static const struct column inner[] = {COLUMN(NAME, struct row, name, "key", "key"),
					      FIELD(U32, struct row, u32), COLUMNS_END};
	static const struct column total[] = {FIELD(U32, struct row, several), COLUMNS_END};
	const struct report_table table = {
		.key = "inner", .columns = inner, .keyed = true, .flat = true, TABLE_ROWS(rows, 2)};

	(void)about;
	document_open_list(d, "list");
	for (int i = 0; i < 2; i++) {
		document_open_row(d, outer, &rows[i]);
		document_say(d, "%s:\n", rows[i].name);
		document_table(d, &table);
		document_close(d);
	}
	document_close(d);
	document_fields(d, total, &rows[0]);
	document_wrap(d, 2, "the end");
	return true;
}

static void test_nested(void)
{
	char *text = document_text(REPORT_TEXT, write_nested, NULL);

	expect(text, "one:\nkey\none\ntwo\ntwo:\nkey\none\ntwo\nthe end\n");
	free(text);
	text = document_text(REPORT_CSV, write_nested, NULL);
	expect(text, "name,inner.key,inner.u32\none,one,7\none,two,0\ntwo,one,7\ntwo,two,0\n");
	free(text);
	text = document_text(REPORT_JSON, write_nested, NULL);
	expect(text, "{\n  \"list\": [\n    {\n      \"name\": \"one\",\n      \"inner\": {\n"
		     "        \"one\": {\n          \"u32\": 7\n        },\n"
		     "        \"two\": {\n          \"u32\": 0\n        }\n      }\n    },\n"
		     "    {\n      \"name\": \"two\",\n      \"inner\": {\n"
		     "        \"one\": {\n          \"u32\": 7\n        },\n"
		     "        \"two\": {\n          \"u32\": 0\n        }\n      }\n    }\n  ],\n"
		     "  \"several\": 2\n}\n");
	free(text);
}

int main(void)
{
	const CU_TestInfo tests[] = {
		{"columns of every type", test_types},
		{"numbers of every format", test_formats},
		{"rows with tables", test_nested},
		CU_TEST_INFO_NULL,
	};

	return unit_main("table", tests);
}

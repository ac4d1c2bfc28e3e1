/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the page of haul report --html: its data are those of haul report --json, it stays
 * within its bounds, and what a file says cannot become a part of the page. What a browser makes of
 * it is in tests/report/html/check_page.py. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/report.h"
#include "tests/report/html/made_file.h"
#include "tests/unit.h"

enum { PAGE_BYTES_MAX = 3 << 20 };

static const struct report_options plain = {0};

/* The data of a page. They are as they stand in the page: JSON, in which "<" is written as
 * \u003c. */
static cJSON *page_data_of(const char *page)
{
	static const char mark[] = "type=\"application/json\">";
	const char *begin = strstr(page, mark), *end;
	cJSON *data;

	CU_ASSERT_PTR_NOT_NULL_FATAL(begin);
	begin += strlen(mark);
	end = strchr(begin, '<');
	CU_ASSERT_PTR_NOT_NULL_FATAL(end);
	CU_ASSERT_EQUAL(strncmp(end, "</script>", 9), 0);
	data = cJSON_ParseWithLength(begin, (size_t)(end - begin));
	CU_ASSERT_PTR_NOT_NULL_FATAL(data);
	return data;
}

static cJSON *page_of(const struct results_file *const *files, unsigned count, size_t *bytes)
{
	char *page = report_html(files, count, false);
	cJSON *data;

	CU_ASSERT_PTR_NOT_NULL_FATAL(page);
	*bytes = strlen(page);
	CU_ASSERT_EQUAL(strncmp(page, "<!doctype html>", 15), 0);
	CU_ASSERT_PTR_NULL(strstr(page, "<!--include"));
	CU_ASSERT_PTR_NULL(strstr(page, "<!--data"));
	data = page_data_of(page);
	free(page);
	return data;
}

static cJSON *page_of_shape(const struct made_shape *shape, size_t *bytes)
{
	struct results_file *f = made_file(shape);
	cJSON *data = page_of((const struct results_file *const[]){f}, 1, bytes);

	CU_ASSERT_TRUE(*bytes < PAGE_BYTES_MAX);
	made_file_free(f);
	return data;
}

/* A value by its path, "files/0/phases/1/au"; NULL: it is not there. */
static const cJSON *get(const cJSON *from, const char *path)
{
	char copy[200], *word, *rest;

	snprintf(copy, sizeof(copy), "%s", path);
	for (word = strtok_r(copy, "/", &rest); word && from; word = strtok_r(NULL, "/", &rest))
		from = cJSON_IsArray(from) ? cJSON_GetArrayItem(from, atoi(word))
					   : cJSON_GetObjectItemCaseSensitive(from, word);
	return from;
}

static double number(const cJSON *from, const char *path)
{
	const cJSON *value = get(from, path);

	return cJSON_IsNumber(value) ? value->valuedouble : NAN;
}

/* Every value of a phase on the page stands under the same key in the JSON of the file, too. */
static void same_as_json(void)
{
	static const struct made_shape shape = {.name = "same",
						.runs = 1,
						.ranks = 8,
						.nodes = 2,
						.epochs = 3,
						.rows = 20,
						.hists = true};
	struct results_file *f = made_file(&shape);
	const struct results_file *const files[] = {f};
	char *text = report_json(files, 1, &plain);
	cJSON *json = cJSON_Parse(text), *data, *value, *page_phase, *json_phase;
	size_t bytes;
	int values = 0;

	data = page_of(files, 1, &bytes);
	page_phase = cJSON_GetArrayItem(get(data, "files/0/phases"), 1);
	json_phase = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "phases"), 1);
	CU_ASSERT_TRUE(cJSON_IsFalse(get(page_phase, "brief")));
	cJSON_DeleteItemFromObject(page_phase, "brief");
	cJSON_ArrayForEach(value, page_phase)
	{
		CU_ASSERT_TRUE(
			cJSON_Compare(value, cJSON_GetObjectItem(json_phase, value->string), true));
		values++;
	}
	CU_ASSERT_EQUAL(values, cJSON_GetArraySize(json_phase));
	cJSON_Delete(data);
	cJSON_Delete(json);
	free(text);
	made_file_free(f);
}

/* What the page needed and the report did not have. */
static void new_keys(void)
{
	static const struct made_shape shape = {.name = "keys",
						.runs = 1,
						.ranks = 8,
						.nodes = 2,
						.epochs = 1,
						.rows = 600,
						.hists = true};
	size_t bytes;
	cJSON *data = page_of_shape(&shape, &bytes);
	const cJSON *p = get(data, "files/0/phases/1"), *counts, *one;
	double sum = 0;

	CU_ASSERT_EQUAL(
		strncmp(get(p, "verdict/0")->valuestring, "The accelerators were busy ", 27), 0);
	CU_ASSERT_EQUAL(cJSON_GetArraySize(get(data, "files/0/phases/0/verdict")), 0);
	CU_ASSERT_DOUBLE_EQUAL(number(p, "rates/cached_share"), 0.25, 1e-12);
	CU_ASSERT_STRING_EQUAL(get(p, "rates/items")->valuestring, "samples");
	CU_ASSERT_STRING_EQUAL(get(data, "files/0/phases/0/rates/items")->valuestring, "");
	CU_ASSERT_DOUBLE_EQUAL(number(p, "rates/au"), number(p, "au/mean"), 1e-12);
	/* 600 seconds in at most 256 rows of three seconds, each the mean of them. */
	CU_ASSERT_EQUAL(cJSON_GetArraySize(get(p, "timeline/time_s")), 200);
	CU_ASSERT_DOUBLE_EQUAL(number(p, "timeline/interval_s"), 3, 0);
	CU_ASSERT_DOUBLE_EQUAL(number(p, "timeline/time_s/1"), 3, 0);
	CU_ASSERT_DOUBLE_EQUAL(number(p, "timeline/bytes_read_per_second/1"), 1e9 + 4e6, 1e-3);
	CU_ASSERT_DOUBLE_EQUAL(number(p, "timeline/ranks_stalled/0"), 1e9 + 4e6, 1e-3);
	/* All values lie between the edges, and rank 3 waits five seconds. */
	counts = get(p, "distribution_ns/read/counts");
	cJSON_ArrayForEach(one, counts) sum += one->valuedouble;
	CU_ASSERT_DOUBLE_EQUAL(sum, 6000, 0);
	CU_ASSERT_EQUAL(cJSON_GetArraySize(get(p, "distribution_ns/read/edges")),
			cJSON_GetArraySize(counts) + 1);
	CU_ASSERT_TRUE(number(p, "distribution_ns/read/edges/0") <= 1000);
	CU_ASSERT_DOUBLE_EQUAL(number(p, "by_rank/ranks_per_row"), 1, 0);
	for (unsigned r = 0; r < 8; r++) {
		char path[60];

		snprintf(path, sizeof(path), "by_rank/storage_wait_s/%u", r);
		CU_ASSERT_DOUBLE_EQUAL(number(p, path), made_wait_s(r), 1e-8);
		snprintf(path, sizeof(path), "by_rank/accounts/transfer/%u", r);
		CU_ASSERT_DOUBLE_EQUAL(number(p, path), made_wait_s(r), 1e-8);
	}
	CU_ASSERT_DOUBLE_EQUAL(number(p, "by_node/ranks/0"), 4, 0);
	CU_ASSERT_DOUBLE_EQUAL(number(p, "by_node/rank/1"), 4, 0);
	CU_ASSERT_DOUBLE_EQUAL(number(p, "by_node/storage_wait_s_max/0"), 5, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(number(p, "by_node/storage_wait_s/1"), 0.0065, 1e-8);
	CU_ASSERT_DOUBLE_EQUAL(number(p, "epochs/0/au_min"), 0.45, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(number(p, "epochs/0/au_max"), 0.95, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(number(p, "epochs/0/rank_of_au_min"), MADE_SLOW_RANK, 0);
	CU_ASSERT_STRING_EQUAL(get(data, "files/0/hosts/1")->valuestring, "nid00001");
	CU_ASSERT_DOUBLE_EQUAL(number(data, "files/0/job/phases/0/train/batch"), 4, 0);
	cJSON_Delete(data);
}

/* 6,144 ranks are 128 rows of 48 ranks, whose mean and worst are those of their ranks. */
static void many_ranks(void)
{
	static const struct made_shape shape = {.name = "many",
						.runs = 1,
						.ranks = 6144,
						.nodes = 512,
						.epochs = 200,
						.rows = 4096,
						.hists = true};
	double sum = 0;
	size_t bytes;
	cJSON *data = page_of_shape(&shape, &bytes);
	const cJSON *p = get(data, "files/0/phases/1");

	CU_ASSERT_EQUAL(cJSON_GetArraySize(get(p, "by_rank/rank")), 128);
	CU_ASSERT_DOUBLE_EQUAL(number(p, "by_rank/rank/1"), 48, 0);
	for (unsigned r = 0; r < 48; r++)
		sum += made_wait_s(r);
	CU_ASSERT_DOUBLE_EQUAL(number(p, "by_rank/storage_wait_s/0"), sum / 48, 1e-8);
	CU_ASSERT_DOUBLE_EQUAL(number(p, "by_rank/storage_wait_s_max/0"), 5, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(number(p, "by_rank/au_min/0"), 0.25, 1e-9);
	CU_ASSERT_EQUAL(cJSON_GetArraySize(get(p, "by_node/node")), 128);
	CU_ASSERT_DOUBLE_EQUAL(number(p, "by_node/ranks/0"), 48, 0);
	CU_ASSERT_TRUE(cJSON_GetArraySize(get(p, "steps/step")) <= 256);
	CU_ASSERT_EQUAL(cJSON_GetArraySize(get(p, "epochs")), 64);
	CU_ASSERT_DOUBLE_EQUAL(number(p, "left_out/epochs"), 136, 0);
	CU_ASSERT_DOUBLE_EQUAL(number(data, "files/0/left_out/hosts"), 256, 0);
	CU_ASSERT_TRUE(bytes < 700 << 10);
	cJSON_Delete(data);
}

static unsigned brief_of(const cJSON *phases, unsigned *first_runs)
{
	const cJSON *p;
	unsigned brief = 0;

	*first_runs = 0;
	cJSON_ArrayForEach(p, phases)
	{
		brief += cJSON_IsTrue(get(p, "brief"));
		*first_runs += cJSON_IsFalse(get(p, "brief")) && number(p, "repeat") < 2;
	}
	return brief;
}

/* A thousand runs fit. The first run of each combination has its details. */
static void many_runs(void)
{
	static const struct made_shape shape = {.name = "runs",
						.runs = 1000,
						.combinations = 4,
						.ranks = 8,
						.nodes = 2,
						.epochs = 5,
						.rows = 300,
						.hists = true};
	unsigned brief, first_runs;
	size_t bytes;
	cJSON *data = page_of_shape(&shape, &bytes);
	const cJSON *phases = get(data, "files/0/phases");

	CU_ASSERT_EQUAL(cJSON_GetArraySize(phases), 2000);
	CU_ASSERT_DOUBLE_EQUAL(number(data, "phases_left_out"), 0, 0);
	brief = brief_of(phases, &first_runs);
	CU_ASSERT_TRUE(brief > 1900 && brief < 2000);
	CU_ASSERT_EQUAL(first_runs, 8);
	CU_ASSERT_DOUBLE_EQUAL(number(phases, "1999/run"), 1000, 0);
	CU_ASSERT_FALSE(isnan(number(phases, "1999/rates/bytes_per_second")));
	CU_ASSERT_EQUAL(cJSON_GetArraySize(get(data, "files/0/series")), 8);
	CU_ASSERT_EQUAL(cJSON_GetArraySize(get(data, "compare/sides")), 4);
	cJSON_Delete(data);
}

/* Two files are compared, and have a row each in the scaling table. */
static void several_files(void)
{
	const struct made_shape shapes[] = {
		{.name = "a", .runs = 3, .ranks = 4, .nodes = 1, .epochs = 1, .rows = 4},
		{.name = "b", .runs = 3, .ranks = 8, .nodes = 2, .epochs = 1, .rows = 4}};
	struct results_file *f[] = {made_file(&shapes[0]), made_file(&shapes[1])};
	size_t bytes;
	cJSON *data = page_of((const struct results_file *const *)f, 2, &bytes);

	CU_ASSERT_EQUAL(cJSON_GetArraySize(get(data, "files")), 2);
	CU_ASSERT_EQUAL(cJSON_GetArraySize(get(data, "scaling")), 2);
	CU_ASSERT_DOUBLE_EQUAL(number(data, "scaling/1/nodes"), 2, 0);
	CU_ASSERT_EQUAL(cJSON_GetArraySize(get(data, "compare/sides")), 2);
	CU_ASSERT_EQUAL(cJSON_GetArraySize(get(data, "files/1/phases")), 6);
	cJSON_Delete(data);
	made_file_free(f[0]);
	made_file_free(f[1]);
}

/* Texts of a file stay texts, and what is not a number is null. */
static void hostile_and_empty(void)
{
	static const struct made_shape shape = {.name = "</script><script>alert(1)</script><!--",
						.runs = 1,
						.ranks = 2,
						.nodes = 1,
						.epochs = 2,
						.rows = 5,
						.nothing = true,
						.failures = true};
	size_t bytes;
	cJSON *data = page_of_shape(&shape, &bytes);
	const cJSON *p = get(data, "files/0/phases/1");

	CU_ASSERT_STRING_EQUAL(get(data, "files/0/name")->valuestring, shape.name);
	CU_ASSERT_TRUE(cJSON_IsNull(get(p, "rates/au")));
	CU_ASSERT_TRUE(cJSON_IsNull(get(p, "timeline/ranks_stalled/4")));
	CU_ASSERT_TRUE(cJSON_IsNull(get(p, "by_rank/au/0")));
	CU_ASSERT_TRUE(cJSON_IsNull(get(p, "by_node")));
	CU_ASSERT_EQUAL(cJSON_GetArraySize(get(p, "failures")), 64);
	CU_ASSERT_DOUBLE_EQUAL(number(p, "left_out/failures"), 36, 0);
	CU_ASSERT_TRUE(cJSON_IsNull(get(data, "compare")));
	CU_ASSERT_TRUE(cJSON_IsNull(get(data, "scaling")));
	cJSON_Delete(data);
}

/* A combination as haul plan gathers it, with a phase that reports a table of so many rows. */
static cJSON *plan_part(int table_rows)
{
	cJSON *part = cJSON_CreateObject(), *plan = cJSON_CreateObject();
	cJSON *phase = cJSON_CreateObject(), *told, *rows, *row;

	cJSON_AddStringToObject(part, "sweep", "</script><script>alert(1)</script>");
	cJSON_AddItemToArray(cJSON_AddArrayToObject(part, "plans"), plan);
	cJSON_AddNumberToObject(cJSON_AddObjectToObject(part, "table"), "target_au", 0.9);
	cJSON_AddNumberToObject(plan, "nodes", 8);
	cJSON_AddItemToArray(cJSON_AddArrayToObject(plan, "phases"), phase);
	told = cJSON_AddObjectToObject(cJSON_AddObjectToObject(phase, "tables"), "files");
	rows = cJSON_AddArrayToObject(told, "rows");
	for (int i = 0; i < table_rows; i++) {
		row = cJSON_CreateArray();
		cJSON_AddItemToArray(row, cJSON_CreateNumber(1e15 + i));
		cJSON_AddItemToArray(rows, row);
	}
	return part;
}

/* The page of a plan is bounded: tables of ranks are cut, and combinations without room have only
 * their tables. */
static void plan_page(void)
{
	enum { PARTS = 2000, ROWS = 100 };
	cJSON *plan = cJSON_CreateObject(), *parts = cJSON_AddArrayToObject(plan, "combinations");
	cJSON *data;
	const cJSON *list;
	char *page;
	int brief = 0, shown;

	for (int i = 0; i < PARTS; i++)
		cJSON_AddItemToArray(parts, plan_part(ROWS));
	page = report_html_plan(plan);
	CU_ASSERT_PTR_NOT_NULL_FATAL(page);
	CU_ASSERT_TRUE(strlen(page) < PAGE_BYTES_MAX);
	data = page_data_of(page);
	free(page);
	list = get(data, "plan/combinations");
	shown = cJSON_GetArraySize(list);
	for (int i = 0; i < shown; i++)
		brief += cJSON_IsTrue(get(cJSON_GetArrayItem(list, i), "brief"));
	CU_ASSERT_TRUE(brief > 0 && brief < shown);
	CU_ASSERT_DOUBLE_EQUAL(number(data, "plan/combinations_left_out"), PARTS - shown, 0);
	CU_ASSERT_EQUAL(cJSON_GetArraySize(get(list, "0/plans/0/phases/0/tables/files/rows")), 64);
	CU_ASSERT_DOUBLE_EQUAL(number(list, "0/plans/0/phases/0/tables/files/left_out/rows"),
			       ROWS - 64, 0);
	CU_ASSERT_STRING_EQUAL(get(list, "0/sweep")->valuestring,
			       "</script><script>alert(1)</script>");
	CU_ASSERT_DOUBLE_EQUAL(number(get(list, "0"), "table/target_au"), 0.9, 0);
	cJSON_Delete(data);
}

/* No page is written over a results file, and none over anything when the results cannot be
 * read. */
static void refusals(void)
{
	const char *const results[] = {"test_page_results.h5"};
	struct err err = {0};
	FILE *f = fopen(results[0], "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fwrite("\x89HDF\r\n\x1a\n", 1, 8, f);
	fclose(f);
	CU_ASSERT_EQUAL(report_page(results[0], false, results, 1, &err), -EEXIST);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "no page is written over it"));
	CU_ASSERT_EQUAL(report_page("test_page.html", false, results, 1, &err), -EINVAL);
	CU_ASSERT_EQUAL(access("test_page.html", F_OK), -1);
	unlink(results[0]);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"the data are those of the JSON", same_as_json},
		{"keys that the page added", new_keys},
		{"6,144 ranks in 128 rows", many_ranks},
		{"1,000 runs in 3 MiB", many_runs},
		{"several files are compared", several_files},
		{"hostile texts, and nothing that is a number", hostile_and_empty},
		{"the page of a plan", plan_page},
		{"refusals", refusals},
		CU_TEST_INFO_NULL,
	};

	return unit_main("page", tests);
}

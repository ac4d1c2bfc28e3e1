/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of parts of a report: the empty line before each part of a page, the highest rate of plain
 * reads, and rows of time that are folded, of which the last one has fewer. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/against.h"
#include "report/shapes.h"
#include "tests/unit.h"

enum { PHASES = 4, COLUMNS = 4, SECONDS = 5 };
static struct results_column columns[COLUMNS] = {
	{.name = "bytes_read", .unit = "bytes"},
	{.name = "bytes_rate_first_done",
	 .unit = "B/s",
	 .role = ROLE_OPERATION_RATE_FIRST,
	 .real = true},
	{.name = "bytes_rate_last_done", .unit = "B/s", .role = ROLE_BYTE_RATE, .real = true},
	{.name = "au", .unit = "fraction", .role = ROLE_UTILISATION, .real = true},
};
static union results_cell cells[PHASES][COLUMNS];
static struct results_phase_read phases[PHASES];
static struct store_facts store = {.name = "data", .note = "is not direct", .nodes = 1};
static char empty[1], path[] = "r.h5";
static struct results_file file;

/* Three phases of plain reads from the store, and a training that read 200 bytes in 2 s. */
static void make(void)
{
	static const double rates[PHASES] = {200, 400, 300, NAN};

	file = (struct results_file){.path = path,
				     .status = "done",
				     .build = empty,
				     .command_line = empty,
				     .error = empty,
				     .ranks = 1,
				     .nodes = 1,
				     .runs = 1,
				     .store_count = 1,
				     .stores = &store,
				     .phase_count = PHASES,
				     .phases = phases};
	for (uint32_t i = 0; i < PHASES; i++) {
		bool train = i == PHASES - 1;

		cells[i][0].count = 200;
		cells[i][2].real = rates[i];
		cells[i][3].real = 0.5;
		phases[i] = (struct results_phase_read){
			.record = {.number = i,
				   .within = RECORD_NOT_WITHIN,
				   .run = 1,
				   .seconds = 2},
			.merged = {.column_count = train ? COLUMNS : COLUMNS - 1,
				   .row_count = 1,
				   .columns = columns,
				   .cells = cells[i]},
		};
		strcpy(phases[i].record.name, train ? "train" : "io");
		strcpy(phases[i].record.status, "done");
		strcpy(phases[i].record.store, "data");
	}
	/* A training has no rate until its first thread was done. */
	phases[PHASES - 1].merged.columns = &columns[2];
	phases[PHASES - 1].merged.column_count = 2;
	phases[PHASES - 1].merged.cells = &cells[PHASES - 1][2];
}

static void test_ceiling(void)
{
	struct ceiling c;

	make();
	CU_ASSERT_TRUE_FATAL(plain_io_ceiling(&file, &phases[3], &c));
	CU_ASSERT(c.phase == &phases[1]);
	CU_ASSERT_DOUBLE_EQUAL(c.bytes_per_second, 400, 0);
	/* Another run, another store, and a phase that ran beside others tell nothing. */
	phases[1].record.run = 2;
	CU_ASSERT_TRUE_FATAL(plain_io_ceiling(&file, &phases[3], &c));
	CU_ASSERT(c.phase == &phases[2]);
	strcpy(phases[2].record.together, "ranks 0");
	CU_ASSERT_TRUE_FATAL(plain_io_ceiling(&file, &phases[3], &c));
	CU_ASSERT(c.phase == &phases[0]);
	strcpy(phases[0].record.store, "other");
	CU_ASSERT_FALSE(plain_io_ceiling(&file, &phases[3], &c));
	CU_ASSERT_FALSE(plain_io_ceiling(&file, &phases[0], &c));
}

/* Each part begins with an empty line, and has none within. */
static void test_empty_lines(void)
{
	const struct report_options plain = {0};
	char *text;

	make();
	strcpy(phases[0].record.message, "one");
	strcpy(phases[1].record.message, "two");
	text = report_text(&file, &plain);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(text, "\n\nio: one\nio: two\n\nstore data: is not direct\n\nr.h5 ("));
	free(text);
}

static void test_folded(void)
{
	double bytes[SECONDS] = {10, 20, 60, 40, 50};
	const struct report_options two = {.time_rows = 2};
	const struct results_file *const files[] = {&file};
	const cJSON *timeline, *list;
	cJSON *all;
	char *text;

	make();
	phases[0].timeline = (struct results_timeline){.rows = SECONDS, .interval_s = 2};
	phases[0].timeline.column[0] = bytes;
	text = report_json(files, 1, &two);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	all = cJSON_Parse(text);
	timeline = cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(all, "phases"), 0),
				       "timeline");
	list = cJSON_GetArrayItem(timeline, 2);
	CU_ASSERT_EQUAL(cJSON_GetArraySize(list), 2);
	CU_ASSERT_DOUBLE_EQUAL(cJSON_GetArrayItem(list, 0)->valuedouble, 15, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(cJSON_GetArrayItem(list, 1)->valuedouble, 22.5, 1e-12);
	list = cJSON_GetObjectItem(timeline, "time_s");
	CU_ASSERT_DOUBLE_EQUAL(cJSON_GetArrayItem(list, 1)->valuedouble, 6, 1e-12);
	cJSON_Delete(all);
	free(text);
}

int main(void)
{
	const CU_TestInfo tests[] = {
		{"the highest rate of plain reads", test_ceiling},
		{"empty lines between parts", test_empty_lines},
		{"rows of time that are folded", test_folded},
		CU_TEST_INFO_NULL,
	};

	return unit_main("parts of a report", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of statistics against values computed by hand and against tables of Student's t, and of the
 * repeats of a series, which are combined. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"
#include "facts/text.h"
#include "report/report.h"
#include "report/series.h"
#include "tests/unit.h"

static void test_t95(void)
{
	static const struct {
		uint32_t freedom;
		double t;
	} table[] = {
		{1, 12.70620474}, {2, 4.30265273},  {3, 3.18244631},   {4, 2.77644511},
		{5, 2.57058184},  {9, 2.26215716},  {10, 2.22813885},  {29, 2.04522964},
		{30, 2.04227246}, {99, 1.98421695}, {120, 1.97993041}, {999, 1.96234146},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		CU_ASSERT_DOUBLE_EQUAL(stats_t95(table[i].freedom), table[i].t, 1e-7);
	CU_ASSERT(isnan(stats_t95(0)));
}

static void test_by_hand(void)
{
	/* deviations -2, 0, 2: variance 8 / 2; t(2) * 2 / sqrt(3) = 4.968275 */
	static const double three[] = {10, 12, 14};
	/* sum 40, squared deviations 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32; t(7) = 2.36462 */
	static const double eight[] = {2, 4, 4, 4, 5, 5, 7, 9}, holes[] = {NAN, 10, 12, NAN, 14};
	struct stats s = stats_of(three, 3);

	CU_ASSERT(s.n == 3 && s.mean == 12 && s.min == 10 && s.max == 14);
	CU_ASSERT_DOUBLE_EQUAL(s.stdev, 2, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(s.cv, 1.0 / 6, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(s.low, 12 - 4.968275, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(s.high, 12 + 4.968275, 1e-6);
	s = stats_of(eight, 8);
	CU_ASSERT_DOUBLE_EQUAL(s.mean, 5, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(s.stdev, 2.138090, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(s.high - s.mean, 1.787488, 1e-6);
	s = stats_of(holes, 5);
	CU_ASSERT(s.n == 3 && s.mean == 12);
}

static void test_too_few(void)
{
	static const double none[] = {NAN, NAN}, one = 7, same[] = {3, 3, 3};
	struct stats s = stats_of(none, 2);

	CU_ASSERT(s.n == 0 && isnan(s.mean) && isnan(s.min) && isnan(s.stdev));
	s = stats_of(&one, 1);
	CU_ASSERT(s.n == 1 && s.mean == 7 && s.min == 7 && s.max == 7);
	CU_ASSERT(isnan(s.stdev) && isnan(s.low) && isnan(s.high) && isnan(s.cv));
	s = stats_of(same, 3);
	CU_ASSERT(s.stdev == 0 && s.low == 3 && s.high == 3 && s.cv == 0);
}

/* Training phases that move 1 GB in one second, except where a test changes them. */
enum { PHASES = 9, COLUMNS = 4 };
static const struct results_column columns[COLUMNS] = {
	{.name = "bytes_read", .unit = "bytes"},
	{.name = "bytes_written", .unit = "bytes"},
	{.name = "samples", .role = ROLE_ITEMS},
	{.name = "au", .unit = "fraction", .role = ROLE_UTILISATION, .real = true},
};
static const struct report_options plain = {0};
static char empty[] = "", path[] = "s.h5";

struct fixture {
	union results_cell cells[PHASES][COLUMNS];
	struct results_phase_read phases[PHASES];
	struct target_result targets[PHASES];
	char sets[PHASES][1][RECORD_SET_BYTES];
	struct results_file file;
};

static void add(struct fixture *x, uint64_t run, uint64_t repeat, bool warmup, double au)
{
	uint32_t i = x->file.phase_count++;
	struct results_table table = {.column_count = COLUMNS,
				      .row_count = 1,
				      .columns = (struct results_column *)(uintptr_t)columns,
				      .cells = x->cells[i]};

	x->cells[i][0].count = 1000000000;
	x->cells[i][2].count = 500;
	x->cells[i][3].real = au;
	x->targets[i] = (struct target_result){.name = "target_au",
					       .label = "AU",
					       .unit = "fraction",
					       .asked = 0.5,
					       .found = au,
					       .met = au >= 0.5};
	x->phases[i] = (struct results_phase_read){.record = {.number = i,
							      .within = RECORD_NOT_WITHIN,
							      .kind = "train",
							      .name = "train",
							      .status = "done",
							      .seconds = 1,
							      .null_au = NAN,
							      .target_au = 0.5,
							      .run = run,
							      .combination = 1,
							      .repeat = repeat,
							      .warmup = warmup},
						   .target_count = 1,
						   .targets = &x->targets[i],
						   .merged = table,
						   .ranks = table};
}

static void begin(struct fixture *x, uint64_t runs)
{
	*x = (struct fixture){.file = {.path = path,
				       .name = "s",
				       .status = "done",
				       .build = empty,
				       .command_line = empty,
				       .error = empty,
				       .job_text = empty,
				       .seconds = 9,
				       .ranks = 1,
				       .runs = runs,
				       .phases = x->phases}};
}

static void repeats(struct fixture *x)
{
	begin(x, 6);
	add(x, 1, 1, true, 0.99);
	add(x, 2, 1, false, 0.40);
	add(x, 3, 2, false, 0.50);
	add(x, 4, 3, false, 0.60);
	add(x, 5, 4, false, 0.01); /* interrupted: does not count as a repeat */
	strcpy(x->phases[4].record.status, "interrupted");
	x->phases[3].record.seconds = 2;
}

/* Warm-up runs and interrupted runs are not counted. AU is 0.4, 0.5 and 0.6; the rates are 1, 1 and
 * 0.5 GB/s. */
static void test_repeats(void)
{
	struct fixture x;
	struct series_lines s;
	const struct stats *au, *bytes;

	repeats(&x);
	CU_ASSERT_FATAL(series_make(&s, &x.file));
	CU_ASSERT_EQUAL_FATAL(s.count, 1);
	au = &s.lines[0].figures[SERIES_AU];
	bytes = &s.lines[0].figures[SERIES_BYTES];
	CU_ASSERT(s.lines[0].repeats == 3 && s.lines[0].first->record.run == 2);
	CU_ASSERT_DOUBLE_EQUAL(au->mean, 0.5, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(au->stdev, 0.1, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(au->high, 0.5 + 0.24841377, 1e-7);
	CU_ASSERT_DOUBLE_EQUAL(bytes->mean, 1e9 * 2.5 / 3, 1e-3);
	CU_ASSERT_DOUBLE_EQUAL(s.lines[0].figures[SERIES_SAMPLES].min, 250, 1e-9);
	CU_ASSERT_EQUAL(s.lines[0].figures[SERIES_P99].n, 0);
	series_free_lines(&s);
}

static void test_text_of_repeats(void)
{
	struct fixture x;
	char *text;

	repeats(&x);
	text = report_text(&x.file, &plain);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_PTR_NOT_NULL(strstr(
		text,
		"5 of 6 runs.\n"
		"train: AU 50 %, on average over 3 repeats, meets the target of 50 %.\n"
		"\n"
		"train, 3 repeats     mean  deviation    95 % interval    CV      min      max\n"
		"AU                50.00 %    10.00 %  25.16 … 74.84 %  20 %  40.00 %  60.00 %\n"
		"GB/s               0.8333     0.2887  0.1162 … 1.5504  35 %   0.5000   1.0000\n"
		"samples/s           416.7      144.3     58.1 … 775.2  35 %    250.0    500.0\n"
		"\n"
		"run, phase"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n1 train, warm-up "));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n5 train: interrupted\n"));
	free(text);
}

static void swept(struct fixture *x)
{
	begin(x, 6);
	for (uint32_t i = 0; i < 6; i++) {
		add(x, i + 1, i % 2 + 1, false, 0.4 + 0.1 * (i / 2) + 0.01 * (i % 2));
		strcpy(x->sets[i][0], "stores.data.latency=1 ms");
		x->sets[i][0][20] = (char)('1' + i / 2);
		x->phases[i].record.combination = i / 2 + 1;
		x->phases[i].sets = x->sets[i];
		x->phases[i].set_count = 1;
		strcpy(x->phases[i].record.sweep, x->sets[i][0]);
	}
}

/* Half of the interval of 0.40 and 0.41 is 12.7062 x 0.00707107 / sqrt(2) = 0.063531. */
static void test_text_of_a_sweep(void)
{
	struct fixture x;
	char *text, *line, *rest;

	swept(&x);
	text = report_text(&x.file, &plain);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_PTR_NOT_NULL(strstr(
		text,
		"6 of 6 runs, 3 combinations.\n"
		"train: 2 of 3 combinations meet the target of AU.\n"
		"\n"
		"train, the best first, those that miss a target last; mean ± half of the 95 % confidence interval\n"
		"latency             AU          GB/s   samples/s   repeats\n"
		"3 ms      60.5 ± 6.4 %   1.00 ± 0.00     500 ± 0         2\n"
		"2 ms      50.5 ± 6.4 %   1.00 ± 0.00     500 ± 0         2\n"
		"1 ms      40.5 ± 6.4 %   1.00 ± 0.00     500 ± 0         2\n"));
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		CU_ASSERT(utf8_columns(line, UTF8_WHOLE) <= REPORT_COLUMNS);
	free(text);
}

/* 0.94 and 0.99 give 12.7062 x 0.0353553 / sqrt(2) = 0.317655, but AU can be at most 0.035 above
 * the mean. 0.1 and 0.9 give 5.08, so the interval is unknown. */
static void test_possible_values(void)
{
	struct fixture x;
	struct series_lines s;
	char *text;

	swept(&x);
	x.cells[0][3].real = 0.94;
	x.cells[1][3].real = 0.99;
	x.cells[2][3].real = 0.1;
	x.cells[3][3].real = 0.9;
	CU_ASSERT_FATAL(series_make(&s, &x.file));
	CU_ASSERT_DOUBLE_EQUAL(s.lines[0].figures[SERIES_AU].low, 0.965 - 0.317655, 1e-6);
	CU_ASSERT_EQUAL(s.lines[0].figures[SERIES_AU].high, 1);
	CU_ASSERT_EQUAL(s.lines[1].figures[SERIES_AU].low, 0);
	CU_ASSERT_EQUAL(s.lines[1].figures[SERIES_AU].high, 1);
	CU_ASSERT_DOUBLE_EQUAL(s.lines[0].figures[SERIES_SAMPLES].high, 500, 1e-9);
	series_free_lines(&s);
	text = report_text(&x.file, &plain);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n1 ms      96.5 ± 31.8 %   "));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n2 ms          50.0 ±? %   "));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n±?: too few repeats to tell"));
	free(text);
}

/* The text of eight sweeps with long values does not exceed its width. */
static void test_width(void)
{
	static char long_sets[4][8][RECORD_SET_BYTES];
	struct fixture x;
	char *text, *line, *rest;

	begin(&x, 4);
	for (uint32_t i = 0; i < 4; i++) {
		add(&x, i + 1, i % 2 + 1, false, 0.5 + 0.1 * (i % 2));
		x.phases[i].record.combination = i / 2 + 1;
		x.phases[i].sets = long_sets[i];
		x.phases[i].set_count = 8;
		for (int k = 0; k < 8; k++)
			snprintf(long_sets[i][k], RECORD_SET_BYTES,
				 "stores.data.a_long_option_%d=µµµµµµµµµµµµµ %u", k, i / 2);
	}
	text = report_text(&x.file, &plain);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "µµ…"));
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		CU_ASSERT(utf8_columns(line, UTF8_WHOLE) <= REPORT_COLUMNS);
	free(text);
}

static double at(const cJSON *o, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);

	CU_ASSERT_PTR_NOT_NULL(item);
	return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static void test_json_and_csv(void)
{
	const struct results_file *file;
	struct fixture x;
	const cJSON *series, *third;
	char *text;
	cJSON *o;

	swept(&x);
	file = &x.file;
	text = report_json(&file, 1, &plain);
	o = cJSON_Parse(text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(o);
	series = cJSON_GetObjectItem(o, "series");
	CU_ASSERT_EQUAL(at(o, "runs"), 6);
	CU_ASSERT_EQUAL_FATAL(cJSON_GetArraySize(series), 3);
	third = cJSON_GetArrayItem(series, 2);
	CU_ASSERT(at(third, "combination") == 3 && at(third, "repeats") == 2);
	CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(third, "sweep")->valuestring,
			       "stores.data.latency=3 ms");
	CU_ASSERT_DOUBLE_EQUAL(at(cJSON_GetObjectItem(third, "au"), "mean"), 0.605, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(at(cJSON_GetObjectItem(third, "au"), "ci95_low"), 0.605 - 0.063531,
			       1e-6);
	CU_ASSERT(at(cJSON_GetObjectItem(third, "bytes_per_second"), "cv") == 0);
	CU_ASSERT(isnan(at(cJSON_GetObjectItem(third, "p99_ns"), "mean")));
	third = cJSON_GetArrayItem(cJSON_GetObjectItem(o, "phases"), 5);
	CU_ASSERT(at(third, "run") == 6 && at(third, "repeat") == 2);
	CU_ASSERT(cJSON_IsFalse(cJSON_GetObjectItem(third, "warmup")));
	cJSON_Delete(o);
	free(text);
	text = report_csv((const struct results_file *const[]){&x.file}, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, ",6,3,2,0,stores.data.latency=3 ms,,,0,"));
	free(text);
}

/* The combination with the best AU misses a bound of its latency, so that the others come before it:
 * in the first sentence, in the table, and in JSON, from which the page has its order. */
static void test_target_before_rate(void)
{
	const struct results_file *file;
	struct fixture x;
	char *text;
	cJSON *o, *series;

	swept(&x);
	for (uint32_t i = 0; i < 6; i++) {
		x.targets[i] = (struct target_result){.name = "target_p99",
						      .unit = "ns",
						      .most = 1,
						      .asked = 10,
						      .found = 5 + 5 * (i / 2)};
		x.targets[i].met = target_met(&x.targets[i]);
	}
	text = report_text(&x.file, &plain);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(text, "the best of 3 combinations is stores.data.latency=2 ms"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(text, "\n2 ms      50.5 ± 6.4 %   1.00 ± 0.00     500 ± 0         2\n"
			     "1 ms      40.5 ± 6.4 %   1.00 ± 0.00     500 ± 0         2\n"
			     "3 ms      60.5 ± 6.4 %"));
	free(text);
	file = &x.file;
	text = report_json(&file, 1, &plain);
	o = cJSON_Parse(text);
	series = cJSON_GetObjectItem(o, "series");
	CU_ASSERT_EQUAL_FATAL(cJSON_GetArraySize(series), 3);
	for (int i = 0; i < 3; i++) {
		static const double places[] = {2, 1, 3};
		static const char *const states[] = {"met", "met", "missed"};
		const cJSON *row = cJSON_GetArrayItem(series, i);

		CU_ASSERT_EQUAL(at(row, "place"), places[i]);
		CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(row, "targets")->valuestring, states[i]);
	}
	cJSON_Delete(o);
	free(text);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"Student's t", test_t95},
		{"by hand", test_by_hand},
		{"too few values", test_too_few},
		{"repeats are combined", test_repeats},
		{"text of repeats", test_text_of_repeats},
		{"text of a sweep", test_text_of_a_sweep},
		{"a target before a rate", test_target_before_rate},
		{"intervals are cut at possible values", test_possible_values},
		{"text within its width", test_width},
		{"JSON and CSV", test_json_and_csv},
		CU_TEST_INFO_NULL,
	};

	return unit_main("stats", tests);
}

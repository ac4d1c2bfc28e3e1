/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the report on a file in which every figure is known: its text, as in the pages of docs,
 * and its JSON and CSV. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/utf8.h"
#include "facts/text.h"
#include "report/accounts.h"
#include "report/report.h"
#include "tests/unit.h"

static const struct results_column columns[] = {
	{.name = "rank"},
	{.name = "bytes_read", .unit = "bytes"},
	{.name = "bytes_written", .unit = "bytes"},
	{.name = "operations"},
	{.name = "errors"},
	{.name = "retries"},
	{.name = "samples", .role = ROLE_ITEMS},
	{.name = "compute_ns", .unit = "ns", .role = ROLE_ACCOUNT_COMPUTE},
	{.name = "open_ns", .unit = "ns", .role = ROLE_ACCOUNT_STORAGE},
	{.name = "transfer_ns", .unit = "ns", .role = ROLE_ACCOUNT_STORAGE},
	{.name = "ranks_ns", .unit = "ns", .role = ROLE_ACCOUNT_OTHER},
	{.name = "haul_ns", .unit = "ns", .role = ROLE_ACCOUNT_OTHER},
	{.name = "au", .unit = "fraction", .role = ROLE_UTILISATION, .real = true},
};
enum { COLUMNS = sizeof(columns) / sizeof(*columns) };

static const struct results_column epoch_columns[] = {
	{.name = "samples"},
	{.name = "id_sum", .unit = "id"},
	{.name = "id_hash", .unit = "id"},
	{.name = "wall_ns", .unit = "ns"},
	{.name = "evaluation", .role = ROLE_EVALUATION},
	{.name = "au", .unit = "fraction", .role = ROLE_UTILISATION, .real = true},
};
enum { EPOCH_COLUMNS = sizeof(epoch_columns) / sizeof(*epoch_columns) };

static const struct report_options plain = {0}, colored = {.color = true};

static union results_cell train_row[COLUMNS] = {
	{0},   {7616000000}, {0},  {4000},          {0}, {1}, {904}, {9640}, {30},
	{190}, {110},        {30}, {.real = 0.964},
};
static union results_cell generate_row[COLUMNS] = {
	{0}, {0}, {4060000000}, {483}, {0}, {0}, {483}, {0}, {0}, {0}, {0}, {0}, {.real = NAN},
};
static union results_cell epoch_rows[3][EPOCH_COLUMNS] = {
	{{452}, {UINT64_MAX}, {1ull << 63}, {3400000000}, {0}, {.real = 0.964}},
	{{100}, {7}, {8}, {400000000}, {1}, {.real = 0.5}},
	{{452}, {UINT64_MAX}, {1ull << 63}, {3400000000}, {0}, {.real = NAN}},
};

static struct results_hist reads[1];
static struct failure failures[1] = {{.rank = 12,
				      .node = 0,
				      .error = -EACCES,
				      .protocol_status = 403,
				      .attempts = 1,
				      .operation = "read",
				      .object = "s3://train/img_0000123.npz",
				      .text = "403 AccessDenied"}};
static char hosts[3][RESULTS_NAME_BYTES] = {"nid0041", "nid0042", "nid0043"};
static char empty[] = "";
static struct target_result au_target[1];
static struct results_rows tables[1];

static struct results_table table_of(const struct results_column *c, uint32_t n,
				     union results_cell *cells, uint64_t rows)
{
	return (struct results_table){.column_count = n,
				      .row_count = rows,
				      .cells = cells,
				      .columns = (struct results_column *)(uintptr_t)c};
}

static struct results_file demo(struct results_phase_read *phases)
{
	static char path[] = "results.h5";
	struct results_file f = {.path = path,
				 .file_bytes = 212 << 10,
				 .schema_version = 1,
				 .version = "0.1.0",
				 .name = "unet3d_demo",
				 .status = "done",
				 .started = "2026-01-02T03:04:05Z",
				 .build = empty,
				 .command_line = empty,
				 .error = empty,
				 .job_text = empty,
				 .seconds = 9.1,
				 .ranks = 4,
				 .nodes = 1,
				 .hosts = hosts,
				 .phase_count = 2,
				 .phases = phases};

	memset(reads, 0, sizeof(reads));
	strcpy(reads[0].name, "read");
	for (int i = 0; i < 1000; i++)
		hist_record(&reads[0].hist, 5100000);
	reads[0].role = ROLE_READ_LATENCY;
	au_target[0] = (struct target_result){.name = "target_au",
					      .label = "AU",
					      .unit = "fraction",
					      .asked = 0.9,
					      .found = 0.964,
					      .met = 1};
	tables[0] = (struct results_rows){
		.name = "epochs",
		.table = table_of(epoch_columns, EPOCH_COLUMNS, &epoch_rows[0][0], 3)};
	phases[0] = (struct results_phase_read){
		.record = {.kind = "generate",
			   .name = "generate",
			   .status = "done",
			   .within = RECORD_NOT_WITHIN,
			   .seconds = 1.4,
			   .null_au = NAN,
			   .target_au = NAN},
		.merged = table_of(columns, COLUMNS - 1, generate_row, 1),
		.ranks = table_of(columns, COLUMNS - 1, generate_row, 1)};
	phases[1] = (struct results_phase_read){.record = {.number = 1,
							   .kind = "train",
							   .name = "train",
							   .status = "done",
							   .within = RECORD_NOT_WITHIN,
							   .seconds = 6.8,
							   .null_au = 0.999,
							   .target_au = 0.9,
							   .main_hist = "read"},
						.hist_count = 1,
						.hists = reads,
						.target_count = 1,
						.targets = au_target,
						.table_count = 1,
						.tables = tables,
						.merged = table_of(columns, COLUMNS, train_row, 1),
						.ranks = table_of(columns, COLUMNS, train_row, 1)};
	return f;
}

static void expect_text(const struct results_file *f, const char *expected)
{
	char *text = report_text(f, &plain);

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	if (strcmp(text, expected) != 0)
		fprintf(stderr, "found:\n%s\nexpected:\n%s\n", text, expected);
	CU_ASSERT_STRING_EQUAL(text, expected);
	free(text);
}

static void test_text(void)
{
	struct results_phase_read phases[2];
	struct results_file f = demo(phases);

	expect_text(
		&f,
		"unet3d_demo · 4 ranks on 1 node · 9.1 s · done\n"
		"The accelerators were busy 96.4 % of the time; the target of 90 % is met.\n"
		"Of the 3.6 % lost: 2.2 % waiting for storage (transfer 1.9, open 0.3), 1.1 % for the slowest rank,\n"
		"0.3 % haul.\n"
		"doubt: one run has no interval; --repeat 5 shows how much it varies.\n"
		"\n"
		"phase     seconds      AU  GB/s  samples/s  read p50     p99   p99.9     max\n"
		"generate     1.40       –  2.90        345         –       –       –       –\n"
		"train        6.80  96.4 %  1.12        133    5.1 ms  5.1 ms  5.1 ms  5.1 ms\n"
		"\n"
		"results.h5 (212 KiB)   look: haul report results.h5   h5dump -d /summary results.h5\n");
}

/* A checkpoint that was not read shows no time of reading. */
static void test_text_of_what_was_not_done(void)
{
	enum { COLUMNS_HERE = 6 };
	static const struct results_column rows_columns[COLUMNS_HERE] = {
		{.name = "checkpoint"},
		{.name = "write_ns", .unit = "ns", .counted_by = "bytes_written"},
		{.name = "write_start_ns", .unit = "ns", .counted_by = "bytes_written"},
		{.name = "read_ns", .unit = "ns", .counted_by = "bytes_read"},
		{.name = "bytes_written", .unit = "bytes"},
		{.name = "bytes_read", .unit = "bytes"}};
	static union results_cell rows[2][COLUMNS_HERE] = {
		{{1}, {2000000000}, {0}, {0}, {1000000000}, {0}},
		{{2}, {3000000000}, {5000000000}, {1000000000}, {1000000000}, {1000000000}}};
	struct results_phase_read phases[2];
	struct results_file f = demo(phases);
	const struct results_file *const files[] = {&f};
	cJSON *json, *row;
	char *text;

	tables[0] = (struct results_rows){
		.name = "checkpoints",
		.table = table_of(rows_columns, COLUMNS_HERE, &rows[0][0], 2)};
	text = report_text(&f, &plain);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_PTR_NOT_NULL(strstr(
		text, "\ntrain, checkpoints\n"
		      "checkpoint   write   write start   read   bytes written   bytes read\n"
		      "1              2 s           0 s      –            1 GB          0 B\n"
		      "2              3 s           5 s    1 s            1 GB         1 GB\n"));
	free(text);
	text = report_json(files, 1, &plain);
	json = cJSON_Parse(text);
	free(text);
	row = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "phases"), 1);
	row = cJSON_GetArrayItem(cJSON_GetObjectItem(row, "checkpoints"), 0);
	CU_ASSERT_TRUE(cJSON_IsNull(cJSON_GetObjectItem(row, "read_ns")));
	CU_ASSERT_EQUAL(cJSON_GetNumberValue(cJSON_GetObjectItem(row, "write_start_ns")), 0);
	cJSON_Delete(json);
}

static void test_text_of_a_store_not_as_asked(void)
{
	struct store_facts stores[] = {
		{.name = "data", .engine = "uring", .nodes = 1},
		{.name = "ckpt",
		 .note = "engine uring does not work here (no); psync takes its place",
		 .nodes = 1},
	};
	struct results_phase_read phases[2];
	struct results_file f = demo(phases);
	char *text;

	f.stores = stores;
	f.store_count = 2;
	text = report_text(&f, &plain);
	CU_ASSERT_PTR_NOT_NULL(strstr(
		text,
		"\n\nstore ckpt: engine uring does not work here (no); psync takes its place\n\n"));
	CU_ASSERT_PTR_NULL(strstr(text, "data"));
	free(text);
	f.nodes = 3;
	text = report_text(&f, &plain);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "store ckpt on 1 of 3 nodes: engine uring"));
	free(text);
	text = report_json((const struct results_file *const[]){&f}, 1, &plain);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"stores\":"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"engine\": \"uring\""));
	free(text);
}

static void test_text_of_trouble(void)
{
	static char why[] = "rank 12 on nid0041: 403 AccessDenied";
	struct results_phase_read phases[2];
	struct results_file f = demo(phases);

	strcpy(f.status, "failed");
	f.error = why;
	strcpy(phases[0].record.message, "412 of 512 files were whole already");
	strcpy(phases[1].record.error, why);
	strcpy(phases[1].record.status, "failed");
	au_target[0].asked = 0.975;
	au_target[0].met = 0;
	phases[1].record.null_au = 0.98;
	phases[1].failure_count = 1;
	phases[1].failure_rows = 1;
	phases[1].failures = failures;
	expect_text(
		&f,
		"unet3d_demo · 4 ranks on 1 node · 9.1 s · failed\n"
		"rank 12 on nid0041: 403 AccessDenied\n"
		"The accelerators were busy 96.4 % of the time; the target of 97.5 % is missed, but that does not\n"
		"count: the phase failed.\n"
		"Of the 3.6 % lost: 2.2 % waiting for storage (transfer 1.9, open 0.3), 1.1 % for the slowest rank,\n"
		"0.3 % haul.\n"
		"Without storage the same loop reaches 98.0 %: the rest is haul's own cost here.\n"
		"doubt: the phase failed; its figures are of what it did until then.\n"
		"doubt: one run has no interval; --repeat 5 shows how much it varies.\n"
		"\n"
		"phase     seconds      AU  GB/s  samples/s  read p50     p99   p99.9     max\n"
		"generate     1.40       –  2.90        345         –       –       –       –\n"
		"train        6.80  96.4 %  1.12        133    5.1 ms  5.1 ms  5.1 ms  5.1 ms\n"
		"\n"
		"generate: 412 of 512 files were whole already\n"
		"train: failed\n"
		"train: 1 request failed; the first:\n"
		"  rank 12 on nid0041: s3://train/img_0000123.npz: 403 AccessDenied (read, 1 attempt)\n"
		"\n"
		"results.h5 (212 KiB)   look: haul report results.h5   h5dump -d /summary results.h5\n");
}

/* The accounts contain the warm-up and AU does not; the sentence says so. */
static void test_text_of_warmup(void)
{
	struct results_phase_read phases[2];
	struct results_file f = demo(phases);
	char *text;

	train_row[COLUMNS - 1].real = 0.99;
	text = report_text(&f, &colored);
	train_row[COLUMNS - 1].real = 0.964;
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "busy 99.0 % of the time"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(text, "Of the whole phase, warm-up included, 3.6 % was lost: 2.2 %"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\033[32mis met\033[0m"));
	free(text);
}

static void test_width(void)
{
	struct results_phase_read phases[2];
	struct results_file f = demo(phases);
	char *text, *line, *rest;

	memset(phases[1].record.name, 'x', sizeof(phases[1].record.name) - 1);
	phases[1].record.seconds = 123456.7;
	reads[0].hist.max_ns = 4000000000000ull;
	text = report_text(&f, &plain);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
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

static void check_train(const cJSON *p)
{
	static const char *const accounts[] = {"compute", "storage",    "ranks", "decode",
					       "copy",    "checkpoint", "haul",  "collectives"};
	static const char *const latency[] = {"count", "mean", "p50",   "p95",
					      "p99",   "p999", "p9999", "max"};
	const cJSON *a = cJSON_GetObjectItem(p, "accounts"),
		    *epochs = cJSON_GetObjectItem(p, "epochs");
	const cJSON *first = cJSON_GetArrayItem(epochs, 0);
	const cJSON *read = cJSON_GetObjectItem(cJSON_GetObjectItem(p, "latency_ns"), "read");

	CU_ASSERT_DOUBLE_EQUAL(at(cJSON_GetObjectItem(p, "au"), "mean"), 0.964, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(at(p, "null_au"), 0.999, 1e-12);
	CU_ASSERT(at(p, "bytes_read") == 7616000000.0);
	CU_ASSERT_EQUAL(cJSON_GetArraySize(a), 9); /* accounts that add up to the wall time */
	for (size_t i = 0; i < sizeof(accounts) / sizeof(*accounts); i++)
		CU_ASSERT(!isnan(at(a, accounts[i])));
	CU_ASSERT_DOUBLE_EQUAL(at(a, "storage"), 220e-9, 1e-15);
	for (size_t i = 0; i < sizeof(latency) / sizeof(*latency); i++)
		CU_ASSERT(!isnan(at(read, latency[i])));
	CU_ASSERT_EQUAL(cJSON_GetArraySize(epochs), 2);
	CU_ASSERT_EQUAL(cJSON_GetArraySize(cJSON_GetObjectItem(p, "evaluations")), 1);
	CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(first, "id_sum")->valuestring,
			       "18446744073709551615");
	CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(first, "id_hash")->valuestring,
			       "9223372036854775808");
	CU_ASSERT_DOUBLE_EQUAL(at(first, "seconds"), 3.4, 1e-12);
	CU_ASSERT(cJSON_IsNull(cJSON_GetObjectItem(cJSON_GetArrayItem(epochs, 1), "au")));
}

static void test_json(void)
{
	struct results_phase_read phases[2];
	struct results_file f = demo(phases);
	const struct results_file *files[] = {&f, &f};
	char *text = report_json(files, 1, &plain);
	cJSON *o;

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	o = cJSON_Parse(text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(o);
	CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(o, "status")->valuestring, "done");
	CU_ASSERT(at(o, "ranks") == 4 && at(o, "nodes") == 1 && at(o, "seconds") == 9.1);
	CU_ASSERT(cJSON_IsNull(cJSON_GetObjectItem(
		cJSON_GetArrayItem(cJSON_GetObjectItem(o, "phases"), 0), "au")));
	check_train(cJSON_GetArrayItem(cJSON_GetObjectItem(o, "phases"), 1));
	cJSON_Delete(o);
	free(text);
	text = report_json(files, 2, &plain);
	o = cJSON_Parse(text);
	CU_ASSERT(cJSON_IsArray(o) && cJSON_GetArraySize(o) == 2);
	cJSON_Delete(o);
	free(text);
}

static unsigned count_of(const char *text, char what)
{
	unsigned n = 0;

	for (; *text && *text != '\n'; text++)
		n += *text == what;
	return n;
}

static void test_csv(void)
{
	static char path[] = "a,\"b\".h5";
	struct results_phase_read phases[2];
	struct results_file f = demo(phases);
	const struct results_file *const files[] = {&f};
	char *text = report_csv(files, 1), *first, *second;

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	first = strchr(text, '\n') + 1;
	second = strchr(first, '\n') + 1;
	CU_ASSERT_EQUAL(strncmp(text, "file,name,started,", 18), 0);
	CU_ASSERT_EQUAL(count_of(first, ','), count_of(text, ','));
	CU_ASSERT_EQUAL(count_of(second, ','), count_of(text, ','));
	free(text);
	f.path = path;
	text = report_csv(files, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_EQUAL(strncmp(strchr(text, '\n') + 1, "\"a,\"\"b\"\".h5\",unet3d_demo,", 25), 0);
	free(text);
}

static void test_notes(void)
{
	static const char three[] =
		"128 samples, each exactly once an epoch; 100.0 % of the bytes were in the page cache; "
		"not made by haul: bytes not verified";
	static const char two[] = "128 samples, each exactly once an epoch; 100.0 % of the bytes "
				  "were in the page cache";
	struct results_phase_read phases[2];
	struct results_file f = demo(phases);
	char *text;

	strcpy(phases[1].record.message, two);
	text = report_text(&f, &plain);
	CU_ASSERT_TRUE(text && strstr(text, "\ntrain: 128 samples, each exactly once an epoch; "
					    "100.0 % of the bytes were in the page cache\n"));
	free(text);
	strcpy(phases[1].record.message, three);
	text = report_text(&f, &plain);
	CU_ASSERT_TRUE(
		text &&
		strstr(text,
		       "\ntrain: 128 samples, each exactly once an epoch\n"
		       "  100.0 % of the bytes were in the page cache; not made by haul: bytes not "
		       "verified\n"));
	free(text);
}

static void test_figures(void)
{
	static const struct {
		double value;
		const char *shown;
	} cases[] = {{0, "0"},        {3.2e-5, "<0.0001"}, {0.00034, "0.00034"}, {0.0995, "0.0995"},
		     {9.99, "9.99"},  {9.996, "10.0"},     {99.94, "99.9"},      {1234.4, "1,234"},
		     {INFINITY, "–"}, {NAN, "–"}};
	char cell[TABLE_CELL_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		table_figure(cell, cases[i].value);
		CU_ASSERT_STRING_EQUAL(cell, cases[i].shown);
	}
}

/* The rounded shares add up to the rounded total, whatever the parts. */
static void test_tenths(void)
{
	for (unsigned seed = 0; seed < 500; seed++) {
		struct account_shares a = {.count = ACCOUNTS};
		int tenths[ACCOUNTS_MAX], sum = 0, whole;

		for (uint32_t i = 0; i < a.count; i++) {
			a.list[i].role = account_kinds[i].role;
			a.list[i].seconds = (seed * 7919u + i * 104729u) % 997 / (i ? 20.0 : 1.0);
			a.total += a.list[i].seconds;
		}
		whole = accounts_lost(&a);
		accounts_tenths(&a, whole, tenths);
		for (uint32_t i = 1; i < a.count; i++)
			sum += tenths[i];
		CU_ASSERT_EQUAL(sum, whole);
		CU_ASSERT_EQUAL(tenths[ACCOUNT_COMPUTE], 1000 - whole);
	}
}

static void test_broken_files(void)
{
	const char *paths[] = {"test_report_broken.h5"};
	struct err err = {0};
	FILE *f = fopen(paths[0], "w"), *none = fopen("/dev/null", "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs("rubbish", f);
	fclose(f);
	CU_ASSERT_EQUAL(report_files(none, REPORT_TEXT, paths, 1, &plain, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(err.text, "test_report_broken.h5: is not a results file of haul"));
	unlink(paths[0]);
	CU_ASSERT_EQUAL(report_files(none, REPORT_JSON, paths, 1, &plain, &err), -ENOENT);
	fclose(none);
}

/* A phase that moves a model: the rates of all ranks, and of the slowest one. */
static void test_streams(void)
{
	static const struct results_column stream_columns[] = {
		{.name = "first", .role = ROLE_BYTE_RATE_FIRST, .real = true},
		{.name = "last", .role = ROLE_BYTE_RATE, .real = true},
		{.name = "slowest", .role = ROLE_BYTE_RATE_SLOWEST, .real = true},
		{.name = "null", .role = ROLE_BYTE_RATE_NULL, .real = true},
	};
	static union results_cell row[] = {
		{.real = 25e9}, {.real = 15e9}, {.real = 5e9}, {.real = 600e9}};
	struct results_phase_read phases[2];
	struct results_file f = demo(phases);
	char *text;

	strcpy(phases[0].record.name, "saved");
	phases[0].merged = table_of(stream_columns, 4, row, 1);
	text = report_text(&f, &plain);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_PTR_NOT_NULL(strstr(text,
				      "checkpoints, models   GB/s first   last   slowest rank\n"
				      "saved                       25.0   15.0           5.00\n"
				      "first, last: of all ranks"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text,
				      "saved: Without storage the same loop reaches 600 GB/s; "
				      "so 2.5 % of the time here is haul's own cost."));
	free(text);
	row[3].real = 4000e9;
	text = report_text(&f, &plain);
	CU_ASSERT_PTR_NULL(strstr(text, "Without storage"));
	free(text);
}

/* The same training by itself, and beside others, with half of the bytes and of the AU. */
static void test_together(void)
{
	static union results_cell beside_row[COLUMNS];
	struct results_phase_read phases[3];
	struct results_file f = demo(phases);
	cJSON *o, *one, *against;
	char *text;

	memcpy(beside_row, train_row, sizeof(beside_row));
	beside_row[1].count /= 2;
	beside_row[COLUMNS - 1].real /= 2;
	f.phase_count = 3;
	strcpy(phases[1].record.together, "ranks 0-3");
	phases[1].record.entry = 1;
	phases[2] = phases[1];
	phases[1].record.alone = 1;
	phases[2].record.number = 2;
	phases[2].merged = table_of(columns, COLUMNS, beside_row, 1);
	phases[2].ranks = table_of(columns, COLUMNS, beside_row, 1);
	strcpy(phases[2].record.status, "ended");
	text = report_text(&f, &plain);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\ntrain, alone "));
	CU_ASSERT_PTR_NOT_NULL(strstr(
		text,
		"\ntrain on ranks 0-3 beside others: AU 48.2 %, alone 96.4 % (-48.2 points); 560 "
		"MB/s, alone 1.12 GB/s\n  (-50.0 %)\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\ntrain: ended with a phase beside it\n"));
	free(text);
	text = report_json((const struct results_file *const[]){&f}, 1, &plain);
	o = cJSON_Parse(text);
	one = cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(o, "phases"), 2),
				  "together");
	against = cJSON_GetObjectItem(one, "against_alone");
	CU_ASSERT(at(one, "entry") == 1 && at(against, "number") == 1);
	CU_ASSERT_DOUBLE_EQUAL(at(cJSON_GetObjectItem(against, "au"), "together"), 0.482, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(at(cJSON_GetObjectItem(against, "au"), "alone"), 0.964, 1e-9);
	one = cJSON_GetArrayItem(cJSON_GetObjectItem(o, "phases"), 0);
	CU_ASSERT_TRUE(cJSON_IsNull(cJSON_GetObjectItem(one, "together")));
	cJSON_Delete(o);
	free(text);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"text as in the pages", test_text},
		{"text of a failed run", test_text_of_trouble},
		{"text of what was not done", test_text_of_what_was_not_done},
		{"text of a store not as asked", test_text_of_a_store_not_as_asked},
		{"warm-up in the accounts only", test_text_of_warmup},
		{"nothing wider than 100 columns", test_width},
		{"JSON has the promised keys", test_json},
		{"CSV has as many fields as headings", test_csv},
		{"what phases cost each other", test_together},
		{"one clause per line where one line is too long", test_notes},
		{"rates of a model", test_streams},
		{"figures", test_figures},
		{"shares add up", test_tenths},
		{"broken files are refused", test_broken_files},
		CU_TEST_INFO_NULL,
	};

	return unit_main("report", tests);
}

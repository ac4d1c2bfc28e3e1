/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of comparisons: sides, what differs between them, ratios, sentences, JSON, and how often a
 * comparison of equal sides ends in a verdict. */
#include "report/compare.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/random.h"
#include "report/shapes.h"
#include "tests/unit.h"

enum { PHASES = 24, COLUMNS = 6, TRIALS = 400, REPEATS = 5 };
static const struct results_column columns[COLUMNS] = {
	{.name = "bytes_read", .unit = "bytes"},
	{.name = "bytes_written", .unit = "bytes"},
	{.name = "au", .unit = "fraction", .role = ROLE_UTILISATION, .real = true},
	{.name = "queries", .role = ROLE_ITEMS},
	{.name = "query_rate", .unit = "1/s", .role = ROLE_ITEM_RATE, .real = true},
	{.name = "stat_rate", .unit = "1/s", .role = ROLE_OPERATION_RATE, .real = true},
};

struct fixture {
	union results_cell cells[PHASES][COLUMNS];
	struct results_phase_read phases[PHASES];
	char sets[PHASES][1][RECORD_SET_BYTES];
	char host[1][RESULTS_NAME_BYTES];
	char path[16], build[16], job[512], empty[1];
	struct results_file file;
};

static void begin(struct fixture *x, const char *path)
{
	memset(x, 0, sizeof(*x));
	strcpy(x->path, path);
	strcpy(x->build, "gcc");
	strcpy(x->host[0], "nid0001");
	strcpy(x->job,
	       "{\"seed\": 3, \"stores\": {\"data\": {\"uri\": \"file:///x\"}}, \"phases\": "
	       "[{\"train\": {\"batch\": 4, \"name\": \"\"}}]}");
	x->file = (struct results_file){.path = x->path,
					.version = "1",
					.status = "done",
					.build = x->build,
					.command_line = x->empty,
					.error = x->empty,
					.job_text = x->job,
					.hosts = x->host,
					.ranks = 4,
					.nodes = 1,
					.runs = 2,
					.phases = x->phases};
}

/* A training that moves so many bytes in one second. when: in seconds; 0: not known. */
static void add(struct fixture *x, uint64_t combination, double bytes, uint64_t when_s)
{
	uint32_t i = x->file.phase_count++;
	struct results_table table = {.column_count = COLUMNS,
				      .row_count = 1,
				      .columns = (struct results_column *)(uintptr_t)columns,
				      .cells = x->cells[i]};

	x->cells[i][0].count = (uint64_t)bytes;
	x->cells[i][2].real = 0.5;
	x->phases[i] = (struct results_phase_read){.record = {.number = i,
							      .within = RECORD_NOT_WITHIN,
							      .kind = "train",
							      .name = "train",
							      .status = "done",
							      .seconds = 1,
							      .started_ns = when_s * 1000000000,
							      .run = i + 1,
							      .combination = combination,
							      .repeat = i + 1},
						   .merged = table,
						   .ranks = table,
						   .sets = x->sets[i]};
}

/* One combination of a sweep. */
static void add_swept(struct fixture *x, uint64_t combination, double bytes, uint64_t when_s)
{
	uint32_t i = x->file.phase_count;

	add(x, combination, bytes, when_s);
	snprintf(x->sets[i][0], RECORD_SET_BYTES, "train.batch=%llu",
		 (unsigned long long)combination);
	strcpy(x->phases[i].record.sweep, x->sets[i][0]);
	x->phases[i].set_count = 1;
}

static struct comparison *compared(const struct results_file *const *files, unsigned count)
{
	struct comparison *c;
	struct err err = {0};

	CU_ASSERT_EQUAL_FATAL(compare_make(&c, files, count, &err), 0);
	return c;
}

static void done(struct comparison *c)
{
	compare_free(c);
}

static void refused(const struct results_file *const *files, unsigned count, const char *why)
{
	struct comparison *c;
	struct err err = {0};

	CU_ASSERT_EQUAL(compare_make(&c, files, count, &err), -EINVAL);
	CU_ASSERT_PTR_NULL(c);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, why));
}

/* The geometric means are 1.3 and 1 GB/s; 12.7062 * sqrt(0.01^2 / 2) * sqrt(2) would be one degree
 * of freedom. */
static void two_files(struct fixture *a, struct fixture *b)
{
	begin(a, "a.h5");
	begin(b, "b.h5");
	for (int i = 0; i < 3; i++) {
		double factor = exp((i - 1) * 0.01);

		add(a, 1, 1.3e9 * factor, 0);
		add(b, 1, 1.0e9 * factor, 0);
	}
	strcpy(b->host[0], "nid0002");
	strcpy(b->job,
	       "{\"seed\": 4, \"stores\": {\"data\": {\"uri\": \"file:///x\"}}, \"phases\": "
	       "[{\"train\": {\"batch\": 8, \"name\": \"\"}}]}");
}

/* B answers twice as many queries, and moves fewer bytes. */
static void test_main_figure(void)
{
	struct fixture a, b;
	const struct results_file *const files[] = {&a.file, &b.file};
	struct comparison *c;
	char *text;

	two_files(&a, &b);
	for (int i = 0; i < 3; i++) {
		strcpy(a.phases[i].record.main_figure, "query_rate");
		a.cells[i][3].count = 1000;
		b.cells[i][3].count = 2000;
		a.cells[i][4].real = 100;
		b.cells[i][4].real = 200;
	}
	c = compared(files, 2);
	CU_ASSERT_EQUAL(c->phases[0].pairs[0].metric, COMPARE_SAMPLES);
	text = document_text(REPORT_TEXT, compare_write, c);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\nqueries/s "));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\nB is 2.00 times as fast as A"));
	free(text);
	done(c);
	for (int i = 0; i < 3; i++) {
		strcpy(a.phases[i].record.main_figure, "stat_rate");
		a.cells[i][5].real = b.cells[i][5].real = 3;
	}
	c = compared(files, 2);
	CU_ASSERT_EQUAL(c->phases[0].pairs[0].metric, COMPARE_OPERATIONS);
	done(c);
	for (int i = 0; i < 3; i++)
		strcpy(a.phases[i].record.main_figure, "au");
	c = compared(files, 2);
	CU_ASSERT_EQUAL(c->phases[0].pairs[0].metric, COMPARE_AU);
	done(c);
	/* A figure that the file does not have names nothing. */
	for (int i = 0; i < 3; i++)
		strcpy(a.phases[i].record.main_figure, "other_rate");
	c = compared(files, 2);
	CU_ASSERT_EQUAL(c->phases[0].pairs[0].metric, COMPARE_BYTES);
	done(c);
}

static void test_two_files(void)
{
	struct fixture a, b;
	const struct results_file *const files[] = {&a.file, &b.file};
	char sentence[COMPARE_SENTENCE_BYTES];
	const struct compare_pair *pair;
	struct comparison *c;

	two_files(&a, &b);
	c = compared(files, 2);
	CU_ASSERT(c->side_count == 2 && c->phase_count == 1 && c->verdicts == 1);
	pair = &c->phases[0].pairs[0];
	CU_ASSERT(pair->judged && pair->metric == COMPARE_BYTES && c->level == 0.95);
	/* equal variances of 0.01 squared, 4 degrees of freedom: 2.776445 * 0.01 * sqrt(2 / 3) =
	 * 0.0226696 */
	CU_ASSERT_DOUBLE_EQUAL(pair->ratios[COMPARE_BYTES].ratio, 1.3, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(pair->ratios[COMPARE_BYTES].low, 1.3 * exp(-0.0226696), 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(pair->ratios[COMPARE_BYTES].high, 1.3 * exp(0.0226696), 1e-6);
	CU_ASSERT(pair->ratios[COMPARE_SECONDS].ratio == 1);
	CU_ASSERT(isnan(pair->ratios[COMPARE_P99].ratio));
	compare_sentence(sentence, c, pair);
	CU_ASSERT_STRING_EQUAL(sentence, "A is 1.30 times as fast as B (1.27 to 1.33).\n");
	done(c);
}

/* Where the figures of one side, whichever, are not those of a storage, there is no verdict in any output. */
static void test_void_sides(void)
{
	static const struct store_facts memory = {.name = "data", .uri = "mem://x"};
	struct store_facts own = memory;

	for (int side = 0; side < 3; side++) {
		struct fixture a, b;
		const struct results_file *const files[] = {&a.file, &b.file};
		char sentence[COMPARE_SENTENCE_BYTES], *json, *text;
		struct comparison *c;

		two_files(&a, &b);
		for (int f = 0; f < 2; f++) {
			struct results_file *file = f ? &b.file : &a.file;

			for (uint32_t i = 0; i < file->phase_count; i++)
				strcpy(file->phases[i].record.store, "data");
			if (side == f || side == 2) {
				file->stores = &own;
				file->store_count = 1;
			}
		}
		c = compared(files, 2);
		compare_sentence(sentence, c, &c->phases[0].pairs[0]);
		CU_ASSERT(strncmp(sentence,
				  side == 1 ? "Not judged, since the figures of B do not count ("
					    : "Not judged, since the figures of A do not count (",
				  49) == 0);
		CU_ASSERT_PTR_NOT_NULL(strstr(sentence, "haul's own memory"));
		CU_ASSERT_PTR_NOT_NULL(strstr(sentence, "In them, A is 1.30 times as fast as B"));
		json = document_text(REPORT_JSON, compare_write, c);
		text = document_text(REPORT_TEXT, compare_write, c);
		CU_ASSERT_FATAL(json && text);
		CU_ASSERT_PTR_NOT_NULL(strstr(json, "\"faster\": null"));
		CU_ASSERT_PTR_NOT_NULL(strstr(json, "\"judged\": false"));
		CU_ASSERT_PTR_NOT_NULL(strstr(json, "\"claim\": \"unknown\""));
		CU_ASSERT_PTR_NOT_NULL(strstr(text, "\nNot judged, since"));
		free(json);
		free(text);
		a.file.stores = b.file.stores = NULL;
		done(c);
	}
}

static void test_text(void)
{
	struct fixture a, b;
	const struct results_file *const files[] = {&a.file, &b.file};
	struct comparison *c;
	char *text;

	two_files(&a, &b);
	c = compared(files, 2);
	text = document_text(REPORT_TEXT, compare_write, c);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_STRING_EQUAL(
		text,
		"A a.h5\n"
		"B b.h5\n"
		"\n"
		"What differs             A         B\n"
		"job: seed                3         4\n"
		"job: train.batch         4         8\n"
		"machine: hosts     nid0001   nid0002\n"
		"\n"
		"train: 3 repeats each, not taken in turn; geometric means\n"
		"Metric         A        B           Difference\n"
		"GB/s        1.30     1.00   +30 % (+27 to +33)\n"
		"AU        50.0 %   50.0 %   0.0 % (0.0 to 0.0)\n"
		"seconds     1.00     1.00   0.0 % (0.0 to 0.0)\n"
		"A is 1.30 times as fast as B (1.27 to 1.33).\n"
		"\n"
		"Difference: by how much A is more than the other side, with its 95 % interval.\n");
	free(text);
	done(c);
}

/* A difference that is small beside its interval is shown, and what is nothing has no sign. */
static void test_signs(void)
{
	static const struct {
		double a, b;
		const char *shown;
	} cases[] = {
		{0.999e9, 1e9, "   -0.1 %\n"},
		{1e9, 0.999e9, "   +0.1 %\n"},
		{0.9999e9, 1e9, "   0.0 %\n"},
		{0.6e9, 1e9, "   -40 %\n"},
	};
	struct fixture a, b;
	const struct results_file *const files[] = {&a.file, &b.file};
	struct comparison *c;
	char *text;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(&a, "a.h5");
		begin(&b, "b.h5");
		add(&a, 1, cases[i].a, 0);
		add(&b, 1, cases[i].b, 0);
		c = compared(files, 2);
		text = document_text(REPORT_TEXT, compare_write, c);
		CU_ASSERT_PTR_NOT_NULL(strstr(text, cases[i].shown));
		if (!strstr(text, cases[i].shown))
			fprintf(stderr, "\n%s\n", text);
		CU_ASSERT_PTR_NULL(strstr(text, "-0 %"));
		free(text);
		done(c);
	}
	/* Repeats that vary by a factor, with nearly the same mean: the interval is wide. */
	begin(&a, "a.h5");
	begin(&b, "b.h5");
	for (int i = 0; i < 4; i++) {
		add(&a, 1, i % 2 ? 1e9 : 1.4e9, 0);
		add(&b, 1, i % 2 ? 1.002e9 : 1.4e9, 0);
	}
	c = compared(files, 2);
	text = document_text(REPORT_TEXT, compare_write, c);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "-0.1 % (-"));
	free(text);
	done(c);
}

/* Numbers of a job stand beside what people have written in the same unit, and are not different
 * where they mean the same. */
static void test_units(void)
{
	static const char *const wanted[][3] = {
		{"stores.data.chunk", "4 MiB", "8 MiB"},
		{"stores.data.latency", "5 ms", "20 ms"},
		{"stores.data.rate", "50 MB/s", "100 MB/s"},
		{"stores.data.some", "7", "auto"},
	};
	struct fixture a, b;
	const struct results_file *const files[] = {&a.file, &b.file};
	struct comparison *c;

	two_files(&a, &b);
	strcpy(b.host[0], "nid0001");
	strcpy(a.job,
	       "{\"stores\": {\"data\": {\"rate\": 50000000, \"latency\": 0.005, \"chunk\": 4194304, "
	       "\"same\": 100000000, \"time\": 0.02, \"some\": 7}}}");
	strcpy(b.job,
	       "{\"stores\": {\"data\": {\"rate\": \"100 MB/s\", \"latency\": \"20 ms\", \"chunk\": \"8 MiB\", "
	       "\"same\": \"100 MB/s\", \"time\": \"20 ms\", \"some\": \"auto\"}}}");
	c = compared(files, 2);
	CU_ASSERT_EQUAL_FATAL(c->differences.count, 4);
	for (unsigned i = 0; i < 4; i++) {
		const struct difference *row = &c->differences.rows[i];

		CU_ASSERT_STRING_EQUAL(row->what, wanted[i][0]);
		CU_ASSERT_STRING_EQUAL(row->values[0], wanted[i][1]);
		CU_ASSERT_STRING_EQUAL(row->values[1], wanted[i][2]);
	}
	done(c);
}

static void test_json(void)
{
	struct fixture a, b;
	const struct results_file *const files[] = {&a.file, &b.file};
	const cJSON *pair, *bytes;
	struct comparison *c;
	cJSON *json;
	char *text;

	two_files(&a, &b);
	c = compared(files, 2);
	text = document_text(REPORT_JSON, compare_write, c);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	json = cJSON_Parse(text);
	pair = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "pairs"), 0);
	bytes = cJSON_GetObjectItem(cJSON_GetObjectItem(pair, "metrics"), "bytes_per_second");
	CU_ASSERT_STRING_EQUAL(cJSON_GetStringValue(cJSON_GetObjectItem(pair, "faster")), "A");
	CU_ASSERT_DOUBLE_EQUAL(cJSON_GetNumberValue(cJSON_GetObjectItem(bytes, "ratio")), 1.3,
			       1e-6);
	CU_ASSERT_EQUAL(cJSON_GetArraySize(cJSON_GetObjectItem(bytes, "a_values")), 3);
	CU_ASSERT_EQUAL(cJSON_GetArraySize(cJSON_GetObjectItem(json, "differences")), 3);
	cJSON_Delete(json);
	free(text);
	done(c);
}

/* One repeat each: the difference is shown, and not judged. */
static void test_one_repeat(void)
{
	struct fixture a, b;
	const struct results_file *const files[] = {&a.file, &b.file};
	char sentence[COMPARE_SENTENCE_BYTES];
	struct comparison *c;

	begin(&a, "a.h5");
	begin(&b, "b.h5");
	add(&a, 1, 1e9, 0);
	add(&b, 1, 2e9, 0);
	c = compared(files, 2);
	CU_ASSERT(c->verdicts == 0 && !c->phases[0].pairs[0].judged);
	compare_sentence(sentence, c, &c->phases[0].pairs[0]);
	CU_ASSERT_STRING_EQUAL(
		sentence, "Not judged, since each ran only once: B came out 2.00 times as fast as "
			  "A. Repeats show whether that is chance (--repeat 5).\n");
	done(c);
}

/* Two repeats that vary much have an interval of many digits. */
static void test_vague(void)
{
	struct fixture a, b;
	const struct results_file *const files[] = {&a.file, &b.file};
	struct comparison *c;
	char sentence[COMPARE_SENTENCE_BYTES], *text;

	begin(&a, "a.h5");
	begin(&b, "b.h5");
	add(&a, 1, 1e9, 1);
	add(&a, 1, 3e9, 2);
	add(&b, 1, 3e9, 11);
	add(&b, 1, 1e9, 12);
	c = compared(files, 2);
	compare_sentence(sentence, c, &c->phases[0].pairs[0]);
	CU_ASSERT_PTR_NOT_NULL(strstr(sentence, "A and B are not shown to differ: "));
	CU_ASSERT_PTR_NOT_NULL(strstr(sentence, " (0.1 to 10, or wider: too few repeats).\n"));
	text = document_text(REPORT_TEXT, compare_write, c);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, " % (-90 to +900 or wider)\n"));
	free(text);
	done(c);
}

/* Three combinations of a sweep in one file: two verdicts, each at the level of 97.5 %. */
static void test_sweep(void)
{
	struct fixture x;
	const struct results_file *const files[] = {&x.file};
	char sentence[COMPARE_SENTENCE_BYTES];
	struct comparison *c;

	begin(&x, "s.h5");
	for (uint64_t i = 1; i <= 3; i++)
		for (int k = -1; k <= 1; k++)
			add_swept(&x, i, 1e9 * (double)i * exp(k * 0.01), 0);
	c = compared(files, 1);
	CU_ASSERT(c->side_count == 3 && c->verdicts == 2 && c->phases[0].pair_count == 2);
	CU_ASSERT_DOUBLE_EQUAL(c->level, 0.975, 1e-12);
	CU_ASSERT_STRING_EQUAL(c->sides[1].name, "s.h5, train.batch=2");
	CU_ASSERT_EQUAL_FATAL(c->differences.count, 1);
	CU_ASSERT_STRING_EQUAL(c->differences.rows[0].what, "train.batch");
	CU_ASSERT_STRING_EQUAL(c->differences.rows[0].values[2], "3");
	compare_sentence(sentence, c, &c->phases[0].pairs[1]);
	CU_ASSERT_PTR_NOT_NULL(strstr(sentence, "C is 3.00 times as fast as A ("));
	CU_ASSERT_PTR_NOT_NULL(strstr(sentence, "were not taken in turn"));
	done(c);
}

static void test_refusals(void)
{
	struct fixture a, b;
	const struct results_file *const files[] = {&a.file, &b.file};

	begin(&a, "a.h5");
	begin(&b, "b.h5");
	add(&a, 1, 1e9, 0);
	refused(files, 1, "there is nothing to compare with");
	refused(files, 2, "there is nothing to compare with");
	add(&b, 1, 1e9, 0);
	strcpy(b.phases[0].record.name, "other");
	refused(files, 2, "no other side has a finished phase of the name and kind of one in a.h5");
}

/* A series in turn, or one side after the other; speed changes by a factor over it. */
static struct comparison *series(struct fixture *x, uint64_t seed, double faster, double cv,
				 double drift, bool in_turn)
{
	const struct results_file *files[] = {&x->file};

	begin(x, "s.h5");
	for (unsigned i = 0; i < 2 * REPEATS; i++) {
		unsigned side = in_turn ? i % 2 : i / REPEATS;
		double noise = 1 + cv * random_normal(random_at(seed, i, 0));

		add_swept(x, side + 1,
			  1e9 * (side ? 1 : faster) * noise *
				  (1 + (drift - 1) * i / (2.0 * REPEATS - 1)),
			  1000 + i);
	}
	return compared(files, 1);
}

static unsigned verdicts(double faster, double cv, double drift, bool in_turn)
{
	unsigned n = 0;

	for (uint64_t i = 0; i < TRIALS; i++) {
		struct fixture x;
		struct comparison *c = series(&x, i, faster, cv, drift, in_turn);

		CU_ASSERT_EQUAL(c->phases[0].pairs[0].ratios[COMPARE_BYTES].paired, in_turn);
		n += c->phases[0].pairs[0].ratios[COMPARE_BYTES].verdict != 0;
		done(c);
	}
	return n;
}

static void test_verdicts(void)
{
	CU_ASSERT(verdicts(1, 0.03, 1, false) <= 33);
	CU_ASSERT(verdicts(1, 0.03, 1, true) <= 33);
	CU_ASSERT(verdicts(1.1, 0.03, 1, false) >= TRIALS * 95 / 100);
}

static void test_drift(void)
{
	char sentence[COMPARE_SENTENCE_BYTES];
	struct fixture x;
	struct comparison *c;

	CU_ASSERT(verdicts(1, 0.003, 1.1, true) <= 33);
	c = series(&x, 5, 1, 0.003, 1.1, true);
	compare_sentence(sentence, c, &c->phases[0].pairs[0]);
	CU_ASSERT_PTR_NOT_NULL(strstr(sentence, "A and B are not shown to differ: "));
	CU_ASSERT_PTR_NOT_NULL(strstr(
		sentence, "From the first repeat to the last one, everything became 10 % faster, "
			  "which the comparison of pairs leaves out.\n"));
	done(c);
	c = series(&x, 5, 1, 0.003, 0.9, false);
	compare_sentence(sentence, c, &c->phases[0].pairs[0]);
	CU_ASSERT_PTR_NOT_NULL(strstr(sentence, "A and B are not shown to differ: "));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(sentence, "10 % slower. The interval is widened by this drift"));
	done(c);
}

int main(void)
{
	const CU_TestInfo tests[] = {
		{"the main figure of a kind of phase", test_main_figure},
		{"two files", test_two_files},
		{"sides whose figures do not count", test_void_sides},
		{"text", test_text},
		{"signs of differences", test_signs},
		{"units of differences", test_units},
		{"JSON", test_json},
		{"one repeat", test_one_repeat},
		{"a sweep", test_sweep},
		{"refusals", test_refusals},
		{"false verdicts and power", test_verdicts},
		{"drift", test_drift},
		{"an interval that tells nothing", test_vague},
		CU_TEST_INFO_NULL,
	};

	return unit_main("compare", tests);
}

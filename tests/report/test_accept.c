/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of acceptance: each criterion with results that meet it, that miss it and that cannot
 * answer it; rules that are refused. */
#include "report/accept/accept.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/client/client.h"
#include "report/shapes.h"
#include "tests/unit.h"

enum { REPEATS = 3, NODES = 2, RANKS = 4, ROWS = 2 };
enum { READ, WRITTEN, ERRORS, NODE, SAMPLES, AU, RATE, OPERATIONS, CACHED, COLUMNS };
enum { CLIENT_ALL = CLIENT_COLUMNS + 2 };
#define SECOND 1000000000ull

static const struct results_column columns[COLUMNS] = {
	[READ] = {.name = "bytes_read"},
	[WRITTEN] = {.name = "bytes_written"},
	[ERRORS] = {.name = "errors"},
	[NODE] = {.name = "node"},
	[SAMPLES] = {.name = "samples", .role = ROLE_ITEMS},
	[AU] = {.name = "au", .role = ROLE_UTILISATION, .real = true},
	[RATE] = {.name = "rate", .role = ROLE_BYTE_RATE, .real = true},
	[OPERATIONS] = {.name = "ops", .role = ROLE_OPERATION_RATE, .real = true},
	[CACHED] = {.name = "cached_share", .role = ROLE_CACHED, .real = true},
};
static const struct results_column checkpoint_columns[2] = {{.name = "write_ns"},
							    {.name = "read_ns"}};

/* Three repeats on two nodes with two ranks each, which differ by 1 %. */
struct fixture {
	union results_cell merged[REPEATS][COLUMNS], ranks[REPEATS][RANKS][COLUMNS];
	union results_cell checkpoints[REPEATS][2][2];
	union results_cell client[REPEATS][NODES * ROWS][CLIENT_ALL];
	struct results_column client_columns[CLIENT_ALL];
	struct results_rows tables[REPEATS];
	struct results_hist hists[REPEATS];
	struct results_phase_read phases[REPEATS];
	struct results_links links[NODES];
	char hosts[NODES][RESULTS_NAME_BYTES], path[16];
	struct results_file file;
};

static struct results_table table_of(const struct results_column *of, uint32_t count, uint64_t rows,
				     union results_cell *cells)
{
	return (struct results_table){.column_count = count,
				      .row_count = rows,
				      .columns = (struct results_column *)(uintptr_t)of,
				      .cells = cells};
}

static void fill_client(struct fixture *x, unsigned r)
{
	for (unsigned i = 0; i < NODES * ROWS; i++) {
		union results_cell *row = x->client[r][i];

		row[0].count = i / ROWS;
		row[1].count = i % ROWS * SECOND;
		row[2 + CLIENT_COVERED_NS].count = SECOND;
		row[2 + CLIENT_CPU_USER_NS].count = SECOND;
		row[2 + CLIENT_CPU_IDLE_NS].count = 7 * SECOND;
		row[2 + CLIENT_RANK_CORES_NS].count = 4 * SECOND;
		row[2 + CLIENT_RANK_CORES_BUSY_NS].count = SECOND;
		row[2 + CLIENT_HAUL_CPU_NS].count = SECOND;
		row[2 + CLIENT_MEMORY_AVAILABLE_BYTES].count = 1000;
		row[2 + CLIENT_DIRTY_LIMIT_BYTES].count = 1000;
	}
}

static void fill_repeat(struct fixture *x, unsigned r)
{
	double factor = 0.99 + 0.01 * r;
	union results_cell *m = x->merged[r];

	m[READ].count = (uint64_t)(4e9 * factor);
	m[SAMPLES].count = 800;
	m[AU].real = 0.95 * factor;
	m[RATE].real = 2e9 * factor;
	m[OPERATIONS].real = 500 * factor;
	m[CACHED].real = 0.005;
	for (unsigned i = 0; i < RANKS; i++) {
		x->ranks[r][i][NODE].count = i / 2;
		x->ranks[r][i][AU].real = 0.95 * factor;
		x->ranks[r][i][RATE].real = 5e8;
	}
	for (unsigned i = 0; i < 2; i++) {
		x->checkpoints[r][i][0].count = 2 * SECOND;
		x->checkpoints[r][i][1].count = 4 * SECOND;
	}
	x->tables[r] = (struct results_rows){
		.name = "checkpoints",
		.table = table_of(checkpoint_columns, 2, 2, &x->checkpoints[r][0][0])};
	strcpy(x->hists[r].name, "read");
	for (unsigned i = 0; i < 100; i++)
		hist_record(&x->hists[r].hist, 5000000);
	fill_client(x, r);
	x->phases[r] = (struct results_phase_read){
		.record = {.number = r,
			   .within = RECORD_NOT_WITHIN,
			   .kind = "train",
			   .name = "warm",
			   .status = "done",
			   .main_hist = "read",
			   .seconds = 2,
			   .run = r + 1,
			   .combination = 1,
			   .repeat = r + 1},
		.merged = table_of(columns, COLUMNS, 1, m),
		.ranks = table_of(columns, COLUMNS, RANKS, &x->ranks[r][0][0]),
		.hists = &x->hists[r],
		.hist_count = 1,
		.tables = &x->tables[r],
		.table_count = 1,
		.client =
			table_of(x->client_columns, CLIENT_ALL, NODES * ROWS, &x->client[r][0][0]),
		.client_interval_s = 1,
	};
}

static struct fixture *fresh(void)
{
	struct fixture *x = calloc(1, sizeof(*x));

	CU_ASSERT_PTR_NOT_NULL_FATAL(x);
	strcpy(x->path, "r.h5");
	strcpy(x->client_columns[0].name, "node");
	strcpy(x->client_columns[1].name, "time_ns");
	for (unsigned c = 0; c < CLIENT_COLUMNS; c++)
		snprintf(x->client_columns[2 + c].name, RESULTS_NAME_BYTES, "%s",
			 client_columns.measures[c].name);
	for (unsigned r = 0; r < REPEATS; r++)
		fill_repeat(x, r);
	x->file = (struct results_file){.path = x->path,
					.nodes = NODES,
					.ranks = RANKS,
					.runs = REPEATS,
					.hosts = x->hosts,
					.links = x->links,
					.phase_count = REPEATS,
					.phases = x->phases};
	return x;
}

static int read_rules(struct accept_rules *r, const char *text, struct err *err)
{
	char path[] = "/tmp/haul-rules-XXXXXX";
	int fd = mkstemp(path), rc;

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	rc = accept_rules_read(r, path, err);
	unlink(path);
	return rc;
}

/* The state of the only criterion. */
static enum claim_state judged(struct fixture *x, const char *rules)
{
	const struct results_file *const files[] = {&x->file};
	struct accept_rules *r = calloc(1, sizeof(*r));
	enum claim_state state;
	struct err err = {0};
	struct accept a;

	CU_ASSERT_PTR_NOT_NULL_FATAL(r);
	CU_ASSERT_EQUAL_FATAL(read_rules(r, rules, &err), 0);
	CU_ASSERT_FATAL(accept_make(&a, r, files, 1));
	CU_ASSERT_EQUAL_FATAL(a.count, 1);
	state = a.verdicts[0].state;
	CU_ASSERT_EQUAL(claim_holds(a.claim.state), state == CLAIM_HELD);
	accept_free(&a);
	free(r);
	return state;
}

static enum claim_state judged_rule(struct fixture *x, const char *rule)
{
	char rules[256];

	snprintf(rules, sizeof(rules), "{\"rules\": [{\"phase\": \"warm\", %s}]}", rule);
	return judged(x, rules);
}

/* Each bound just on the one and on the other side of the results. */
static void test_bounds(void)
{
	static const char *const rules[][2] = {
		{"\"least_rate\": \"2 GB/s\"", "\"least_rate\": \"2.01 GB/s\""},
		{"\"least_operations\": 499.9", "\"least_operations\": 501"},
		{"\"least_samples\": 400", "\"least_samples\": 401"},
		{"\"least_au\": 0.949", "\"least_au\": 0.951"},
		{"\"most_p99\": \"5.1 ms\"", "\"most_p99\": \"4.9 ms\""},
		{"\"most_p99\": \"5.1 ms\", \"histogram\": \"read\"",
		 "\"most_p99\": \"4.9 ms\", \"histogram\": \"read\""},
		{"\"least_node_share\": 1", "\"least_node_share\": 1.001"},
		{"\"most_cv\": 0.011", "\"most_cv\": 0.009"},
		{"\"most_cached\": 0.01", "\"most_cached\": 0.004"},
		{"\"most_errors\": 3", "\"most_errors\": 2"},
		{"\"most_checkpoint_time\": \"2 s\"", "\"most_checkpoint_time\": \"1.9 s\""},
		{"\"most_restore_time\": \"4 s\"", "\"most_restore_time\": \"3.9 s\""},
	};
	struct fixture *x = fresh();

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		enum claim_state met, missed;

		x->merged[0][ERRORS].count = strstr(rules[i][0], "most_errors") ? 3 : 0;
		met = judged_rule(x, rules[i][0]);
		missed = judged_rule(x, rules[i][1]);
		CU_ASSERT_EQUAL(met, CLAIM_HELD);
		CU_ASSERT_EQUAL(missed, CLAIM_MISSED);
		if (met != CLAIM_HELD || missed != CLAIM_MISSED)
			printf("%s: %s, %s: %s\n", rules[i][0], target_state_names[met],
			       rules[i][1], target_state_names[missed]);
	}
	/* Figures of which one repeat is void neither meet nor miss; what its worst one did stands. */
	x->merged[0][ERRORS].count = 3;
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		bool worst =
			strstr(rules[i][0], "most_cached") || strstr(rules[i][0], "most_errors");

		CU_ASSERT_EQUAL(judged_rule(x, rules[i][0]), worst ? CLAIM_HELD : CLAIM_UNKNOWN);
		CU_ASSERT_EQUAL(judged_rule(x, rules[i][1]), worst ? CLAIM_MISSED : CLAIM_UNKNOWN);
	}
	free(x);
}

/* One repeat that is worse than the others decides. */
static void test_worst_repeat(void)
{
	struct fixture *x = fresh();

	CU_ASSERT_EQUAL(judged_rule(x, "\"most_errors\": 0"), CLAIM_HELD);
	CU_ASSERT_EQUAL(judged_rule(x, "\"client_not_limit\": true"), CLAIM_HELD);
	x->merged[1][ERRORS].count = 1;
	CU_ASSERT_EQUAL(judged_rule(x, "\"most_errors\": 0"), CLAIM_MISSED);
	CU_ASSERT_EQUAL(judged_rule(x, "\"most_errors\": 1"), CLAIM_HELD);
	x->merged[1][CACHED].real = 0.02;
	CU_ASSERT_EQUAL(judged_rule(x, "\"most_cached\": 0.01"), CLAIM_MISSED);
	for (unsigned i = 0; i < ROWS; i++) {
		x->client[2][i][2 + CLIENT_RANK_CORES_BUSY_NS].count = 3900000000;
		x->client[2][i][2 + CLIENT_HAUL_CPU_NS].count = 3000000000;
		x->client[2][i][2 + CLIENT_HAUL_WAITED_NS].count = 3000000000;
	}
	CU_ASSERT_EQUAL(judged_rule(x, "\"client_not_limit\": true"), CLAIM_MISSED);
	free(x);
	x = fresh();
	for (unsigned i = 0; i < 2; i++)
		x->ranks[1][i][RATE].real = 1e8;
	CU_ASSERT_EQUAL(judged_rule(x, "\"least_node_share\": 0.9"), CLAIM_MISSED);
	free(x);
}

static void test_unfinished_run(void)
{
	struct fixture *x = fresh();

	strcpy(x->phases[2].record.status, "failed");
	CU_ASSERT_EQUAL(judged_rule(x, "\"most_errors\": 0"), CLAIM_MISSED);
	CU_ASSERT_EQUAL(judged_rule(x, "\"least_au\": 0.9"), CLAIM_HELD);
	x->phases[2].record.warmup = 1;
	CU_ASSERT_EQUAL(judged_rule(x, "\"most_errors\": 0"), CLAIM_HELD);
	free(x);
}

/* What is judged by its interval: AU 0.9405, 0.95 and 0.9595 have the interval 0.9264 to 0.9736. */
static void test_interval(void)
{
	struct fixture *x = fresh();

	CU_ASSERT_EQUAL(judged(x, "{\"rules\": [{\"phase\": \"train\", \"least_au\": 0.94}]}"),
			CLAIM_HELD);
	CU_ASSERT_EQUAL(
		judged(x,
		       "{\"judge\": \"interval\", \"rules\": [{\"phase\": \"train\", \"least_au\": 0.94}]}"),
		CLAIM_MISSED);
	CU_ASSERT_EQUAL(
		judged(x,
		       "{\"judge\": \"interval\", \"rules\": [{\"phase\": \"train\", \"least_au\": 0.926}]}"),
		CLAIM_HELD);
	free(x);
}

/* What the file cannot tell is unknown, whatever the bound. */
static void test_unknown(void)
{
	static const char *const rules[] = {"\"least_rate\": 0",
					    "\"least_write_rate\": 0",
					    "\"least_read_rate\": 0",
					    "\"least_operations\": 0",
					    "\"least_samples\": 0",
					    "\"least_au\": 0",
					    "\"most_p99\": \"1 h\"",
					    "\"least_node_share\": 0",
					    "\"most_cv\": 100",
					    "\"most_errors\": 1000",
					    "\"most_cached\": 1",
					    "\"client_not_limit\": true",
					    "\"no_doubt\": true",
					    "\"most_checkpoint_time\": \"1 h\"",
					    "\"most_restore_time\": \"1 h\""};
	struct fixture *x = fresh();

	CU_ASSERT_PTR_NULL(accept_kinds[sizeof(rules) / sizeof(*rules)].key);
	CU_ASSERT_EQUAL(judged_rule(x, "\"most_p99\": \"1 h\", \"histogram\": \"other\""),
			CLAIM_UNKNOWN);
	CU_ASSERT_EQUAL(judged(x, "{\"rules\": [{\"phase\": \"other\", \"most_errors\": 1}]}"),
			CLAIM_UNKNOWN);
	for (unsigned r = 0; r < REPEATS; r++) {
		x->phases[r].merged.column_count = x->phases[r].ranks.column_count = 0;
		x->phases[r].table_count = x->phases[r].hist_count = 0;
		x->phases[r].client.row_count = 0;
	}
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		enum claim_state state = judged_rule(x, rules[i]);

		CU_ASSERT_EQUAL(state, CLAIM_UNKNOWN);
		if (state != CLAIM_UNKNOWN)
			printf("%s: %s\n", rules[i], target_state_names[state]);
	}
	free(x);
}

/* One repeat has no variation, and a phase of less than half a second does not tell whether the
 * client was the limit. */
static void test_too_little(void)
{
	struct fixture *x = fresh();

	x->file.phase_count = 1;
	CU_ASSERT_EQUAL(judged_rule(x, "\"most_cv\": 1"), CLAIM_UNKNOWN);
	CU_ASSERT_EQUAL(judged_rule(x, "\"least_au\": 0.9"), CLAIM_HELD);
	x->phases[0].record.seconds = 0.4;
	CU_ASSERT_EQUAL(judged_rule(x, "\"client_not_limit\": true"), CLAIM_UNKNOWN);
	x->file.nodes = 1;
	CU_ASSERT_EQUAL(judged_rule(x, "\"least_node_share\": 0"), CLAIM_UNKNOWN);
	free(x);
}

/* Without the details nobody has looked for what makes the figures void, so those of /summary tell nothing. */
static void test_details_missing(void)
{
	struct fixture *x = fresh();
	struct store_facts store = {.name = "data", .uri = "file:///data"};

	CU_ASSERT_EQUAL(judged_rule(x, "\"no_doubt\": true"), CLAIM_HELD);
	for (unsigned r = 0; r < REPEATS; r++) {
		x->phases[r].gone = true;
		x->phases[r].hist_count = 0;
		x->phases[r].client.row_count = 0;
		x->phases[r].gone_ns[QUANTILE_P99] = 5000000;
	}
	CU_ASSERT_EQUAL(judged_rule(x, "\"no_doubt\": true"), CLAIM_UNKNOWN);
	CU_ASSERT_EQUAL(judged_rule(x, "\"client_not_limit\": true"), CLAIM_UNKNOWN);
	CU_ASSERT_EQUAL(judged_rule(x, "\"most_cv\": 100"), CLAIM_UNKNOWN);
	CU_ASSERT_EQUAL(judged_rule(x, "\"most_p99\": \"5.1 ms\""), CLAIM_UNKNOWN);
	CU_ASSERT_EQUAL(judged_rule(x, "\"most_p99\": \"4.9 ms\""), CLAIM_UNKNOWN);
	CU_ASSERT_EQUAL(judged_rule(x, "\"most_errors\": 0"), CLAIM_HELD);
	CU_ASSERT_EQUAL(judged_rule(x, "\"most_p99\": \"1 h\", \"histogram\": \"read\""),
			CLAIM_UNKNOWN);
	CU_ASSERT_EQUAL(judged_rule(x, "\"least_au\": 0.9"), CLAIM_UNKNOWN);
	x->merged[1][ERRORS].count = 1;
	CU_ASSERT_EQUAL(judged_rule(x, "\"no_doubt\": true"), CLAIM_MISSED);
	free(x);
	/* Files that were read in a way that tells nothing about the page cache. */
	x = fresh();
	x->file.stores = &store;
	x->file.store_count = 1;
	for (unsigned r = 0; r < REPEATS; r++) {
		strcpy(x->phases[r].record.store, "data");
		x->merged[r][CACHED].real = NAN;
	}
	CU_ASSERT_EQUAL(judged_rule(x, "\"no_doubt\": true"), CLAIM_UNKNOWN);
	store.direct = 1;
	CU_ASSERT_EQUAL(judged_rule(x, "\"no_doubt\": true"), CLAIM_HELD);
	free(x);
}

static void test_refusals(void)
{
	static const char *const cases[][2] = {
		{"{\"rules\": [{\"phase\": \"x\"}]}", "/rules/0: has no criterion"},
		{"{\"rules\": [{\"most_errors\": 0}]}", "/rules/0/phase"},
		{"{\"rules\": []}", "/rules"},
		{"{}", "/rules"},
		{"[]", "is not an object of rules"},
		{"{\"rules\": [{\"phase\": \"x\", \"least_ua\": 1}]}",
		 "did you mean \"least_au\"?"},
		{"{\"rules\": [{\"phase\": \"x\", \"least_rate\": \"fast\"}]}",
		 "/rules/0/least_rate"},
		{"{\"rules\": [{\"phase\": \"x\", \"most_cv\": -1}]}", "/rules/0/most_cv"},
		{"{\"rules\"", "line 1"},
	};
	struct accept_rules *r = calloc(1, sizeof(*r));

	CU_ASSERT_PTR_NOT_NULL_FATAL(r);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct err err = {0};

		CU_ASSERT_EQUAL(read_rules(r, cases[i][0], &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i][1]));
		if (!strstr(err.text, cases[i][1]))
			printf("%s: %s\n", cases[i][0], err.text);
	}
	free(r);
}

static void test_text_and_json(void)
{
	static const char rules[] =
		"{\"rules\": [{\"phase\": \"warm\", \"least_rate\": \"1 GB/s\", \"least_au\": 0.96, "
		"\"most_errors\": 0}, {\"phase\": \"other\", \"most_errors\": 0}]}";
	struct fixture *x = fresh();
	const struct results_file *const files[] = {&x->file};
	struct accept_rules *r = calloc(1, sizeof(*r));
	struct err err = {0};
	struct accept a;
	cJSON *json;
	char *text;

	CU_ASSERT_PTR_NOT_NULL_FATAL(r);
	CU_ASSERT_EQUAL_FATAL(read_rules(r, rules, &err), 0);
	CU_ASSERT_FATAL(accept_make(&a, r, files, 1));
	text = document_text(REPORT_TEXT, accept_write, &a);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_STRING_EQUAL(
		text,
		"met: warm: bandwidth 2 GB/s, at least 1 GB/s (1.95 GB/s to 2.05 GB/s in 3 repeats)\n"
		"missed: warm: AU 95 %, at least 96 % (92.64 % to 97.36 % in 3 repeats)\n"
		"met: warm: errors 0, at most 0 (the worst of 3 repeats)\n"
		"unknown: other: errors: no file has finished the phase; run it to its end, or correct its name\n"
		"\n"
		"Not accepted: 2 met, 1 missed, 1 unknown.\n");
	free(text);
	text = document_text(REPORT_JSON, accept_write, &a);
	json = cJSON_Parse(text);
	CU_ASSERT(cJSON_IsFalse(cJSON_GetObjectItem(json, "accepted")));
	CU_ASSERT_EQUAL(cJSON_GetNumberValue(cJSON_GetObjectItem(json, "unanswered")), 1);
	CU_ASSERT_EQUAL(cJSON_GetArraySize(cJSON_GetObjectItem(json, "criteria")), 4);
	cJSON_Delete(json);
	free(text);
	accept_free(&a);
	free(r);
	free(x);
}

/* No interval of an AU leads beyond 100 %. */
static void test_possible(void)
{
	static const char rules[] = "{\"rules\": [{\"phase\": \"warm\", \"least_au\": 0.9}]}";
	static const double au[REPEATS] = {1, 0.99, 0.9};
	struct fixture *x = fresh();
	const struct results_file *const files[] = {&x->file};
	struct accept_rules *r = calloc(1, sizeof(*r));
	struct err err = {0};
	struct accept a;
	char *text;

	CU_ASSERT_PTR_NOT_NULL_FATAL(r);
	for (unsigned i = 0; i < REPEATS; i++)
		x->merged[i][AU].real = au[i];
	CU_ASSERT_EQUAL_FATAL(read_rules(r, rules, &err), 0);
	CU_ASSERT_FATAL(accept_make(&a, r, files, 1));
	text = document_text(REPORT_TEXT, accept_write, &a);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, " % to 100 % in 3 repeats)\n"));
	free(text);
	accept_free(&a);
	free(r);
	free(x);
}

int main(void)
{
	const CU_TestInfo tests[] = {
		{"an interval within what is possible", test_possible},
		{"bounds", test_bounds},
		{"the worst repeat decides", test_worst_repeat},
		{"a run that did not finish", test_unfinished_run},
		{"judged by the interval", test_interval},
		{"unknown", test_unknown},
		{"too little to tell", test_too_little},
		{"details that are missing", test_details_missing},
		{"rules that are refused", test_refusals},
		{"text and JSON", test_text_and_json},
		CU_TEST_INFO_NULL,
	};

	return unit_main("accept", tests);
}

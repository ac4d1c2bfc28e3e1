/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of doubts: for each row of the table a phase that raises it, and one that does not; and in
 * all of them text and page begin with the same sentence. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/client/client.h"
#include "core/numbers.h"
#include "report/headline.h"
#include "report/html/data.h"
#include "report/shapes.h"
#include "report/verdict.h"
#include "tests/unit.h"

enum { SECOND = 1000000000, ROWS = 4, CLIENT_ALL = 2 + CLIENT_COLUMNS, ATTEMPT_COLUMNS = 3 };
enum doubt_column {
	RANK,
	NODE,
	READ,
	WRITTEN,
	OPERATIONS,
	ERRORS,
	DONE,
	LEFT,
	LOST,
	CACHED,
	STARVED,
	RATE,
	OPS,
	MEASURED,
	ALL,
	AU,
	COLUMNS
};

static const struct results_column columns[COLUMNS] = {
	[RANK] = {.name = "rank"},
	[NODE] = {.name = "node"},
	[READ] = {.name = "bytes_read", .unit = "bytes"},
	[WRITTEN] = {.name = "bytes_written", .unit = "bytes"},
	[OPERATIONS] = {.name = "operations"},
	[ERRORS] = {.name = "errors"},
	[DONE] = {.name = "requests", .role = ROLE_ITEMS},
	[LEFT] = {.name = "left", .role = ROLE_ITEMS_LEFT},
	[LOST] = {.name = "start_up_lost"},
	[CACHED] = {.name = "cached_share", .role = ROLE_CACHED, .real = true},
	[STARVED] = {.name = "starved", .role = ROLE_STARVED, .real = true},
	[RATE] = {.name = "rate", .unit = "B/s", .role = ROLE_BYTE_RATE, .real = true},
	[OPS] = {.name = "ops", .unit = "1/s", .role = ROLE_OPERATION_RATE, .real = true},
	[MEASURED] = {.name = "au_wall_ns", .role = ROLE_MEASURED_TIME},
	[ALL] = {.name = "wall_sum_ns", .role = ROLE_ALL_TIME},
	[AU] = {.name = "au", .unit = "fraction", .role = ROLE_UTILISATION, .real = true},
};
static const struct results_column attempt_columns[ATTEMPT_COLUMNS] = {
	{.name = "endpoint"}, {.name = "attempts"}, {.name = "failures"}};

/* A training of ten seconds that leaves nothing to doubt but that it ran once. */
struct fixture {
	union results_cell row[COLUMNS], client[ROWS][CLIENT_ALL], attempts[2][ATTEMPT_COLUMNS];
	struct results_column client_columns[CLIENT_ALL];
	char names[2][TABLE_TEXT_BYTES], host[1][RESULTS_NAME_BYTES];
	struct results_rows tables[1];
	struct results_hist hists[2]; /* the second: of whole requests, where a test adds it */
	struct target_result targets[2];
	struct store_facts store[2];
	struct results_links links[1];
	struct results_phase_read phases[3];
	char path[16], empty[1];
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

static void fill_client(struct fixture *x)
{
	snprintf(x->client_columns[0].name, RESULTS_NAME_BYTES, "node");
	snprintf(x->client_columns[1].name, RESULTS_NAME_BYTES, "time_ns");
	for (int c = 0; c < CLIENT_COLUMNS; c++)
		snprintf(x->client_columns[2 + c].name, RESULTS_NAME_BYTES, "%s",
			 client_columns.measures[c].name);
	for (unsigned i = 0; i < ROWS; i++) {
		union results_cell *row = x->client[i];

		row[1].count = i * (uint64_t)SECOND;
		row[2 + CLIENT_COVERED_NS].count = SECOND;
		row[2 + CLIENT_CPU_USER_NS].count = SECOND;
		row[2 + CLIENT_CPU_IDLE_NS].count = 7 * (uint64_t)SECOND;
		row[2 + CLIENT_RANK_CORES_NS].count = 4 * (uint64_t)SECOND;
		row[2 + CLIENT_RANK_CORES_BUSY_NS].count = SECOND;
		row[2 + CLIENT_HAUL_CPU_NS].count = SECOND;
		row[2 + CLIENT_MEMORY_AVAILABLE_BYTES].count = 1000;
		row[2 + CLIENT_DIRTY_LIMIT_BYTES].count = 1000;
	}
}

static void fill_phase(struct fixture *x)
{
	x->row[READ].count = 4000000000;
	x->row[OPERATIONS].count = x->row[DONE].count = 1000;
	x->row[CACHED].real = 0.01;
	x->row[RATE].real = 4e8;
	x->row[OPS].real = 100;
	x->row[MEASURED].count = 9 * (uint64_t)SECOND;
	x->row[ALL].count = 10 * (uint64_t)SECOND;
	x->row[AU].real = 0.95;
	for (int i = 0; i < 2; i++) {
		snprintf(x->names[i], TABLE_TEXT_BYTES, "10.0.0.%d:9000", i + 1);
		x->attempts[i][1].count = 500;
	}
	x->tables[0] = (struct results_rows){
		.name = "endpoints",
		.table = table_of(attempt_columns, ATTEMPT_COLUMNS, 2, &x->attempts[0][0]),
		.names = x->names};
	strcpy(x->hists[0].name, "read");
	for (int i = 0; i < 1000; i++)
		hist_record(&x->hists[0].hist, 5000000);
	x->targets[0] = (struct target_result){.name = "target_au",
					       .label = "AU",
					       .unit = "fraction",
					       .asked = 0.9,
					       .found = 0.95,
					       .met = 1};
	x->targets[1] = (struct target_result){.name = "target_p99",
					       .label = "99th percentile of reads",
					       .unit = "ns",
					       .most = 1,
					       .asked = 20e6,
					       .found = 5e6,
					       .met = 1};
}

static struct fixture *fresh(void)
{
	struct fixture *x = calloc(1, sizeof(*x));

	CU_ASSERT_PTR_NOT_NULL_FATAL(x);
	fill_client(x);
	fill_phase(x);
	strcpy(x->path, "r.h5");
	strcpy(x->host[0], "nid1");
	x->store[0] = (struct store_facts){
		.name = "data", .uri = "file:///scratch", .file_system = "lustre", .nodes = 1};
	for (int i = 0; i < 3; i++)
		x->phases[i] = (struct results_phase_read){
			.record = {.number = (uint64_t)i,
				   .within = RECORD_NOT_WITHIN,
				   .kind = "train",
				   .name = "train",
				   .store = "data",
				   .status = "done",
				   .main_hist = "read",
				   .seconds = 10,
				   .null_au = NAN,
				   .target_au = 0.9,
				   .run = (uint64_t)i + 1,
				   .combination = 1,
				   .repeat = (uint64_t)i + 1},
			.merged = table_of(columns, COLUMNS, 1, x->row),
			.ranks = table_of(columns, COLUMNS, 1, x->row),
			.hists = x->hists,
			.hist_count = 1,
			.tables = x->tables,
			.table_count = 1,
			.targets = x->targets,
			.target_count = 2,
			.client = table_of(x->client_columns, CLIENT_ALL, ROWS, &x->client[0][0]),
			.client_interval_s = 1};
	x->file = (struct results_file){.path = x->path,
					.version = "1",
					.name = "doubts",
					.status = "done",
					.started = "2026-01-02T03:04:05Z",
					.build = x->empty,
					.command_line = x->empty,
					.error = x->empty,
					.job_text = x->empty,
					.seconds = 10,
					.ranks = 1,
					.nodes = 1,
					.runs = 1,
					.hosts = x->host,
					.store_count = 1,
					.stores = x->store,
					.links = x->links,
					.phase_count = 1,
					.phases = x->phases};
	return x;
}

/* Each makes the phase what a doubt is about, by a value that is at its bound or just beside it. */
static void status_of(struct fixture *x, double interrupted)
{
	strcpy(x->phases[0].record.status, interrupted > 0 ? "interrupted" : "limit");
}

static void left_behind(struct fixture *x, double gone)
{
	x->phases[0].gone = gone > 0;
	x->phases[0].side_bytes = 1000;
}

static void from_cache(struct fixture *x, double share)
{
	x->row[CACHED].real = share;
}

/* The phase's own store, or another one of the job. */
static void on_tmpfs(struct fixture *x, double own)
{
	strcpy(x->store[own > 0 ? 0 : 1].file_system, "tmpfs");
	strcpy(x->store[1].name, "other");
	x->file.store_count = 2;
}

static void lacking(struct fixture *x, double lacks)
{
	strcpy(x->store[0].degraded, lacks > 0 ? "3 of 64 targets are out of service" : "");
}

static void never_written(struct fixture *x, double own)
{
	x->phases[own > 0 ? 0 : 1].record.hole_bytes = 4096;
}

static void in_memory(struct fixture *x, double own)
{
	strcpy(x->store[own > 0 ? 0 : 1].uri, "mem://");
	strcpy(x->store[1].name, "other");
	x->file.store_count = 2;
}

static void on_all_rows(struct fixture *x, enum client_column column, double ns)
{
	for (int i = 0; i < ROWS; i++)
		x->client[i][2 + column].count = (uint64_t)llround(ns);
}

static void busy_cores(struct fixture *x, double share)
{
	on_all_rows(x, CLIENT_RANK_CORES_BUSY_NS, share * 4 * SECOND);
	on_all_rows(x, CLIENT_HAUL_CPU_NS, share * 4 * SECOND);
	on_all_rows(x, CLIENT_HAUL_WAITED_NS, SECOND);
}

/* Busy cores, for which so many seconds per second threads of haul have waited. */
static void waiting_threads(struct fixture *x, double seconds)
{
	busy_cores(x, 0.95);
	on_all_rows(x, CLIENT_HAUL_WAITED_NS, seconds * SECOND);
}

/* Others have the cores. */
static void other_work(struct fixture *x, double share)
{
	busy_cores(x, share);
	on_all_rows(x, CLIENT_HAUL_CPU_NS, 0.1 * SECOND);
}

static void throttled(struct fixture *x, double share)
{
	on_all_rows(x, CLIENT_CPU_THROTTLED_NS, share * SECOND);
}

static void busy_network(struct fixture *x, double share)
{
	x->links[0].nic_bytes_per_s = SECOND;
	on_all_rows(x, CLIENT_NIC_IN_BYTES, share * SECOND);
}

static void short_of_memory(struct fixture *x, double share)
{
	on_all_rows(x, CLIENT_MEMORY_STALLED_NS, share * SECOND);
}

/* Of 500 attempts, or of as many as failed. */
static void failing_endpoint(struct fixture *x, double failures)
{
	x->attempts[1][2].count = (uint64_t)failures;
}

/* Negative: it lives. */
static void dead_endpoint(struct fixture *x, double attempts)
{
	if (attempts < 0)
		return;
	x->attempts[1][1].count = x->attempts[1][2].count = (uint64_t)attempts;
}

/* One that nobody asks, beside one with so many attempts. */
static void unasked_endpoint(struct fixture *x, double attempts)
{
	x->attempts[0][1].count = (uint64_t)attempts;
	x->attempts[1][1].count = x->attempts[1][2].count = 0;
}

/* Attempts that were made again with success are no errors. */
static void errors(struct fixture *x, double count)
{
	x->row[ERRORS].count = (uint64_t)count;
	x->attempts[1][2].count = 50;
}

static void lost_blocks(struct fixture *x, double lost)
{
	x->row[LOST].count = (uint64_t)lost;
}

static void unfinished(struct fixture *x, double left)
{
	x->row[LEFT].count = (uint64_t)left;
}

static void within_warmup(struct fixture *x, double unknown)
{
	x->row[MEASURED].count = unknown > 0 ? 0 : 9 * (uint64_t)SECOND;
	x->row[AU].real = unknown > 0 ? NAN : 0;
	x->targets[0].found = x->row[AU].real;
	x->targets[0].met = 0;
}

static void measured(struct fixture *x, double share)
{
	x->row[MEASURED].count = (uint64_t)llround(share * 10 * SECOND);
}

static void seconds(struct fixture *x, double s)
{
	x->phases[0].record.seconds = s;
}

static void few_requests(struct fixture *x, double count)
{
	memset(&x->hists[0].hist, 0, sizeof(x->hists[0].hist));
	for (int i = 0; i < (int)count; i++)
		hist_record(&x->hists[0].hist, 5000000);
}

/* A request may be several reads. */
static void whole_requests(struct fixture *x, int count)
{
	strcpy(x->hists[1].name, "request");
	x->hists[1].role = ROLE_REQUEST_LATENCY;
	for (int i = 0; i < count; i++)
		hist_record(&x->hists[1].hist, 5000000);
	x->phases[0].hist_count = 2;
}

static void few_whole_requests(struct fixture *x, double count)
{
	whole_requests(x, (int)count);
	strcpy(x->targets[1].name, "target_request_p95");
}

static void few_reads(struct fixture *x, double count)
{
	whole_requests(x, 1);
	few_requests(x, count);
}

/* Direct I/O passes the page cache. */
static void cache_unknown(struct fixture *x, double unknown)
{
	x->row[CACHED].real = NAN;
	x->store[0].direct = !(unknown > 0);
}

/* Objects have none. */
static void cache_of_objects(struct fixture *x, double file)
{
	x->row[CACHED].real = NAN;
	strcpy(x->store[0].uri, file > 0 ? "file:///scratch" : "s3://bucket");
}

static void busy_machine(struct fixture *x, double starved)
{
	x->row[STARVED].real = starved;
}

static void stolen(struct fixture *x, double share)
{
	on_all_rows(x, CLIENT_CPU_STEAL_NS, share * 8 * SECOND / (1 - share));
}

static void dirty(struct fixture *x, double rows)
{
	for (int i = 0; i < (int)rows; i++)
		x->client[i][2 + CLIENT_DIRTY_BYTES].count = 1000;
}

static void repeats(struct fixture *x, double count)
{
	x->file.runs = x->file.phase_count = (uint32_t)count;
}

/* A trace whose rows move nothing has been answered, request by request. */
static void rows_of_nothing(struct fixture *x, double requests)
{
	x->row[OPS].real = 0;
	x->row[OPERATIONS].count = 0;
	x->row[DONE].count = (uint64_t)requests;
}

/* What raises a doubt, and what just does not. word: what the reason says. first: whether the
 * sentence with which the page begins has it. A doubt may have several rows. */
static const struct {
	enum doubt doubt;
	void (*set)(struct fixture *x, double value);
	double raises, does_not;
	const char *word;
	bool first;
} cases[] = {
	{DOUBT_ENDED, status_of, 1, 0, "was interrupted", true},
	{DOUBT_DETAILS, left_behind, 1, 0, "details of the runs are missing", true},
	{DOUBT_CACHE, from_cache, 0.1, 0.0999, "10 % of the bytes came from this client", true},
	{DOUBT_CACHE, from_cache, 1, 0, "100 % of the bytes came from this client", true},
	{DOUBT_MEMORY, on_tmpfs, 1, 0, "tmpfs", true},
	{DOUBT_MEMORY, in_memory, 1, 0, "haul's own memory", true},
	{DOUBT_HOLES, never_written, 1, 0, "of its files were never written", true},
	{DOUBT_CLIENT, busy_cores, 0.9, 0.899, "the client was the limit (its cores)", true},
	{DOUBT_CLIENT, throttled, 0.1, 0.099, "the client was the limit (its cores)", true},
	{DOUBT_CLIENT, busy_network, 0.9, 0.899, "the client was the limit (its network)", true},
	{DOUBT_CLIENT, short_of_memory, 0.1, 0.099, "the client was the limit (its memory)", true},
	{DOUBT_CLIENT, waiting_threads, 0.4, 0.39, "the client was the limit (its cores)", true},
	{DOUBT_ENDPOINT, dead_endpoint, 3, -1, "10.0.0.2:9000 failed 3 of 3 attempts", true},
	{DOUBT_ENDPOINT, dead_endpoint, 1, -1, "10.0.0.2:9000 failed 1 of 1 attempts", true},
	{DOUBT_ENDPOINT, unasked_endpoint, 6, 5, "10.0.0.2:9000 was not asked at all", true},
	{DOUBT_ENDPOINT, failing_endpoint, 100, 99, "2:9000 failed 100 of 500 attempts", true},
	{DOUBT_ERRORS, errors, 1, 0, "1 request failed", true},
	{DOUBT_LOST, lost_blocks, 1, 0, "1 block lost: not found by a server", true},
	{DOUBT_UNFINISHED, unfinished, 112, 111, "112 of 1,112 requests were not finished", true},
	{DOUBT_WARMUP, within_warmup, 1, 0, "no step came after the warm-up", true},
	{DOUBT_WARMUP, rows_of_nothing, 0, 1000, "nothing was measured", true},
	{DOUBT_WARMUP, measured, 0.499, 0.5, "AU counts only 50 % of the phase", true},
	{DOUBT_SHORT, seconds, 0.999, 1, "only 999 ms were measured", true},
	{DOUBT_FEW, few_requests, 99, 100, "99 requests", true},
	{DOUBT_FEW, few_whole_requests, 2, 100, "2 requests", true},
	{DOUBT_FEW, few_reads, 99, 100, "99 reads", true},
	{DOUBT_DEGRADED, lacking, 1, 0, "is degraded: 3 of 64 targets are out of service", true},
	{DOUBT_CACHE_UNKNOWN, cache_unknown, 1, 0, "is not known", true},
	{DOUBT_CACHE_UNKNOWN, cache_of_objects, 1, 0, "is not known", true},
	{DOUBT_MACHINE, busy_machine, VERDICT_STARVED + 1e-9, VERDICT_STARVED,
	 "this machine was busy", true},
	{DOUBT_NODE, other_work, 0.9, 0.899, "other work on the node had them", false},
	{DOUBT_NODE, stolen, 0.0201, 0.0199, "(steal)", false},
	{DOUBT_NODE, dirty, 1, 0, "writers were slowed", false},
	{DOUBT_REPEATS, repeats, 1, 3, "one run has no interval", false},
	{DOUBT_REPEATS, repeats, 2, 3, "2 repeats have no interval", true},
	{DOUBT_UNKNOWN, within_warmup, 1, 0, "AU is unknown, since no step came after", true},
};

/* Text and page begin with the sentence. */
static void same_beginning(const struct fixture *x, const char *headline)
{
	const struct results_file *const files[] = {&x->file};
	const struct report_options plain = {0};
	char *text = report_text(&x->file, &plain), *line = text ? strchr(text, '\n') : NULL;
	cJSON *data = page_data(files, 1, false);
	const cJSON *file = cJSON_GetArrayItem(cJSON_GetObjectItem(data, "files"), 0);
	const char *page = cJSON_GetStringValue(cJSON_GetObjectItem(file, "headline"));

	CU_ASSERT_PTR_NOT_NULL_FATAL(line);
	CU_ASSERT_PTR_NOT_NULL_FATAL(page);
	CU_ASSERT_STRING_EQUAL(page, headline);
	for (char *c = line; *c; c++)
		*c = *c == '\n' ? ' ' : *c;
	CU_ASSERT_EQUAL(strncmp(line + 1, headline, strlen(headline)), 0);
	free(text);
	cJSON_Delete(data);
}

static void expect_doubt(size_t i, struct headline *h, bool raises)
{
	struct fixture *x = fresh();
	char sentence[DOUBT_SENTENCE_BYTES];
	bool told;

	cases[i].set(x, raises ? cases[i].raises : cases[i].does_not);
	CU_ASSERT_FATAL(headline_of(h, &x->file));
	CU_ASSERT_EQUAL(h->doubts.raised[cases[i].doubt], raises);
	doubt_sentence(sentence, &h->doubts, cases[i].doubt);
	told = !raises || strstr(sentence, cases[i].word);
	CU_ASSERT_TRUE(told);
	CU_ASSERT_EQUAL(strstr(h->text, cases[i].word) != NULL, raises && cases[i].first);
	if (!told || h->doubts.raised[cases[i].doubt] != raises)
		printf("row %zu, %s: %s\n%s\n", i, doubt_kinds[cases[i].doubt].name, sentence,
		       h->text);
	same_beginning(x, h->text);
	free(x);
}

/* A doubt that is new has no row yet, and fails here. */
static void test_each_is_raised(void)
{
	struct headline *h = calloc(1, sizeof(*h));
	bool has[DOUBTS] = {false};

	CU_ASSERT_PTR_NOT_NULL_FATAL(h);
	for (size_t i = 0; i < COUNT(cases); i++) {
		has[cases[i].doubt] = true;
		expect_doubt(i, h, true);
		expect_doubt(i, h, false);
	}
	for (int i = 0; i < DOUBTS; i++)
		CU_ASSERT_STRING_EQUAL(has[i] ? "" : doubt_kinds[i].name, "");
	free(h);
}

/* Nothing is raised without its reason. */
static void test_none_is_raised(void)
{
	struct fixture *x = fresh();
	struct series_lines s;
	struct doubts d;

	doubts_of(&d, &x->file, &x->phases[0]);
	CU_ASSERT_EQUAL(d.count, 1);
	CU_ASSERT_TRUE(d.raised[DOUBT_REPEATS]);
	x->file.runs = x->file.phase_count = 3;
	CU_ASSERT_FATAL(series_make(&s, &x->file));
	doubts_of_line(&d, &x->file, &s.lines[0]);
	CU_ASSERT_EQUAL(d.count, 0);
	for (int i = 0; i < DOUBTS; i++)
		CU_ASSERT_STRING_EQUAL(d.raised[i] ? d.why[i] : "", "");
	series_free_lines(&s);
	free(x);
}

static void expect_headline(struct fixture *x, const char *wanted)
{
	struct headline *h = calloc(1, sizeof(*h));

	CU_ASSERT_PTR_NOT_NULL_FATAL(h);
	doubts_judge(&x->file);
	CU_ASSERT_FATAL(headline_of(h, &x->file));
	CU_ASSERT_STRING_EQUAL(h->text, wanted);
	same_beginning(x, h->text);
	free(h);
}

static void test_headlines(void)
{
	struct fixture *x = fresh();
	struct target_result own = x->targets[0];

	expect_headline(
		x,
		"The accelerators were busy 95.0 % of the time; the target of 90 % is met; 99th percentile of "
		"reads 5 ms meets the target of at most 20 ms.");
	/* What is unknown is neither met nor missed. */
	within_warmup(x, 1);
	expect_headline(
		x,
		"train: AU is unknown, since no step came after the warm-up; the target of 90 % is neither met "
		"nor missed; 99th percentile of reads 5 ms would meet the target of at most 20 ms, but that does not "
		"count: no step came after the warm-up.");
	free(x);
	x = fresh();
	x->file.runs = x->file.phase_count = 3;
	x->phases[0].target_count = x->phases[1].target_count = x->phases[2].target_count = 1;
	expect_headline(x, "train: AU 95 % (95 % to 95 %) on average over 3 repeats; the target "
			   "of 90 % is met.");
	free(x);
	/* A phase that misses its target comes before one that meets its own. */
	x = fresh();
	x->file.phase_count = 2;
	x->phases[1].record.run = 1;
	strcpy(x->phases[1].record.name, "later");
	x->phases[1].target_count = 1;
	x->phases[1].targets = &own;
	x->targets[1].found = 30e6;
	x->phases[1].record.hole_bytes = 1;
	expect_headline(
		x,
		"train: The accelerators were busy 95.0 % of the time; the target of 90 % is met; 99th percentile of "
		"reads 30 ms misses the target of at most 20 ms; of 1 more target 1 cannot be told.");
	x->file.phase_count = 0;
	expect_headline(x, "No phase has finished.");
	free(x);
}

int main(void)
{
	const CU_TestInfo tests[] = {
		{"each is raised by what it is about, no other", test_each_is_raised},
		{"no doubt is raised without a reason", test_none_is_raised},
		{"first sentences", test_headlines},
		CU_TEST_INFO_NULL,
	};

	return unit_main("doubts", tests);
}

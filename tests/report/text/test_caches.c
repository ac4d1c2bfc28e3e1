/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what the report says about key-value caches, as text and as JSON, on figures with a
 * known answer. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/json/json.h"
#include "report/text/page.h"
#include "tests/unit.h"

enum {
	HITS,
	READ,
	WRITTEN,
	TOKENS,
	WAITED,
	READ_P95,
	WRITE_P95,
	MEMORY_P95,
	REQUESTS,
	DEVICE_P95,
	ENTRY_READ,
	ENTRY_WRITTEN,
	HITS_PROMPT,
	HITS_TURN,
	HITS_OWN,
	COLUMNS,
	RANKS = 2
};

static const struct results_column columns[COLUMNS] = {
	[HITS] = {.name = "h", .role = ROLE_HIT_RATE, .real = true},
	[READ] = {.name = "r", .role = ROLE_READ_RATE, .real = true},
	[WRITTEN] = {.name = "w", .role = ROLE_WRITE_RATE, .real = true},
	[TOKENS] = {.name = "t", .role = ROLE_TOKEN_RATE, .real = true},
	[WAITED] = {.name = "s", .role = ROLE_WAITED_TOKEN_RATE, .real = true},
	[READ_P95] = {.name = "rp", .role = ROLE_READ_P95},
	[WRITE_P95] = {.name = "wp", .role = ROLE_WRITE_P95},
	[MEMORY_P95] = {.name = "mp", .role = ROLE_MEMORY_P95},
	[REQUESTS] = {.name = "requests", .role = ROLE_ITEMS},
	[DEVICE_P95] = {.name = "dp", .role = ROLE_WRITE_DEVICE_P95},
	[ENTRY_READ] = {.name = "er", .role = ROLE_ENTRY_READ_RATE, .real = true},
	[ENTRY_WRITTEN] = {.name = "ew", .role = ROLE_ENTRY_WRITE_RATE, .real = true},
	[HITS_PROMPT] = {.name = "hp", .role = ROLE_HIT_RATE_PROMPT, .real = true},
	[HITS_TURN] = {.name = "ht", .role = ROLE_HIT_RATE_TURN, .real = true},
	[HITS_OWN] = {.name = "ho", .role = ROLE_HIT_RATE_DECODE, .real = true},
};
static union results_cell merged[COLUMNS], ranks[RANKS][COLUMNS];
static struct results_column known[COLUMNS];
static struct results_hist hists[3];
static struct results_phase_read phase;
static struct results_file file;

/* Two ranks, of which the slower one needs 0.8 s for a write, twice as long as the other. */
static void fresh(void)
{
	memcpy(known, columns, sizeof(known));
	merged[HITS].real = 0.25;
	merged[HITS_PROMPT].real = 0.5;
	merged[HITS_TURN].real = 0.125;
	merged[HITS_OWN].real = 1;
	merged[READ].real = 3e9;
	merged[WRITTEN].real = 2e9;
	merged[TOKENS].real = 1234;
	merged[READ_P95].count = 150000000;
	merged[WRITE_P95].count = 800000000;
	merged[MEMORY_P95].count = 0;
	merged[REQUESTS].count = 400;
	merged[DEVICE_P95].count = 0;
	ranks[0][WAITED].real = 30;
	ranks[1][WAITED].real = 12;
	ranks[0][TOKENS].real = 700;
	ranks[1][TOKENS].real = 600; /* it ended later than the other */
	ranks[0][ENTRY_READ].real = 1.5 * (1 << 30);
	ranks[1][ENTRY_READ].real = 0.5 * (1 << 30);
	ranks[0][ENTRY_WRITTEN].real = NAN; /* it has measured no time */
	ranks[1][ENTRY_WRITTEN].real = 1e9;
	memset(hists, 0, sizeof(hists));
	hists[0].role = ROLE_READ_LATENCY;
	hists[1].role = ROLE_WRITE_LATENCY;
	hists[2].role = ROLE_WRITE_DEVICE_LATENCY;
	hist_record(&hists[0].hist, 100000000);
	hist_record(&hists[1].hist, 400000000);
	hist_record(&hists[2].hist, 300000000);
	phase = (struct results_phase_read){
		.record = {.kind = "kvcache", .name = "cache", .status = "done", .seconds = 4},
		.merged = {.column_count = COLUMNS,
			   .row_count = 1,
			   .columns = known,
			   .cells = merged},
		.ranks = {.column_count = COLUMNS,
			  .row_count = RANKS,
			  .columns = known,
			  .cells = &ranks[0][0]},
		.hist_count = 3,
		.hists = hists,
	};
	file = (struct results_file){.phase_count = 1, .phases = &phase};
}

/* Columns are as wide as they must be: one space stands for several. */
static void squeeze(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++)
		if (*from != ' ' || from[1] != ' ')
			*to++ = *from;
	*to = '\0';
}

static char *text_of(void (*print)(struct page *page))
{
	char *text = NULL;
	size_t length;
	struct page page = {.out = open_memstream(&text, &length), .file = &file};

	CU_ASSERT_PTR_NOT_NULL_FATAL(page.out);
	print(&page);
	fclose(page.out);
	/* Sentences are broken into lines wherever they are full. */
	for (char *at = text; (at = strstr(at, "\n  ")) != NULL;)
		memmove(at, at + 2, strlen(at + 2) + 1), *at++ = ' ';
	squeeze(text);
	return text;
}

static void caches(struct page *page)
{
	page_kind(page, &text_caches);
}

static void expect(const char *part, bool there)
{
	char *text = text_of(caches);

	if (!strstr(text, part) == there)
		fprintf(stderr, "\n%s: %s\n%s", there ? "is missing" : "is there", part, text);
	CU_ASSERT(!strstr(text, part) != there);
	free(text);
}

static void test_table(void)
{
	fresh();
	expect("key-value caches GB/s read written tokens/s hits: prompt turn own read p95 p99 write p95 p99\n",
	       true);
	expect("cache 3.00 2.00 1,234 50.0 % 12.5 % 100.0 % 100 ms 100 ms 400 ms 400 ms\n", true);
	expect("hits: of reads of system prompts, of earlier turns", true);
	for (int i = HITS_PROMPT; i <= HITS_OWN; i++)
		known[i].role = ROLE_NONE;
	expect("hits:", false);
}

/* MLPerf adds the rates of ranks, and takes percentiles of the slowest one. */
static void test_figures(void)
{
	fresh();
	expect("cache unit as MLPerf counts all ranks together\n", true);
	expect("tier_storage_read_bandwidth_gbps GiB/s 2.00 2.79\n", true);
	expect("tier_storage_write_bandwidth_gbps GiB/s 0.931 1.86\n", true);
	expect("storage_read_p95_ms ms 150 100\n", true);
	expect("storage_write_p95_ms ms 800 400\n", true);
	expect("avg_throughput_tokens_per_sec 1/s 1,300 1,234\n", true);
	expect("storage_throughput_tokens_per_sec 1/s 42.0 –\n", true);
	expect("storage_throughput_tokens_per_sec misleads", true);
	expect("That is no percentile of all entries.", true);
	/* No store has told it. */
	expect("_device_p95_ms", false);
	merged[DEVICE_P95].count = 499000000;
	expect("storage_write_device_p95_ms ms 499 300\n", true);
	expect("storage_read_device_p95_ms", false);
}

static double json_of(const cJSON *list, const char *name, const char *key)
{
	const cJSON *one;

	cJSON_ArrayForEach(one,
			   list) if (strcmp(cJSON_GetObjectItem(one, "name")->valuestring, name) ==
				     0) return cJSON_GetNumberValue(cJSON_GetObjectItem(one, key));
	return NAN;
}

/* JSON has the same figures, and the pages show what JSON has. */
static void test_json(void)
{
	cJSON *to = cJSON_CreateObject(), *figures, *criteria;

	fresh();
	json_cache(to, &phase, false);
	figures = cJSON_GetObjectItem(to, "mlperf_figures");
	criteria = cJSON_GetObjectItem(to, "mlperf_criteria");
	CU_ASSERT_EQUAL(cJSON_GetArraySize(figures), 6);
	CU_ASSERT_EQUAL(cJSON_GetArraySize(criteria), 3);
	CU_ASSERT_DOUBLE_EQUAL(json_of(figures, "tier_storage_read_bandwidth_gbps", "mlperf"), 2,
			       1e-9);
	CU_ASSERT_DOUBLE_EQUAL(json_of(figures, "tier_storage_read_bandwidth_gbps", "haul"),
			       3e9 / (1 << 30), 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(json_of(figures, "storage_write_p95_ms", "mlperf"), 800, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(json_of(figures, "storage_throughput_tokens_per_sec", "mlperf"), 42,
			       1e-9);
	CU_ASSERT_TRUE(cJSON_IsNull(cJSON_GetObjectItem(cJSON_GetArrayItem(figures, 5), "haul")));
	CU_ASSERT_DOUBLE_EQUAL(json_of(criteria, "writes p95", "asked"), 500e6, 1);
	CU_ASSERT_DOUBLE_EQUAL(json_of(criteria, "writes p95", "found"), 800e6, 1);
	CU_ASSERT_TRUE(cJSON_IsFalse(cJSON_GetObjectItem(cJSON_GetArrayItem(criteria, 0), "met")));
	CU_ASSERT_TRUE(cJSON_IsTrue(cJSON_GetObjectItem(cJSON_GetArrayItem(criteria, 1), "met")));
	cJSON_Delete(to);
	to = cJSON_CreateObject();
	known[HITS].role = ROLE_NONE;
	json_cache(to, &phase, false);
	CU_ASSERT_PTR_NULL(to->child);
	cJSON_Delete(to);
}

static void test_criteria(void)
{
	fresh();
	expect("cache: 1 of 3 criteria of MLPerf's benchmark are met, which are no part of its score; writes p95 "
	       "below 500 ms: 800 ms, missed; reads p95 below 200 ms: 150 ms, met; hits above 30 %: 25.0 %, missed.",
	       true);
	merged[MEMORY_P95].count = 149000000;
	merged[HITS].real = 0.31;
	expect("3 of 4 criteria", true);
	expect("memory p95 below 150 ms: 149 ms, met; hits above 30 %: 31.0 %, met.", true);
	/* What the store needed of it is judged where it is known. */
	merged[DEVICE_P95].count = 499000000;
	expect("4 of 4 criteria", true);
	expect("writes p95 (device) below 500 ms: 499 ms, met; reads p95 below", true);
}

/* A trace has no times, so nothing is judged; other phases are not caches. */
static void test_without_times(void)
{
	fresh();
	merged[READ_P95].count = merged[WRITE_P95].count = 0;
	expect("criteria", false);
	expect("_gbps", false);
	expect("misleads", false);
	fresh();
	known[HITS].role = ROLE_NONE;
	CU_ASSERT_FALSE(text_caches.is(&phase));
	expect("cache", false);
}

static void expect_phases(const char *heading, const char *figure)
{
	char *text = text_of(text_phases);

	CU_ASSERT_PTR_NOT_NULL(strstr(text, heading));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, figure));
	free(text);
}

/* The table of all phases has a column for what they count, under its name. */
static void test_items(void)
{
	static struct results_column samples[COLUMNS];
	struct results_phase_read both[2];

	fresh();
	expect_phases("requests/s", " 100 ");
	memcpy(samples, columns, sizeof(samples));
	strcpy(samples[REQUESTS].name, "samples");
	both[0] = both[1] = phase;
	both[1].merged.columns = samples;
	file = (struct results_file){.phase_count = 2, .phases = both};
	expect_phases("items/s", " 100 ");
	file.phases = &both[1];
	file.phase_count = 1;
	expect_phases("samples/s", " 100 ");
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"the table of caches", test_table},
		{"MLPerf's figures", test_figures},
		{"MLPerf's criteria", test_criteria},
		{"JSON", test_json},
		{"without times, and other phases", test_without_times},
		{"the heading of what phases count", test_items},
		CU_TEST_INFO_NULL,
	};

	return unit_main("caches", tests);
}

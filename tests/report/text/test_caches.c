/* Tests of what the report says about key-value caches, on figures with a known answer. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
};
static union results_cell merged[COLUMNS], ranks[RANKS][COLUMNS];
static struct results_column known[COLUMNS];
static struct results_hist hists[2];
static struct results_phase_read phase;
static struct results_file file;

/* Two ranks. Writes take 0.8 s on the slower one, and half of that on average. */
static void fresh(void)
{
	memcpy(known, columns, sizeof(known));
	merged[HITS].real = 0.25;
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
	memset(hists, 0, sizeof(hists));
	hists[0].role = ROLE_READ_LATENCY;
	hists[1].role = ROLE_WRITE_LATENCY;
	hist_record(&hists[0].hist, 100000000);
	hist_record(&hists[1].hist, 400000000);
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
		.hist_count = 2,
		.hists = hists,
	};
	file = (struct results_file){.phase_count = 1, .phases = &phase};
}

static char *text_of(void (*print)(const struct page *page))
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
	return text;
}

static void expect(const char *part, bool there)
{
	char *text = text_of(text_caches.table);

	if (!strstr(text, part) == there)
		fprintf(stderr, "\n%s: %s\n%s", there ? "is missing" : "is there", part, text);
	CU_ASSERT(!strstr(text, part) != there);
	free(text);
}

static void test_table(void)
{
	fresh();
	expect("cache                  3.00     2.00     1,234  25.0 %    100 ms   150 ms     400 ms   800 ms\n",
	       true);
	expect("avg_throughput_tokens_per_sec is 1234, its storage_throughput_tokens_per_sec 42.",
	       true);
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
		{"MLPerf's criteria", test_criteria},
		{"without times, and other phases", test_without_times},
		{"the heading of what phases count", test_items},
		CU_TEST_INFO_NULL,
	};

	return unit_main("caches", tests);
}

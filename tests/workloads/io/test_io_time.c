/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the times of the phase "io", in virtual time and on stores that take a known time: which
 * thread is done first and last, what a time limit and a stonewall end, and the latencies of
 * service and response. */
#include <math.h>
#include <stdio.h>

#include "core/measure/window.h"
#include "core/numbers.h"
#include "tests/libs/doubles/thread_group.h"
#include "tests/unit.h"
#include "tests/workloads/io/io_fixture.h"
#include "workloads/io/io.h"
#include "workloads/target.h"

/* Blocks of 1 MiB take 10.49 ms at 100 MB/s, and 34.95 ms on the slow rank, which has done 2.4 when
 * the fast one has done its 8. */
static void test_first_and_last_done(void)
{
	static const char *const phases[] = {"\"operation\": \"write\", \"size\": \"8 MiB\""};
	struct fixture *f = io_run(
		"\"sim://s\", \"rank_bandwidth\": \"100 MB/s\", \"slow_ranks\": {\"1\": 0.3}", "",
		phases, 1, 2, NULL);
	const uint64_t *row = f->tallies[0].rank_row, *slow = f->tallies[1].rank_row;
	double fast_ns = 8 * 1048576e9 / 100e6, slow_ns = fast_ns / 0.3;

	io_expect_ok(f);
	CU_ASSERT_EQUAL(fixture_sum(f, IO_DONE), 16);
	CU_ASSERT_EQUAL(fixture_sum(f, IO_DONE_BYTES), 16 << 20);
	CU_ASSERT_TRUE((double)row[IO_FIRST_DONE_NS] > fast_ns - 1e6);
	CU_ASSERT_TRUE((double)slow[IO_LAST_DONE_NS] > slow_ns - 1e6);
	CU_ASSERT_EQUAL(fixture_sum(f, IO_FIRST_DONE), 10);
	CU_ASSERT_EQUAL(slow[IO_FIRST_DONE], 2);
	CU_ASSERT_DOUBLE_EQUAL((double)fixture_sum(f, IO_FIRST_DONE_BYTES), 10.4 * 1048576,
			       0.01 * 1048576);
	CU_ASSERT_TRUE((double)row[IO_FIRST_DONE_NS] < fast_ns + 1e6);
	CU_ASSERT_TRUE((double)slow[IO_LAST_DONE_NS] < slow_ns + 1e6);
	fixture_free(f);
}

/* After the time limit, each rank goes on until it has done as much as the fastest rank had done at
 * the limit. */
static void test_stonewall(void)
{
	static const char *const phases[] = {
		"\"operation\": \"write\", \"size\": \"64 MiB\", \"seconds\": \"100 ms\", \"wear_out\": true"};
	struct fixture *f = io_run(
		"\"sim://s\", \"rank_bandwidth\": \"100 MB/s\", \"slow_ranks\": {\"1\": 0.5}", "",
		phases, 1, 3, NULL);
	uint64_t done = f->tallies[0].rank_row[IO_DONE];

	io_expect_ok(f);
	CU_ASSERT_EQUAL(f->stopped[0], STOP_NONE);
	for (uint32_t r = 0; r < 3; r++)
		CU_ASSERT_EQUAL(f->tallies[r].rank_row[IO_DONE], done);
	CU_ASSERT_EQUAL(done, 10);
	CU_ASSERT_TRUE(fixture_sum(f, IO_FIRST_DONE) < 3 * done);
	CU_ASSERT_TRUE(f->tallies[1].rank_row[IO_LAST_DONE_NS] >
		       f->tallies[1].rank_row[IO_FIRST_DONE_NS] * 3 / 2);
	fixture_free(f);
}

/* The same for objects that are written whole: an object that was begun before the time limit is
 * finished after it. */
static void test_stonewall_of_whole_objects(void)
{
	static const char *const phases[] = {
		"\"operation\": \"write\", \"rate\": 300, \"seconds\": \"100 ms\", \"wear_out\": true",
		"\"operation\": \"read\", \"verify\": \"full\"",
	};
	struct fixture *f = io_run("\"mem://\"", "\"objects\": 3, \"size\": 65536, \"block\": 4096",
				   phases, 2, 2, NULL);
	uint64_t done = fixture_sum(f, IO_DONE);

	io_expect_ok(f);
	CU_ASSERT_TRUE(done >= 28 && done <= 32);
	CU_ASSERT_EQUAL(f->tallies[0].rank_row[IO_DONE], f->tallies[1].rank_row[IO_DONE]);
	CU_ASSERT_EQUAL(fixture_sum(f, IO_READS), done);
	CU_ASSERT_EQUAL(fixture_sum(f, TALLY_ERRORS), 0);
	fixture_free(f);
}

/* What lies across the end of the warm-up counts by the share of its time after it, in all figures alike, however long requests take
 * beside the window: they are as the store is. */
static void test_warmup_border(void)
{
	static const double latencies[] = {0.05, 0.13, 0.3, 0.5, 0.77, 1, 1.4, 2};
	static const unsigned threads[] = {1, 3, 16};
	static const char *const operations[] = {"read", "write"};
	const double window_ms = 80, warmup_ms = 23, bytes = 1 << 16;

	for (unsigned i = 0; i < COUNT(latencies) * COUNT(threads) * 4; i++) {
		unsigned count = threads[i / 4 % COUNT(threads)], depth = i & 2 ? 3 : 1;
		bool writes = i & 1;
		double latency_ms = latencies[i / 4 / COUNT(threads)] * window_ms;
		double truth = count * depth * bytes / latency_ms * 1e3, seconds, requests;
		char store[64], text[256];
		const char *const phases[] = {text};
		const uint64_t *row;
		struct fixture *f;
		uint64_t timeline = 0, moved;

		snprintf(store, sizeof(store), "\"sim://s\", \"latency\": \"%.0f us\"",
			 latency_ms * 1e3);
		snprintf(
			text, sizeof(text),
			"\"operation\": \"%s\", \"block\": 65536, \"size\": \"64 MiB\", \"passes\": 0, "
			"\"layout\": \"segmented\", \"threads\": %u, \"depth\": %u, "
			"\"warmup\": \"%.0f ms\", \"seconds\": \"%.0f ms\"",
			operations[writes], count, depth, warmup_ms, window_ms);
		f = io_run(store, "", phases, 1, 1, NULL);
		io_expect_ok(f);
		row = f->tallies[0].rank_row;
		seconds = (double)row[IO_LAST_DONE_NS] / 1e9;
		moved = row[writes ? TALLY_BYTES_WRITTEN : TALLY_BYTES_READ];
		CU_ASSERT_DOUBLE_EQUAL((double)moved / seconds, truth, 0.01 * truth);
		CU_ASSERT_DOUBLE_EQUAL((double)row[IO_DONE_PARTS] / WINDOW_PARTS * bytes / seconds,
				       truth, 0.01 * truth);
		CU_ASSERT_EQUAL(row[IO_DONE_BYTES], moved);
		CU_ASSERT_DOUBLE_EQUAL((double)row[IO_FIRST_DONE_BYTES] /
					       (double)row[IO_FIRST_DONE_NS] * 1e9,
				       truth, 0.015 * truth);
		CU_ASSERT_EQUAL(
			hist_count(&f->tallies[0].hists[writes ? IO_HIST_WRITE : IO_HIST_READ]),
			row[writes ? IO_WRITES : IO_READS]);
		for (uint32_t s = 0; s < f->tallies[0].timeline->rows; s++)
			timeline += f->tallies[0].timeline->row[s][writes ? SECOND_BYTES_WRITTEN
									  : SECOND_BYTES_READ];
		CU_ASSERT_EQUAL(timeline, moved);
		/* Each request, opens too, is either the warm-up's or the window's. */
		requests = count * (1 + depth * ceil((warmup_ms + window_ms) / latency_ms));
		CU_ASSERT_EQUAL(row[IO_WARMUP_OPERATIONS] + row[writes ? IO_WRITES : IO_READS],
				requests);
		fixture_free(f);
	}
}

static void test_time_limit(void)
{
	static const char *const phases[] = {
		"\"operation\": \"read\", \"size\": \"64 MiB\", \"passes\": 0, \"seconds\": \"60 ms\""};
	struct fixture *f =
		io_run("\"sim://s\", \"rank_bandwidth\": \"100 MB/s\"", "", phases, 1, 2, NULL);
	uint64_t done = fixture_sum(f, IO_DONE);

	io_expect_ok(f);
	CU_ASSERT_EQUAL(f->stopped[0], STOP_LIMIT);
	CU_ASSERT_EQUAL(done, 12);
	fixture_free(f);
}

/* A request is due every 5 ms, but the store takes 10 ms: service stays the same, and response
 * grows by 5 ms per request. */
static void test_open_loop(void)
{
	static const char *const phases[] = {
		"\"operation\": \"read\", \"size\": 20480, \"block\": 1024, \"rate\": 200, "
		"\"arrivals\": \"constant\""};
	struct fixture *f = io_run("\"sim://s\", \"latency\": \"10 ms\"", "", phases, 1, 1, NULL);
	const struct hist *service = &f->tallies[0].hists[0], *response = &f->tallies[0].hists[9];
	double median_ns = (double)hist_quantile_ns(service, 0.5);

	io_expect_ok(f);
	CU_ASSERT_STRING_EQUAL(io_schema.hists[9].name, "read_response");
	CU_ASSERT_EQUAL(hist_count(response), 20);
	CU_ASSERT_TRUE(response->max_ns >= 104000000);
	CU_ASSERT_TRUE(f->tallies[0].rank_row[IO_LATE_START_NS] >= 94000000);
	CU_ASSERT_DOUBLE_EQUAL(median_ns, 10e6, 0.2e6);
	fixture_free(f);
}

/* What a target of a latency is judged by: in an open loop by the time since each was due, also
 * where requests of that kind have none of their own; else by the time since each began. */
static void test_judged_latency(void)
{
	static const struct {
		const char *phase, *slow, *hist;
		double p99_ns;
	} table[] = {
		{"read\"", "latency", "read", 10e6},
		{"read\", \"rate\": 200", "latency", "read", 10e6},
		{"read\", \"rate\": 200, \"arrivals\": \"constant\"", "latency", "read_response",
		 104e6},
		{"delete\", \"rate\": 200, \"arrivals\": \"constant\"", "delete_latency",
		 "delete_response", 104e6},
		{"create\", \"rate\": 200, \"arrivals\": \"constant\"", "open_latency", "operation",
		 104e6},
	};

	for (size_t i = 0; i < COUNT(table); i++) {
		char text[256], store[64];
		const char *const phases[] = {text};
		struct target_result found[TARGETS_MAX];
		struct group *alone;
		struct err err = {0};
		struct fixture *f;
		uint32_t count = 0, hist;

		snprintf(store, sizeof(store), "\"sim://s\", \"%s\": \"10 ms\"", table[i].slow);
		snprintf(
			text, sizeof(text),
			"\"objects\": 20, \"size\": 1024, \"block\": 1024, \"target_p99\": \"20 ms\", \"operation\": \"%s",
			table[i].phase);
		f = io_run(store, "", phases, 1, 1, NULL);
		io_expect_ok(f);
		CU_ASSERT_EQUAL_FATAL(group_alone(&alone, NULL), 0);
		CU_ASSERT_EQUAL(workload_targets(&f->job.phases[0], &f->tallies[0], alone, found,
						 &count, &err),
				0);
		CU_ASSERT_EQUAL_FATAL(count, 1);
		CU_ASSERT_DOUBLE_EQUAL(found[0].found, table[i].p99_ns, 0.02 * table[i].p99_ns);
		CU_ASSERT_EQUAL(found[0].met, table[i].p99_ns < 20e6);
		hist = f->tallies[0].main_hist;
		while (hist_count(&f->tallies[0].hists[hist]) == 0)
			hist++;
		CU_ASSERT_STRING_EQUAL(io_schema.hists[hist].name, table[i].hist);
		group_free(alone);
		fixture_free(f);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"first and last done", test_first_and_last_done},
		{"stonewall", test_stonewall},
		{"stonewall of whole objects", test_stonewall_of_whole_objects},
		{"warm-up's border", test_warmup_border},
		{"time limit", test_time_limit},
		{"open loop", test_open_loop},
		{"judged latency", test_judged_latency},
		CU_TEST_INFO_NULL,
	};

	return unit_main("io_time", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Vector search in virtual time, on a store of 250,000 reads of 4 KiB per second: the table that DiskANN
 * publishes for its own searcher, whose device had that many (SIFT, 100,000 vectors of 128 float32,
 * degree 32, 10,000 nodes in memory, beam 2, 64 threads). */
#include <math.h>
#include <stdio.h>

#include "core/numbers.h"
#include "tests/unit.h"
#include "tests/workloads/train/train_fixture.h"
#include "workloads/vector/frontier.h"
#include "workloads/vector/vector.h"

/* On ranks with a store of their own speed each: stores is what the job says of sim://. */
static struct fixture *search_on(uint32_t ranks, const char *stores, const char *options)
{
	char job[1024];
	struct fixture *f;

	snprintf(job, sizeof(job),
		 "{\"stores\": {\"s\": {\"uri\": \"sim://s\", %s}}, \"phases\": "
		 "[{\"vector\": {\"operation\": \"search\", %s}}]}",
		 stores, options);
	f = fixture_of(job, ranks);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(f->rc[0], 0);
	return f;
}

static struct fixture *search(const char *options)
{
	return search_on(1, "\"bandwidth\": 1024000000", options);
}

static double figure(const struct fixture *f, const char *name)
{
	return figure_value(columns_figure_named(&vector_schema.rank, name),
			    f->tallies[0].rank_row);
}

static void test_diskann_table(void)
{
	static const struct {
		unsigned list;
		double rate, mean_us, reads;
	} rows[] = {
		{10, 27724, 2272, 8.81}, {20, 15369, 4121, 15.93}, {30, 10336, 6147, 23.30},
		{40, 7684, 8279, 30.78}, {50, 6422, 9913, 38.35},  {100, 3338, 19108, 76.59},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		char options[512];
		struct fixture *f;
		const struct hist *h;

		snprintf(options, sizeof(options),
			 "\"vectors\": 100000, \"dimension\": 128, \"degree\": 32, \"list\": %u, "
			 "\"beam\": 2, \"cache\": %d, \"cache_by\": \"sample\", \"skew\": 0.455, "
			 "\"depth\": 64, \"count\": %u",
			 rows[i].list, 10000 * 644, 100000 / rows[i].list);
		f = search(options);
		h = &f->tallies[0].hists[VECTOR_HIST_QUERY];
		CU_ASSERT_DOUBLE_EQUAL(figure(f, "reads_per_query") / rows[i].reads, 1, 0.05);
		CU_ASSERT_DOUBLE_EQUAL(figure(f, "queries_rate") / rows[i].rate, 1, 0.05);
		CU_ASSERT_DOUBLE_EQUAL(hist_mean_ns(h) / 1e3 / rows[i].mean_us, 1, 0.05);
		fixture_free(f);
	}
}

/* A published run of MLPerf's vector database: 0.956 reads of 8 KiB per entry of L, at L 200, R 64, 1536
 * dimensions. How many nodes were in memory is not published; here it is a twentieth. */
static void test_milvus_reads(void)
{
	struct fixture *f =
		search("\"vectors\": 1000000, \"dimension\": 1536, \"list\": 200, \"beam\": 8, "
		       "\"cache\": 320200000, \"depth\": 8, \"count\": 400");

	CU_ASSERT_DOUBLE_EQUAL(figure(f, "reads_per_query") / 200 / 0.956, 1, 0.03);
	CU_ASSERT_DOUBLE_EQUAL(figure(f, "bytes_per_query") / figure(f, "reads_per_query"), 8192,
			       1);
	fixture_free(f);
}

/* Lists are known at once: one round, whatever their number. */
static void test_spann_is_one_round(void)
{
	struct fixture *f = search("\"index\": \"spann\", \"vectors\": 100000, \"dimension\": 96, "
				   "\"type\": \"int8\", \"count\": 500");

	CU_ASSERT_EQUAL(f->tallies[0].rank_row[VECTOR_ROUNDS], 500);
	CU_ASSERT_EQUAL(f->tallies[0].rank_row[VECTOR_READS], 500 * 64);
	CU_ASSERT_EQUAL(f->tallies[0].rank_row[TALLY_BYTES_READ], 500ull * 64 * 12288);
	fixture_free(f);
}

/* Each query that was begun is either the warm-up's or one of the window, also one that is under way as the warm-up ends. */
static void test_warmup_border(void)
{
	static const unsigned latencies_us[] = {4000, 10400, 23000, 24000, 50000, 61600, 112000};
	static const unsigned depths[] = {1, 3};
	const double warmup_us = 23000, window_us = 80000;

	for (unsigned i = 0; i < COUNT(latencies_us) * COUNT(depths); i++) {
		unsigned latency = latencies_us[i / COUNT(depths)],
			 depth = depths[i % COUNT(depths)];
		char store[64], options[256];
		struct fixture *f;
		const uint64_t *row;

		snprintf(store, sizeof(store), "\"latency\": \"%u us\"", latency);
		snprintf(
			options, sizeof(options),
			"\"index\": \"spann\", \"vectors\": 20000, \"dimension\": 96, \"type\": \"int8\", "
			"\"depth\": %u, \"count\": 0, \"warmup\": \"%.0f us\", \"seconds\": \"%.0f us\"",
			depth, warmup_us, window_us);
		f = search_on(1, store, options);
		row = f->tallies[0].rank_row;
		CU_ASSERT_EQUAL(row[VECTOR_WARMUP_QUERIES] + row[VECTOR_QUERIES],
				depth * ceil((warmup_us + window_us) / latency));
		CU_ASSERT_EQUAL(row[VECTOR_QUERIES],
				hist_count(&f->tallies[0].hists[VECTOR_HIST_QUERY]));
		fixture_free(f);
	}
}

/* A wider beam does not read less, but in fewer rounds. */
static void test_beam(void)
{
	double rounds = 1e9;

	for (unsigned beam = 1; beam <= 16; beam *= 2) {
		char options[256];
		struct fixture *f;

		snprintf(options, sizeof(options),
			 "\"vectors\": 200000, \"dimension\": 128, \"list\": 100, \"beam\": %u, "
			 "\"count\": 100",
			 beam);
		f = search(options);
		CU_ASSERT_TRUE(figure(f, "rounds_per_query") < rounds);
		CU_ASSERT_TRUE(figure(f, "reads_per_query") >= 100);
		rounds = figure(f, "rounds_per_query");
		fixture_free(f);
	}
}

/* A query of several segments reads in each, and is one query. */
static void test_segments(void)
{
	struct fixture *f = search("\"vectors\": 400000, \"segments\": 4, \"dimension\": 128, "
				   "\"list\": 50, \"count\": 200, \"depth\": 2");
	const uint64_t *row = f->tallies[0].rank_row;

	CU_ASSERT_EQUAL(row[VECTOR_QUERIES], 200);
	CU_ASSERT_EQUAL(row[TALLY_OPERATIONS], 200);
	CU_ASSERT_EQUAL(row[VECTOR_READS], row[VECTOR_EXPANDED]);
	CU_ASSERT_TRUE(figure(f, "reads_per_query") > 4 * 50);
	CU_ASSERT_TRUE(figure(f, "reads_per_query") < 4 * 65);
	fixture_free(f);
}

enum { SHARD_VECTORS = 30000, SHARD_QUERIES = 300, SHARD_LIST = 20, SHARD_DEGREE = 16 };

/* Reads of a query in a segment, one by one. */
static uint64_t shard_reads(const struct vector_index *x, uint64_t target)
{
	uint32_t id, neighbours[GRAPH_DEGREE_MAX];
	struct frontier f;
	uint64_t reads = 0;

	CU_ASSERT_EQUAL_FATAL(frontier_open(&f, SHARD_LIST, NULL), 0);
	frontier_begin(&f, &x->graph, target);
	for (; frontier_take(&f, &id); reads++) {
		graph_neighbours(&x->graph, id, neighbours);
		frontier_see(&f, neighbours, SHARD_DEGREE);
	}
	frontier_close(&f);
	return reads;
}

/* What queries of two ranks take that have a segment each, at so many ns a read. Returns in how many rank
 * 1 is the last. */
static uint64_t shard_expect(const uint64_t read_ns[2], uint64_t *sum_ns, uint64_t *longest_ns)
{
	const struct vector_shape shape = {
		.vectors = SHARD_VECTORS, .segments = 2, .dimension = 8, .degree = SHARD_DEGREE};
	struct vector_index x[2];
	uint64_t last = 0;

	*sum_ns = *longest_ns = 0;
	for (unsigned i = 0; i < 2; i++)
		vector_index_of(&x[i], &shape, 42, i);
	for (uint64_t q = 0; q < SHARD_QUERIES; q++) {
		uint64_t target = graph_target(&x[0].graph, q, 0);
		uint64_t a = shard_reads(&x[0], target) * read_ns[0];
		uint64_t b = shard_reads(&x[1], target) * read_ns[1];

		last += b >= a;
		*sum_ns += max_u64(a, b);
		*longest_ns = max_u64(*longest_ns, max_u64(a, b));
	}
	return last;
}

/* Segments that are spread over two ranks, of which one is slower: each query takes as long as its
 * slowest part, and counts at that rank. 4,096,000 bytes per second are 1 ms for a read. */
static void test_shards(void)
{
	static const struct {
		const char *slow;
		uint64_t read_ns;
	} rows[] = {{"1", 1000000}, {"0.8", 1250000}, {"0.25", 4000000}};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		uint64_t sum_ns, longest_ns, last, most, ns[2] = {1000000, rows[i].read_ns};
		char store[128];
		struct fixture *f;
		struct hist all = {0};

		snprintf(store, sizeof(store),
			 "\"rank_bandwidth\": 4096000, \"slow_ranks\": {\"1\": %s}", rows[i].slow);
		f = search_on(2, store,
			      "\"vectors\": 30000, \"segments\": 2, \"dimension\": 8, "
			      "\"degree\": 16, \"list\": 20, \"beam\": 1, \"count\": 300, "
			      "\"spread\": \"segments\"");
		last = shard_expect(ns, &sum_ns, &longest_ns);
		for (unsigned r = 0; r < 2; r++)
			hist_merge(&all, &f->tallies[r].hists[VECTOR_HIST_QUERY]);
		most = f->tallies[1].rank_row[VECTOR_QUERIES];
		CU_ASSERT_EQUAL(hist_count(&all), SHARD_QUERIES);
		/* A read of the clock takes 100 ns here. */
		CU_ASSERT_DOUBLE_EQUAL((double)all.sum_ns / (double)sum_ns, 1, 2e-4);
		CU_ASSERT_DOUBLE_EQUAL((double)all.max_ns / (double)longest_ns, 1, 2e-4);
		CU_ASSERT_EQUAL(most, last);
		CU_ASSERT_EQUAL(f->tallies[0].rank_row[VECTOR_QUERIES], SHARD_QUERIES - last);
		CU_ASSERT_EQUAL(fixture_sum(f, VECTOR_PARTS), 2 * SHARD_QUERIES);
		CU_ASSERT_EQUAL(fixture_sum(f, VECTOR_JOINED_NS), all.sum_ns);
		CU_ASSERT_EQUAL(fixture_sum(f, VECTOR_READS), fixture_sum(f, VECTOR_EXPANDED));
		fixture_free(f);
	}
}

/* With a limit of time, the faster rank is ahead; what only it has answered is no query. */
static void test_shards_for_a_time(void)
{
	struct fixture *f = search_on(
		2, "\"rank_bandwidth\": 4096000, \"slow_ranks\": {\"1\": 0.25}",
		"\"vectors\": 30000, \"segments\": 2, \"dimension\": 8, \"degree\": 16, "
		"\"list\": 20, \"beam\": 1, \"seconds\": 20, \"warmup\": 10, \"count\": 0, "
		"\"spread\": \"segments\"");
	const uint64_t *fast = f->tallies[0].rank_row, *slow = f->tallies[1].rank_row;

	CU_ASSERT_EQUAL(fast[VECTOR_QUERIES], 0);
	CU_ASSERT_EQUAL(slow[VECTOR_QUERIES], slow[VECTOR_PARTS] - 1);
	CU_ASSERT_TRUE(fast[VECTOR_PARTS] > 3 * slow[VECTOR_PARTS]);
	CU_ASSERT_DOUBLE_EQUAL((double)fast[VECTOR_EXPANDED] / (double)slow[VECTOR_EXPANDED], 1,
			       0.05);
	CU_ASSERT_DOUBLE_EQUAL((double)slow[VECTOR_JOINED_NS] / 20e9, 1, 0.02);
	fixture_free(f);
}

int main(void)
{
	static CU_TestInfo tests[] = {
		{"the table of DiskANN", test_diskann_table},
		{"reads of a published run", test_milvus_reads},
		{"SPANN is one round", test_spann_is_one_round},
		{"a wider beam", test_beam},
		{"warm-up's border", test_warmup_border},
		{"segments", test_segments},
		{"segments spread over ranks", test_shards},
		{"segments spread over ranks, for a time", test_shards_for_a_time},
		CU_TEST_INFO_NULL,
	};

	return unit_main("vector_time", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Vector search in virtual time, on a store of 250,000 reads of 4 KiB per second: the table that DiskANN
 * publishes for its own searcher, whose device had that many (SIFT, 100,000 vectors of 128 float32,
 * degree 32, 10,000 nodes in memory, beam 2, 64 threads). */
#include <stdio.h>

#include "core/numbers.h"
#include "tests/unit.h"
#include "tests/workloads/train/train_fixture.h"
#include "workloads/vector/vector.h"

static struct fixture *search(const char *options)
{
	char job[1024];
	struct fixture *f;

	snprintf(job, sizeof(job),
		 "{\"stores\": {\"s\": {\"uri\": \"sim://s\", \"bandwidth\": %llu}}, \"phases\": "
		 "[{\"vector\": {\"operation\": \"search\", %s}}]}",
		 250000ull * 4096, options);
	f = fixture_of(job, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(f->rc[0], 0);
	return f;
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

int main(void)
{
	static CU_TestInfo tests[] = {
		{"the table of DiskANN", test_diskann_table},
		{"reads of a published run", test_milvus_reads},
		{"SPANN is one round", test_spann_is_one_round},
		{"a wider beam", test_beam},
		{"segments", test_segments},
		CU_TEST_INFO_NULL,
	};

	return unit_main("vector_time", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the latencies of single ranks and nodes, as they are read from rows of histograms: the
 * 99th percentile, and what it surely is at least, since the requests of a phase are a sample. */
#include <errno.h>
#include <hdf5.h>
#include <stdlib.h>

#include "results-schema/read_phase.h"
#include "tests/unit.h"

/* Two buckets: requests of 1 ms and of 9 ms. */
enum { FAST, SLOW, BUCKETS };
static const uint64_t edges_ns[BUCKETS + 1] = {999999, 1000002, 16999999};
static const double value_ns[BUCKETS] = {1e6, 9e6};

/* What a rank did, and the buckets of its 99th percentile and of the least that it may be: 3
 * standard errors, 3 sqrt(0.99 × 0.01 / count), lower. */
static const struct {
	uint64_t fast, slow;
	int p99, least;
} rows[] = {
	{995, 5, FAST, FAST},  /* 0.5 % are slow */
	{985, 15, SLOW, FAST}, /* 1.5 %: chance may have had a hand in it, the bound is at 98.06 % */
	{981, 19, SLOW, FAST}, /* the request at 98.06 %, the 981st, is the last fast one */
	{980, 20, SLOW, SLOW},     {99850, 150, FAST, FAST},
	{98906, 1094, SLOW, FAST}, /* of 100 times as many, the error is a tenth: 98.906 % */
	{98910, 1090, SLOW, FAST}, {98905, 1095, SLOW, SLOW},
	{9, 1, SLOW, FAST},                            /* of ten requests, the bound is at 89.6 % */
	{8, 2, SLOW, SLOW},        {0, 0, FAST, FAST}, /* a rank without requests has zeros */
	{0, 1, SLOW, SLOW},
};
enum { ROWS = sizeof(rows) / sizeof(*rows) };

static struct results_hist read_hist = {.name = "get", .role = ROLE_READ_LATENCY};

static void write_grid(hid_t at, const char *name, int rank, const hsize_t *dims, const void *data)
{
	hid_t space = H5Screate_simple(rank, dims, NULL);
	hid_t set =
		H5Dcreate2(at, name, H5T_STD_U64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

	CU_ASSERT_TRUE(H5Dwrite(set, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
	H5Dclose(set);
	H5Sclose(space);
}

/* A file in memory. by_rank, by_node: how many of the rows stand there; 0: the file has no such
 * data set. */
static hid_t make_file(hsize_t by_rank, hsize_t by_node)
{
	hid_t access = H5Pcreate(H5P_FILE_ACCESS), file, all, get;
	uint64_t counts[ROWS][BUCKETS];

	for (unsigned i = 0; i < ROWS; i++) {
		counts[i][FAST] = rows[i].fast;
		counts[i][SLOW] = rows[i].slow;
	}
	H5Pset_fapl_core(access, 1 << 16, false);
	file = H5Fcreate("latencies", H5F_ACC_TRUNC, H5P_DEFAULT, access);
	all = H5Gcreate2(file, "histograms", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	get = H5Gcreate2(all, "get", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	write_grid(get, "edges_ns", 1, (hsize_t[]){BUCKETS + 1}, edges_ns);
	if (by_rank)
		write_grid(get, "by_rank", 2, (hsize_t[]){by_rank, BUCKETS}, counts);
	if (by_node)
		write_grid(get, "by_node", 2, (hsize_t[]){by_node, BUCKETS}, counts);
	H5Gclose(get);
	H5Gclose(all);
	H5Pclose(access);
	return file;
}

static int read_file(hid_t file, const struct results_file *f, struct results_phase_read *p)
{
	struct err err = {0};
	struct h5_reader r;

	*p = (struct results_phase_read){.hist_count = 1, .hists = &read_hist};
	h5r_begin(&r, file, &err);
	read_latencies(&r, f, p);
	return h5r_finish(&r);
}

static void test_bounds(void)
{
	struct results_phase_read p;
	const struct results_file f = {.ranks = ROWS, .nodes = 1};

	CU_ASSERT_EQUAL_FATAL(read_file(make_file(ROWS, 0), &f, &p), 0);
	CU_ASSERT_STRING_EQUAL(p.latencies.name, "get");
	CU_ASSERT_FALSE(p.latencies.by_node);
	CU_ASSERT_EQUAL_FATAL(p.latencies.rows, ROWS);
	for (unsigned i = 0; i < ROWS; i++) {
		const struct results_latency_row *row = &p.latencies.row[i];
		bool some = rows[i].fast || rows[i].slow;

		CU_ASSERT_EQUAL(row->count, rows[i].fast + rows[i].slow);
		CU_ASSERT_DOUBLE_EQUAL(row->p99_ns, some ? value_ns[rows[i].p99] : 0, 0.5);
		CU_ASSERT_DOUBLE_EQUAL(row->p99_least_ns, some ? value_ns[rows[i].least] : 0, 0.5);
	}
	free(p.latencies.row);
}

/* Rows of ranks are read where the file has them, else those of nodes. There may be no more of them
 * than the run had ranks or nodes. */
static void test_rows(void)
{
	static const struct {
		hsize_t by_rank, by_node;
		uint32_t ranks, nodes;
		int rc;
		uint64_t rows;
		bool of_nodes;
	} cases[] = {
		{4, 0, 4, 2, 0, 4, false},       {4, 2, 4, 2, 0, 4, false},
		{0, 2, 4, 2, 0, 2, true},        {0, 0, 4, 2, 0, 0, true},
		{5, 0, 4, 2, -EINVAL, 0, false}, {0, 3, 4, 2, -EINVAL, 0, true},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct results_phase_read p;
		const struct results_file f = {.ranks = cases[i].ranks, .nodes = cases[i].nodes};
		int rc = read_file(make_file(cases[i].by_rank, cases[i].by_node), &f, &p);

		CU_ASSERT_EQUAL(rc, cases[i].rc);
		CU_ASSERT_EQUAL(p.latencies.rows, cases[i].rows);
		if (rc == 0)
			CU_ASSERT_EQUAL(p.latencies.by_node, cases[i].of_nodes);
		free(p.latencies.row);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"the 99th percentile and its bound", test_bounds},
		{"rows of ranks, else of nodes", test_rows},
		CU_TEST_INFO_NULL,
	};

	return unit_main("read_latencies", tests);
}

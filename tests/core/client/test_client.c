/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the client-side time series: how rows are made of readings, and how they are folded. */
#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

#include "core/client/client.h"
#include "tests/unit.h"

#define SECOND 1000000000ull

static struct client_series *series;

static void fresh(void)
{
	free(series);
	series = malloc(sizeof(*series));
	CU_ASSERT_PTR_NOT_NULL_FATAL(series);
	client_series_init(series);
}

static void a_row_is_what_was_added(void)
{
	uint64_t before[CLIENT_COLUMNS] = {
		[CLIENT_NIC_IN_BYTES] = 100, [CLIENT_CPU_IOWAIT_NS] = 50, [CLIENT_DIRTY_BYTES] = 7};
	uint64_t after[CLIENT_COLUMNS] = {[CLIENT_NIC_IN_BYTES] = 350,
					  [CLIENT_CPU_IOWAIT_NS] = 49, /* iowait may decrease */
					  [CLIENT_DIRTY_BYTES] = 9};

	fresh();
	client_series_add(series, 2 * SECOND + 1, 3 * SECOND + 2, before, after);
	CU_ASSERT_EQUAL(series->rows, 3);
	CU_ASSERT_EQUAL(series->row[0][CLIENT_COVERED_NS], 0);
	CU_ASSERT_EQUAL(series->row[2][CLIENT_COVERED_NS], SECOND + 1);
	CU_ASSERT_EQUAL(series->row[2][CLIENT_NIC_IN_BYTES], 250);
	CU_ASSERT_EQUAL(series->row[2][CLIENT_CPU_IOWAIT_NS], 0);
	CU_ASSERT_EQUAL(series->row[2][CLIENT_DIRTY_BYTES], 9);
	client_series_add(series, 3 * SECOND, 3 * SECOND, before, after);
	CU_ASSERT_EQUAL(series->rows, 3);
}

/* Two hours of rows of one second: 1,800 rows of 4 s would not fit, 900 rows of 8 s do. */
static void rows_fold_and_keep_sums(void)
{
	uint64_t before[CLIENT_COLUMNS] = {0}, after[CLIENT_COLUMNS] = {0}, sum = 0, covered = 0;

	fresh();
	for (uint64_t i = 0; i < 7200; i++) {
		memcpy(before, after, sizeof(after));
		after[CLIENT_DISK_READ_BYTES] += i;
		after[CLIENT_MEMORY_FREE_BYTES] = 5000 + i;
		after[CLIENT_DIRTY_BYTES] = i;
		client_series_add(series, i * SECOND, (i + 1) * SECOND, before, after);
	}
	CU_ASSERT_EQUAL(series->interval_ns, 8 * SECOND);
	CU_ASSERT_EQUAL(series->rows, 900);
	for (uint32_t i = 0; i < series->rows; i++) {
		CU_ASSERT_EQUAL(series->row[i][CLIENT_MEMORY_FREE_BYTES], 5000 + 8ull * i);
		CU_ASSERT_EQUAL(series->row[i][CLIENT_DIRTY_BYTES], 8ull * i + 7);
		sum += series->row[i][CLIENT_DISK_READ_BYTES];
		covered += series->row[i][CLIENT_COVERED_NS];
	}
	CU_ASSERT_EQUAL(sum, 7199ull * 7200 / 2);
	CU_ASSERT_EQUAL(covered, 7200 * SECOND);
}

/* A second without a reading has no levels, so the least free memory is not 0. */
static void a_gap_is_no_level(void)
{
	uint64_t before[CLIENT_COLUMNS] = {0};
	uint64_t after[CLIENT_COLUMNS] = {[CLIENT_MEMORY_FREE_BYTES] = 77};

	fresh();
	client_series_add(series, SECOND, 2 * SECOND, before, after);
	client_series_add(series, 4 * SECOND, 5 * SECOND, before, after);
	client_series_fold(series, 2 * SECOND);
	CU_ASSERT_EQUAL(series->rows, 3);
	CU_ASSERT_EQUAL(series->row[0][CLIENT_MEMORY_FREE_BYTES], 77);
	CU_ASSERT_EQUAL(series->row[0][CLIENT_COVERED_NS], SECOND);
	CU_ASSERT_EQUAL(series->row[1][CLIENT_COVERED_NS], 0);
	CU_ASSERT_EQUAL(series->row[2][CLIENT_MEMORY_FREE_BYTES], 77);
}

static void every_column_is_declared(void)
{
	CU_ASSERT_EQUAL(client_columns.measure_count, CLIENT_COLUMNS);
	for (unsigned i = 0; i < CLIENT_COLUMNS; i++)
		for (unsigned k = 0; k < i; k++)
			CU_ASSERT(strcmp(client_columns.measures[i].name,
					 client_columns.measures[k].name) != 0);
	CU_ASSERT_STRING_EQUAL(client_columns.measures[CLIENT_CPU_STEAL_NS].name, "cpu_steal_ns");
	CU_ASSERT_STRING_EQUAL(client_columns.measures[CLIENT_RDMA_OUT_BYTES].name,
			       "rdma_out_bytes");
}

int main(void)
{
	const CU_TestInfo tests[] = {
		{"a row is what was added", a_row_is_what_was_added},
		{"rows fold and keep sums", rows_fold_and_keep_sums},
		{"a gap is no level", a_gap_is_no_level},
		{"every column is declared", every_column_is_declared},
		CU_TEST_INFO_NULL,
	};
	int rc = unit_main("client", tests);

	free(series);
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the reader cache: which ranges are read for sequences of samples of an open file,
 * counted by hand. */
#include <string.h>

#include "tests/unit.h"
#include "tests/workloads/formats/variants.h"
#include "workloads/formats/reader_cache.h"

/* 10 samples of 100 bytes; a parquet file has row groups of three samples. */
static void lay_out(struct layout *l, enum format_index format)
{
	const struct variant *all;

	variants(&all);
	variant_layout(&all[format], 10, 100, l);
}

/* Checks the number of ranges that are read for each sample of the sequence. */
static void expect(const struct layout *l, uint32_t groups, const uint64_t *samples,
		   const uint32_t *ranges, unsigned n)
{
	struct extent e[FORMAT_EXTENTS_MAX];
	struct reader_cache k;

	memset(&k, 0xaa, sizeof(k));
	reader_cache_init(&k, groups);
	for (unsigned i = 0; i < n; i++)
		CU_ASSERT_EQUAL(reader_cache_extents(&k, l, samples[i], e), ranges[i]);
}

/* The row groups are 0 1 2 | 3 4 5 | 6 7 8 | 9. The footer takes two ranges, a row group one. */
static void row_groups(void)
{
	static const uint64_t samples[] = {0, 1, 2, 3, 0, 6, 3, 0, 9};
	static const uint32_t two[] = {3, 0, 0, 1, 0, 1, 1, 1, 1};
	static const uint32_t three[] = {3, 0, 0, 1, 0, 1, 0, 0, 1};
	static const uint32_t none[] = {3, 1, 1, 1, 1, 1, 1, 1, 1};
	struct layout l;

	lay_out(&l, FORMAT_PARQUET);
	expect(&l, 2, samples, two, 9);
	expect(&l, 3, samples, three, 9);
	expect(&l, 0, samples, none, 9);
}

/* The most recently used row group stays, and the least recently used one is dropped. */
static void least_recent(void)
{
	static const uint64_t samples[] = {0, 3, 0, 6, 0, 3};
	static const uint32_t ranges[] = {3, 1, 0, 1, 0, 1};
	struct layout l;

	lay_out(&l, FORMAT_PARQUET);
	expect(&l, 2, samples, ranges, 6);
}

static void headers(void)
{
	static const uint64_t samples[] = {5, 5, 1, 5};
	static const uint32_t once[] = {3, 1, 1, 1}, always[] = {2, 2, 2, 2};
	struct layout l;

	lay_out(&l, FORMAT_SAFETENSORS);
	expect(&l, 2, samples, once, 4);
	lay_out(&l, FORMAT_NPY);
	expect(&l, 2, samples, always, 4);
}

static void remaining_ranges(void)
{
	struct extent e[FORMAT_EXTENTS_MAX];
	struct reader_cache k;
	struct layout l;

	lay_out(&l, FORMAT_PARQUET);
	reader_cache_init(&k, 2);
	CU_ASSERT_EQUAL(reader_cache_extents(&k, &l, 0, e), 3);
	CU_ASSERT_EQUAL(e[0].offset + e[0].length, l.size);
	CU_ASSERT_EQUAL(reader_cache_extents(&k, &l, 4, e), 1);
	CU_ASSERT_EQUAL(e[0].offset, 4 + 29 + 300);
	CU_ASSERT_EQUAL(e[0].length, 29 + 300);
	reader_cache_clear(&k);
	CU_ASSERT_EQUAL(reader_cache_extents(&k, &l, 4, e), 3);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"row groups kept", row_groups},
		{"the least recently used row group is dropped", least_recent},
		{"headers are read once per file", headers},
		{"ranges that remain to be read", remaining_ranges},
		CU_TEST_INFO_NULL,
	};

	return unit_main("reader_cache", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of patterns: the ratios hold in every 4 KiB, repeated blocks are where they should be, and
 * one wrong byte is found anywhere. */
#include "core/content/pattern.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/content/fill.h"
#include "tests/unit.h"

enum { BYTES = 1 << 20, BLOCKS = BYTES / PATTERN_BLOCK };

static uint8_t data[BYTES], other[BYTES];

static const struct {
	double compress, dedup;
	uint64_t distance;
} shapes[] = {
	{1, 1, 4096},     {2, 1, 4096},       {4, 1, 1 << 20},     {1, 2, 16384}, {1, 1.5, 65536},
	{1, 4, 4096 * 3}, {2, 2, 256 * 1024}, {3.7, 1.25, 100000}, {1000, 1, 1},
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static void make(struct pattern *p, unsigned s, uint64_t object_bytes)
{
	pattern_init(p, fill_key(42, 7), object_bytes, shapes[s].compress, shapes[s].dedup,
		     shapes[s].distance);
}

static void test_any_range(void)
{
	static const size_t from[] = {0, 1, 7, 4095, 4096, 5000, 123456, BYTES - 1};

	for (unsigned s = 0; s < SHAPES; s++) {
		struct pattern p;

		make(&p, s, BYTES);
		pattern_fill(&p, 3, 0, data, BYTES);
		for (unsigned i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
			size_t length = BYTES - from[i] < 70001 ? BYTES - from[i] : 70001;

			memset(other, 0xaa, length + 1 < BYTES ? length + 1 : length);
			pattern_fill(&p, 3, from[i], other, length);
			CU_ASSERT_EQUAL(memcmp(data + from[i], other, length), 0);
			CU_ASSERT_EQUAL(pattern_verify(&p, 3, from[i], other, length), length);
			if (length > 4096) {
				CU_ASSERT_NOT_EQUAL(pattern_verify(&p, 3, from[i] + 8, other, 8192),
						    8192);
				CU_ASSERT_NOT_EQUAL(pattern_verify(&p, 1, from[i], other, length),
						    length);
			}
		}
	}
}

/* Compresses each 4 KiB separately with zlib: random bytes do not shrink, and zeros nearly
 * vanish. */
static void test_compress_in_every_block(void)
{
	static const double ratios[] = {1, 2, 4, 8};

	for (unsigned i = 0; i < 4; i++) {
		struct pattern p;

		pattern_init(&p, fill_key(1, 2), BYTES, ratios[i], 1, 4096);
		pattern_fill(&p, 0, 0, data, BYTES);
		for (unsigned b = 0; b < BLOCKS; b++) {
			uLongf packed = sizeof(other);
			double found;

			CU_ASSERT_EQUAL_FATAL(compress2(other, &packed,
							data + (size_t)b * PATTERN_BLOCK,
							PATTERN_BLOCK, 6),
					      Z_OK);
			found = PATTERN_BLOCK / (double)packed;
			CU_ASSERT_TRUE(found > 0.85 * ratios[i] && found <= 1.001 * ratios[i]);
		}
	}
}

static int by_content(const void *a, const void *b)
{
	return memcmp(*(const uint8_t *const *)a, *(const uint8_t *const *)b, PATTERN_BLOCK);
}

static unsigned different_blocks(void)
{
	static const uint8_t *blocks[BLOCKS];
	unsigned n = 1;

	for (unsigned b = 0; b < BLOCKS; b++)
		blocks[b] = data + (size_t)b * PATTERN_BLOCK;
	qsort(blocks, BLOCKS, sizeof(blocks[0]), by_content);
	for (unsigned b = 1; b < BLOCKS; b++)
		n += by_content(&blocks[b - 1], &blocks[b]) != 0;
	return n;
}

static void test_dedup(void)
{
	/* 256 blocks. The cycles have 32, 96 and 64 blocks; the blocks after the last full cycle
	 * are all different. */
	static const struct {
		double dedup;
		uint64_t distance_blocks, different;
	} cases[] = {{1, 16, 256}, {2, 16, 128}, {1.5, 64, 64 + 64 + 64}, {4, 16, 64}, {8, 1, 32}};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t far = cases[i].distance_blocks * PATTERN_BLOCK;
		struct pattern p;

		pattern_init(&p, 5, BYTES, 1, cases[i].dedup, far);
		pattern_fill(&p, 0, 0, data, BYTES);
		CU_ASSERT_EQUAL(different_blocks(), cases[i].different);
		if (cases[i].dedup > 1)
			CU_ASSERT_EQUAL(memcmp(data, data + far, PATTERN_BLOCK), 0);
	}
}

/* Small objects repeat blocks of each other, because the cycle does not restart with each
 * object. */
static void test_dedup_over_objects(void)
{
	struct pattern p;

	pattern_init(&p, 5, PATTERN_BLOCK, 1, 2, 16 * PATTERN_BLOCK);
	for (unsigned b = 0; b < BLOCKS; b++)
		pattern_fill(&p, b, 0, data + (size_t)b * PATTERN_BLOCK, PATTERN_BLOCK);
	CU_ASSERT_EQUAL(different_blocks(), BLOCKS / 2);
	CU_ASSERT_EQUAL(memcmp(data, data + 16 * PATTERN_BLOCK, PATTERN_BLOCK), 0);
}

static void test_one_byte(void)
{
	enum { LENGTH = 3 * PATTERN_BLOCK };

	for (unsigned s = 0; s < SHAPES; s++) {
		struct pattern p;

		make(&p, s, BYTES);
		pattern_fill(&p, 1, 100, data, LENGTH);
		for (size_t i = 0; i < LENGTH; i++) {
			data[i] ^= 0x10;
			CU_ASSERT_EQUAL(pattern_verify(&p, 1, 100, data, LENGTH), i);
			data[i] ^= 0x10;
		}
		CU_ASSERT_EQUAL(pattern_verify(&p, 1, 100, data, LENGTH), LENGTH);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"any range", test_any_range},
		{"compress in every block", test_compress_in_every_block},
		{"dedup", test_dedup},
		{"dedup over objects", test_dedup_over_objects},
		{"one byte", test_one_byte},
		CU_TEST_INFO_NULL,
	};

	return unit_main("pattern", tests);
}

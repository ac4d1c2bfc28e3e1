/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the payload and of its code paths, which must all produce the same bytes. */
#include <CUnit/CUnit.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/fill.h"
#include "core/content/random.h"
#include "tests/unit.h"

enum { STREAM = 16384 };

/* A byte of the payload, as its definition says. */
static uint8_t byte_at(uint64_t key, uint64_t offset)
{
	uint64_t word = mix64(key + (offset / 8 + 1) * UINT64_C(0x9e3779b97f4a7c15));

	return (uint8_t)(word >> 8 * (offset & 7));
}

static void is_the_stream_of_its_definition(void)
{
	static uint8_t data[STREAM];
	static const uint64_t offsets[] = {
		0, 1, 7, 8, 4095, UINT64_C(1) << 40, (UINT64_C(1) << 62) + 3};
	uint64_t key = fill_key(42, 7);

	for (unsigned k = 0; k < sizeof(offsets) / sizeof(*offsets); k++) {
		unsigned bad = 0;

		fill(key, offsets[k], data, STREAM);
		for (unsigned i = 0; i < STREAM; i++)
			bad += data[i] != byte_at(key, offsets[k] + i);
		CU_ASSERT_EQUAL(bad, 0);
	}
}

/* Any alignment of data, any offset and any short length, on each path; no byte outside is
 * written. */
static void paths_agree_everywhere(void)
{
	uint8_t stream[512], buffer[512] __attribute__((aligned(64)));
	uint64_t key = fill_key(1, 2);

	for (unsigned i = 0; i < sizeof(stream); i++)
		stream[i] = byte_at(key, i);
	for (int path = 0; path < FILL_PATHS; path++) {
		unsigned bad = 0;

		if (fill_by((enum fill_path)path, key, 0, buffer, 1) == -ENOTSUP)
			continue;
		for (unsigned align = 0; align < 16; align++) {
			for (unsigned offset = 0; offset < 16; offset++) {
				for (unsigned length = 0; length <= 200; length++) {
					uint8_t *at = buffer + 16 + align;

					memset(at - 8, 0xa5, length + 16);
					fill_by((enum fill_path)path, key, offset, at, length);
					bad += memcmp(at, stream + offset, length) != 0;
					bad += at[-1] != 0xa5 || at[length] != 0xa5;
				}
			}
		}
		CU_ASSERT_EQUAL(bad, 0);
	}
}

static void paths_agree_at_length(void)
{
	static uint8_t expected[STREAM + 64], found[STREAM + 64];
	uint64_t key = fill_key(3, 4);

	for (unsigned trial = 0; trial < 300; trial++) {
		uint64_t bits = random_at(9, 0, trial), offset = bits >> 20;
		size_t length = bits % STREAM, align = bits >> 14 & 63;

		fill_by(FILL_PORTABLE, key, offset, expected, length);
		for (int path = FILL_AVX2; path < FILL_PATHS; path++) {
			memset(found, 0, sizeof(found));
			if (fill_by((enum fill_path)path, key, offset, found + align, length) == 0)
				CU_ASSERT_EQUAL(memcmp(found + align, expected, length), 0);
		}
		fill(key, offset, found + align, length);
		CU_ASSERT_EQUAL(memcmp(found + align, expected, length), 0);
	}
}

static void verify_finds_every_flipped_byte(void)
{
	static const uint64_t offsets[] = {0, 3, 8, 4093};
	static const size_t lengths[] = {1, 7, 8, 100, 4096, 4097, 9001};
	static uint8_t data[9001];
	uint64_t key = fill_key(5, 6);

	for (unsigned o = 0; o < 4; o++) {
		for (unsigned l = 0; l < 7; l++) {
			unsigned bad = 0;

			fill(key, offsets[o], data, lengths[l]);
			CU_ASSERT_EQUAL(fill_verify(key, offsets[o], data, lengths[l]), lengths[l]);
			for (size_t at = 0; at < lengths[l]; at++) {
				data[at] ^= (uint8_t)(1 << (at & 7));
				bad += fill_verify(key, offsets[o], data, lengths[l]) != at;
				data[at] ^= (uint8_t)(1 << (at & 7));
			}
			CU_ASSERT_EQUAL(bad, 0);
		}
	}
	CU_ASSERT_EQUAL(fill_verify(key, 5, data, 0), 0);
}

static void verify_reports_the_first_of_many(void)
{
	static uint8_t data[9000];
	uint64_t key = fill_key(5, 6);

	fill(key, 11, data, sizeof(data));
	memset(data + 4200, 0, 4000);
	CU_ASSERT_EQUAL(fill_verify(key, 11, data, sizeof(data)),
			byte_at(key, 11 + 4200) != 0 ? 4200 : 4201);
	CU_ASSERT_EQUAL(fill_verify(key + 1, 0, data, sizeof(data)), 0);
}

static int compare_blocks(const void *a, const void *b)
{
	return memcmp(a, b, 512);
}

/* No two of 8,192 blocks of 512 bytes are equal, within one object and across objects and seeds. */
static void blocks_are_unique(void)
{
	enum { BLOCKS = 8192, OBJECTS = 16 };
	uint8_t *blocks = malloc(BLOCKS * 512);
	unsigned equal = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(blocks);
	for (unsigned o = 0; o < OBJECTS; o++)
		fill(fill_key(o / 8, o % 8), 0, blocks + o * (BLOCKS / OBJECTS * 512),
		     BLOCKS / OBJECTS * 512);
	qsort(blocks, BLOCKS, 512, compare_blocks);
	for (unsigned i = 0; i + 1 < BLOCKS; i++)
		equal += memcmp(blocks + i * 512, blocks + (i + 1) * 512, 512) == 0;
	CU_ASSERT_EQUAL(equal, 0);
	free(blocks);
}

/* Bytes are uniform (chi-squared, 255 degrees of freedom), so nothing compresses. */
static void bytes_are_uniform(void)
{
	enum { BYTES = 1 << 20 };
	uint8_t *data = malloc(BYTES);
	double count[256] = {0}, chi = 0, expected = BYTES / 256;

	CU_ASSERT_PTR_NOT_NULL_FATAL(data);
	fill(fill_key(0, 0), 0, data, BYTES);
	for (unsigned i = 0; i < BYTES; i++)
		count[data[i]]++;
	for (unsigned b = 0; b < 256; b++)
		chi += (count[b] - expected) * (count[b] - expected) / expected;
	CU_ASSERT_TRUE(chi > 140 && chi < 390);
	free(data);
}

static void names(void)
{
	char none;

	CU_ASSERT_STRING_EQUAL(fill_path_name(FILL_PORTABLE), "portable");
	CU_ASSERT_STRING_EQUAL(fill_path_name(FILL_AVX2), "avx2");
	CU_ASSERT_STRING_EQUAL(fill_path_name(FILL_AVX512), "avx512");
	CU_ASSERT_TRUE(fill_best() < FILL_PATHS);
	CU_ASSERT_EQUAL(fill_by(FILL_PATHS, 0, 0, &none, 0), -ENOTSUP);
	CU_ASSERT_EQUAL(fill_by(fill_best(), 0, 0, &none, 0), 0);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"is the stream of its definition", is_the_stream_of_its_definition},
		{"paths agree at any alignment, offset, length", paths_agree_everywhere},
		{"paths agree at length", paths_agree_at_length},
		{"verify finds every flipped byte", verify_finds_every_flipped_byte},
		{"verify reports the first of many", verify_reports_the_first_of_many},
		{"512-byte blocks are unique", blocks_are_unique},
		{"bytes are uniform", bytes_are_uniform},
		{"paths have names", names},
		CU_TEST_INFO_NULL,
	};

	return unit_main("fill", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of archives: every kind with every set of tensors of cases.h. */
#include "workloads/archive/archive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/content/fill.h"
#include "core/content/random.h"
#include "tests/unit.h"
#include "tests/workloads/archive/cases.h"

enum { KEY = 77, OTHER_KEY = 78, WINDOW = 300 };

/* One archive, and all of its bytes unless it is huge. */
struct sample {
	const struct archive_case *of;
	struct archive archive;
	struct arena arena;
	uint8_t *whole;
	uint8_t *scratch; /* as large as whole, and no less than ARCHIVE_SCRATCH_BYTES */
};

static void each_sample(void (*holds)(const struct sample *s))
{
	const struct archive_case *all;
	unsigned n = archive_cases(&all);

	for (unsigned i = 0; i < n * ARCHIVE_KINDS; i++) {
		struct sample s = {.of = &all[i / ARCHIVE_KINDS]};
		struct err err = {0};
		uint64_t room;

		CU_ASSERT_EQUAL_FATAL(archive_make(&s.archive,
						   (enum archive_kind)(i % ARCHIVE_KINDS),
						   &s.of->tensors, &s.arena, &err),
				      0);
		room = s.of->huge ? 0 : s.archive.size;
		s.whole = malloc(room + 1);
		s.scratch = malloc(room + ARCHIVE_SCRATCH_BYTES);
		CU_ASSERT_FATAL(s.whole && s.scratch);
		archive_image(&s.archive, KEY, 0, s.whole, room);
		holds(&s);
		free(s.whole);
		free(s.scratch);
		arena_free(&s.arena);
	}
}

static struct tensor tensor_at(const struct archive *a, uint64_t i)
{
	struct tensor t;

	a->tensors.tensor(a->tensors.argument, i, &t);
	return t;
}

static void layout_adds_up(const struct sample *s)
{
	const struct archive *a = &s->archive;
	uint64_t count = a->tensors.count, size, payload, sum = 0, at = a->header_bytes;
	struct err err = {0};

	CU_ASSERT_EQUAL(archive_size(a->kind, &a->tensors, &size, &payload, &err), 0);
	CU_ASSERT(size == a->size && payload == a->payload);
	CU_ASSERT_EQUAL(a->offsets[0], a->header_bytes);
	CU_ASSERT_EQUAL(a->offsets[count] + a->trailer_bytes, a->size);
	for (uint64_t i = 0; i < count; i++) {
		struct tensor t = tensor_at(a, i);

		CU_ASSERT(a->offsets[i] >= at && a->ends[i] - a->offsets[i] == t.bytes);
		CU_ASSERT(a->kind == ARCHIVE_TORCH ? a->offsets[i] % 64 == 0 : a->offsets[i] == at);
		at = a->ends[i];
		sum += t.bytes;
	}
	CU_ASSERT(sum == a->payload && at == a->offsets[count]);
	if (a->kind == ARCHIVE_RAW)
		CU_ASSERT_EQUAL(a->size, a->payload);
}

static void range_agrees(const struct sample *s, uint64_t at, uint64_t length)
{
	const struct archive *a = &s->archive;

	at = at < a->size ? at : a->size;
	length = length < a->size - at ? length : a->size - at;
	/* What is behind the range must stay as it is. */
	s->scratch[length] = (uint8_t)(at + length);
	archive_image(a, KEY, at, s->scratch, length);
	CU_ASSERT_FATAL(memcmp(s->scratch, s->whole + at, length) == 0);
	CU_ASSERT_FATAL(s->scratch[length] == (uint8_t)(at + length));
}

static void ranges_agree(const struct sample *s)
{
	const struct archive *a = &s->archive;
	struct random r = {.key = a->size};

	if (s->of->huge)
		return;
	for (int i = 0; i < 300; i++)
		range_agrees(s, random_next(&r) % (a->size + 1),
			     random_next(&r) % (i % 3 ? 200 : 300000));
	/* Ranges that begin and end around each tensor's begin and end. */
	for (uint64_t i = 0; i <= a->tensors.count; i += 1 + a->tensors.count / 50)
		for (uint64_t k = 0; k < 12; k++) {
			range_agrees(s, a->offsets[i] - (a->offsets[i] < 6 ? 0 : 6) + k, 1 + k);
			range_agrees(s, a->offsets[i] + k, 70000);
			if (i < a->tensors.count)
				range_agrees(s, a->ends[i] - (a->ends[i] < 6 ? 0 : 6) + k, 200);
		}
	/* Byte by byte, where there are few bytes. */
	for (uint64_t at = 0; at < a->size && a->size < 8192; at++)
		range_agrees(s, at, 1);
}

/* All kinds hold the same bytes; of torch's, four in a block of 64 KiB belong to the checksum. */
static void tensors_hold_the_stream(const struct sample *s)
{
	const struct archive *a = &s->archive;
	uint64_t start = 0;

	for (uint64_t i = 0; i < a->tensors.count && !s->of->huge; i++) {
		uint64_t bytes = a->ends[i] - a->offsets[i], different = 0;

		fill(KEY, start, s->scratch, bytes);
		for (uint64_t k = 0; k < bytes; k++)
			different += s->scratch[k] != s->whole[a->offsets[i] + k];
		CU_ASSERT(different <= (a->kind == ARCHIVE_TORCH ? (bytes / 65536 + 1) * 4 : 0));
		start += bytes;
	}
}

static void verify_finds(const struct sample *s, uint64_t flipped, uint64_t at, uint64_t length)
{
	uint64_t want = flipped >= at && flipped < at + length ? flipped - at : length;

	s->whole[flipped] ^= 0x10;
	CU_ASSERT_EQUAL_FATAL(
		archive_verify(&s->archive, KEY, at, s->whole + at, length, s->scratch), want);
	s->whole[flipped] ^= 0x10;
}

static void flips_are_found(const struct sample *s)
{
	const struct archive *a = &s->archive;
	struct random r = {.key = a->size};
	uint64_t all = a->size < 4096 ? a->size : 300;

	if (s->of->huge || !a->size)
		return;
	CU_ASSERT_EQUAL(archive_verify(a, KEY, 0, s->whole, a->size, s->scratch), a->size);
	for (uint64_t i = 0; i < all; i++) {
		uint64_t flipped = all == a->size ? i : random_next(&r) % a->size;
		uint64_t at = flipped - random_next(&r) % (flipped < 140000 ? flipped + 1 : 140000);

		verify_finds(s, flipped, at, a->size - at < 150000 ? a->size - at : 150000);
	}
	/* A flip behind the range is not found, and another key's content is not taken. */
	verify_finds(s, a->size - 1, 0, a->size - 1);
	if (a->payload > 100)
		CU_ASSERT(archive_verify(a, OTHER_KEY, 0, s->whole, a->size, s->scratch) < a->size);
}

static uint64_t tensor_by_looking(const struct archive *a, uint64_t at)
{
	uint64_t i = 0;

	while (i < a->tensors.count && !(at >= a->offsets[i] && at < a->ends[i]))
		i++;
	return i;
}

static void tensors_are_named(const struct sample *s)
{
	const struct archive *a = &s->archive;
	struct random r = {.key = a->size};

	for (uint64_t i = 0; i < 100 && a->size; i++) {
		uint64_t at = random_next(&r) % a->size;

		CU_ASSERT_EQUAL(archive_tensor_at(a, at), tensor_by_looking(a, at));
	}
	for (uint64_t i = 0; i < a->tensors.count; i += 1 + a->tensors.count / 50)
		for (uint64_t k = 0; k < 4; k++) {
			uint64_t begin = a->offsets[i] + k - (a->offsets[i] < 2 ? 0 : 2);
			uint64_t end = a->ends[i] + k - (a->ends[i] < 2 ? 0 : 2);

			CU_ASSERT_EQUAL(archive_tensor_at(a, begin), tensor_by_looking(a, begin));
			CU_ASSERT_EQUAL(archive_tensor_at(a, end), tensor_by_looking(a, end));
		}
}

/* Pieces on both sides of a place, each made on its own, are those of one range. */
static void window_agrees(const struct sample *s, uint64_t middle)
{
	const struct archive *a = &s->archive;
	uint64_t at = middle < WINDOW ? 0 : middle - WINDOW;
	uint64_t end = a->size - middle < WINDOW ? a->size : middle + WINDOW;
	uint8_t whole[2 * WINDOW], piece[2 * WINDOW];

	archive_image(a, KEY, at, whole, end - at);
	for (uint64_t cut = at; cut <= end; cut += 7) {
		archive_image(a, KEY, at, piece, cut - at);
		archive_image(a, KEY, cut, piece + (cut - at), end - cut);
		CU_ASSERT_FATAL(memcmp(whole, piece, end - at) == 0);
	}
	CU_ASSERT_EQUAL(archive_verify(a, KEY, at, whole, end - at, s->scratch), end - at);
}

static void huge_archives_agree(const struct sample *s)
{
	const struct archive *a = &s->archive;

	if (!s->of->huge)
		return;
	CU_ASSERT(a->size > UINT64_C(30) << 30);
	for (uint64_t i = 0; i < a->tensors.count; i++) {
		window_agrees(s, a->offsets[i]);
		window_agrees(s, a->ends[i]);
		window_agrees(s, a->offsets[i] + (a->ends[i] - a->offsets[i]) / 65536 * 65536);
	}
	window_agrees(s, a->size);
}

/* Framing does not depend on the key, but for the checksums of tensors of 1 to 3 bytes. */
static void framing_is_the_same(const struct sample *s)
{
	const struct archive *a = &s->archive;
	uint64_t at = 0;

	if (s->of->huge)
		return;
	for (uint64_t i = 0; i < a->tensors.count; i++)
		if (a->ends[i] - a->offsets[i] - 1 < 3)
			return;
	archive_image(a, OTHER_KEY, 0, s->scratch, a->size);
	for (uint64_t i = 0; i < a->tensors.count; i++) {
		CU_ASSERT_EQUAL(memcmp(s->scratch + at, s->whole + at, a->offsets[i] - at), 0);
		at = a->ends[i];
	}
	CU_ASSERT_EQUAL(memcmp(s->scratch + at, s->whole + at, a->size - at), 0);
}

static void test_layouts(void)
{
	each_sample(layout_adds_up);
}

static void test_ranges(void)
{
	each_sample(ranges_agree);
	each_sample(huge_archives_agree);
}

static void test_content(void)
{
	each_sample(tensors_hold_the_stream);
	each_sample(framing_is_the_same);
}

static void test_verify(void)
{
	each_sample(flips_are_found);
	each_sample(tensors_are_named);
}

/* The checksum of each tensor of torch, as its data descriptor says it, is zlib's of its bytes. */
static void checksum_is_right(const struct sample *s)
{
	const struct archive *a = &s->archive;

	for (uint64_t i = 0; i < a->tensors.count && a->kind == ARCHIVE_TORCH && !s->of->huge;
	     i++) {
		uint64_t bytes = a->ends[i] - a->offsets[i];
		const uint8_t *at = s->whole + a->ends[i];

		if (!bytes)
			continue;
		CU_ASSERT_EQUAL(memcmp(at, "PK\x07\x08", 4), 0);
		CU_ASSERT_EQUAL((uLong)at[4] | (uLong)at[5] << 8 | (uLong)at[6] << 16 |
					(uLong)at[7] << 24,
				crc32_z(0, s->whole + a->offsets[i], bytes));
	}
}

static void test_checksums(void)
{
	each_sample(checksum_is_right);
}

/* Tensors that no archive takes. The number of the tensor says what is wrong with it. */
struct wrong {
	struct tensor tensor;
	uint64_t count;
	enum archive_kind kind;
	const char *says;
};

static void wrong_tensor(const void *argument, uint64_t i, struct tensor *out)
{
	(void)i;
	*out = ((const struct wrong *)argument)->tensor;
}

static void test_refusals(void)
{
	static struct wrong rows[] = {
		{{"a", MODEL_FP16, 1, {5, 0}, 11},
		 1,
		 ARCHIVE_RAW,
		 "tensor a: 5 numbers of type fp16 make 10 bytes, not 11"},
		{{"a\"b", MODEL_FP16, 1, {5, 0}, 10},
		 1,
		 ARCHIVE_TORCH,
		 "the name of tensor 0 has a character"},
		{{"a\\", MODEL_FP16, 1, {5, 0}, 10},
		 1,
		 ARCHIVE_TORCH,
		 "the name of tensor 0 has a character"},
		{{"a\n", MODEL_FP16, 1, {5, 0}, 10},
		 1,
		 ARCHIVE_SAFETENSORS,
		 "the name of tensor 0 has a character"},
		{{"a", MODEL_FP16, 3, {5, 1}, 10},
		 1,
		 ARCHIVE_RAW,
		 "tensor a has 3 dimensions, at most 2"},
		{{"a", MODEL_UINT8, 2, {UINT64_C(1) << 32, UINT64_C(1) << 32}, 0},
		 1,
		 ARCHIVE_RAW,
		 "more numbers than fit"},
		{{"a", MODEL_UINT8, 1, {UINT64_C(1) << 56, 0}, UINT64_C(1) << 56},
		 100,
		 ARCHIVE_RAW,
		 "more bytes than a file"},
		{{"a", MODEL_UINT8, 1, {1, 0}, 1},
		 ARCHIVE_TENSORS_MAX + 1,
		 ARCHIVE_RAW,
		 "has at most 1048576 tensors"},
		{{"a name that has as many characters as there may be, so that the header has 100 MB soon",
		  MODEL_UINT8,
		  1,
		  {1, 0},
		  1},
		 800000,
		 ARCHIVE_SAFETENSORS,
		 "has at most 100 MB"},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct archive_tensors tensors = {
			.count = rows[i].count, .tensor = wrong_tensor, .argument = &rows[i]};
		struct arena arena = {0};
		struct err err = {0};
		uint64_t size, payload;
		struct archive a;

		CU_ASSERT_EQUAL(archive_make(&a, rows[i].kind, &tensors, &arena, &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, rows[i].says));
		CU_ASSERT_EQUAL(archive_size(rows[i].kind, &tensors, &size, &payload, &err),
				-EINVAL);
		arena_free(&arena);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"sizes and offsets add up", test_layouts},
		{"any range equals the whole image's", test_ranges},
		{"tensors hold the key's stream", test_content},
		{"a flipped byte is found, and its tensor", test_verify},
		{"CRC-32 of tensors, by zlib", test_checksums},
		{"refusals", test_refusals},
		CU_TEST_INFO_NULL,
	};

	return unit_main("archive", tests);
}

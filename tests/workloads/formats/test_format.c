#include "workloads/formats/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/content/fill.h"
#include "core/content/random.h"
#include "tests/unit.h"
#include "workloads/formats/crc32.h"
#include "workloads/formats/walk.h"

static char *wide_columns[] = {"2 float64", "int64 read", "3 int32 read",
			       "4 float32", "4 float16",  "bytes:3"};
enum { WIDE_BYTES = 2 * 8 + 8 + 3 * 4 + 4 * 4 + 4 * 2 + 3 };

static const uint64_t sizes[] = {
	1,     2,      3,      4,      5,      7,      8,       9,     10,    11,    12,
	13,    15,     16,     17,     23,     1000,   21845,   32767, 32768, 65519, 65520,
	65521, 65528,  65532,  65535,  65536,  65537,  65538,   65539, 65540, 65551, 65552,
	65553, 131071, 131072, 131073, 131087, 131088, 1234567, 24,    25,    26,    27,
	28,    29,     116,    117,    133,    245,    246,     247,   256,   257,   268,
	269,   300,    8325,   8326,   8327,   16500,  322957};
static const uint64_t counts[] = {1, 2, 3, 7, 5461, 5462};
/* What formats may be told: the first for all of them. */
static const struct variant {
	enum format_index format;
	struct format_options options;
} variants[] = {
	{FORMAT_RAW, {.hdf5 = {.datasets = 1}, .parquet = {.row_group = 1000}}},
	{FORMAT_HDF5, {.hdf5 = {.datasets = 3}}},
	{FORMAT_HDF5, {.hdf5 = {.datasets = 1, .chunk_samples = 2}}},
	{FORMAT_HDF5, {.hdf5 = {.datasets = 8, .chunk_samples = 3}}},
	{FORMAT_HDF5, {.hdf5 = {.datasets = 1, .chunk_bytes = 1000}}},
	{FORMAT_HDF5, {.hdf5 = {.datasets = 2, .chunk_bytes = 7}}},
	{FORMAT_PARQUET, {.parquet = {.row_group = 3}}},
	{FORMAT_PARQUET,
	 {.parquet = {.columns = {sizeof(wide_columns) / sizeof(wide_columns[0]), wide_columns},
		      .row_group = 2}}},
};

static void make_layout(struct layout *l, const struct format_ops *format,
			const struct format_options *options, uint64_t samples,
			uint64_t sample_bytes)
{
	memset(l, 0xaa, sizeof(*l)); /* what layout() leaves unset must not matter */
	l->format = format;
	l->options = options;
	l->file = 3;
	l->object = 0;
	l->key = fill_key(42, 3);
	l->first_id = 3 * samples;
	l->samples = samples;
	l->sample_bytes = sample_bytes;
	layout_make(l);
}

/* Calls body for one format, size and number of samples, unless the file would have many MB. */
static void one_layout(const struct format_ops *format, const struct variant *variant,
		       uint64_t samples, uint64_t sample_bytes,
		       void (*body)(const struct layout *l, const uint8_t *whole))
{
	uint64_t most = variant == variants ? (unit_full() ? 8 << 20 : 1 << 20) : 1 << 18;
	struct err err = {0};
	struct layout l;
	uint8_t *whole;

	if (sample_bytes * samples > most ||
	    (format->check &&
	     format->check(&variant->options, samples, sample_bytes, sample_bytes, &err) < 0))
		return;
	make_layout(&l, format, &variant->options, samples, sample_bytes);
	for (uint32_t object = 0; object < format_objects(format); object++) {
		struct layout one;

		layout_beside(&l, object, &one);
		whole = malloc(one.size);
		layout_image(&one, 0, whole, one.size);
		body(&one, whole);
		free(whole);
	}
}

/* Calls body for every format, size and number of samples, and what formats may be told. */
static void for_each_layout(void (*body)(const struct layout *l, const uint8_t *whole))
{
	size_t n_counts = sizeof(counts) / sizeof(counts[0]);
	size_t n = sizeof(sizes) / sizeof(sizes[0]) * n_counts;

	for (const struct format_ops *const *f = format_table(); *f; f++)
		for (size_t i = 0; i < n; i++)
			one_layout(*f, variants, counts[i % n_counts], sizes[i / n_counts], body);
	for (size_t v = 1; v < sizeof(variants) / sizeof(variants[0]); v++)
		for (size_t i = 0; i < n; i++)
			one_layout(format_table()[variants[v].format], &variants[v],
				   counts[i % n_counts], sizes[i / n_counts], body);
}

static uint64_t little(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | at[bytes];
	return value;
}

static void check_ranges(const struct layout *l, const uint8_t *whole)
{
	uint8_t *part = malloc(l->size + 2);
	struct random r = {.key = l->size};

	for (int i = 0; i < 12; i++) {
		uint64_t offset = random_next(&r) % l->size;
		uint64_t length = 1 + random_next(&r) % (i % 2 ? 100 : 300000);

		if (length > l->size - offset)
			length = l->size - offset;
		part[0] = part[length + 1] = 0x5a;
		layout_image(l, offset, part + 1, length);
		CU_ASSERT_EQUAL(memcmp(part + 1, whole + offset, length), 0);
		CU_ASSERT_TRUE(part[0] == 0x5a && part[length + 1] == 0x5a);
	}
	free(part);
}

static void test_ranges(void)
{
	for_each_layout(check_ranges);
}

static void check_ids(const struct layout *l, const uint8_t *whole)
{
	for (uint64_t sample = 0; sample < l->samples; sample++) {
		uint64_t position, at = l->id_at + sample * l->stride;
		uint32_t bytes = l->id_bytes;
		bool there = layout_id_at(l, sample, 0, l->size, &position);

		CU_ASSERT_EQUAL(there, l->id_bytes > 0);
		if (!l->object && l->format != format_table()[FORMAT_HDF5] &&
		    l->format != format_table()[FORMAT_PARQUET])
			CU_ASSERT_EQUAL(there, l->sample_bytes >= 8);
		if (!there)
			continue;
		if (l->format->id_place)
			at = l->format->id_place(l, sample);
		CU_ASSERT_EQUAL(position, at);
		CU_ASSERT_EQUAL(layout_id(l, whole + position), l->first_id + sample);
		if (bytes == 8)
			CU_ASSERT_EQUAL(little(whole + position, 8), l->first_id + sample);
		CU_ASSERT_TRUE(layout_id_at(l, sample, at, bytes, &position));
		CU_ASSERT_EQUAL(position, 0);
		CU_ASSERT_FALSE(layout_id_at(l, sample, at + 1, l->size, &position));
		CU_ASSERT_FALSE(layout_id_at(l, sample, at, bytes - 1, &position));
	}
}

static void test_ids(void)
{
	for_each_layout(check_ids);
}

/* What is wrong with the bytes, walked in pieces. */
static const char *walk(const struct layout *l, const uint8_t *whole, uint64_t piece)
{
	struct walk w = {.size = l->size};

	for (uint64_t at = 0; at < l->size; at += piece) {
		struct walk_piece p = {whole + at, l->size - at < piece ? l->size - at : piece, at,
				       0};
		const char *wrong = l->format->walk(&w, &p);

		if (wrong)
			return wrong;
	}
	return l->format->walk_end(&w, l->samples);
}

/* Walked in pieces of any size nothing is wrong; a flipped bit of the payload is, where it is summed. */
static void check_walk(const struct layout *l, const uint8_t *whole)
{
	static const uint64_t pieces[] = {1, 7, 4096, UINT32_MAX};
	enum format_index summed[] = {FORMAT_PNG, FORMAT_NPZ, FORMAT_TFRECORD};
	uint8_t *flipped = (uint8_t *)whole;
	uint64_t at = l->size / 2;

	if (!l->format->walk || !l->samples || format_objects(l->format) > 1 ||
	    l->format == format_table()[FORMAT_PARQUET])
		return;
	for (unsigned i = l->size > 1 << 20 ? 2 : 0; i < 4; i++)
		CU_ASSERT_PTR_NULL(walk(l, whole, pieces[i]));
	for (unsigned i = 0; i < 3; i++)
		if (l->format == format_table()[summed[i]] && l->sample_bytes > 1000) {
			flipped[at] ^= 4;
			CU_ASSERT_PTR_NOT_NULL(walk(l, whole, 4096));
			flipped[at] ^= 4;
		}
}

/* What is wrong with a sample, walked as it is read, a byte of an object flipped (length 0: none). */
static const char *walk_sample(const struct layout *l, uint64_t sample, uint64_t piece,
			       const struct extent *flip)
{
	struct extent e[FORMAT_EXTENTS_MAX];
	struct walk w = {.size = l->size};
	const char *wrong = NULL;
	uint32_t n = l->format->extents(l, sample, e);

	for (uint32_t i = 0; i < n; i++) {
		uint8_t *data = malloc(e[i].length);
		struct layout in;

		layout_beside(l, e[i].object, &in);
		layout_image(&in, e[i].offset, data, e[i].length);
		if (flip->length && flip->object == e[i].object && flip->offset >= e[i].offset &&
		    flip->offset < e[i].offset + e[i].length)
			data[flip->offset - e[i].offset] ^= 4;
		for (uint64_t at = 0; at < e[i].length && !wrong; at += piece) {
			struct walk_piece p = {data + at,
					       e[i].length - at < piece ? e[i].length - at : piece,
					       e[i].offset + at, e[i].object};

			wrong = l->format->walk(&w, &p);
		}
		free(data);
	}
	return wrong ? wrong : l->format->walk_end(&w, l->samples);
}

/* What is read in ranges is whole, the header or the tables first. */
static void check_walk_ranges(const struct layout *l, const uint8_t *whole)
{
	static const struct extent none = {.length = 0};

	(void)whole;
	if (!l->format->walk || l->object || l->format->streams ||
	    l->samples * l->sample_bytes > 1 << 18)
		return;
	CU_ASSERT_PTR_NULL(walk_sample(l, l->samples / 2, 7, &none));
	CU_ASSERT_PTR_NULL(walk_sample(l, l->samples - 1, 4096, &none));
}

static void test_walk_ranges(void)
{
	for_each_layout(check_walk_ranges);
}

/* One flipped byte of a structure, in a file of 5 samples of 3000 bytes. at < 0: from the end. */
static void test_walk_finds(void)
{
	static const struct {
		enum format_index format;
		uint32_t object;
		int64_t at;
		const char *says;
	} cases[] = {
		{FORMAT_NPY, 0, 3, "has no array where one must begin"},
		{FORMAT_NPY, 0, 8, "has an array's header that is no header"},
		{FORMAT_NPY, 0, 61, "an array's shape is not that of its bytes"},
		{FORMAT_HDF5, 0, 2, "has no HDF5 signature"},
		{FORMAT_HDF5, 0, 30, "the superblock has another checksum"},
		{FORMAT_HDF5, 0, 48, "has no object header where a link leads to one"},
		{FORMAT_HDF5, 0, 75, "an object header has another checksum"},
		{FORMAT_HDF5, 0, 200, "an object header has another checksum"},
		{FORMAT_NPZ, 0, 14, "a member is not what its directory says"},
		{FORMAT_NPZ, 0, 64, "has no array where one must begin"},
		{FORMAT_NPZ, 0, 125, "an array's shape is not that of its bytes"},
		{FORMAT_NPZ, 0, -12, "has a directory of other members"},
		{FORMAT_NPZ, 0, -5, "has its directory elsewhere"},
		{FORMAT_NPZ, 0, -22, "has no part of a zip where one must begin"},
		{FORMAT_SAFETENSORS, 0, 6, "has a header longer than its file"},
		{FORMAT_SAFETENSORS, 0, 8, "its header is no JSON"},
		{FORMAT_SAFETENSORS, 0, 76, "a tensor's shape is not that of its bytes"},
		{FORMAT_PARQUET, 0, -1, "has no mark at its end"},
		{FORMAT_PARQUET, 0, -5, "has a footer longer than the file"},
		{FORMAT_PARQUET, 0, -8, "the footer is not where the file's end says"},
		{FORMAT_PARQUET, 0, 4, "a page does not say how many bytes it has"},
		{FORMAT_PARQUET, 0, 7, "a page is not stored in as many bytes as it has"},
		{FORMAT_INDEXED_BINARY, 1, 23, "an offset is not where a sample can begin"},
		{FORMAT_INDEXED_BINARY, 2, 8, "sizes are not the steps of the offsets"},
		{FORMAT_INDEXED_BINARY, 1, 17, "sizes are not the steps of the offsets"},
		{FORMAT_INDEXED_BINARY, 2, 36, "a sample's size is more than its file has"},
		{FORMAT_MMAP_INDEXED_BINARY, 1, 24, "sizes are not the steps of the offsets"},
		{FORMAT_MMAP_INDEXED_BINARY, 2, 33, "a sample's size is more than its file has"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct extent flip = {.length = 1, .object = cases[i].object};
		struct layout l;
		const char *wrong;

		make_layout(&l, format_table()[cases[i].format], &variants[0].options, 5, 3000);
		flip.offset =
			cases[i].at < 0 ? l.size - (uint64_t)-cases[i].at : (uint64_t)cases[i].at;
		wrong = walk_sample(&l, 2, 4096, &flip);
		if (!wrong || strcmp(wrong, cases[i].says) != 0)
			fprintf(stderr, "case %zu: %s, not %s\n", i, wrong ? wrong : "nothing",
				cases[i].says);
		CU_ASSERT_TRUE(wrong && strcmp(wrong, cases[i].says) == 0);
	}
}

static void check_extents(const struct layout *l, const uint8_t *whole)
{
	struct extent e[FORMAT_EXTENTS_MAX];

	(void)whole;
	if (l->object)
		return;
	for (uint64_t sample = 0; sample < l->samples; sample += 1 + l->samples / 5) {
		uint32_t n = l->format->extents(l, sample, e);
		uint64_t position;

		CU_ASSERT_TRUE(n >= 1 && n <= FORMAT_EXTENTS_MAX);
		for (uint32_t i = 0; i < n; i++) {
			struct layout in;

			layout_beside(l, e[i].object, &in);
			CU_ASSERT_TRUE(e[i].length > 0 && e[i].offset + e[i].length <= in.size);
		}
		if (l->id_bytes) {
			bool seen = false;

			for (uint32_t i = 0; i < n; i++)
				seen |= !e[i].object && layout_id_at(l, sample, e[i].offset,
								     e[i].length, &position);
			CU_ASSERT_TRUE(seen);
		}
	}
}

static void test_extents(void)
{
	for_each_layout(check_extents);
}

static void check_verify(const struct layout *l, const uint8_t *whole)
{
	uint8_t *copy = malloc(l->size), *scratch = malloc(LAYOUT_SCRATCH_BYTES);
	struct random r = {.key = l->size + 1};

	memcpy(copy, whole, l->size);
	CU_ASSERT_EQUAL(layout_verify(l, 0, copy, l->size, scratch), l->size);
	for (int i = 0; i < 4; i++) {
		uint64_t at = random_next(&r) % l->size;
		uint64_t from = random_next(&r) % (at + 1);

		copy[at] ^= 1;
		CU_ASSERT_EQUAL(layout_verify(l, from, copy + from, l->size - from, scratch),
				at - from);
		copy[at] ^= 1;
	}
	free(copy);
	free(scratch);
}

static void test_verify(void)
{
	for_each_layout(check_verify);
}

/* Every member's CRC, as its headers say, against zlib's over its bytes. */
static void check_crc(const struct layout *l, const uint8_t *whole)
{
	const uint8_t *at = whole;
	unsigned members = 0;

	if (strcmp(l->format->name, "npz") != 0)
		return;
	for (; little(at, 4) == 0x04034b50; members++) {
		uint64_t length = little(at + 18, 4);
		const uint8_t *data = at + 30 + little(at + 26, 2) + little(at + 28, 2);

		CU_ASSERT_EQUAL(little(at + 14, 4), crc32_z(0, data, length));
		at = data + length;
	}
	CU_ASSERT_EQUAL(members, 2);
	CU_ASSERT_EQUAL(little(at, 4), 0x02014b50);
	CU_ASSERT_EQUAL(little(at + 42, 4), 0);
}

static void test_crc(void)
{
	for_each_layout(check_crc);
}

static void test_crc_register(void)
{
	uint8_t text[] = "123456789", zeros[300] = {0}, four[4];
	uint32_t reg = crc32_run(CRC32_START, text, 9);

	CU_ASSERT_EQUAL(~reg, 0xcbf43926u);
	CU_ASSERT_EQUAL(crc32_back(reg, text, 9), CRC32_START);
	CU_ASSERT_EQUAL(crc32_multiply(reg, crc32_zeros(300)), crc32_run(reg, zeros, 300));
	CU_ASSERT_EQUAL(crc32_zeros(0), CRC32_ONE);
	crc32_patch(reg, 0x12345678, four);
	CU_ASSERT_EQUAL(crc32_run(reg, four, 4), 0x12345678);
}

/* 5 GB: sizes and offsets stand in zip64 fields, the 32-bit ones are full. */
static void test_zip64(void)
{
	const struct format_ops *npz = format_table()[FORMAT_NPZ];
	struct layout l;
	uint8_t tail[22], part[3][100];
	uint64_t middle;

	make_layout(&l, npz, &variants[0].options, 1, 5000000000);
	CU_ASSERT_EQUAL(little(l.header + 18, 4), UINT32_MAX);
	CU_ASSERT_EQUAL(little(l.header + 39, 8), 5000000000 + 128);
	CU_ASSERT_EQUAL(l.data_offset % 64, 0);
	layout_image(&l, l.size - 22, tail, 22);
	CU_ASSERT_EQUAL(little(tail, 4), 0x06054b50);
	CU_ASSERT_EQUAL(little(tail + 16, 4), UINT32_MAX);
	middle = 4500000000;
	layout_image(&l, middle, part[0], 100);
	layout_image(&l, middle, part[1], 60);
	layout_image(&l, middle + 60, part[1] + 60, 40);
	CU_ASSERT_EQUAL(memcmp(part[0], part[1], 100), 0);
	make_layout(&l, npz, &variants[0].options, 3, 1431655765); /* just below 4 GiB of payload */
	CU_ASSERT_EQUAL(little(l.header + 18, 4), UINT32_MAX);
	make_layout(&l, npz, &variants[0].options, 1, 4000000000);
	CU_ASSERT_EQUAL(little(l.header + 18, 4), 4000000000 + 128);
}

static void test_walk(void)
{
	for_each_layout(check_walk);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"any range equals the whole image's", test_ranges},
		{"ids stand where they should", test_ids},
		{"extents lie in the file and hold the id", test_extents},
		{"verify finds the first byte that differs", test_verify},
		{"walked as a decoder would", test_walk},
		{"walked as samples are read", test_walk_ranges},
		{"a flipped byte of a structure is found", test_walk_finds},
		{"CRC-32 of every member, by zlib", test_crc},
		{"CRC register arithmetic", test_crc_register},
		{"zip64 from nearly 4 GiB", test_zip64},
		CU_TEST_INFO_NULL,
	};

	return unit_main("format", tests);
}

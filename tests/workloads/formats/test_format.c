/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of properties that hold for every format in the table, on files of unusual sizes, and of
 * some that single formats have.
 *
 * The files have up to 256 KiB and the most unusual sizes; in test_format_full they have up to 8
 * MiB and all sizes. */
#include "workloads/formats/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/content/random.h"
#include "tests/unit.h"
#include "tests/workloads/formats/variants.h"
#include "workloads/formats/crc32.h"
#include "workloads/formats/walk.h"

/* The most unusual sizes come first: around ids, the smallest pictures, blocks and their ends. */
static const uint64_t sizes[] = {1, 3, 7, 8, 9, 11, 12, 15, 16, 24, 25, 26, 29, 116, 117, 133, 245,
				 246, 247, 257, 268, 1000, 8326, 32768, 65528, 65535, 65536, 65537,
				 65540, 65551, 65553, 131073,
				 /* Only in test_format_full. */
				 2, 4, 5, 10, 13, 17, 23, 21845, 32767, 65519, 65520, 65521, 65532,
				 65538, 65539, 65550, 65552, 131071, 131072, 131087, 131088,
				 1234567, 27, 28, 256, 269, 300, 8325, 8327, 16500, 322957};
static const uint64_t counts[] = {1, 3, 7, 5462, /* only in test_format_full: */ 2, 5461};
enum { QUICK_SIZES = 32, QUICK_COUNTS = 4 };

/* Returns NULL, or why the layout is wrong. whole is its image; scratch has room for all objects of
 * the file and a header. */
typedef const char *property(const struct layout *l, const uint8_t *whole, uint8_t *scratch);

static property ranges_agree, ids_are_found, extents_lie_in_the_file, verify_finds_a_flip,
	pieces_are_walked, samples_are_walked, ends_stay_inside, magic_is_there, streams_are_whole,
	members_have_their_crc;

static const struct {
	const char *name;
	property *holds;
} properties[] = {
	{"any range equals the whole image's", ranges_agree},
	{"ids are in their places", ids_are_found},
	{"extents lie in the file and hold the id", extents_lie_in_the_file},
	{"verify finds the first byte that differs", verify_finds_a_flip},
	{"whole files are walked as by a decoder", pieces_are_walked},
	{"samples are walked as they are read", samples_are_walked},
	{"headers and trailers stay inside their bytes", ends_stay_inside},
	{"files have the format's magic", magic_is_there},
	{"streams contain their samples consecutively", streams_are_whole},
	{"CRC-32 of every npz member, by zlib", members_have_their_crc},
};
enum { PROPERTIES = sizeof(properties) / sizeof(properties[0]) };

/* Number of layouts, and for each property the number of layouts for which it does not hold. */
struct survey {
	uint64_t layouts, wrong[PROPERTIES];
	uint8_t *whole, *scratch;
	uint64_t room; /* bytes of each */
};

static void survey_grow(struct survey *s, uint64_t room)
{
	if (s->room >= room)
		return;
	s->whole = realloc(s->whole, room);
	s->scratch = realloc(s->scratch, room);
	s->room = room;
	if (!s->whole || !s->scratch)
		abort();
}

/* Checks all objects of one file. */
static void survey_file(struct survey *s, const struct variant *v, uint64_t samples,
			uint64_t sample_bytes)
{
	uint64_t room = FORMAT_HEADER_BYTES;
	struct layout file, l;

	variant_layout(v, samples, sample_bytes, &file);
	for (uint32_t object = 0; object < format_objects(file.format); object++) {
		layout_beside(&file, object, &l);
		room += l.size;
	}
	survey_grow(s, room);
	for (uint32_t object = 0; object < format_objects(file.format); object++) {
		layout_beside(&file, object, &l);
		layout_image(&l, 0, s->whole, l.size);
		s->layouts++;
		for (unsigned i = 0; i < PROPERTIES; i++) {
			const char *wrong = properties[i].holds(&l, s->whole, s->scratch);

			if (!wrong)
				continue;
			if (!s->wrong[i]++)
				fprintf(stderr, "%s%s, %llu x %llu, object %u: %s\n",
					format_names[v->format], v->suffix ? v->suffix : "",
					(unsigned long long)samples,
					(unsigned long long)sample_bytes, object, wrong);
		}
	}
}

/* Checks every format, size and number of samples, with the options that formats have. */
static void survey_make(struct survey *s, bool all)
{
	size_t n_sizes = all ? sizeof(sizes) / sizeof(sizes[0]) : QUICK_SIZES;
	size_t n_counts = all ? sizeof(counts) / sizeof(counts[0]) : QUICK_COUNTS;
	const struct variant *v;
	unsigned n = variants(&v);

	for (unsigned i = 0; i < n; i++)
		for (size_t k = 0; k < n_sizes * n_counts; k++) {
			uint64_t size = sizes[k / n_counts], count = counts[k % n_counts];

			/* Special options are tested with small files. */
			if (size * count > (all && i < FORMATS_COUNT ? 8 << 20 : 1 << 18) ||
			    !variant_holds(&v[i], count, size))
				continue;
			survey_file(s, &v[i], count, size);
		}
	free(s->whole);
	free(s->scratch);
}

static uint64_t little(const uint8_t *at, unsigned bytes)
{
	return walk_little(at, bytes);
}

static const char *ranges_agree(const struct layout *l, const uint8_t *whole, uint8_t *scratch)
{
	struct random r = {.key = l->size};

	for (int i = 0; i < 12; i++) {
		uint64_t offset = random_next(&r) % l->size;
		uint64_t length = 1 + random_next(&r) % (i % 2 ? 100 : 300000);

		if (length > l->size - offset)
			length = l->size - offset;
		scratch[0] = scratch[length + 1] = 0x5a;
		layout_image(l, offset, scratch + 1, length);
		if (memcmp(scratch + 1, whole + offset, length) != 0)
			return "a range differs from the image";
		if (scratch[0] != 0x5a || scratch[length + 1] != 0x5a)
			return "a range writes outside its bytes";
	}
	return NULL;
}

/* In formats that divide a sample into several places, an id may not have room. */
static bool has_ids(const struct layout *l)
{
	return !l->object && l->format != format_table()[FORMAT_HDF5] &&
	       l->format != format_table()[FORMAT_PARQUET];
}

static const char *ids_are_found(const struct layout *l, const uint8_t *whole, uint8_t *scratch)
{
	(void)scratch;
	for (uint64_t sample = 0; sample < l->samples; sample++) {
		uint64_t position, at = l->id_at + sample * l->stride;
		bool there = layout_id_at(l, sample, 0, l->size, &position);

		if (there != (l->id_bytes > 0) || (has_ids(l) && there != (l->sample_bytes >= 8)))
			return "an id is missing, or exists where it must not";
		if (!there)
			continue;
		if (l->format->id_place)
			at = l->format->id_place(l, sample);
		if (position != at || layout_id(l, whole + position) != l->first_id + sample)
			return "an id has a wrong value";
		if (l->id_bytes == 8 && little(whole + position, 8) != l->first_id + sample)
			return "an id is not little-endian";
		if (!layout_id_at(l, sample, at, l->id_bytes, &position) || position != 0 ||
		    layout_id_at(l, sample, at + 1, l->size, &position) ||
		    layout_id_at(l, sample, at, l->id_bytes - 1, &position))
			return "an id is found in a part of its bytes";
	}
	return NULL;
}

static const char *extents_lie_in_the_file(const struct layout *l, const uint8_t *whole,
					   uint8_t *scratch)
{
	struct extent e[FORMAT_EXTENTS_MAX];
	uint64_t position;

	(void)whole;
	(void)scratch;
	if (l->object)
		return NULL;
	for (uint64_t sample = 0; sample < l->samples; sample += 1 + l->samples / 5) {
		uint32_t n = l->format->extents(l, sample, e);
		bool seen = !l->id_bytes;

		if (n < 1 || n > FORMAT_EXTENTS_MAX)
			return "there are no extents or too many";
		for (uint32_t i = 0; i < n; i++) {
			struct layout in;

			layout_beside(l, e[i].object, &in);
			if (!e[i].length || e[i].offset + e[i].length > in.size)
				return "an extent is not in its object";
			seen |= !e[i].object &&
				layout_id_at(l, sample, e[i].offset, e[i].length, &position);
		}
		if (!seen)
			return "no extent holds the id";
	}
	return NULL;
}

static const char *verify_finds_a_flip(const struct layout *l, const uint8_t *whole, uint8_t *copy)
{
	static uint8_t scratch[LAYOUT_SCRATCH_BYTES];
	struct random r = {.key = l->size + 1};

	memcpy(copy, whole, l->size);
	if (layout_verify(l, 0, copy, l->size, scratch) != l->size)
		return "an unchanged image differs";
	for (int i = 0; i < 4; i++) {
		uint64_t at = random_next(&r) % l->size;
		uint64_t from = random_next(&r) % (at + 1), found;

		copy[at] ^= 1;
		found = layout_verify(l, from, copy + from, l->size - from, scratch);
		copy[at] ^= 1;
		if (found != at - from)
			return "a flipped bit is not found";
	}
	return NULL;
}

/* Returns what is wrong with the bytes when they are walked in pieces. */
static const char *walk_file(const struct layout *l, const uint8_t *whole, uint64_t piece)
{
	const struct walk_ops *ops = l->format->walk;
	struct walk w = {.size = l->size};

	for (uint64_t at = 0; at < l->size; at += piece) {
		struct walk_piece p = {.at = whole + at,
				       .left = l->size - at < piece ? l->size - at : piece,
				       .offset = at};
		const char *wrong = walk_take(ops, &w, &p);

		if (wrong)
			return wrong;
		if (p.left)
			return "a piece is not walked to its end";
	}
	if (!w.whole || !w.last)
		return "the walk was not of the whole file";
	return walk_end(ops, &w, l->samples);
}

/* Walked in pieces of any size, a file has no error; where the format has a checksum, a flipped bit
 * of the payload is one. */
static const char *pieces_are_walked(const struct layout *l, const uint8_t *whole, uint8_t *copy)
{
	static const uint64_t pieces[] = {1, 7, 4096, UINT32_MAX};
	static const enum format_index summed[] = {FORMAT_PNG, FORMAT_NPZ, FORMAT_TFRECORD};

	if (!l->format->walk || !l->format->walk->whole_file || l->object)
		return NULL;
	for (unsigned i = l->size > 1 << 20 ? 2 : l->size > 1 << 16 ? 1 : 0; i < 4; i++) {
		const char *wrong = walk_file(l, whole, pieces[i]);

		if (wrong)
			return wrong;
	}
	for (unsigned i = 0; i < 3; i++) {
		if (l->format != format_table()[summed[i]] || l->sample_bytes <= 1000)
			continue;
		memcpy(copy, whole, l->size);
		copy[l->size / 2] ^= 4;
		if (!walk_file(l, copy, 4096))
			return "a flipped bit is not detected";
	}
	return NULL;
}

/* Returns what is wrong with a sample that is walked as it is read, with one byte of an object
 * flipped (length 0: none). */
static const char *walk_sample(const struct layout *l, uint64_t sample, uint64_t piece,
			       const struct extent *flip, uint8_t *data)
{
	struct extent e[FORMAT_EXTENTS_MAX];
	struct walk w = {.size = l->size};
	const char *wrong = NULL;
	uint32_t n = l->format->extents(l, sample, e);

	for (uint32_t i = 0; i < n; i++) {
		struct layout in;

		layout_beside(l, e[i].object, &in);
		layout_image(&in, e[i].offset, data, e[i].length);
		if (flip->length && flip->object == e[i].object && flip->offset >= e[i].offset &&
		    flip->offset < e[i].offset + e[i].length)
			data[flip->offset - e[i].offset] ^= 4;
		for (uint64_t at = 0; at < e[i].length && !wrong; at += piece) {
			uint64_t left = e[i].length - at;
			struct walk_piece p = {.at = data + at,
					       .left = left < piece ? left : piece,
					       .offset = e[i].offset + at,
					       .object = e[i].object};

			wrong = walk_take(l->format->walk, &w, &p);
		}
	}
	return wrong ? wrong : walk_end(l->format->walk, &w, l->samples);
}

/* Samples that are read in ranges, with the header or the tables first, have no error. */
static const char *samples_are_walked(const struct layout *l, const uint8_t *whole,
				      uint8_t *scratch)
{
	static const struct extent none = {.length = 0};
	const char *wrong;

	(void)whole;
	if (!l->format->walk || l->object || l->samples * l->sample_bytes > 1 << 18)
		return NULL;
	wrong = walk_sample(l, l->samples / 2, 7, &none, scratch);
	return wrong ? wrong : walk_sample(l, l->samples - 1, 4096, &none, scratch);
}

static const char *ends_stay_inside(const struct layout *l, const uint8_t *whole, uint8_t *scratch)
{
	uint64_t trailer = l->size - l->data_offset - l->data_bytes - l->gap_bytes;

	(void)whole;
	if (l->data_offset > FORMAT_HEADER_BYTES || trailer > FORMAT_HEADER_BYTES)
		return "a header or trailer is longer than there is room for";
	if (!l->format->header != !l->data_offset || !l->format->trailer != !trailer)
		return "a header or trailer has no hook, or the hook no bytes";
	if (l->format->header) {
		scratch[l->data_offset] = 0x5a;
		l->format->header(l, scratch);
		if (scratch[l->data_offset] != 0x5a)
			return "the header is longer than it says";
	}
	if (l->format->trailer) {
		scratch[trailer] = 0x5a;
		l->format->trailer(l, scratch);
		if (scratch[trailer] != 0x5a)
			return "the trailer is longer than it says";
	}
	return NULL;
}

static const char *magic_is_there(const struct layout *l, const uint8_t *whole, uint8_t *scratch)
{
	const struct format_magic *magic = &l->format->magic;

	(void)scratch;
	if (l->object || !magic->bytes)
		return NULL;
	if (magic->count > FORMAT_MAGIC_BYTES)
		return "the magic has too many bytes";
	return magic->offset + magic->count <= l->size &&
			       memcmp(whole + magic->offset, magic->bytes, magic->count) == 0
		       ? NULL
		       : "the magic is missing";
}

static const char *streams_are_whole(const struct layout *l, const uint8_t *whole, uint8_t *scratch)
{
	struct extent e[FORMAT_EXTENTS_MAX];
	uint64_t at = 0;

	(void)whole;
	(void)scratch;
	for (uint64_t sample = 0; l->format->streams && sample < l->samples; sample++) {
		if (l->format->extents(l, sample, e) != 1 || e->offset != at || e->object)
			return "a sample does not follow the previous one";
		at += e->length;
	}
	return at <= l->size ? NULL : "samples are longer than their file";
}

/* Compares the CRC in each member's header with zlib's CRC of its bytes. */
static const char *members_have_their_crc(const struct layout *l, const uint8_t *whole,
					  uint8_t *scratch)
{
	const uint8_t *at = whole;
	unsigned members = 0;

	(void)scratch;
	if (l->format != format_table()[FORMAT_NPZ])
		return NULL;
	for (; little(at, 4) == 0x04034b50; members++) {
		uint64_t length = little(at + 18, 4);
		const uint8_t *data = at + 30 + little(at + 26, 2) + little(at + 28, 2);

		if (little(at + 14, 4) != crc32_z(0, data, length))
			return "the CRC of a member differs";
		at = data + length;
	}
	return members == 2 && little(at, 4) == 0x02014b50 && little(at + 42, 4) == 0
		       ? NULL
		       : "there are not two members and a directory";
}

static void test_every_layout(void)
{
	struct survey survey = {0};

	survey_make(&survey, unit_full());
	CU_ASSERT(survey.layouts > 1000);
	for (unsigned i = 0; i < PROPERTIES; i++) {
		if (survey.wrong[i])
			fprintf(stderr, "does not hold: %s\n", properties[i].name);
		CU_ASSERT_EQUAL(survey.wrong[i], 0);
	}
}

/* One flipped byte of a structure, in a file of 5 samples of 3000 bytes. A negative offset counts
 * from the end. */
static void test_walk_finds(void)
{
	static const struct {
		enum format_index format;
		uint32_t object;
		int64_t at;
		const char *says;
	} cases[] = {
		{FORMAT_NPY, 0, 3, "has no array where one must begin"},
		{FORMAT_NPY, 0, 8, "has an array's header that is not a header"},
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
		{FORMAT_SAFETENSORS, 0, 8, "its header is not JSON"},
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
	static uint8_t data[1 << 15];
	const struct variant *v;

	variants(&v);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct extent flip = {.length = 1, .object = cases[i].object};
		struct variant whole_group = v[cases[i].format];
		struct layout l;
		const char *wrong;

		/* All five samples are in one row group, so that every page is read. */
		if (cases[i].format == FORMAT_PARQUET)
			variant_parse(&whole_group.options,
				      "{\"format\": \"parquet\", \"parquet\": {\"row_group\": 5}}");
		variant_layout(&whole_group, 5, 3000, &l);
		flip.offset =
			cases[i].at < 0 ? l.size - (uint64_t)-cases[i].at : (uint64_t)cases[i].at;
		wrong = walk_sample(&l, 2, 4096, &flip, data);
		if (!wrong || strcmp(wrong, cases[i].says) != 0)
			fprintf(stderr, "case %zu: %s, not %s\n", i, wrong ? wrong : "nothing",
				cases[i].says);
		CU_ASSERT(wrong && strcmp(wrong, cases[i].says) == 0);
	}
}

/* The options of a format fit into the room that data sets have for them, and are found by the
 * format's name. */
static void test_options_fit(void)
{
	unsigned tables = 0;

	for (const struct option *o = dataset_section.tables[0]; o->name; o++) {
		unsigned format = 0;

		if (!o->of || strcmp(o->of, "format") != 0)
			continue;
		while (format_names[format] && strcmp(format_names[format], o->name) != 0)
			format++;
		CU_ASSERT_PTR_NOT_NULL(format_names[format]);
		CU_ASSERT_EQUAL(o->offset, offsetof(struct dataset_options, formats) +
						   format * FORMAT_OPTION_BYTES);
		for (const struct option *own = o->table; own->name; own++)
			CU_ASSERT(own->offset + own->size <= FORMAT_OPTION_BYTES);
		tables++;
	}
	CU_ASSERT(tables >= 2);
}

static bool format_beside(const struct format_ops *format)
{
	return format_objects(format) > 1;
}

static bool format_any(const struct format_ops *format)
{
	return format;
}

static void test_lists(void)
{
	char text[FORMAT_LIST_BYTES];
	unsigned n = 0;

	CU_ASSERT_STRING_EQUAL(format_list(text, format_beside),
			       "indexed_binary, mmap_indexed_binary");
	for (const char *at = format_list(text, format_any); at; at = strchr(at + 1, ','))
		n++;
	CU_ASSERT_EQUAL(n, FORMATS_COUNT);
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

/* With 5 GB, sizes and offsets are in zip64 fields, and the 32-bit fields have their maximum. */
static void test_zip64(void)
{
	const struct variant *v;
	struct layout l;
	uint8_t head[64], tail[22], part[3][100];
	uint64_t middle;

	variants(&v);
	variant_layout(&v[FORMAT_NPZ], 1, 5000000000, &l);
	layout_image(&l, 0, head, sizeof(head));
	CU_ASSERT_EQUAL(little(head + 18, 4), UINT32_MAX);
	CU_ASSERT_EQUAL(little(head + 39, 8), 5000000000 + 128);
	CU_ASSERT_EQUAL(l.data_offset % 64, 0);
	layout_image(&l, l.size - 22, tail, 22);
	CU_ASSERT_EQUAL(little(tail, 4), 0x06054b50);
	CU_ASSERT_EQUAL(little(tail + 16, 4), UINT32_MAX);
	middle = 4500000000;
	layout_image(&l, middle, part[0], 100);
	layout_image(&l, middle, part[1], 60);
	layout_image(&l, middle + 60, part[1] + 60, 40);
	CU_ASSERT_EQUAL(memcmp(part[0], part[1], 100), 0);
	variant_layout(&v[FORMAT_NPZ], 3, 1431655765, &l); /* just below 4 GiB of payload */
	layout_image(&l, 0, head, sizeof(head));
	CU_ASSERT_EQUAL(little(head + 18, 4), UINT32_MAX);
	variant_layout(&v[FORMAT_NPZ], 1, 4000000000, &l);
	layout_image(&l, 0, head, sizeof(head));
	CU_ASSERT_EQUAL(little(head + 18, 4), 4000000000 + 128);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"every layout", test_every_layout},
		{"a flipped byte of a structure is found", test_walk_finds},
		{"options have room", test_options_fit},
		{"lists of formats", test_lists},
		{"CRC register arithmetic", test_crc_register},
		{"zip64 from nearly 4 GiB", test_zip64},
		CU_TEST_INFO_NULL,
	};

	return unit_main("format", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of data sets: sizes, keys, layouts, and what is refused. */
#include "workloads/dataset/dataset.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit.h"
#include "tests/workloads/formats/variants.h"

static struct dataset_options usual(void)
{
	return (struct dataset_options){.format = FORMAT_NPZ,
					.files = 8400,
					.samples_per_file = 1,
					.sample_bytes = 1000000,
					.folder = "train",
					.prefix = "img"};
}

static void moments(uint64_t files, uint64_t mean, uint64_t stdev, double *mean_out,
		    double *stdev_out)
{
	struct dataset_options o = usual();
	struct dataset d;
	struct err err = {0};
	double sum = 0, squares = 0;
	uint64_t largest = 0;

	o.files = files;
	o.sample_bytes = mean;
	o.sample_bytes_stdev = stdev;
	CU_ASSERT_EQUAL_FATAL(dataset_init(&d, &o, 42, "/dataset", &err), 0);
	for (uint64_t i = 0; i < files; i++) {
		double size = (double)dataset_sample_bytes(&d, i);

		largest = size > (double)largest ? (uint64_t)size : largest;
		sum += size;
		squares += (size - (double)mean) * (size - (double)mean);
	}
	CU_ASSERT_EQUAL(largest, dataset_sample_bytes_max(&d));
	*mean_out = sum / (double)files;
	*stdev_out = sqrt(squares / (double)files);
}

static void test_sizes(void)
{
	static const struct {
		uint64_t files, mean, stdev;
	} cases[] = {
		{50000, 146600628, 68341808}, /* uniform */
		{168, 146600628, 68341808},
		{50000, 1000000, 577350}, /* at the edge */
		{50000, 1000000, 700000}, /* log-normal */
		{50000, 1000000, 1000000},
		{50000, 1000000, 2000000},
		{50000, 150, 40},
		{50000, 1000, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double mean, stdev;

		moments(cases[i].files, cases[i].mean, cases[i].stdev, &mean, &stdev);
		CU_ASSERT_DOUBLE_EQUAL(mean, (double)cases[i].mean, 0.02 * (double)cases[i].mean);
		CU_ASSERT_DOUBLE_EQUAL(stdev, (double)cases[i].stdev,
				       0.02 * (double)cases[i].stdev);
	}
}

static void test_keys(void)
{
	struct dataset_options o = usual();
	struct dataset d;
	struct err err = {0};
	char key[OBJECT_KEY_BYTES];

	CU_ASSERT_EQUAL_FATAL(dataset_init(&d, &o, 42, "/dataset", &err), 0);
	dataset_key(&d, 123, key);
	CU_ASSERT_STRING_EQUAL(key, "train/img_0123_of_8400.npz");
	o.subfolders = 12;
	o.folder[0] = '\0';
	CU_ASSERT_EQUAL_FATAL(dataset_init(&d, &o, 42, "/dataset", &err), 0);
	dataset_key(&d, 123, key);
	CU_ASSERT_STRING_EQUAL(key, "03/img_0123_of_8400.npz");
}

static void test_layout(void)
{
	struct dataset_options o = usual();
	struct dataset d, e;
	struct err err = {0};
	struct layout l, m;

	o.samples_per_file = 7;
	CU_ASSERT_EQUAL_FATAL(dataset_init(&d, &o, 42, "/dataset", &err), 0);
	dataset_layout(&d, 5, &l);
	CU_ASSERT_EQUAL(l.first_id, 35);
	CU_ASSERT_EQUAL(d.samples, 58800);
	CU_ASSERT_DOUBLE_EQUAL(dataset_bytes_expected(&d), 8400.0 * (double)l.size, 1);
	strcpy(o.folder, "valid");
	CU_ASSERT_EQUAL_FATAL(dataset_init(&e, &o, 42, "/dataset", &err), 0);
	dataset_layout(&e, 5, &m);
	CU_ASSERT_NOT_EQUAL(l.key, m.key);
}

static void test_160_million_files(void)
{
	struct dataset_options o = usual();
	struct dataset d;
	struct err err = {0};
	struct layout l;

	o.files = 160000000;
	o.sample_bytes_stdev = 500000;
	CU_ASSERT_EQUAL_FATAL(dataset_init(&d, &o, 42, "/dataset", &err), 0);
	dataset_layout(&d, 159999999, &l);
	CU_ASSERT_TRUE(l.sample_bytes <= dataset_sample_bytes_max(&d));
}

static void test_refusals(void)
{
	static const struct {
		const char *folder, *prefix, *says;
		uint64_t files, samples, bytes, stdev;
	} cases[] = {
		{"../x", "img", "/dataset/folder: ", 1, 1, 1, 0},
		{"/etc", "img", "/dataset/folder: ", 1, 1, 1, 0},
		{"a//b", "img", "/dataset/folder: ", 1, 1, 1, 0},
		{"a/", "img", "/dataset/folder: ", 1, 1, 1, 0},
		{"a/./b", "img", "/dataset/folder: ", 1, 1, 1, 0},
		{"a", "a/b", "/dataset/prefix: ", 1, 1, 1, 0},
		{"a", ".x", "/dataset/prefix: ", 1, 1, 1, 0},
		{"a", "img", "/dataset/samples_per_file: ", (uint64_t)1 << 40, (uint64_t)1 << 32, 1,
		 0},
		{"a", "img", "/dataset/sample_bytes_stdev: ", 1 << 30, 1, (uint64_t)1 << 47,
		 (uint64_t)1 << 47},
		{"a", "img", "/dataset/samples_per_file: ", 1 << 20, (uint64_t)1 << 32,
		 (uint64_t)1 << 48, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dataset_options o = usual();
		struct dataset d;
		struct err err = {0};

		strcpy(o.folder, cases[i].folder);
		strcpy(o.prefix, cases[i].prefix);
		o.files = cases[i].files;
		o.samples_per_file = cases[i].samples;
		o.sample_bytes = cases[i].bytes;
		o.sample_bytes_stdev = cases[i].stdev;
		CU_ASSERT_EQUAL(dataset_init(&d, &o, 42, "/dataset", &err), -EINVAL);
		CU_ASSERT_EQUAL(strncmp(err.text, cases[i].says, strlen(cases[i].says)), 0);
	}
}

static void test_existing_refusals(void)
{
	static const struct {
		const char *names, *list;
		uint32_t sizes;
		uint64_t subfolders;
		const char *says; /* "": accepted */
	} cases[] = {
		{"haul", "", SIZES_GIVEN, 4, ""},
		{"haul", "", SIZES_STAT, 0, "/dataset/sizes: \"stat\" is for files that exist"},
		{"dlio", "", SIZES_STAT, 4, ""},
		{"dlio", "", SIZES_GIVEN, 4, ""},
		{"dlioo", "", SIZES_GIVEN, 0, "/dataset/names: \"dlioo\" is neither"},
		{"{i}.npz", "", SIZES_STAT, 0, ""},
		{"{i}.npz", "", SIZES_STAT, 4, "/dataset/subfolders: \"names\" says all of a name"},
		{"{i%4}.npz", "", SIZES_STAT, 0, "/dataset/names: \"{i%4}.npz\" gives several"},
		{"haul", "a.txt", SIZES_STAT, 0, ""},
		{"haul", "a.txt", SIZES_STAT, 4, "/dataset/subfolders: \"list\" says all"},
		{"{i}", "a.txt", SIZES_STAT, 0, "/dataset/list: \"names\" gives names too"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dataset_options o = usual();
		struct dataset d;
		struct err err = {0};

		strcpy(o.names, cases[i].names);
		strcpy(o.list, cases[i].list);
		o.sizes = cases[i].sizes;
		o.subfolders = cases[i].subfolders;
		CU_ASSERT_EQUAL(dataset_init(&d, &o, 42, "/dataset", &err),
				cases[i].says[0] ? -EINVAL : 0);
		CU_ASSERT_EQUAL(strncmp(err.text, cases[i].says, strlen(cases[i].says)), 0);
	}
}

/* A file of unknown layout is read whole, or in equal parts that together contain every byte. */
static void test_parts(void)
{
	static const struct {
		uint64_t samples, size;
	} cases[] = {{1, 1}, {1, 146600628}, {7, 1000}, {1251, 143000123}, {10, 3}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dataset_options o = usual();
		struct extent extents[FORMAT_EXTENTS_MAX];
		struct dataset d;
		struct layout l;
		uint64_t at = 0;

		strcpy(o.names, "dlio");
		o.sizes = SIZES_STAT;
		o.samples_per_file = cases[i].samples;
		CU_ASSERT_EQUAL_FATAL(dataset_init(&d, &o, 42, "/dataset", NULL), 0);
		dataset_layout(&d, 5, &l);
		CU_ASSERT_EQUAL(l.size, cases[i].samples * 1000000);
		dataset_layout_found(&l, cases[i].size);
		for (uint64_t k = 0; k < cases[i].samples; k++) {
			CU_ASSERT_EQUAL(l.format->extents(&l, k, extents), 1);
			CU_ASSERT_EQUAL(extents[0].offset, at);
			at += extents[0].length;
		}
		CU_ASSERT_EQUAL(at, cases[i].size);
		CU_ASSERT_EQUAL(l.id_bytes, 0);
	}
}

/* The longest range of a csv file is the file; that of other formats is a sample with its
 * framing. */
static void test_extent_max(void)
{
	struct dataset_options o = usual();
	struct dataset d;
	struct err err = {0};

	o.samples_per_file = 100;
	o.sample_bytes = 1000;
	o.sample_bytes_stdev = 0;
	o.format = FORMAT_CSV;
	CU_ASSERT_EQUAL_FATAL(dataset_init(&d, &o, 42, "/dataset", &err), 0);
	CU_ASSERT_EQUAL(dataset_extent_bytes_max(&d), 100000);
	o.format = FORMAT_RAW;
	CU_ASSERT_EQUAL_FATAL(dataset_init(&d, &o, 42, "/dataset", &err), 0);
	CU_ASSERT_EQUAL(dataset_extent_bytes_max(&d), 1000);
	o.format = FORMAT_TFRECORD;
	CU_ASSERT_EQUAL_FATAL(dataset_init(&d, &o, 42, "/dataset", &err), 0);
	CU_ASSERT_EQUAL(dataset_extent_bytes_max(&d), 1000 + 16 + 54);
}

static void test_format_refusals(void)
{
	static const struct {
		uint32_t format;
		uint64_t samples, bytes, stdev;
		const char *says; /* "": accepted */
	} cases[] = {
		{FORMAT_PNG, 2, 4096, 0, "holds one sample, samples_per_file is 2"},
		{FORMAT_JPEG, 2, 4096, 0, "holds one sample, samples_per_file is 2"},
		{FORMAT_PNG, 1, 115, 0, "has at least 116 bytes, the smallest sample would"},
		{FORMAT_PNG, 1, 116, 0, ""},
		{FORMAT_JPEG, 1, 245, 0, "has at least 246 bytes, the smallest sample would"},
		{FORMAT_JPEG, 1, 246, 0, ""},
		{FORMAT_JPEG, 1, 1000, 2000, "the smallest sample would"},
		{FORMAT_JPEG, 1, 322957, 50000, ""},
		{FORMAT_PNG, 1, 256 << 20, 0, ""},
		{FORMAT_PNG, 1, (256 << 20) + 1, 0, "has at most 268435456 bytes here"},
		{FORMAT_CSV, 9, 24, 0, "has at least 25 bytes, the smallest sample would have 24"},
		{FORMAT_CSV, 9, 25, 0, ""},
		{FORMAT_TFRECORD, 1251, 114660, 0, ""},
		{FORMAT_TFRECORD, 1, (uint64_t)2 << 30, 0, "holds less than 2 GiB"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dataset_options o = usual();
		struct dataset d;
		struct err err = {0};
		int rc;

		o.format = cases[i].format;
		o.samples_per_file = cases[i].samples;
		o.sample_bytes = cases[i].bytes;
		o.sample_bytes_stdev = cases[i].stdev;
		rc = dataset_init(&d, &o, 42, "/dataset", &err);
		CU_ASSERT_EQUAL(rc, cases[i].says[0] ? -EINVAL : 0);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].says));
		if (rc < 0)
			CU_ASSERT_EQUAL(strncmp(err.text, "/dataset/format: ", 17), 0);
	}
}

static void test_chunk_refusals(void)
{
	static const struct {
		uint64_t samples, bytes, chunk_samples;
		const char *says; /* "": accepted */
	} cases[] = {
		{4, 1000, 4, ""},
		{4, 1000, 5, "at most the samples of a file, 4, chunk_samples is 5"},
		{8, 1 << 30, 4, "less than 4 GiB, 4 samples (chunk_samples)"},
		{8, 1 << 30, 3, ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dataset_options o;
		struct dataset d;
		struct err err = {0};
		char json[160];

		snprintf(json, sizeof(json),
			 "{\"format\": \"hdf5\", \"hdf5\": {\"chunk_samples\": %d}}",
			 (int)cases[i].chunk_samples);
		variant_parse(&o, json);
		o.samples_per_file = cases[i].samples;
		o.sample_bytes = cases[i].bytes;
		CU_ASSERT_EQUAL(dataset_init(&d, &o, 42, "/dataset", &err),
				cases[i].says[0] ? -EINVAL : 0);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].says));
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"sizes have the mean and deviation asked for", test_sizes},
		{"keys", test_keys},
		{"layouts", test_layout},
		{"160 million files", test_160_million_files},
		{"refusals name the place", test_refusals},
		{"what a format cannot hold", test_format_refusals},
		{"chunks that no file holds", test_chunk_refusals},
		{"refusals of existing files", test_existing_refusals},
		{"parts", test_parts},
		{"the longest range", test_extent_max},
		CU_TEST_INFO_NULL,
	};

	return unit_main("dataset", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of manifests: text, differences between data sets, and the check before reading. */
#include "workloads/dataset/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/backends/rig.h"
#include "tests/libs/doubles/thread_group.h"
#include "tests/unit.h"
#include "tests/workloads/formats/variants.h"

static struct dataset usual(void)
{
	struct dataset_options o = {.format = FORMAT_NPY,
				    .files = 8400,
				    .samples_per_file = 4,
				    .sample_bytes = 1000000,
				    .sample_bytes_stdev = 20,
				    .folder = "train",
				    .prefix = "img",
				    .subfolders = 7,
				    .store = "data"};
	struct dataset d;

	CU_ASSERT_EQUAL_FATAL(dataset_init(&d, &o, UINT64_MAX - 1, "/dataset", NULL), 0);
	return d;
}

static void test_text_and_back(void)
{
	struct dataset d = usual();
	struct manifest m, back;
	struct err err = {0};
	char *text;

	for (int complete = 0; complete < 2; complete++) {
		manifest_of(&m, &d, complete);
		text = manifest_text(&m);
		CU_ASSERT_PTR_NOT_NULL_FATAL(text);
		CU_ASSERT_PTR_NULL(strstr(text, "store"));
		CU_ASSERT_EQUAL(manifest_parse(&back, text, strlen(text), &err), 0);
		CU_ASSERT_EQUAL(back.complete, complete);
		CU_ASSERT_EQUAL(back.seed, UINT64_MAX - 1);
		CU_ASSERT_EQUAL(manifest_matches(&back, &d, "file:///x", &err), 0);
		manifest_free(&back);
		free(text);
	}
}

static void test_differences(void)
{
	struct dataset d = usual();
	struct manifest m;
	struct err err = {0};

	manifest_of(&m, &d, true);
	m.seed = 42;
	CU_ASSERT_EQUAL(manifest_matches(&m, &d, "file:///x", &err), -EEXIST);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(err.text,
		       "file:///x/train/.haul-manifest.json: this data set was made with seed 42, "
		       "this job says 18446744073709551614"));
	manifest_of(&m, &d, true);
	m.dataset.format = FORMAT_NPZ;
	CU_ASSERT_EQUAL(manifest_matches(&m, &d, "file:///x", &err), -EEXIST);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "made with format \"npz\", this job says \"npy\""));
	manifest_of(&m, &d, true);
	m.dataset.subfolders = 0;
	CU_ASSERT_EQUAL(manifest_matches(&m, &d, "file:///x", &err), -EEXIST);
}

/* A data set of parquet files, with rows of 16 bytes. */
static struct dataset rows(unsigned row_group, const char *columns)
{
	struct dataset_options o;
	struct err err = {0};
	struct dataset d;
	char json[256];

	snprintf(
		json, sizeof(json),
		"{\"format\": \"parquet\", \"files\": 3, \"samples_per_file\": 10, \"sample_bytes\": 16,"
		" \"parquet\": {\"row_group\": %u, \"columns\": %s}}",
		row_group, columns);
	variant_parse(&o, json);
	CU_ASSERT_EQUAL_FATAL(dataset_init(&d, &o, 1, "/dataset", &err), 0);
	return d;
}

/* The manifest contains the options of the format, including lists. */
static void test_format_options(void)
{
	static const char made[] = "[\"4 int16\", \"float64 read\"]";
	struct dataset d = rows(5, made), other;
	struct manifest m, back;
	struct err err = {0};
	char *text;

	manifest_of(&m, &d, true);
	text = manifest_text(&m);
	CU_ASSERT_PTR_NULL(strstr(text, "hdf5"));
	CU_ASSERT_EQUAL_FATAL(manifest_parse(&back, text, strlen(text), &err), 0);
	CU_ASSERT_EQUAL(manifest_matches(&back, &d, "file:///x", &err), 0);
	other = rows(6, made);
	CU_ASSERT_EQUAL(manifest_matches(&back, &other, "file:///x", &err), -EEXIST);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "was made with parquet {"));
	other = rows(5, "[\"2 int16\", \"int32\", \"float64 read\"]");
	CU_ASSERT_EQUAL(manifest_matches(&back, &other, "file:///x", &err), -EEXIST);
	manifest_free(&back);
	free(text);
}

static void test_rubbish(void)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"null",
		"{}",
		"{\"haul_manifest\": 1}",
		"{\"haul_manifest\": 1, \"made_by\": \"haul\", \"complete\": true, \"seed\": 42, \"dataset\": {}}",
		"{\"haul_manifest\": 1, \"made_by\": \"haul\", \"complete\": true, \"seed\": \"-1\", \"dataset\": {}}",
		"{\"haul_manifest\": 1, \"made_by\": \"haul\", \"complete\": true, \"seed\": \"99999999999999999999\", "
		"\"dataset\": {}}",
		"{\"haul_manifest\": 1, \"made_by\": \"haul\", \"complete\": true, \"seed\": \"1\", \"dataset\": {}}",
		"{\"haul_manifest\": 1, \"made_by\": \"haul\", \"complete\": true, \"seed\": \"1\", "
		"\"dataset\": {\"files\": 0, \"sample_bytes\": 1}}",
		"{\"haul_manifest\": 1, \"made_by\": \"haul\", \"complete\": 1, \"seed\": \"1\", "
		"\"dataset\": {\"files\": 1, \"sample_bytes\": 1}}",
		"{\"haul_manifest\": 1, \"made_by\": \"haul\", \"complete\": true, \"seed\": \"1\", "
		"\"dataset\": {\"files\": 1, \"sample_bytes\": 1, \"x\": 1}}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct manifest m;
		struct err err = {0};

		CU_ASSERT_EQUAL(manifest_parse(&m, texts[i], strlen(texts[i]), &err), -EINVAL);
		CU_ASSERT_NOT_EQUAL(err.text[0], '\0');
	}
}

struct check_run {
	struct dataset d; /* as rank 2 has it after the check */
	struct store *store;
	struct err err;
};

static int check_on_rank(struct group *g, void *argument)
{
	struct check_run *a = argument;
	struct dataset d = a->d;
	struct err err = {0};
	int rc = manifest_check(&d, a->store, g, &err);

	if (g->rank == 0)
		a->err = err;
	group_barrier(g);
	if (g->rank == 2)
		a->d = d;
	return rc;
}

static struct dataset expect(const struct dataset *d, struct store *store, int rc, const char *says)
{
	struct check_run a = {.d = *d, .store = store};

	CU_ASSERT_EQUAL(thread_group_run(3, check_on_rank, &a, NULL), rc);
	CU_ASSERT_PTR_NOT_NULL(strstr(a.err.text, says));
	if (!strstr(a.err.text, says))
		fprintf(stderr, "%s\n", a.err.text);
	return a.d;
}

/* The first files of a larger set have the same names and sizes as in that set. */
static void expect_part(const struct dataset *whole, const struct dataset *part)
{
	char one[OBJECT_KEY_BYTES], other[OBJECT_KEY_BYTES];

	CU_ASSERT_EQUAL(part->set_files, whole->options.files);
	CU_ASSERT_EQUAL(part->samples, part->options.files * part->options.samples_per_file);
	CU_ASSERT_EQUAL(dataset_sample_bytes_max(part), dataset_sample_bytes_max(whole));
	for (uint64_t i = 0; i < part->options.files; i++) {
		dataset_key(whole, i, one);
		dataset_key(part, i, other);
		CU_ASSERT_STRING_EQUAL(one, other);
		CU_ASSERT_EQUAL(dataset_sample_bytes(whole, i), dataset_sample_bytes(part, i));
	}
}

/* Before a phase reads, the manifest must show that this data set is complete; otherwise a sentence
 * says what to do. */
static void test_check_before_reading(void)
{
	char folder[] = "/tmp/haul-manifest-XXXXXX", json[96], command[96];
	struct dataset d = usual(), other = usual();
	struct dataset_options fewer;
	struct manifest m;
	struct queue q;
	struct rig rig;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
	snprintf(json, sizeof(json), "{\"uri\": \"file://%s/data\"}", folder);
	rig_init(&rig);
	CU_ASSERT_EQUAL_FATAL(rig_open(&rig, json), 0);
	expect(&d, &rig.store, -ENOENT, "/data/train; run `haul generate JOB` first");
	CU_ASSERT_EQUAL_FATAL(queue_open(&q, &rig.store, 1, NULL), 0);
	manifest_of(&m, &d, false);
	CU_ASSERT_EQUAL(manifest_save(&m, &q, NULL), 0);
	expect(&d, &rig.store, -EINVAL, "is not complete; run `haul generate JOB` to finish it");
	manifest_of(&m, &d, true);
	CU_ASSERT_EQUAL(manifest_save(&m, &q, NULL), 0);
	expect(&d, &rig.store, 0, "");
	other.seed = 7;
	expect(&other, &rig.store, -EEXIST,
	       "was made with seed 18446744073709551614, this job says 7");
	fewer = d.options;
	fewer.files = 84;
	CU_ASSERT_EQUAL(dataset_init(&other, &fewer, d.seed, "/dataset", NULL), 0);
	other = expect(&other, &rig.store, 0, "");
	expect_part(&d, &other);
	other.options.files = 8401;
	expect(&other, &rig.store, -EEXIST, "was made with files 8400, this job says 8401");
	other = d;
	/* Files that haul did not make have no manifest. */
	other.existing = true;
	expect(&other, &rig.store, 0, "");
	queue_close(&q);
	rig_close(&rig);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	CU_ASSERT_EQUAL(system(command), 0);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"text and back", test_text_and_back},
		{"the first difference is named", test_differences},
		{"options of the format", test_format_options},
		{"rubbish is refused", test_rubbish},
		{"check before reading", test_check_before_reading},
		CU_TEST_INFO_NULL,
	};

	return unit_main("manifest", tests);
}

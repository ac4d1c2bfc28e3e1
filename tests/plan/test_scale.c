/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of data sets that grow with the number of ranks: their numbers of files, computed by
 * hand. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"
#include "tests/unit.h"
#include "workloads/dataset/dataset.h"

static const char template[] =
	"{\"name\":\"weak\",\"stores\":{\"d\":{\"uri\":\"null://x\"}},\"cluster\":{\"tensor\":%u},"
	"\"dataset\":{\"store\":\"d\",\"format\":\"raw\",\"sample_bytes\":1000,%s},"
	"\"phases\":[{\"generate\":{}},{\"train\":{\"batch\":7,\"readers\":\"%s\"}}%s]}";

/* The number of files of such a data set for so many ranks. err.text is empty if the number could
 * be computed. */
static uint64_t scaled(unsigned tensor, const char *dataset, const char *readers, const char *more,
		       uint32_t ranks, struct err *err)
{
	const struct dataset_options *options;
	uint64_t files = 0;
	struct job job;
	char text[1024];

	err->text[0] = '\0';
	snprintf(text, sizeof(text), template, tensor, dataset, readers, more);
	if (job_parse(&job, plan_schema(), "job", text, strlen(text), NULL, 0, err) < 0)
		return 0;
	if (plan_scale(&job, ranks, 1, err) == 0) {
		options = job.datasets[0].options;
		files = options->files;
	}
	job_free(&job);
	return files;
}

static void test_files(void)
{
	static const struct {
		const char *dataset, *readers;
		unsigned tensor;
		uint32_t ranks;
		uint64_t files;
	} cases[] = {
		{"\"files\":99", "all", 1, 8, 99},
		{"\"files_per_rank\":3500", "all", 1, 1, 3500},
		{"\"files_per_rank\":3500,\"files\":99", "all", 1, 2, 7000},
		{"\"files_per_rank\":3500", "all", 1, 6144, 21504000},
		/* 500 steps of 7 samples on 12 x 512 ranks */
		{"\"steps_per_epoch\":500", "all", 1, 6144, 21504000},
		/* 64 ranks are 8 replicas of 8 ranks; one rank of each reads 7 samples per step */
		{"\"steps_per_epoch\":10", "replica", 8, 64, 560},
		{"\"steps_per_epoch\":10", "tensor", 8, 64, 560},
		/* 10 x 7 x 3 samples in files of 4: 52.5 files */
		{"\"steps_per_epoch\":10,\"samples_per_file\":4", "all", 1, 3, 53},
	};
	struct err err;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CU_ASSERT_EQUAL(scaled(cases[i].tensor, cases[i].dataset, cases[i].readers, "",
				       cases[i].ranks, &err),
				cases[i].files);
		CU_ASSERT_STRING_EQUAL(err.text, "");
	}
}

/* Phases may have different batches where the number of files does not follow from them. */
static void test_different_batches(void)
{
	static const char more[] = ",{\"train\":{\"name\":\"other\",\"batch\":8}}";
	struct err err;

	CU_ASSERT_EQUAL(scaled(1, "\"files\":99", "all", more, 8, &err), 99);
	CU_ASSERT_STRING_EQUAL(err.text, "");
	CU_ASSERT_EQUAL(scaled(1, "\"files_per_rank\":3", "all", more, 8, &err), 24);
	CU_ASSERT_STRING_EQUAL(err.text, "");
}

static void test_refusals(void)
{
	static const struct {
		const char *dataset, *more, *says;
	} cases[] = {
		{"\"files_per_rank\":3,\"steps_per_epoch\":4", "",
		 "/dataset/steps_per_epoch: files_per_rank gives the number of files too"},
		{"\"steps_per_epoch\":4", ",{\"train\":{\"batch\":8}}",
		 "phases with different batches train on this data set"},
		{"\"files_per_rank\":1099511627776", "",
		 "comes to more than 2^40 files on 8 ranks"},
	};
	struct err err;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CU_ASSERT_EQUAL(scaled(1, cases[i].dataset, "all", cases[i].more, 8, &err), 0);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].says));
		if (!strstr(err.text, cases[i].says))
			fprintf(stderr, "%s\n", err.text);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"numbers of files", test_files},
		{"phases with different batches", test_different_batches},
		{"refusals", test_refusals},
		CU_TEST_INFO_NULL,
	};

	return unit_main("scale", tests);
}

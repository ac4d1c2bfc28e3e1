/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of files that are read as streams, on thread ranks: every record comes once, its id is
 * found wherever pieces end, and each byte is requested once. */
#include <stdio.h>

#include "tests/unit.h"
#include "tests/workloads/train/train_fixture.h"

static struct fixture *run(const char *format, int files, int per_file, int bytes, uint32_t ranks,
			   const char *train)
{
	char job[1024];

	snprintf(
		job, sizeof(job),
		"{\"name\":\"t\",\"seed\":3,\"stores\":{\"s\":{\"uri\":\"mem://t\"}},\"dataset\":{\"store\":\"s\","
		"\"format\":\"%s\",\"files\":%d,\"samples_per_file\":%d,\"sample_bytes\":%d},"
		"\"phases\":[{\"generate\":{}},{\"train\":{\"null_steps\":0,\"verify\":\"full\",%s}}]}",
		format, files, per_file, bytes, train);
	return fixture_of(job, ranks);
}

static uint64_t reads(const struct fixture *f)
{
	uint64_t n = 0;

	for (uint32_t r = 0; r < f->ranks; r++)
		n += hist_count(&f->tallies[r].hists[TRAIN_HIST_READ]);
	return n;
}

static void each_once(void)
{
	static const struct {
		uint32_t ranks;
		int files, per_file, bytes;
		const char *format, *train;
		uint64_t used, moved, requests; /* per epoch; 0: files are not read completely */
	} cases[] = {
		/* 4,096 / 1,000: records and ids cross pieces. A file of 7,000 bytes has two
		 * pieces. */
		{1, 3, 7, 1000, "raw",
		 "\"batch\":3,\"loader\":{\"kind\":\"stream\",\"workers\":0,\"stream\":{\"interleave\":1,"
		 "\"transfer\":4096}}",
		 21, 21000, 6},
		{1, 3, 7, 1000, "raw",
		 "\"batch\":3,\"loader\":{\"kind\":\"stream\",\"workers\":2,\"stream\":{\"interleave\":2,"
		 "\"transfer\":4096}},\"shuffle\":{\"window\":5}",
		 21, 21000, 6},
		/* A record of 20,000 bytes has five or six pieces, and its id is in the first. */
		{2, 4, 3, 20000, "raw",
		 "\"batch\":2,\"loader\":{\"kind\":\"stream\",\"workers\":1,\"stream\":{\"interleave\":3,"
		 "\"transfer\":4096}},\"shuffle\":\"none\"",
		 12, 240000, 60},
		/* Each record has 84 more bytes: 11 x 2,084 = 22,924 bytes are six pieces. */
		{2, 8, 11, 2000, "tfrecord",
		 "\"batch\":4,\"epochs\":2,\"loader\":{\"kind\":\"stream\",\"workers\":3,\"stream\":{\"interleave\":4,"
		 "\"transfer\":4096}}",
		 88, 0, 48},
		{3, 10, 5, 2000, "tfrecord",
		 "\"batch\":4,\"epochs\":2,\"loader\":{\"kind\":\"stream\",\"workers\":4,\"stream\":{\"interleave\":2}},"
		 "\"sync\":\"none\"",
		 36, 0, 0},
		/* There are fewer files than ranks: each rank reads both files of 7,000 bytes and
		 * uses one record in eight. */
		{8, 2, 16, 1000, "raw",
		 "\"batch\":2,\"loader\":{\"kind\":\"stream\",\"workers\":2,\"stream\":{\"interleave\":2}}",
		 32, 0, 16},
		{64, 130, 4, 300, "tfrecord",
		 "\"batch\":3,\"loader\":{\"kind\":\"stream\",\"workers\":1}", 384, 0, 0},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture *f = run(cases[i].format, cases[i].files, cases[i].per_file,
					cases[i].bytes, cases[i].ranks, cases[i].train);
		uint32_t epochs;

		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_EQUAL(f->rc[0], 0);
		if (f->rc[0])
			printf("case %u: %s\n", i, f->err[0].text);
		epochs = train_epochs(&f->tallies[0]);
		for (uint32_t e = 0; e < epochs; e++) {
			CU_ASSERT_EQUAL(fixture_epoch_sum(f, e, EPOCH_SAMPLES), cases[i].used);
			CU_ASSERT_EQUAL(fixture_epoch_sum(f, e, EPOCH_PROVEN), f->ranks);
			if (cases[i].moved)
				CU_ASSERT_EQUAL(fixture_epoch_sum(f, e, EPOCH_BYTES_READ),
						cases[i].moved);
		}
		CU_ASSERT_EQUAL(fixture_sum(f, TRAIN_IDS_FROM_BYTES), cases[i].used * epochs);
		CU_ASSERT_EQUAL(fixture_sum(f, TRAIN_LOGICAL_BYTES),
				cases[i].used * epochs * (uint64_t)cases[i].bytes);
		if (cases[i].requests)
			CU_ASSERT_EQUAL(reads(f), cases[i].requests * epochs);
		CU_ASSERT(fixture_accounts_add_up(f));
		fixture_free(f);
	}
}

/* An epoch that is cut in its middle is still proven, from the samples that left the shuffle
 * buffer. */
static void cut(void)
{
	struct fixture *f = run(
		"tfrecord", 9, 20, 500, 3,
		"\"batch\":4,\"epochs\":3,\"steps\":20,\"loader\":{\"kind\":\"stream\",\"workers\":2},"
		"\"shuffle\":{\"window\":13}");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(f->rc[0], 0);
	CU_ASSERT_EQUAL(train_epochs(&f->tallies[0]), 2); /* 15 steps, then 5 */
	CU_ASSERT_EQUAL(fixture_epoch_sum(f, 1, EPOCH_SAMPLES), 5 * 12);
	CU_ASSERT_EQUAL(fixture_epoch_sum(f, 1, EPOCH_PROVEN), 3);
	fixture_free(f);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"each record once, each byte once", each_once},
		{"an epoch cut in its middle", cut},
		CU_TEST_INFO_NULL,
	};

	return unit_main("stream", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the phase "train" as a whole, on thread ranks: the samples that are read, the figures,
 * and what stops it. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/queue/queue.h"
#include "core/content/random.h"
#include "tests/unit.h"
#include "tests/workloads/train/train_fixture.h"
#include "workloads/train/proof.h"

#define MEMORY_JOB \
	"{\"name\":\"t\",\"seed\":%d,\"stores\":{\"s\":{\"uri\":\"mem://t\",\"transfer\":\"64 KiB\"}}," \
	"\"dataset\":{\"store\":\"s\",\"format\":\"%s\",\"files\":%d,\"samples_per_file\":%d,\"sample_bytes\":%d}," \
	"\"phases\":[{\"generate\":{}},{\"train\":{\"null_steps\":0,%s}}]}"

#define EMPTY_JOB \
	"{\"name\":\"t\",\"stores\":{\"s\":{\"uri\":\"%s\"}}," \
	"\"dataset\":{\"store\":\"s\",\"format\":\"raw\",\"files\":%d,\"sample_bytes\":100000}," \
	"\"phases\":[{\"train\":{%s}}]}"

static struct fixture *run(uint32_t ranks, const char *format, ...)
{
	char job[2048];
	va_list list;

	va_start(list, format);
	vsnprintf(job, sizeof(job), format, list);
	va_end(list);
	return fixture_of(job, ranks);
}

/* Every sample outside the tail occurs once per epoch, with the id in its bytes, whatever the
 * numbers and the loader. */
static void each_once(void)
{
	static const struct {
		uint32_t ranks;
		int files, per_file, bytes;
		const char *format, *train;
		uint64_t batch;
	} cases[] = {
		{1, 17, 1, 5000, "raw",
		 "\"batch\":3,\"epochs\":2,\"loader\":{%s,\"workers\":2},\"verify\":\"full\"", 3},
		{1, 11, 3, 70000, "npz",
		 "\"batch\":4,\"epochs\":2,\"loader\":{%s,\"workers\":0},\"verify\":\"full\"", 4},
		{2, 23, 1, 200001, "npy",
		 "\"batch\":5,\"epochs\":3,\"loader\":{%s,\"workers\":3,\"prefetch\":1}", 5},
		{3, 41, 2, 9001, "npz",
		 "\"batch\":2,\"epochs\":2,\"sync\":\"epoch\",\"loader\":{%s,\"workers\":5}", 2},
		{8, 67, 1, 4099, "raw",
		 "\"batch\":3,\"epochs\":3,\"sync\":\"none\",\"loader\":{%s,\"workers\":1}", 3},
		{8, 13, 7, 4099, "raw",
		 "\"batch\":5,\"epochs\":2,\"shuffle\":{\"whole_files\":true},\"loader\":{%s,\"prefetch\":3}",
		 5},
		{3, 14, 9, 4099, "raw",
		 "\"batch\":2,\"epochs\":2,\"shuffle\":{\"window\":10},\"loader\":{%s,\"workers\":2}",
		 2},
		{2, 5, 40, 500, "parquet",
		 "\"batch\":7,\"epochs\":3,\"loader\":{%s,\"workers\":3},\"verify\":\"full\"", 7},
		{3, 4, 31, 700, "indexed_binary",
		 "\"batch\":5,\"epochs\":2,\"shuffle\":{\"whole_files\":true},\"loader\":{%s,\"workers\":2}",
		 5},
		{2, 6, 19, 3000, "tfrecord",
		 "\"batch\":3,\"epochs\":2,\"sync\":\"none\",\"loader\":{%s,\"workers\":0}", 3},
		{64, 331, 1, 1000, "raw", "\"batch\":2,\"epochs\":2,\"loader\":{%s,\"workers\":2}",
		 2},
	};

	static const char *const loaders[] = {
		"\"kind\":\"pytorch\"",
		"\"kind\":\"sample\"",
		"\"kind\":\"batch\"",
		"\"kind\":\"pytorch\",\"pin_memory\":true",
		"\"kind\":\"sample\",\"pin_memory\":true,\"depth\":4",
		"\"kind\":\"batch\",\"depth\":2",
	};
	enum {
		CASES = sizeof(cases) / sizeof(cases[0]),
		LOADERS = sizeof(loaders) / sizeof(*loaders)
	};

	for (unsigned i = 0; i < CASES * LOADERS; i++) {
		unsigned c = i % CASES;
		bool large = cases[c].ranks == 64; /* all loaders only in test_train_full */
		uint64_t samples = (uint64_t)cases[c].files * (uint64_t)cases[c].per_file, used;
		struct fixture *f;
		char train[256];

		if (large && !unit_full() && i >= CASES)
			continue;
		snprintf(train, sizeof(train), cases[c].train, loaders[i / CASES]);
		f = run(cases[c].ranks, MEMORY_JOB, 42, cases[c].format, cases[c].files,
			cases[c].per_file, cases[c].bytes, train);
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		used = samples - samples % (cases[c].batch * cases[c].ranks);
		CU_ASSERT_EQUAL(f->rc[0], 0);
		if (f->rc[0])
			printf("case %u, %s: %s\n", c, loaders[i / CASES], f->err[0].text);
		for (uint32_t e = 0; e < train_epochs(&f->tallies[0]); e++) {
			CU_ASSERT_EQUAL(fixture_epoch_sum(f, e, EPOCH_SAMPLES), used);
			CU_ASSERT_EQUAL(fixture_epoch_sum(f, e, EPOCH_ID_HASH),
					fixture_epoch_sum(f, e, EPOCH_EXPECTED_ID_HASH));
			CU_ASSERT_EQUAL(fixture_epoch_sum(f, e, EPOCH_PROVEN), f->ranks);
		}
		/* In parquet, the ids of a row group arrive with its first sample. */
		if (strcmp(cases[c].format, "parquet") != 0)
			CU_ASSERT_EQUAL(fixture_sum(f, TRAIN_IDS_FROM_BYTES),
					used * train_epochs(&f->tallies[0]));
		CU_ASSERT(fixture_sum(f, TRAIN_IDS_FROM_BYTES) > 0);
		CU_ASSERT_EQUAL(fixture_sum(f, TRAIN_LOGICAL_BYTES),
				used * train_epochs(&f->tallies[0]) * (uint64_t)cases[c].bytes);
		CU_ASSERT(fixture_accounts_add_up(f));
		fixture_free(f);
	}
}

/* A limit of steps ends all ranks in the middle of an epoch, at the same step; the proof covers the
 * samples before it. */
static void limit_of_steps(void)
{
	struct fixture *f = run(3, MEMORY_JOB, 1, "raw", 50, 1, 3000,
				"\"batch\":2,\"epochs\":4,\"steps\":11,\"sync\":\"none\"");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(f->rc[0], 0);
	CU_ASSERT_EQUAL(train_epochs(&f->tallies[0]), 2); /* 8 steps, then 3 */
	CU_ASSERT_EQUAL(fixture_epoch_sum(f, 1, EPOCH_SAMPLES), 3 * 6);
	CU_ASSERT_EQUAL(fixture_epoch_sum(f, 1, EPOCH_PROVEN), 3);
	CU_ASSERT_EQUAL(f->tallies[2].rank_row[TRAIN_STEPS], 11);
	fixture_free(f);

	/* With a shuffle buffer, the samples that left it before the limit are known, too. */
	f = run(3, MEMORY_JOB, 1, "raw", 50, 1, 3000,
		"\"batch\":2,\"epochs\":4,\"steps\":11,\"shuffle\":{\"window\":7}");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(f->rc[0], 0);
	CU_ASSERT_EQUAL(fixture_epoch_sum(f, 1, EPOCH_SAMPLES), 3 * 6);
	CU_ASSERT_EQUAL(fixture_epoch_sum(f, 1, EPOCH_PROVEN), 3);
	fixture_free(f);
}

static void evaluates(void)
{
	static const char job[] =
		"{\"name\":\"t\",\"stores\":{\"s\":{\"uri\":\"null://t\"}},"
		"\"datasets\":{\"a\":{\"store\":\"s\",\"format\":\"raw\",\"files\":20,\"sample_bytes\":1000},"
		"\"b\":{\"store\":\"s\",\"format\":\"npz\",\"files\":9,\"sample_bytes\":1000}},"
		"\"phases\":[{\"train\":{\"dataset\":\"a\",\"null_steps\":0,\"epochs\":4,\"batch\":3,\"compute\":\"1 ms\","
		"\"sync\":\"%s\",\"evaluation\":{\"dataset\":\"b\",\"every\":2,\"batch\":2,\"compute\":\"2 ms\"}}}]}";
	static const char *const syncs[] = {"step", "epoch", "none"};
	static const uint64_t epoch[] = {1, 2, 2, 3, 4, 4}, evaluation[] = {0, 0, 1, 0, 0, 1};
	char text[1024];

	for (unsigned s = 0; s < 3; s++) {
		struct fixture *f;

		snprintf(text, sizeof(text), job, syncs[s]);
		f = fixture_of(text, 2);
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_EQUAL(f->rc[0], 0);
		CU_ASSERT_EQUAL_FATAL(train_epochs(&f->tallies[1]), 6);
		for (unsigned e = 0; e < 6; e++) {
			const uint64_t *row = train_epoch_row(&f->tallies[1], e);

			CU_ASSERT_EQUAL(row[EPOCH_NUMBER], epoch[e]);
			CU_ASSERT_EQUAL(row[EPOCH_EVALUATION], evaluation[e]);
			CU_ASSERT_EQUAL(row[EPOCH_STEPS], evaluation[e] ? 2 : 3);
			CU_ASSERT_EQUAL(row[EPOCH_PROVEN], 1);
		}
		CU_ASSERT(fixture_accounts_add_up(f));
		fixture_free(f);
	}
}

/* The copy into pinned memory takes place, and the time that a step waits for it is in its account:
 * 10 batches of 6.4 MB exceed the bound unless a machine copies at 1 TB/s. */
static void copies_are_counted(void)
{
	static const char *const loaders[] = {"\"workers\":0", "\"workers\":1,\"prefetch\":1"};

	for (unsigned i = 0; i < sizeof(loaders) / sizeof(loaders[0]); i++) {
		char train[128];
		struct fixture *f;

		snprintf(train, sizeof(train),
			 "\"batch\":64,\"null_steps\":0,\"loader\":{%s,\"pin_memory\":true}",
			 loaders[i]);
		f = run(1, EMPTY_JOB, "null://x", 640, train);
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_EQUAL(f->rc[0], 0);
		CU_ASSERT(fixture_sum(f, TRAIN_ACCOUNTS + ACCOUNT_COPY) > 10 * 6400);
		CU_ASSERT(fixture_accounts_add_up(f));
		fixture_free(f);
	}
}

static void *ask_later(void *argument)
{
	struct timespec t = {.tv_nsec = 150000000};

	nanosleep(&t, NULL);
	stop_ask(argument, STOP_SIGNAL);
	return NULL;
}

/* A stop in the middle of the phase ends all ranks before a compute or a read of one minute is
 * over. test_train_time.c tests how soon. */
static void stops_when_asked(void)
{
	static const char *const trains[] = {
		"\"null_steps\":0,\"compute\":\"2 ms\",\"sync\":\"step\"",
		"\"null_steps\":0,\"compute\":\"2 ms\",\"sync\":\"epoch\"",
		"\"null_steps\":0,\"compute\":\"2 ms\",\"sync\":\"none\",\"loader\":{\"workers\":0}",
		"\"null_steps\":0,\"compute\":\"60 s\",\"sync\":\"step\"",
		"\"null_steps\":0,\"compute\":\"60 s\",\"sync\":\"none\"",
		"\"null_steps\":0,\"preprocess\":\"60 s\",\"sync\":\"none\"",
		"\"null_steps\":0,\"preprocess\":\"60 s\",\"sync\":\"step\",\"loader\":{\"workers\":0}",
		"\"null_steps\":0,\"compute\":\"60 s\",\"sync\":\"step\",\"loader\":\"sample\"",
		"\"null_steps\":0,\"preprocess\":\"60 s\",\"sync\":\"none\",\"loader\":\"sample\"",
		("\"null_steps\":0,\"preprocess\":\"60 s\",\"sync\":\"step\",\"batch\":4,"
		 "\"loader\":{\"kind\":\"batch\",\"pin_memory\":true}"),
		"\"null_steps\":0,\"sync\":\"step\",\"loader\":{\"h2d\":\"1 KB/s\"}",
	};

	for (unsigned i = 0; i < sizeof(trains) / sizeof(trains[0]); i++) {
		struct fixture *f;
		char job[1024];
		pthread_t asker;

		snprintf(job, sizeof(job), EMPTY_JOB, "null://x", 10000000, trains[i]);
		f = fixture_new(job);
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		pthread_create(&asker, NULL, ask_later, &f->stop);
		fixture_run(f, 3);
		pthread_join(asker, NULL);
		for (uint32_t r = 0; r < 3; r++) {
			CU_ASSERT_EQUAL(f->rc[r], 0);
			CU_ASSERT_EQUAL(f->stopped[r], STOP_SIGNAL);
		}
		CU_ASSERT(f->seconds_ns < 60000000000);
		CU_ASSERT(fixture_accounts_add_up(f));
		fixture_free(f);
	}
}

/* Damages one object between the phases. */
static void damage(struct fixture *f, struct group *g, struct group *node, bool remove)
{
	const struct job_store *described = &f->job.stores[0];
	struct rank_place place = {.rank = g->rank,
				   .ranks = g->size,
				   .nodes = 1,
				   .local_ranks = g->size,
				   .local_rank = g->rank};
	struct log log = {.fd = -1};
	struct object object = {.size = 0};
	uint8_t bytes[3000] = {1, 2, 3};
	struct store store;
	struct dataset d;
	struct queue q;
	struct err err;

	store_open(&store, described,
		   &(struct store_opener){.place = &place,
					  .all = g,
					  .node = node,
					  .clock = &f->clock,
					  .log = &log,
					  .seed = f->job.seed},
		   &err);
	if (g->rank == 0) {
		dataset_init(&d, f->job.datasets[0].options, f->job.seed, "/dataset", &err);
		dataset_key(&d, 5, object.key);
		queue_open(&q, &store, 1, &err);
		if (remove) {
			queue_do(&q, &(struct request){.op = REQ_DELETE, .object = &object});
		} else {
			queue_do(&q, &(struct request){.op = REQ_BEGIN,
						       .object = &object,
						       .length = sizeof(bytes)});
			queue_do(&q, &(struct request){.op = REQ_WRITE,
						       .object = &object,
						       .length = sizeof(bytes),
						       .data = bytes});
			queue_do(&q, &(struct request){.op = REQ_COMMIT, .object = &object});
		}
		queue_close(&q);
	}
	group_barrier(g);
	store_close(&store);
}

static void remove_one(struct fixture *f, struct group *g, struct group *node)
{
	damage(f, g, node, true);
}

static void overwrite_one(struct fixture *f, struct group *g, struct group *node)
{
	damage(f, g, node, false);
}

/* A bad file that would stay open: each of its samples fails, and no other sample does. */
static void errors_in_open_files(void)
{
	static const char *const kinds[] = {"pytorch", "sample", "batch"};
	static const char *const orders[] = {"\"each_epoch\"", "\"none\""};
	unsigned open = 0;

	for (unsigned i = 0; i < 2 * 2 * 3 * FORMATS_COUNT; i++) {
		const char *format = format_names[i / 12];
		bool shuffled = i / 2 % 2 == 0;
		struct fixture *f;
		char job[1024], train[160];

		if (!format_table()[i / 12]->stays_open)
			continue;
		open++;
		snprintf(train, sizeof(train),
			 "\"batch\":3,\"epochs\":2,\"on_error\":\"count\",\"loader\":\"%s\","
			 "\"verify\":\"full\",\"shuffle\":%s",
			 kinds[i / 4 % 3], orders[!shuffled]);
		snprintf(job, sizeof(job), MEMORY_JOB, 42, format, 12, 5, 3000, train);
		f = fixture_new(job);
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		f->between = i % 2 ? remove_one : overwrite_one;
		fixture_run(f, 4);
		CU_ASSERT_EQUAL(f->rc[0], 0);
		CU_ASSERT_EQUAL(fixture_sum(f, TRAIN_SAMPLES_FAILED), 10);
		CU_ASSERT_EQUAL(fixture_sum(f, TRAIN_SAMPLES), 110);
		if (fixture_sum(f, TRAIN_SAMPLES_FAILED) != 10)
			printf("%s, %s: %s\n", format, train, f->err[0].text);
		CU_ASSERT(fixture_accounts_add_up(f));
		fixture_free(f);
	}
	CU_ASSERT(open > 0);
}

static struct fixture *damaged(const char *train,
			       void (*how)(struct fixture *f, struct group *g, struct group *node))
{
	struct fixture *f;
	char job[1024];

	snprintf(job, sizeof(job), MEMORY_JOB, 42, "raw", 60, 1, 3000, train);
	f = fixture_new(job);
	if (f) {
		f->between = how;
		fixture_run(f, 4);
	}
	return f;
}

static void error_stops_all(void)
{
	static const struct {
		const char *train;
		void (*how)(struct fixture *f, struct group *g, struct group *node);
		int rc;
		const char *says;
	} cases[] = {
		{"\"batch\":3", remove_one, -ENOENT, "No such file"},
		{"\"batch\":3,\"sync\":\"none\"", remove_one, -ENOENT, "epoch 1, step"},
		{"\"batch\":3,\"sync\":\"epoch\",\"loader\":{\"workers\":0}", remove_one, -ENOENT,
		 "img"},
		{"\"batch\":3,\"loader\":\"sample\"", remove_one, -ENOENT, "epoch 1, step"},
		{"\"batch\":3,\"loader\":{\"kind\":\"sample\",\"workers\":1,\"pin_memory\":true}",
		 overwrite_one, -EILSEQ, "payload differs at byte 0"},
		{"\"batch\":3,\"loader\":\"batch\",\"sync\":\"none\"", remove_one, -ENOENT,
		 "epoch 1, step"},
		{"\"batch\":3,\"loader\":\"batch\"", overwrite_one, -EILSEQ,
		 "payload differs at byte 0"},
		{"\"batch\":3", overwrite_one, -EILSEQ, "payload differs at byte 0"},
		{"\"batch\":3,\"verify\":\"none\"", overwrite_one, -EBADMSG, "exactly once"},
		{"\"batch\":3,\"verify\":\"none\",\"sync\":\"none\"", overwrite_one, -EBADMSG,
		 "exactly once"},
	};

	for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct fixture *f = damaged(cases[c].train, cases[c].how);
		uint32_t kept = 0;

		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		for (uint32_t r = 0; r < 4; r++) {
			CU_ASSERT_EQUAL(f->rc[r], cases[c].rc);
			CU_ASSERT_PTR_NOT_NULL(strstr(f->err[r].text, cases[c].says));
			kept += f->tallies[r].failure_count;
		}
		if (!strstr(f->err[0].text, cases[c].says))
			printf("case %u: %s\n", c, f->err[0].text);
		CU_ASSERT_EQUAL(kept, cases[c].rc == -EBADMSG ? 0 : 1);
		CU_ASSERT(fixture_accounts_add_up(f));
		fixture_free(f);
	}
}

static void errors_are_counted(void)
{
	static const char *const kinds[] = {"pytorch", "sample", "batch"};
	const struct failure *failure = NULL;
	struct fixture *f;
	char train[128];

	for (unsigned k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		snprintf(train, sizeof(train),
			 "\"batch\":3,\"epochs\":2,\"on_error\":\"count\",\"loader\":\"%s\"",
			 kinds[k]);
		f = damaged(train, remove_one);
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_EQUAL(f->rc[0], 0);
		CU_ASSERT_EQUAL(fixture_sum(f, TRAIN_SAMPLES_FAILED), 2);
		CU_ASSERT_EQUAL(fixture_sum(f, TRAIN_SAMPLES), 118);
		CU_ASSERT_EQUAL(fixture_sum(f, TALLY_ERRORS), 2);
		CU_ASSERT_EQUAL(fixture_epoch_sum(f, 0, EPOCH_PROVEN), 4);
		for (uint32_t r = 0; r < 4; r++)
			if (f->tallies[r].failure_count) {
				failure = &f->tallies[r].failures[0];
				CU_ASSERT_EQUAL(failure->rank, r);
			}
		CU_ASSERT_PTR_NOT_NULL_FATAL(failure);
		CU_ASSERT_EQUAL(failure->error, -ENOENT);
		CU_ASSERT_STRING_EQUAL(failure->operation, request_op_name(REQ_OPEN));
		CU_ASSERT(failure->step >= 1 && failure->step <= 5);
		fixture_free(f);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"each sample exactly once", each_once},
		{"limit of steps", limit_of_steps},
		{"evaluation", evaluates},
		{"copies are counted", copies_are_counted},
		{"stops when asked", stops_when_asked},
		{"an error stops all", error_stops_all},
		{"errors are counted", errors_are_counted},
		{"errors in files that stay open", errors_in_open_files},
		CU_TEST_INFO_NULL,
	};

	return unit_main("train", tests);
}

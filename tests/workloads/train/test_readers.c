/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of train.readers, which selects the ranks that read: batches, bytes and proofs of 64 ranks
 * as 1 x 1, 8 x 1 and 8 x 8, against sums computed by hand; the handover within a node and between
 * nodes; errors, stops and limits. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/content/random.h"
#include "tests/test_folder.h"
#include "tests/unit.h"
#include "tests/workloads/train/train_fixture.h"
#include "workloads/train/handover.h"
#include "workloads/train/proof.h"

static const char *const names[] = {"all", "replica", "tensor"};

/* Numbers of ranks, and how a replica divides them. */
struct layout_of_ranks {
	uint32_t ranks, tensor, pipeline;
};

/* The number of ranks that read, computed by hand. */
static uint32_t reading(const struct layout_of_ranks *l, uint32_t readers)
{
	uint32_t all = l->ranks, replicas = all / (l->tensor * l->pipeline);

	return readers == READERS_ALL       ? all
	       : readers == READERS_REPLICA ? replicas
					    : replicas * l->tensor;
}

static uint32_t batches(const struct layout_of_ranks *l, uint32_t readers)
{
	return readers == READERS_ALL ? l->ranks : l->ranks / (l->tensor * l->pipeline);
}

static struct fixture *job(const struct layout_of_ranks *l, uint32_t readers, const char *store,
			   unsigned files, unsigned bytes, const char *phases, const char *train)
{
	struct fixture *f;
	char text[2048];

	snprintf(
		text, sizeof(text),
		"{\"seed\":7,\"cluster\":{\"tensor\":%u,\"pipeline\":%u},"
		"\"stores\":{\"s\":{\"uri\":%s}},"
		"\"dataset\":{\"store\":\"s\",\"format\":\"raw\",\"files\":%u,\"sample_bytes\":%u},"
		"\"phases\":[%s{\"train\":{\"null_steps\":0,\"readers\":\"%s\",%s}}]}",
		l->tensor, l->pipeline, store, files, bytes, phases, names[readers], train);
	f = fixture_new(text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	return f;
}

static const struct layout_of_ranks of_64[] = {{64, 1, 1}, {64, 8, 1}, {64, 8, 8}, {64, 2, 4}};
enum { LAYOUTS = sizeof(of_64) / sizeof(of_64[0]), READERS = 3 };

static void roles(void)
{
	static const struct {
		uint32_t readers, rank;
		enum replica_role role;
		uint32_t number, member, reader;
	} cases[] = {
		{READERS_ALL, 13, REPLICA_READS, 13, 0, 13},
		{READERS_REPLICA, 0, REPLICA_READS, 0, 0, 0},
		{READERS_REPLICA, 8, REPLICA_READS, 1, 0, 1},
		{READERS_REPLICA, 1, REPLICA_RECEIVES, 0, 1, 1},
		{READERS_REPLICA, 15, REPLICA_RECEIVES, 1, 7, 8},
		{READERS_TENSOR, 1, REPLICA_READS, 0, 1, 1},
		{READERS_TENSOR, 9, REPLICA_READS, 1, 1, 3},
		{READERS_TENSOR, 10, REPLICA_HAS_NONE, 1, 2, 4},
	};
	const struct job_cluster cluster = {.tensor = 2, .pipeline = 4};

	for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct replicas r;

		replicas_init(&r, cases[c].readers, &cluster, 64);
		CU_ASSERT_EQUAL(replicas_role(&r, cases[c].rank), cases[c].role);
		CU_ASSERT_EQUAL(replicas_number(&r, cases[c].rank), cases[c].number);
		CU_ASSERT_EQUAL(replicas_member(&r, cases[c].rank), cases[c].member);
		if (cases[c].role == REPLICA_READS)
			CU_ASSERT_EQUAL(replicas_reader(&r, cases[c].rank), cases[c].reader);
	}
}

/* 64 ranks: the demand of a step, the bytes of the phase, and that the ranks' own bytes add up to
 * them. */
static void plan(void)
{
	enum { FILES = 4096, BYTES = 1000, BATCH = 4, EPOCHS = 3 };

	for (unsigned i = 0; i < LAYOUTS * READERS; i++) {
		const struct layout_of_ranks *l = &of_64[i / READERS];
		uint32_t readers = i % READERS;
		struct fixture *f = job(l, readers, "\"null://x\"", FILES, BYTES, "",
					"\"batch\":4,\"epochs\":3,\"compute\":\"10 ms\"");
		double per_step = BATCH * reading(l, readers), read = 0, received = 0, steps;
		struct err err = {0};
		struct demand d;

		CU_ASSERT_EQUAL(train_check(&f->job, f->job.phases, 64, &err), 0);
		CU_ASSERT_EQUAL(train_size(&f->job, f->job.phases, 64, 64, &d, &err), 0);
		steps = (double)d.steps_per_epoch;
		CU_ASSERT_EQUAL(d.steps_per_epoch, FILES / (BATCH * batches(l, readers)));
		CU_ASSERT_EQUAL(d.samples_dropped, 0);
		CU_ASSERT_DOUBLE_EQUAL(d.bytes, EPOCHS * steps * per_step * BYTES, 1);
		CU_ASSERT_DOUBLE_EQUAL(d.bytes_per_rank, EPOCHS * steps * BATCH * BYTES, 1);
		CU_ASSERT_DOUBLE_EQUAL(d.bytes_per_second, per_step * BYTES / 0.010, 1);
		CU_ASSERT_DOUBLE_EQUAL(d.opens_per_second, per_step / 0.010, 0.01);
		CU_ASSERT_DOUBLE_EQUAL(d.seconds, steps * 0.010, 1e-6);
		for (uint32_t rank = 0; rank < 64; rank++) {
			struct rank_place place = {.rank = rank, .ranks = 64, .local_rank = rank};
			struct train_rank_bytes b;

			CU_ASSERT_EQUAL(train_rank_bytes(&f->job, f->job.phases, &place, &b, &err),
					0);
			read += b.read;
			received += b.received;
		}
		CU_ASSERT_DOUBLE_EQUAL(read, d.bytes, 1);
		CU_ASSERT_DOUBLE_EQUAL(received,
				       readers == READERS_REPLICA
					       ? EPOCHS * steps * BATCH * BYTES *
							 (64 - reading(l, readers))
					       : 0,
				       1);
		fixture_free(f);
	}
}

/* Memory of the ring and, where the store has content, of the buffers of reading and of receiving
 * ranks. */
static void plan_memory(void)
{
	const struct layout_of_ranks l = {16, 4, 2};
	struct fixture *f = job(&l, READERS_REPLICA, "\"mem://x\",\"transfer\":\"1 MiB\"", 64,
				9000000, "", "\"loader\":{\"workers\":3}");
	struct train_rank_bytes reads, receives;
	struct rank_place place = {.rank = 8, .ranks = 16, .local_rank = 8};
	struct err err = {0};
	struct demand d;

	CU_ASSERT_EQUAL(train_size(&f->job, f->job.phases, 16, 16, &d, &err), 0);
	CU_ASSERT_EQUAL(d.memory_per_rank, (3 + HANDOVER_SLOTS + 1) * (1 << 20));
	train_rank_bytes(&f->job, f->job.phases, &place, &reads, &err);
	place.rank = place.local_rank = 9;
	train_rank_bytes(&f->job, f->job.phases, &place, &receives, &err);
	CU_ASSERT_EQUAL(reads.memory, d.memory_per_rank);
	CU_ASSERT_EQUAL(receives.memory, 1 << 20);
	fixture_free(f);
}

static void refusals(void)
{
	static const struct {
		struct layout_of_ranks l;
		uint32_t readers, ranks_per_node;
		const char *train;
		int rc;
		const char *says;
	} cases[] = {
		{{24, 8, 1}, READERS_REPLICA, 12, "\"batch\":1", -EINVAL, "straddle two nodes"},
		{{24, 8, 1}, READERS_TENSOR, 12, "\"batch\":1", -EINVAL, "multiple of 8 ranks"},
		{{24, 8, 1}, READERS_ALL, 12, "\"batch\":1", 0, ""},
		{{24, 8, 1}, READERS_REPLICA, 8, "\"batch\":1", 0, ""},
		{{24, 2, 4}, READERS_REPLICA, 12, "\"batch\":1", 0, ""},
		{{16, 2, 4}, READERS_TENSOR, 16, "\"sync\":\"none\"", -EINVAL, "set sync"},
		{{16, 2, 4}, READERS_REPLICA, 16, "\"sync\":\"none\"", 0, ""},
		{{16, 8, 1}, READERS_TENSOR, 16, "\"sync\":\"none\"", 0, ""},
		{{16, 2, 4},
		 READERS_REPLICA,
		 16,
		 "\"batch\":33",
		 -ERANGE,
		 "64 samples cannot fill one step of 2 replicas x batch 33 = 66"},
		{{16, 2, 4}, READERS_REPLICA, 16, "\"batch\":32", 0, ""},
	};

	for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct fixture *f = job(&cases[c].l, cases[c].readers, "\"null://x\"", 64, 1000, "",
					cases[c].train);
		struct err err = {0};
		struct demand d;
		int rc = train_check(&f->job, f->job.phases, cases[c].l.ranks, &err);

		if (rc == 0)
			rc = train_size(&f->job, f->job.phases, cases[c].l.ranks,
					cases[c].ranks_per_node, &d, &err);
		CU_ASSERT_EQUAL(rc, cases[c].rc);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[c].says));
		if (rc != cases[c].rc || !strstr(err.text, cases[c].says))
			printf("case %u: %s\n", c, err.text);
		fixture_free(f);
	}
}

/* A run whose tensor groups really straddle nodes is refused before it reads anything. */
static void straddling_run(void)
{
	const struct layout_of_ranks l = {6, 2, 1};
	struct fixture *f = job(&l, READERS_REPLICA, "\"null://x\"", 64, 1000, "", "\"batch\":1");

	f->nodes = 2;
	fixture_run(f, 6);
	for (uint32_t r = 0; r < 6; r++) {
		CU_ASSERT_EQUAL(f->rc[r], -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(
			strstr(f->err[r].text, "tensor group 1 are on different nodes"));
		CU_ASSERT_EQUAL(f->tallies[r].rank_row[TALLY_OPERATIONS], 0);
	}
	fixture_free(f);
}

static uint64_t of(const struct fixture *f, uint32_t rank, unsigned measure)
{
	return f->tallies[rank].rank_row[measure];
}

/* A complete run: every batch of a replica is read once by each rank that must read it, and reaches
 * all ranks that must have it. */
static void expect_run(const struct fixture *f, const struct layout_of_ranks *l, uint32_t readers,
		       uint64_t files, uint64_t bytes, uint64_t batch, uint64_t epochs)
{
	uint64_t steps = files / (batch * batches(l, readers)), each = epochs * steps * batch;
	const struct job_cluster cluster = {.tensor = l->tensor, .pipeline = l->pipeline};
	struct replicas r;

	replicas_init(&r, readers, &cluster, l->ranks);
	for (uint32_t rank = 0; rank < l->ranks; rank++) {
		enum replica_role role = replicas_role(&r, rank);
		uint64_t reads = role == REPLICA_READS ? each : 0;
		uint64_t receives = role == REPLICA_RECEIVES ? each : 0;

		CU_ASSERT_EQUAL(f->rc[rank], 0);
		CU_ASSERT_EQUAL(of(f, rank, TRAIN_STEPS), epochs * steps);
		CU_ASSERT_EQUAL(of(f, rank, TRAIN_SAMPLES), reads);
		CU_ASSERT_EQUAL(of(f, rank, TALLY_BYTES_READ), reads * bytes);
		CU_ASSERT_EQUAL(of(f, rank, TALLY_OPERATIONS) > 0, reads > 0);
		CU_ASSERT_EQUAL(of(f, rank, TRAIN_RECEIVED_SAMPLES), receives);
		CU_ASSERT_EQUAL(of(f, rank, TRAIN_RECEIVED_BYTES), receives * bytes);
	}
	CU_ASSERT_EQUAL(fixture_sum(f, TALLY_BYTES_READ), each * reading(l, readers) * bytes);
	for (uint32_t e = 0; e < epochs; e++) {
		CU_ASSERT_EQUAL(fixture_epoch_sum(f, e, EPOCH_PROVEN), l->ranks);
		CU_ASSERT_EQUAL(fixture_epoch_sum(f, e, EPOCH_SAMPLES),
				steps * batch * reading(l, readers));
		CU_ASSERT_EQUAL(fixture_epoch_sum(f, e, EPOCH_EXPECTED_SAMPLES),
				steps * batch * reading(l, readers));
		CU_ASSERT_EQUAL(fixture_epoch_sum(f, e, EPOCH_ID_HASH),
				fixture_epoch_sum(f, e, EPOCH_EXPECTED_ID_HASH));
	}
	CU_ASSERT(fixture_accounts_add_up(f));
	if (f->rc[0])
		printf("%u x %u, %s: %s\n", l->tensor, l->pipeline, names[readers], f->err[0].text);
}

/* 64 ranks and 1,031 files, so that all layouts leave a tail. */
static void runs_of_64(void)
{
	for (unsigned i = 0; i < LAYOUTS * READERS; i += unit_full() ? 1 : 4) {
		const struct layout_of_ranks *l = &of_64[i / READERS];
		struct fixture *f = job(l, i % READERS, "\"null://x\"", 1031, 3000, "",
					"\"batch\":3,\"epochs\":2,\"loader\":{\"workers\":1}");

		fixture_run(f, 64);
		expect_run(f, l, i % READERS, 1031, 3000, 3, 2);
		fixture_free(f);
	}
}

static char folder[TEST_FOLDER_BYTES];

static const char *folder_uri(void)
{
	static char uri[TEST_FOLDER_BYTES + 16];

	snprintf(uri, sizeof(uri), "\"file://%s\"", folder);
	return uri;
}

/* With content, whatever the loader, and both within a node and between nodes. A piece is as large
 * as a sample, so a batch is sent in several. */
static void runs_with_content(void)
{
	static const struct {
		struct layout_of_ranks l;
		uint32_t nodes;
	} layouts[] = {
		{{8, 4, 1}, 1}, {{8, 2, 4}, 1}, {{8, 2, 4}, 2}, {{8, 2, 4}, 4}, {{12, 1, 12}, 12},
	};
	static const char *const trains[] = {
		"\"sync\":\"step\",\"batch\":5,\"loader\":{\"workers\":2}",
		"\"sync\":\"epoch\",\"batch\":10,\"loader\":{\"kind\":\"sample\",\"workers\":2}",
		"\"sync\":\"none\",\"batch\":10,\"loader\":{\"workers\":0}",
		("\"sync\":\"step\",\"batch\":10,\"loader\":{\"kind\":\"batch\",\"workers\":1,"
		 "\"pin_memory\":true}"),
	};
	enum { L = sizeof(layouts) / sizeof(layouts[0]), T = sizeof(trains) / sizeof(trains[0]) };

	test_folder_make(folder);
	for (unsigned i = 0; i < L * T * 2; i += unit_full() ? 1 : 3) {
		const struct layout_of_ranks *l = &layouts[i / 2 % L].l;
		uint32_t readers = i % 2 ? READERS_TENSOR : READERS_REPLICA;
		const char *train = trains[i / 2 / L];
		struct fixture *f;
		char text[256];

		if (readers == READERS_TENSOR && l->pipeline > 1 && strstr(train, "none"))
			continue;
		snprintf(text, sizeof(text),
			 "\"epochs\":2,\"verify\":\"full\",\"buffers\":65536,%s", train);
		f = job(l, readers, folder_uri(), 200, 9000, i ? "" : "{\"generate\":{}},", text);
		f->nodes = layouts[i / 2 % L].nodes;
		fixture_run(f, l->ranks);
		expect_run(f, l, readers, 200, 9000, i / 2 / L ? 10 : 5, 2);
		fixture_free(f);
	}
	test_folder_remove(folder);
}

static const struct {
	struct layout_of_ranks l;
	uint32_t nodes;
} across[] = {{{4, 4, 1}, 1}, {{8, 2, 2}, 2}, {{8, 2, 4}, 4}, {{7, 1, 7}, 7}};
enum { ACROSS = sizeof(across) / sizeof(across[0]) };
static const char *const syncs[] = {"step", "epoch", "none"};

/* A batch that cannot be read stops all ranks, including those that only wait for it. */
static void error_stops_all(void)
{
	for (unsigned i = 0; i < ACROSS * 3 * 2; i += unit_full() ? 1 : 5) {
		const struct layout_of_ranks *l = &across[i / 6].l;
		struct fixture *f;
		char train[160];

		snprintf(train, sizeof(train), "\"epochs\":9,\"sync\":\"%s\",\"compute\":\"%s\"",
			 syncs[i / 2 % 3], i % 2 ? "2 ms" : "0 ms");
		f = job(l, READERS_REPLICA, "\"sim://x\",\"failure_rate\":0.01", 512, 1000, "",
			train);
		f->nodes = across[i / 6].nodes;
		fixture_run(f, l->ranks);
		for (uint32_t r = 0; r < l->ranks; r++) {
			CU_ASSERT_EQUAL(f->rc[r], -EIO);
			CU_ASSERT_PTR_NOT_NULL(strstr(f->err[r].text, "epoch 1, step"));
		}
		CU_ASSERT(fixture_accounts_add_up(f));
		fixture_free(f);
	}
}

/* Samples that could not be read are counted by their reader, and the batch reaches the others
 * without them. */
static void errors_are_counted(void)
{
	for (unsigned i = 0; i < ACROSS * 3; i += unit_full() ? 1 : 5) {
		const struct layout_of_ranks *l = &across[i / 3].l;
		uint64_t got, failed, received;
		struct fixture *f;
		char train[160];

		snprintf(train, sizeof(train),
			 "\"epochs\":2,\"batch\":4,\"on_error\":\"count\",\"sync\":\"%s\"",
			 syncs[i % 3]);
		f = job(l, READERS_REPLICA, "\"sim://x\",\"failure_rate\":0.05", 512, 1000, "",
			train);
		f->nodes = across[i / 3].nodes;
		fixture_run(f, l->ranks);
		CU_ASSERT_EQUAL(f->rc[0], 0);
		got = fixture_sum(f, TRAIN_SAMPLES);
		failed = fixture_sum(f, TRAIN_SAMPLES_FAILED);
		received = fixture_sum(f, TRAIN_RECEIVED_SAMPLES);
		CU_ASSERT(failed > 0);
		CU_ASSERT_EQUAL(got + failed, 1024);
		CU_ASSERT_EQUAL(received, got * (l->tensor * l->pipeline - 1));
		CU_ASSERT_EQUAL(fixture_epoch_sum(f, 1, EPOCH_PROVEN), l->ranks);
		fixture_free(f);
	}
}

static void *ask_later(void *argument)
{
	struct timespec t = {.tv_nsec = 100000000};

	nanosleep(&t, NULL);
	stop_ask(argument, STOP_SIGNAL);
	return NULL;
}

/* A stop in the middle of the phase ends all ranks before a compute or a read of one minute is
 * over. */
static void stops_when_asked(void)
{
	static const char *const trains[] = {
		"\"compute\":\"2 ms\"",
		"\"compute\":\"60 s\"",
		"\"preprocess\":\"60 s\"",
		"\"preprocess\":\"60 s\",\"loader\":{\"workers\":0}",
	};
	enum { TRAINS = sizeof(trains) / sizeof(trains[0]) };

	for (unsigned i = 0; i < ACROSS * 3 * TRAINS; i += unit_full() ? 1 : 7) {
		const struct layout_of_ranks *l = &across[i / 3 / TRAINS].l;
		struct fixture *f;
		char train[160];
		pthread_t asker;

		snprintf(train, sizeof(train), "%s,\"sync\":\"%s\"", trains[i % TRAINS],
			 syncs[i / TRAINS % 3]);
		f = job(l, READERS_REPLICA, "\"null://x\"", 10000000, 1000, "", train);
		f->nodes = across[i / 3 / TRAINS].nodes;
		pthread_create(&asker, NULL, ask_later, &f->stop);
		fixture_run(f, l->ranks);
		pthread_join(asker, NULL);
		for (uint32_t r = 0; r < l->ranks; r++) {
			CU_ASSERT_EQUAL(f->rc[r], 0);
			CU_ASSERT_EQUAL(f->stopped[r], STOP_SIGNAL);
		}
		CU_ASSERT(f->seconds_ns < 60000000000);
		CU_ASSERT(fixture_accounts_add_up(f));
		fixture_free(f);
	}
}

/* Evaluations are handed over, too, and limits end all ranks at the same step. */
static void evaluates_and_ends(void)
{
	for (unsigned i = 0; i < ACROSS * 3; i += unit_full() ? 1 : 5) {
		const struct layout_of_ranks *l = &across[i / 3].l;
		struct fixture *f;
		char train[256];

		snprintf(train, sizeof(train),
			 "\"epochs\":4,\"batch\":4,\"steps\":%u,\"sync\":\"%s\","
			 "\"evaluation\":{\"every\":1,\"batch\":8}",
			 512 / 4 / batches(l, READERS_REPLICA) * 2 + 3, syncs[i % 3]);
		f = job(l, READERS_REPLICA, "\"null://x\"", 512, 1000, "", train);
		f->nodes = across[i / 3].nodes;
		fixture_run(f, l->ranks);
		CU_ASSERT_EQUAL(f->rc[0], 0);
		CU_ASSERT_EQUAL_FATAL(train_epochs(&f->tallies[0]),
				      5); /* 2 with evaluations, and 3 steps */
		for (uint32_t e = 0; e < 5; e++)
			CU_ASSERT_EQUAL(fixture_epoch_sum(f, e, EPOCH_PROVEN), l->ranks);
		CU_ASSERT_EQUAL(fixture_sum(f, TRAIN_SAMPLES),
				4 * 512 + 3 * 4 * batches(l, READERS_REPLICA));
		fixture_free(f);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"roles", roles},
		{"plan of 64 ranks", plan},
		{"memory", plan_memory},
		{"refusals", refusals},
		{"tensor groups on several nodes", straddling_run},
		{"64 ranks", runs_of_64},
		{"with content", runs_with_content},
		{"an error stops all", error_stops_all},
		{"errors are counted", errors_are_counted},
		{"stops when asked", stops_when_asked},
		{"evaluations and limits", evaluates_and_ends},
		CU_TEST_INFO_NULL,
	};

	return unit_main("readers", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the times of the phase "train", in virtual time: AU against computation by hand, time
 * limits, and how soon all ranks end after a stop. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <pthread.h>

#include "tests/unit.h"
#include "tests/workloads/train/train_fixture.h"
#include "workloads/checkpoint/checkpoint.h"
#include "workloads/train/proof.h"

enum { MS = 1000000 };

/* The job of one training phase. store is its URI in quotes, followed by further options. */
static void write_job(char *job, size_t bytes, const char *store, int files, int sample_bytes,
		      const char *train)
{
	snprintf(
		job, bytes,
		"{\"name\":\"t\",\"stores\":{\"s\":{\"uri\":%s}},\"dataset\":{\"store\":\"s\","
		"\"format\":\"raw\",\"files\":%d,\"sample_bytes\":%d},\"phases\":[{\"train\":{%s}}]}",
		store, files, sample_bytes, train);
}

static double farthest(const struct fixture *f, double au)
{
	double worst = 0, off;

	for (uint32_t r = 0; r < f->ranks; r++) {
		off = fabs(fixture_au(f, r) - au);
		worst = off > worst ? off : worst;
	}
	return worst;
}

enum { STEPS = 120, SAMPLE_BYTES = 100000 };

/* A store that is limited by latency: 60 ms to the first byte, and very little for the bytes. */
#define LATENT "\"bandwidth\":\"80 GB/s\",\"first_byte\":\"60 ms\""
#define LOADER(kind, workers) \
	"\"loader\":{\"kind\":\"" kind "\",\"workers\":" #workers ",\"prefetch\":2}"

/* Batches arrive every `period`, so AU = compute / max(compute, period). */
static const struct known {
	const char *name, *store, *train;
	uint32_t ranks;
	double au;
	int batch;
} known[] = {
	/* 100 kB per step at 100 MB/s: 1 ms, behind 10 ms of compute */
	{"fed", "\"bandwidth\":\"100 MB/s\"", "\"compute\":\"10 ms\"", 1, 1.0, 1},
	/* two ranks share 10 MB/s: 20 ms per step against 10 */
	{"starved", "\"bandwidth\":\"10 MB/s\"", "\"compute\":\"10 ms\"", 2, 0.5, 1},
	/* each rank has 5 MB/s of its own: 20 ms per step, with any number of workers */
	{"starved by the rank", "\"rank_bandwidth\":\"5 MB/s\"",
	 "\"compute\":\"10 ms\",\"loader\":{\"workers\":4}", 2, 0.5, 1},
	/* 11.1 ms against 10 */
	{"balanced", "\"bandwidth\":\"9 MB/s\"", "\"compute\":\"10 ms\"", 1, 0.9, 1},
	/* one worker, 25 ms to the first byte + 1 ms */
	{"first byte", "\"bandwidth\":\"100 MB/s\",\"first_byte\":\"25 ms\"",
	 "\"compute\":\"13 ms\",\"loader\":{\"workers\":1}", 1, 0.5, 1},
	/* two workers: 2 batches every 25 ms + 1 ms */
	{"first byte, two workers", "\"bandwidth\":\"100 MB/s\",\"first_byte\":\"25 ms\"",
	 "\"compute\":\"6.5 ms\",\"loader\":{\"workers\":2}", 1, 0.5, 1},
	/* one worker, 30 ms of latency + 1 ms */
	{"latency", "\"bandwidth\":\"100 MB/s\",\"latency\":\"30 ms\"",
	 "\"compute\":\"20 ms\",\"loader\":{\"workers\":1}", 1, 20.0 / 31, 1},
	/* rank 1 at a quarter of 20 MB/s: 20 ms; both wait for it */
	{"skewed", "\"rank_bandwidth\":\"20 MB/s\",\"slow_ranks\":{\"1\":0.25}",
	 "\"compute\":\"10 ms\"", 2, 0.5, 1},
	/* the main thread reads: 10 ms + 10 ms */
	{"no workers", "\"bandwidth\":\"10 MB/s\"",
	 "\"compute\":\"10 ms\",\"loader\":{\"workers\":0}", 1, 0.5, 1},
	/* fed; 100 kB at 20 MB/s to the accelerator: 5 ms before each 10 */
	{"host to device", "\"bandwidth\":\"100 MB/s\"",
	 "\"compute\":\"10 ms\",\"loader\":{\"h2d\":\"20 MB/s\"}", 1, 2.0 / 3, 1},
	{"host to device, pinned", "\"bandwidth\":\"100 MB/s\"",
	 "\"compute\":\"10 ms\",\"loader\":{\"kind\":\"batch\",\"workers\":2,\"pin_memory\":true,"
	 "\"h2d\":\"20 MB/s\"}",
	 1, 2.0 / 3, 1},
	/* with any loader, a full store gives its bandwidth: 2 ranks x 4 x 100 kB at 40 MB/s, 20
	 * ms */
	{"pytorch, full", "\"bandwidth\":\"40 MB/s\"",
	 "\"compute\":\"10 ms\"," LOADER("pytorch", 2), 2, 0.5, 4},
	{"sample, full", "\"bandwidth\":\"40 MB/s\"", "\"compute\":\"10 ms\"," LOADER("sample", 2),
	 2, 0.5, 4},
	{"batch, full", "\"bandwidth\":\"40 MB/s\"", "\"compute\":\"10 ms\"," LOADER("batch", 2), 2,
	 0.5, 4},
	/* W workers have W samples in flight, so a batch of 4 arrives every 60 ms x 4 / W */
	{"pytorch, 2", LATENT, "\"compute\":\"90 ms\"," LOADER("pytorch", 2), 1, 0.75, 4},
	{"pytorch, 4", LATENT, "\"compute\":\"45 ms\"," LOADER("pytorch", 4), 1, 0.75, 4},
	{"sample, 2", LATENT, "\"compute\":\"90 ms\"," LOADER("sample", 2), 1, 0.75, 4},
	{"sample, 4", LATENT, "\"compute\":\"45 ms\"," LOADER("sample", 4), 1, 0.75, 4},
	/* 8 workers and 2 batches of 4 ahead: 8 in flight */
	{"sample, 8", LATENT, "\"compute\":\"22.5 ms\"," LOADER("sample", 8), 1, 0.75, 4},
	/* but with one batch ahead there are only the 4 samples of that batch */
	{"sample, 8, one ahead", LATENT,
	 "\"compute\":\"22.5 ms\",\"loader\":{\"kind\":\"sample\",\"workers\":8,\"prefetch\":1}", 1,
	 0.375, 4},
	/* all 4 of a batch at once, by each worker */
	{"batch, 1", LATENT, "\"compute\":\"45 ms\"," LOADER("batch", 1), 1, 0.75, 4},
	{"batch, 2", LATENT, "\"compute\":\"22.5 ms\"," LOADER("batch", 2), 1, 0.75, 4},
	/* two at once: two rounds per batch */
	{"batch, 1, depth 2", LATENT,
	 "\"compute\":\"90 ms\",\"loader\":{\"kind\":\"batch\",\"workers\":1,\"depth\":2}", 1, 0.75,
	 4},
	/* no reading ahead: the time of the batch, then the compute */
	{"batch, 0", LATENT, "\"compute\":\"45 ms\"," LOADER("batch", 0), 1, 45.0 / 105, 4},
	{"batch, 0, depth 2", LATENT,
	 "\"compute\":\"30 ms\",\"loader\":{\"kind\":\"batch\",\"workers\":0,\"depth\":2}", 1, 0.2,
	 4},
	{"pytorch, 0", LATENT, "\"compute\":\"60 ms\"," LOADER("pytorch", 0), 1, 0.2, 4},
};

static void agrees_with(const struct known *k)
{
	char job[1024], store[128], train[256];
	int files = STEPS * k->batch * (int)k->ranks;
	struct fixture *f;

	snprintf(store, sizeof(store), "\"sim://t\",%s", k->store);
	snprintf(train, sizeof(train),
		 "\"batch\":%d,\"warmup_steps\":20,\"null_steps\":0,\"shuffle\":\"none\",%s",
		 k->batch, k->train);
	write_job(job, sizeof(job), store, files, SAMPLE_BYTES, train);
	f = fixture_of(job, k->ranks);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(f->rc[0], 0);
	CU_ASSERT(farthest(f, k->au) <= 0.002);
	if (farthest(f, k->au) > 0.002)
		printf("%s: AU %.4f, by hand %.4f\n", k->name, fixture_au(f, 0), k->au);
	CU_ASSERT(fixture_accounts_add_up(f));
	CU_ASSERT_EQUAL(fixture_sum(f, TRAIN_SAMPLES), (uint64_t)files);
	CU_ASSERT_EQUAL(fixture_sum(f, TALLY_BYTES_READ), (uint64_t)files * SAMPLE_BYTES);
	if (strstr(k->store, "first_byte"))
		CU_ASSERT(fixture_sum(f, TRAIN_ACCOUNTS + ACCOUNT_FIRST_BYTE) >
			  8 * fixture_sum(f, TRAIN_ACCOUNTS + ACCOUNT_TRANSFER));
	if (strstr(k->train, "h2d"))
		CU_ASSERT_DOUBLE_EQUAL((double)fixture_sum(f, TRAIN_ACCOUNTS + ACCOUNT_COPY),
				       STEPS * 5e6, STEPS * 0.05e6);
	if (strcmp(k->name, "skewed") == 0)
		CU_ASSERT(f->tallies[0].rank_row[TRAIN_ACCOUNTS + ACCOUNT_RANKS] >
			  4 * f->tallies[1].rank_row[TRAIN_ACCOUNTS + ACCOUNT_RANKS]);
	fixture_free(f);
}

static void agrees_with_sim(void)
{
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		agrees_with(&known[i]);
}

/* Two fed ranks with 120 steps of 10 ms, 20 of them warm-up. Each rank writes its 5 MB of a
 * checkpoint, and a store of 50 MB/s takes 200 ms for both. */
enum { SAVED_BYTES = 5000000, SAVED_NS = 200 * MS };

static const struct saved {
	const char *when;
	uint32_t checkpoints, counted; /* those after warm-up count for AU */
} saved[] = {
	{"\"every_steps\":40", 3, 3},
	{"\"every_steps\":20", 6, 5},
	{"\"every_epochs\":1", 1, 1},
	{"\"every_steps\":40,\"every_epochs\":1", 3, 3}, /* step 120 ends the epoch */
	{"\"every_epochs\":1,\"first_epoch\":2", 0, 0},
};

static void blocks_for(const struct saved *s)
{
	const struct figure *with = columns_figure_named(&train_schema.rank, "au_with_checkpoints");
	double compute_ns = 100.0 * 10 * MS, blocked_ns = s->counted * (double)SAVED_NS;
	char job[1024];
	struct fixture *f;

	snprintf(
		job, sizeof(job),
		"{\"stores\":{\"s\":{\"uri\":\"sim://s\",\"bandwidth\":\"100 MB/s\"},"
		"\"c\":{\"uri\":\"sim://c\",\"bandwidth\":\"50 MB/s\"}},"
		"\"dataset\":{\"store\":\"s\",\"format\":\"raw\",\"files\":240,\"sample_bytes\":100000},"
		"\"phases\":[{\"train\":{\"compute\":\"10 ms\",\"warmup_steps\":20,\"null_steps\":0,"
		"\"checkpoint\":{%s,\"store\":\"c\",\"model\":{\"bytes\":%d},\"mesh\":{\"zero\":3},"
		"\"framing\":\"raw\",\"buffers\":\"1 MB\",\"chunk\":\"100 kB\"}}}]}",
		s->when, SAVED_BYTES);
	f = fixture_of(job, 2);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(f->rc[0], 0);
	for (uint32_t r = 0; r < 2; r++) {
		const uint64_t *row = f->tallies[r].rank_row, *part = f->parts[r].rank_row;
		double wanted = s->checkpoints * (double)SAVED_NS;

		CU_ASSERT_EQUAL(row[TRAIN_STEPS], STEPS);
		CU_ASSERT_EQUAL(row[TRAIN_CHECKPOINTS], s->checkpoints);
		CU_ASSERT_DOUBLE_EQUAL((double)row[TRAIN_ACCOUNTS + ACCOUNT_CHECKPOINT], wanted,
				       0.01 * wanted);
		CU_ASSERT_DOUBLE_EQUAL((double)row[TRAIN_AU_CHECKPOINT_NS], blocked_ns,
				       0.01 * blocked_ns);
		CU_ASSERT_EQUAL(part[CHECKPOINT_WRITTEN], s->checkpoints);
		CU_ASSERT_EQUAL(part[TALLY_BYTES_WRITTEN], (uint64_t)s->checkpoints * SAVED_BYTES);
		if (s->checkpoints)
			CU_ASSERT_DOUBLE_EQUAL(figure_value(with, row),
					       compute_ns / (compute_ns + blocked_ns), 0.002);
		CU_ASSERT_EQUAL(isnan(figure_value(with, row)) != 0, !s->checkpoints);
	}
	CU_ASSERT(farthest(f, 1) <= 0.001);
	CU_ASSERT(fixture_accounts_add_up(f));
	fixture_free(f);
}

static void blocked_by_checkpoints(void)
{
	for (unsigned i = 0; i < sizeof(saved) / sizeof(saved[0]); i++)
		blocks_for(&saved[i]);
}

/* The same two ranks go on while their checkpoints are written, after a copy of 5 MB at 100 MB/s,
 * which takes 50 ms. A checkpoint that is due while the one before is written waits for that
 * first. */
enum { STEP_MS = 10 };
static const struct flown {
	const char *when;
	uint32_t checkpoints;
	/* The first one, and all others. */
	uint64_t blocked_ms, blocked_then_ms, visible_ms, visible_then_ms;
} flown[] = {
	/* 300 ms between two. A checkpoint is visible from the first barrier after its last write. */
	{"\"every_steps\":30", 4, 50, 50, 250, 250},
	/* 100 ms between two: the second is due when the first has been written for half of its 200
	 * ms. */
	{"\"every_steps\":10", 12, 50, 150, 250, 350},
};

/* Up to 1 ms less or more: the ranks look at the clock between a barrier and the request. */
static void expect_near_ms(uint64_t ns, uint64_t ms, uint64_t more_ms, const char *what)
{
	bool near = ns + MS >= ms * MS && ns <= (ms + more_ms + 1) * MS;

	CU_ASSERT(near);
	if (!near)
		printf("%s: %.3f ms, not %llu\n", what, (double)ns / MS, (unsigned long long)ms);
}

/* memory: per rank, for the bytes of checkpoints. */
static void goes_on_for(const struct flown *s, const char *snapshot, uint64_t memory)
{
	char job[1024], what[64];
	struct fixture *f;

	snprintf(what, sizeof(what), "%s, %s", snapshot, s->when);
	snprintf(
		job, sizeof(job),
		"{\"stores\":{\"s\":{\"uri\":\"sim://s\",\"bandwidth\":\"100 MB/s\"},"
		"\"c\":{\"uri\":\"sim://c\",\"bandwidth\":\"50 MB/s\"}},"
		"\"dataset\":{\"store\":\"s\",\"format\":\"raw\",\"files\":240,\"sample_bytes\":100000},"
		"\"phases\":[{\"train\":{\"compute\":\"10 ms\",\"null_steps\":0,"
		"\"checkpoint\":{%s,\"store\":\"c\",\"model\":{\"bytes\":%d},\"mesh\":{\"zero\":3},"
		"\"async\":{\"snapshot\":\"%s\",\"d2h\":\"100 MB/s\"},"
		"\"framing\":\"raw\",\"buffers\":\"1 MB\",\"chunk\":\"100 kB\"}}}]}",
		s->when, SAVED_BYTES, snapshot);
	f = fixture_of(job, 2);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(f->rc[0], 0);
	for (uint32_t r = 0; r < 2; r++) {
		const struct tally *part = &f->parts[r];
		struct table rows = part->tables[CHECKPOINT_TABLE_ROWS];

		CU_ASSERT_EQUAL(part->rank_row[CHECKPOINT_WRITTEN], s->checkpoints);
		CU_ASSERT_EQUAL(part->rank_row[CHECKPOINT_MEMORY_BYTES], memory);
		/* The copy is no part of the time of writing. */
		CU_ASSERT_EQUAL(part->rank_row[CHECKPOINT_FILL_NS], 0);
		for (uint32_t n = 1; n <= s->checkpoints; n++) {
			const uint64_t *row = table_numbered(&rows, n);

			CU_ASSERT_PTR_NOT_NULL_FATAL(row);
			expect_near_ms(row[CHECKPOINT_ROW_BLOCKED_NS],
				       n == 1 ? s->blocked_ms : s->blocked_then_ms, 0, what);
			CU_ASSERT(row[CHECKPOINT_ROW_BLOCKED_NS] >= 50 * MS);
			expect_near_ms(row[CHECKPOINT_ROW_VISIBLE_NS],
				       n == 1 ? s->visible_ms : s->visible_then_ms, STEP_MS, what);
			/* A rank says at the end of a step that it has committed, and the
			 * others hear it at the end of the next. */
			CU_ASSERT(row[CHECKPOINT_ROW_DURABLE_NS] <= row[CHECKPOINT_ROW_VISIBLE_NS]);
			CU_ASSERT(row[CHECKPOINT_ROW_DURABLE_NS] + (2 * STEP_MS + 1) * MS >=
				  row[CHECKPOINT_ROW_VISIBLE_NS]);
		}
	}
	/* Within a point of what it is without checkpoints. */
	CU_ASSERT(farthest(f, 1) <= 0.01);
	CU_ASSERT(fixture_accounts_add_up(f));
	fixture_free(f);
}

static void goes_on_meanwhile(void)
{
	for (unsigned i = 0; i < sizeof(flown) / sizeof(flown[0]); i++) {
		goes_on_for(&flown[i], "copy", 200000);
		/* Huge pages of 2 MiB. */
		goes_on_for(&flown[i], "hold", 6 << 20);
	}
}

static struct fixture *run(uint32_t ranks, const char *store, const char *train)
{
	char job[1024];

	write_job(job, sizeof(job), store, 100000, SAMPLE_BYTES, train);
	return fixture_of(job, ranks);
}

static void null_au(void)
{
	struct fixture *f = run(2, "\"sim://x\"", "\"compute\":\"20 ms\",\"steps\":3");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(f->rc[0], 0);
	CU_ASSERT(f->null_au[0] > 0.999 && f->null_au[0] <= 1);
	CU_ASSERT_EQUAL(f->null_au[0], f->null_au[1]);
	CU_ASSERT_EQUAL(f->tallies[0].rank_row[TRAIN_STEPS], 3);
	fixture_free(f);
}

static void limit_of_seconds(void)
{
	struct fixture *f =
		run(2, "\"null://x\"", "\"null_steps\":0,\"compute\":\"2 ms\",\"seconds\":0.2");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(f->rc[0], 0);
	CU_ASSERT_EQUAL(f->stopped[1], STOP_LIMIT);
	CU_ASSERT_EQUAL(f->tallies[0].rank_row[TRAIN_STEPS], f->tallies[1].rank_row[TRAIN_STEPS]);
	CU_ASSERT_EQUAL(fixture_epoch_sum(f, 0, EPOCH_PROVEN), 2);
	CU_ASSERT(f->seconds_ns > 200 * MS && f->seconds_ns < 210 * MS);
	fixture_free(f);
}

static void *ask_later(void *argument)
{
	struct timespec t = {.tv_nsec = 150 * MS};

	nanosleep(&t, NULL);
	stop_ask(argument, STOP_SIGNAL);
	return NULL;
}

/* A stop in the middle of a compute or a read of many seconds ends all ranks soon. */
static void stops_soon(void)
{
	static const char *const trains[] = {
		"\"null_steps\":0,\"compute\":\"2 ms\",\"sync\":\"step\"",
		"\"null_steps\":0,\"compute\":\"2 ms\",\"sync\":\"epoch\"",
		"\"null_steps\":0,\"compute\":\"60 s\",\"sync\":\"step\"",
		"\"null_steps\":0,\"compute\":\"60 s\",\"sync\":\"none\"",
		"\"null_steps\":0,\"preprocess\":\"60 s\",\"sync\":\"none\"",
		"\"null_steps\":0,\"preprocess\":\"60 s\",\"sync\":\"step\",\"loader\":{\"workers\":0}",
		"\"null_steps\":0,\"preprocess\":\"60 s\",\"sync\":\"none\",\"loader\":\"sample\"",
		"\"null_steps\":0,\"sync\":\"step\",\"loader\":{\"h2d\":\"1 KB/s\"}",
	};

	for (unsigned i = 0; i < sizeof(trains) / sizeof(trains[0]); i++) {
		struct fixture *f;
		char job[1024];
		pthread_t asker;

		write_job(job, sizeof(job), "\"null://x\"", 1000000, SAMPLE_BYTES, trains[i]);
		f = fixture_new(job);
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		pthread_create(&asker, NULL, ask_later, &f->stop);
		fixture_run(f, 3);
		pthread_join(asker, NULL);
		for (uint32_t r = 0; r < 3; r++)
			CU_ASSERT_EQUAL(f->stopped[r], STOP_SIGNAL);
		CU_ASSERT(f->seconds_ns >= 150 * MS && f->seconds_ns < 400 * MS);
		if (f->seconds_ns >= 400 * MS)
			printf("%s: %.3f s\n", trains[i], (double)f->seconds_ns / 1e9);
		fixture_free(f);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"AU on sim:// as by hand", agrees_with_sim},
		{"blocked by checkpoints as by hand", blocked_by_checkpoints},
		{"goes on after a copy as by hand", goes_on_meanwhile},
		{"null AU", null_au},
		{"limit of seconds", limit_of_seconds},
		{"stops soon", stops_soon},
		CU_TEST_INFO_NULL,
	};

	return unit_main("train_time", tests);
}

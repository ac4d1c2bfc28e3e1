/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the loader: the order of batches, the shuffle buffer, credits, and which request a wait
 * is charged to. */
#include <errno.h>
#include <string.h>

#include "core/content/random.h"
#include "tests/libs/doubles/fake_clock.h"
#include "tests/libs/doubles/thread_group.h"
#include "tests/unit.h"
#include "tests/workloads/train/train_fixture.h"
#include "workloads/train/loader/loader.h"
#include "workloads/train/state.h"

/* Nothing but what hangs takes so long. */
#define HANGS_NS UINT64_C(60000000000)

enum {
	SAMPLE_BYTES = 1000,
	BATCH = 3,
	BATCHES = 11,
	WINDOW = 40,
	STREAMS = 3,
	KINDS = LOADER_BATCH + 1
};

struct loader_rig {
	struct fixture *job; /* parsed, not run */
	struct dataset dataset;
	struct store store;
	struct rank_place place;
	struct log log;
	struct loader loader;
	struct assignment assignment;
};

static void loader_rig_open_on(struct loader_rig *d, const char *job, bool fake,
			       enum loader_kind kind, uint32_t workers, uint32_t prefetch,
			       uint32_t depth)
{
	struct loader_options l = {.kind = kind,
				   .workers = workers,
				   .prefetch = prefetch,
				   .shuffle_samples = WINDOW,
				   .batch = BATCH,
				   .interleave = STREAMS};
	struct reader_options o = {.depth = depth,
				   .seed = 1,
				   .source_count = 1,
				   .place = &d->place,
				   .layout = &train_meter,
				   .sample_hist = TRAIN_HIST_SAMPLE};
	struct err err = {0};

	memset(d, 0, sizeof(*d));
	d->log.fd = -1;
	d->place = (struct rank_place){.ranks = 1, .nodes = 1, .local_ranks = 1};
	d->job = fixture_new(job);
	CU_ASSERT_PTR_NOT_NULL_FATAL(d->job);
	if (fake)
		clock_init_fake(&d->job->clock, 1000000000);
	CU_ASSERT_EQUAL_FATAL(
		dataset_init(&d->dataset, d->job->job.datasets[0].options, 1, "/dataset", &err), 0);
	CU_ASSERT_EQUAL_FATAL(store_open(&d->store, &d->job->job.stores[0],
					 &(struct store_opener){.place = &d->place,
								.clock = &d->job->clock,
								.log = &d->log,
								.seed = 1},
					 &err),
			      0);
	o.clock = &d->job->clock;
	o.sources[0] =
		(struct source){&d->dataset, &d->store, UINT64_MAX, UINT64_MAX, .whole = false};
	CU_ASSERT_EQUAL_FATAL(loader_open(&d->loader, &l, &o, &err), 0);
	loader_start(&d->loader, clock_now(&d->job->clock));
	d->assignment = (struct assignment){
		.epoch = 1, .batches = BATCHES, .sequence = {.batch = BATCH, .ranks = 1}};
	order_init(&d->assignment.sequence.order, ORDER_ALL, true, 1, 33, 1);
	sequence_init(&d->assignment.sequence);
}

static void loader_rig_open(struct loader_rig *d, enum loader_kind kind, uint32_t workers,
			    uint32_t prefetch)
{
	loader_rig_open_on(
		d,
		"{\"stores\":{\"s\":{\"uri\":\"null://x\"}},\"dataset\":{\"store\":\"s\",\"format\":\"raw\","
		"\"files\":33,\"sample_bytes\":1000},\"phases\":[{\"train\":{}}]}",
		false, kind, workers, prefetch, kind == LOADER_BATCH ? 2 : 1);
}

static void loader_rig_close(struct loader_rig *d)
{
	loader_close(&d->loader);
	store_close(&d->store);
	fixture_free(d->job);
}

static int take(struct loader_rig *d, uint64_t k, struct batch *b)
{
	uint64_t now = clock_now(&d->job->clock);
	int rc = loader_take(&d->loader, k, now, clock_kernel_ns() + HANGS_NS, b);

	if (rc == 0)
		loader_give(&d->loader, k);
	return rc;
}

/* Batch k contains the samples of step k, whichever worker built it. */
static void in_order(void)
{
	static const uint32_t workers[] = {0, 1, 2, 3, 7, 16};
	struct loader_rig d;
	struct batch b;

	for (unsigned w = 0; w < KINDS * sizeof(workers) / sizeof(workers[0]); w++) {
		loader_rig_open(&d, (enum loader_kind)(w % KINDS), workers[w / KINDS], 2);
		for (uint64_t epoch = 1; epoch <= 3; epoch++) {
			order_epoch(&d.assignment.sequence.order, epoch);
			loader_begin(&d.loader, &d.assignment);
			for (uint64_t k = 0; k < BATCHES; k++) {
				uint64_t sum = 0;

				for (uint64_t j = 0; j < BATCH; j++)
					sum += sequence_at(&d.assignment.sequence, k * BATCH + j);
				CU_ASSERT_EQUAL_FATAL(take(&d, k, &b), 0);
				CU_ASSERT_EQUAL(b.samples, BATCH);
				CU_ASSERT_EQUAL(b.id_sum, sum);
				CU_ASSERT_EQUAL(b.logical_bytes, BATCH * SAMPLE_BYTES);
			}
			loader_end(&d.loader);
		}
		CU_ASSERT_EQUAL(loader_live_bytes(&d.loader), 3 * BATCHES * BATCH * SAMPLE_BYTES);
		loader_rig_close(&d);
	}
}

/* The shuffle buffer gives the same batches, whoever has read the samples. Each sample comes once,
 * in whole epochs and in those that are given up. */
static void shuffle_buffers(void)
{
	static const uint32_t workers[] = {0, 1, 2, 5};
	static const uint64_t sizes[] = {1, 2, 3, 7, 32, 33, WINDOW};
	uint64_t first[BATCHES] = {0};
	struct batch b;
	struct loader_rig d;

	for (unsigned s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (unsigned w = 0; w < KINDS * 4; w++) {
			uint64_t all = 0;

			loader_rig_open(&d, (enum loader_kind)(w % KINDS), workers[w / KINDS], 2);
			d.assignment.sequence.shuffle_samples = sizes[s];
			for (unsigned cut = 0; cut < 3; cut++) {
				loader_begin(&d.loader, &d.assignment);
				for (uint64_t k = 0; k < BATCHES - cut * 5; k++) {
					CU_ASSERT_EQUAL_FATAL(take(&d, k, &b), 0);
					CU_ASSERT_EQUAL(b.samples, BATCH);
					CU_ASSERT_EQUAL(b.logical_bytes, BATCH * SAMPLE_BYTES);
					all += cut ? 0 : b.id_hash;
					if (!w && !cut)
						first[k] = b.id_hash;
					CU_ASSERT_EQUAL(b.id_hash, first[k]);
				}
				loader_end(&d.loader);
			}
			for (uint64_t id = 0; id < BATCHES * BATCH; id++)
				all -= mix64(id);
			CU_ASSERT_EQUAL(all, 0);
			loader_rig_close(&d);
		}
}

/* Streams give the same batches, whoever reads them, with and without a shuffle buffer. */
static void streams(void)
{
	static const uint32_t workers[] = {0, 1, 2, 3, 5};
	uint64_t first[BATCHES] = {0};
	struct batch b;
	struct loader_rig d;

	for (unsigned i = 0; i < 2 * 5; i++) {
		uint64_t all = 0;

		loader_rig_open_on(
			&d,
			"{\"stores\":{\"s\":{\"uri\":\"null://x\"}},\"dataset\":{\"store\":\"s\",\"format\":\"raw\","
			"\"files\":11,\"samples_per_file\":3,\"sample_bytes\":1000},\"phases\":[{\"train\":{}}]}",
			false, LOADER_STREAM, workers[i % 5], 2, 1);
		order_init(&d.assignment.sequence.order, ORDER_FILES, true, 1, 11, 3);
		d.assignment.sequence.interleave = STREAMS;
		d.assignment.sequence.shuffle_samples = i / 5 * 7;
		loader_begin(&d.loader, &d.assignment);
		for (uint64_t k = 0; k < BATCHES; k++) {
			CU_ASSERT_EQUAL_FATAL(take(&d, k, &b), 0);
			CU_ASSERT_EQUAL(b.samples, BATCH);
			if (i % 5 == 0)
				first[k] = b.id_hash;
			CU_ASSERT_EQUAL(b.id_hash, first[k]);
			all += b.id_hash;
		}
		for (uint64_t id = 0; id < BATCHES * BATCH; id++)
			all -= mix64(id);
		CU_ASSERT_EQUAL(all, 0);
		loader_end(&d.loader);
		/* Here a piece is as large as a file. */
		CU_ASSERT_EQUAL(loader_live_bytes(&d.loader), BATCHES * BATCH * SAMPLE_BYTES);
		loader_rig_close(&d);
	}
}

/* Workers build no more batches ahead than the credits allow, including the batch in progress. */
static void credits(void)
{
	struct loader_rig d;
	struct batch b;

	for (unsigned kind = 0; kind < KINDS; kind++) {
		uint64_t ahead = kind == LOADER_SAMPLE ? 2 : 4;

		loader_rig_open(&d, (enum loader_kind)kind, 2, 2);
		loader_begin(&d.loader, &d.assignment);
		for (uint64_t k = 0; k < 4; k++) {
			uint64_t until = clock_kernel_ns() + HANGS_NS,
				 awaited = (ahead + k) * BATCH * SAMPLE_BYTES;

			while (loader_live_bytes(&d.loader) < awaited && clock_kernel_ns() < until)
				clock_sleep_until(&d.job->clock, clock_kernel_ns() + 100000);
			clock_sleep_until(&d.job->clock, clock_kernel_ns() + 3000000);
			CU_ASSERT_EQUAL(loader_live_bytes(&d.loader), awaited);
			CU_ASSERT_EQUAL(take(&d, k, &b), 0);
		}
		loader_rig_close(&d);
	}
}

/* An epoch that is given up in its middle leaves nothing for the next one. */
static void given_up(void)
{
	struct loader_rig d;
	struct batch b;

	for (unsigned kind = 0; kind < KINDS; kind++) {
		loader_rig_open(&d, (enum loader_kind)kind, 3, 2);
		for (uint64_t taken = 0; taken < BATCHES; taken++) {
			loader_begin(&d.loader, &d.assignment);
			for (uint64_t k = 0; k < taken; k++) {
				uint64_t sum = 0;

				for (uint64_t j = 0; j < BATCH; j++)
					sum += sequence_at(&d.assignment.sequence, k * BATCH + j);
				CU_ASSERT_EQUAL_FATAL(take(&d, k, &b), 0);
				CU_ASSERT_EQUAL(b.id_sum, sum);
			}
			loader_end(&d.loader);
		}
		loader_rig_close(&d);
	}
}

/* A batch of 3 samples of 1000 bytes. Each sample takes 20 ms to its first byte and 10 us for its
 * transfer, and transfers follow each other. Only the store takes time, so the wait is charged
 * exactly. */
static void waits_are_charged(void)
{
	static const struct {
		enum loader_kind kind;
		uint32_t depth;
		uint64_t first_byte_ns, transfer_ns;
	} cases[] = {
		{LOADER_PYTORCH, 1, 60000000, 30000},
		{LOADER_SAMPLE, 1, 60000000, 30000},
		{LOADER_BATCH, 1, 60000000, 30000},
		/* two samples start at once; the third starts when the first is done, which is 10
		 * us before the second */
		{LOADER_BATCH, 2, 39990000, 30000},
		{LOADER_BATCH, 3, 20000000, 30000},
	};
	const char *job =
		"{\"stores\":{\"s\":{\"uri\":\"sim://x\",\"bandwidth\":\"100 MB/s\",\"first_byte\":\"20 ms\"}},"
		"\"dataset\":{\"store\":\"s\",\"format\":\"raw\",\"files\":33,\"sample_bytes\":1000},"
		"\"phases\":[{\"train\":{}}]}";

	for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct loader_rig d;
		struct batch b;

		loader_rig_open_on(&d, job, true, cases[c].kind, 0, 1, cases[c].depth);
		loader_begin(&d.loader, &d.assignment);
		for (uint64_t k = 0; k < 3; k++) {
			uint64_t began_ns = clock_now(&d.job->clock);

			CU_ASSERT_EQUAL(take(&d, k, &b), 0);
			CU_ASSERT_EQUAL(b.samples, BATCH);
			CU_ASSERT_EQUAL(b.blamed[ACCOUNT_FIRST_BYTE], cases[c].first_byte_ns);
			CU_ASSERT_EQUAL(b.blamed[ACCOUNT_TRANSFER], cases[c].transfer_ns);
			CU_ASSERT_EQUAL(clock_now(&d.job->clock) - began_ns,
					cases[c].first_byte_ns + cases[c].transfer_ns);
		}
		loader_rig_close(&d);
	}
}

static void requests_fit(void)
{
	CU_ASSERT_EQUAL(reader_request_bytes(4 << 20, 16 << 20, UINT64_MAX), 4 << 20);
	CU_ASSERT_EQUAL(reader_request_bytes(UINT64_MAX, 16 << 20, UINT64_MAX), 16 << 20);
	CU_ASSERT_EQUAL(reader_request_bytes(4 << 20, (1 << 20) + 1000, UINT64_MAX), 1 << 20);
	CU_ASSERT_EQUAL(reader_request_bytes(4 << 20, 1000, UINT64_MAX), 64 << 10);
	CU_ASSERT_EQUAL(reader_request_bytes(4 << 20, 16 << 20, 5000), 5000);
	CU_ASSERT_EQUAL(reader_request_bytes(4096, 1000, UINT64_MAX),
			4096); /* the job's own size is kept */
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"batches come in order", in_order},
		{"the shuffle buffer gives the same batches", shuffle_buffers},
		{"streams give the same batches", streams},
		{"credits limit the batches ahead", credits},
		{"an epoch given up leaves nothing", given_up},
		{"waits are charged to the nanosecond", waits_are_charged},
		{"requests fit their buffers", requests_fit},
		CU_TEST_INFO_NULL,
	};

	return unit_main("loader", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the demand that a training reports to the plan: the figures of the Aurora table, and
 * refusals. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/measure/account.h"
#include "core/numbers.h"
#include "tests/unit.h"
#include "tests/workloads/formats/variants.h"
#include "tests/workloads/train/train_fixture.h"
#include "workloads/formats/reader_cache.h"

static struct fixture *job(const char *uri, const char *dataset, const char *train)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"stores\":{\"s\":{\"uri\":\"%s\"}},\"dataset\":{\"store\":\"s\",%s},"
		 "\"phases\":[{\"train\":{%s}}]}",
		 uri, dataset, train);
	return fixture_new(text);
}

static void near(double got, double wanted)
{
	CU_ASSERT_DOUBLE_EQUAL(got / wanted, 1, 0.001);
	if (fabs(got / wanted - 1) > 0.001)
		printf("%g, wanted %g\n", got, wanted);
}

static void aurora(void)
{
	static const struct {
		uint32_t nodes;
		uint64_t files;
		double bytes_per_second, opens;
	} rows[] = {{1, 8400, 132.05e9, 900.8},
		    {8, 67200, 1056.4e9, 7206},
		    {512, 4300800, 67611e9, 461193}};

	for (unsigned i = 0; i < 3; i++) {
		char dataset[256];
		struct fixture *f;
		struct demand d;
		struct err err = {0};

		snprintf(dataset, sizeof(dataset),
			 "\"format\":\"npz\",\"files\":%llu,\"sample_bytes\":146600628",
			 (unsigned long long)rows[i].files);
		f = job("file:///x", dataset,
			"\"epochs\":5,\"batch\":7,\"compute\":\"93.254 ms\",\"target_au\":0.9");
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_EQUAL(train_check(&f->job, f->job.phases, rows[i].nodes * 12, &err), 0);
		CU_ASSERT_EQUAL(
			train_size(&f->job, f->job.phases, rows[i].nodes * 12, 12, &d, &err), 0);
		CU_ASSERT_EQUAL(d.steps_per_epoch, 100);
		CU_ASSERT_EQUAL(d.epochs, 5);
		CU_ASSERT_EQUAL(d.samples_dropped, 0);
		near(d.bytes_per_second, rows[i].bytes_per_second);
		near(d.opens_per_second, rows[i].opens);
		near(d.bytes, 5.0 * (double)rows[i].files * 146600628);
		near(d.seconds, 9.3254);
		CU_ASSERT(d.memory_per_rank > 0 && d.memory_per_rank <= 64 << 20);
		CU_ASSERT_EQUAL(d.note_count, 0);
		fixture_free(f);
	}
}

/* Shuffled one by one, a sample outside the one cached row group needs a whole row group, of up to
 * 29 + 1024 x 20 bytes. In file order, each row group is read once. */
static void test_amplified(void)
{
	static const struct {
		const char *shuffle;
		bool told;
	} rows[] = {{"each_epoch", true}, {"none", false}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err = {0};
		struct demand d;
		char train[128];
		struct fixture *f;
		bool told = false;

		snprintf(train, sizeof(train),
			 "\"batch\":100,\"loader\":{\"kind\":\"batch\",\"workers\":1,\"keep\":1},"
			 "\"shuffle\":\"%s\"",
			 rows[i].shuffle);
		f = job("file:///x",
			"\"format\":\"parquet\",\"files\":1,\"samples_per_file\":5000,"
			"\"sample_bytes\":20",
			train);
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_EQUAL(train_size(&f->job, f->job.phases, 1, 1, &d, &err), 0);
		for (uint32_t k = 0; k < d.note_count; k++)
			told |= strncmp(d.notes[k], "a sample of 20 B moves 1", 24) == 0;
		CU_ASSERT_EQUAL(told, rows[i].told);
		fixture_free(f);
	}
}

/* Simulates the readers one after the other: the bytes that an epoch reads, and the files that it
 * opens. */
static void read_epoch(const struct dataset *d, struct order *order, uint64_t batch,
		       uint32_t reader_count, uint32_t keep, double *bytes, double *opens)
{
	for (uint32_t reader = 0; reader < reader_count; reader++) {
		struct extent e[FORMAT_EXTENTS_MAX];
		uint64_t open = UINT64_MAX;
		struct layout l;
		struct reader_cache kept;

		reader_cache_init(&kept, keep);
		for (uint64_t k = reader; k < d->samples / batch; k += reader_count) {
			for (uint64_t j = 0; j < batch; j++) {
				uint64_t sample = order_at(order, k * batch + j);
				uint64_t file = sample / d->options.samples_per_file;
				uint32_t n;

				if (file != open || !d->stays_open) {
					reader_cache_clear(&kept);
					*opens += d->objects;
					dataset_layout(d, file, &l);
				}
				open = file;
				n = reader_cache_extents(&kept, &l,
							 sample % d->options.samples_per_file, e);
				while (n--)
					*bytes += (double)e[n].length;
			}
		}
	}
}

/* The mean in the plan equals the sum over each sample of an epoch. */
static void reads(void)
{
	static const char *const orders[] = {"\"none\"", "\"each_epoch\"", "{\"samples\":false}",
					     "{\"files\":false}", "{\"whole_files\":true}"};
	static const struct {
		unsigned files, samples, batch, workers, keep;
	} shapes[] = {{7, 640, 16, 3, 4},   {3, 1500, 10, 1, 0}, {40, 24, 12, 2, 2},
		      {1, 3000, 50, 2, 16}, {5, 2000, 7, 4, 4},  {200, 3, 6, 1, 4}};
	const struct variant *all;
	unsigned f, o, s;

	variants(&all);
	for (f = 0; f < FORMATS_COUNT; f++)
		for (o = 0; o < sizeof(orders) / sizeof(orders[0]); o++)
			for (s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
				char dataset[256], train[256];
				const struct train_options *options;
				const struct job_store *store;
				double bytes = 0, opens = 0, samples;
				struct train_reads got;
				struct err err = {0};
				struct order order;
				struct fixture *j;
				struct dataset d;

				if (!variant_holds(&all[f], shapes[s].samples, 300))
					continue;
				/* Parquet files with many row groups. */
				snprintf(
					dataset, sizeof(dataset),
					"\"format\":\"%s\"%s,\"files\":%u,\"samples_per_file\":%u,\"sample_bytes\":300",
					format_names[f],
					f == FORMAT_PARQUET ? ",\"parquet\":{\"row_group\":8}" : "",
					shapes[s].files, shapes[s].samples);
				snprintf(
					train, sizeof(train),
					"\"batch\":%u,\"shuffle\":%s,\"loader\":{\"workers\":%u,\"keep\":%u}",
					shapes[s].batch, orders[o], shapes[s].workers,
					shapes[s].keep);
				j = job("null://x", dataset, train);
				CU_ASSERT_PTR_NOT_NULL_FATAL(j);
				options = j->job.phases[0].options;
				CU_ASSERT_EQUAL_FATAL(
					train_dataset(&j->job, j->job.phases, "", &d, &store, &err),
					0);
				train_order(options, &d, 42, &order);
				read_epoch(&d, &order, shapes[s].batch, 2 * shapes[s].workers,
					   shapes[s].keep, &bytes, &opens);
				samples = (double)(d.samples / shapes[s].batch * shapes[s].batch);
				train_reads(options, store, &d, order.kind, shapes[s].batch, 2,
					    &got);
				CU_ASSERT(fabs(got.bytes * samples / bytes - 1) < 0.07);
				CU_ASSERT(fabs(got.opens * samples / opens - 1) < 0.07);
				if (fabs(got.bytes * samples / bytes - 1) >= 0.07 ||
				    fabs(got.opens * samples / opens - 1) >= 0.07)
					printf("%s %s shape %u: %g bytes for %g, %g opens for %g\n",
					       format_names[f], orders[o], s, got.bytes * samples,
					       bytes, got.opens * samples, opens);
				fixture_free(j);
			}
}

static void no_compute(void)
{
	struct fixture *f = job("null://x", "\"format\":\"raw\",\"files\":25,\"sample_bytes\":1000",
				"\"batch\":3,\"steps\":2");
	struct demand d;
	struct err err;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(train_size(&f->job, f->job.phases, 2, 2, &d, &err), 0);
	CU_ASSERT(isinf(d.bytes_per_second));
	CU_ASSERT_EQUAL(d.steps_per_epoch, 4);
	CU_ASSERT_EQUAL(d.samples_dropped, 1);
	near(d.bytes, 2 * 6 * 1000);
	CU_ASSERT_EQUAL(d.memory_per_rank, 0);
	fixture_free(f);
}

/* Buffers of the workers' requests, and of the copy into pinned memory. */
static void memory(void)
{
	static const struct {
		const char *loader;
		uint64_t bytes;
	} cases[] = {
		{"\"workers\":2", 2 * (1 << 20)},
		{"\"kind\":\"sample\",\"workers\":3", 3 * (1 << 20)},
		{"\"kind\":\"sample\",\"workers\":3,\"depth\":4", 12 * (1 << 20)},
		{"\"kind\":\"batch\",\"workers\":2", 2 * 5 * (1 << 20)},
		{"\"kind\":\"batch\",\"workers\":2,\"depth\":3", 2 * 3 * (1 << 20)},
		{"\"workers\":2,\"pin_memory\":true", (2 + 16) * (1 << 20)},
	};

	for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct fixture *f;
		struct demand d;
		struct err err;
		char train[128];

		snprintf(train, sizeof(train), "\"batch\":5,\"loader\":{%s}", cases[c].loader);
		f = job("mem://x\",\"transfer\":\"1 MiB",
			"\"format\":\"raw\",\"files\":50,\"sample_bytes\":9000000", train);
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_EQUAL(train_size(&f->job, f->job.phases, 1, 1, &d, &err), 0);
		CU_ASSERT_EQUAL(d.memory_per_rank, cases[c].bytes);
		fixture_free(f);
	}
}

static void refusals(void)
{
	static const struct {
		const char *uri, *train;
		int rc;
		const char *says;
	} cases[] = {
		{"null://x", "\"batch\":20", -ERANGE,
		 "/batch: 50 samples cannot fill one step of 3 ranks x batch 20 = 60"},
		{"null://x", "\"dataset\":\"nowhere\"", -EINVAL, "nowhere"},
		{"null://x", "\"evaluation\":{\"every\":1,\"batch\":30}", -ERANGE,
		 "/evaluation/batch"},
		{"null://x", "\"batch\":16", 0, ""},
		{"null://x",
		 "\"checkpoint\":{\"every_steps\":1,\"model\":{\"bytes\":9},\"first_epoch\":2}",
		 -EINVAL, "/checkpoint/first_epoch: has no meaning without \"every_epochs\""},
		{"null://x",
		 "\"checkpoint\":{\"every_steps\":1,\"model\":{\"bytes\":9},\"async\":\"hold\"}", 0,
		 ""},
		{"null://x",
		 "\"checkpoint\":{\"every_steps\":1,\"model\":{\"bytes\":9},\"async\":{\"d2h\":1}}",
		 -EINVAL, "/checkpoint/async/d2h: nothing is copied without a snapshot"},
		{"mem://x",
		 "\"checkpoint\":{\"every_steps\":1,\"model\":{\"bytes\":9},\"fill\":\"whole\"}", 0,
		 ""},
		{"mem://x",
		 "\"checkpoint\":{\"every_steps\":1,\"model\":{\"bytes\":9},\"fill\":\"whole\","
		 "\"async\":\"copy\"}",
		 -EINVAL, "/checkpoint/fill: with \"async\", the snapshot says what is in memory"},
		{"mem://x",
		 "\"checkpoint\":{\"every_steps\":1,\"model\":{\"bytes\":9},\"fill\":\"whole\","
		 "\"async\":\"hold\"}",
		 -EINVAL, "/checkpoint/fill: with \"async\", the snapshot says what is in memory"},
	};

	for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct fixture *f =
			job(cases[c].uri, "\"format\":\"raw\",\"files\":50,\"sample_bytes\":1000",
			    cases[c].train);
		struct err err = {0};

		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_EQUAL(train_check(&f->job, f->job.phases, 3, &err), cases[c].rc);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[c].says));
		if (!strstr(err.text, cases[c].says))
			printf("case %u: %s\n", c, err.text);
		fixture_free(f);
	}
}

/* 50 files on 2 ranks: 25 steps per epoch, of 100 ms. Both ranks write 1,000 bytes of a
 * checkpoint. */
static void checkpoints(void)
{
	static const struct {
		const char *train;
		uint64_t count;
		double space; /* bytes of those that are there at once */
	} rows[] = {
		{"\"epochs\":5,\"checkpoint\":{\"every_epochs\":2", 2, 4000},
		{"\"epochs\":5,\"checkpoint\":{\"every_epochs\":2,\"first_epoch\":1", 3, 6000},
		{"\"epochs\":5,\"checkpoint\":{\"every_epochs\":2,\"first_epoch\":5", 1, 2000},
		{"\"epochs\":5,\"checkpoint\":{\"every_epochs\":2,\"first_epoch\":6", 0, 0},
		{"\"epochs\":5,\"checkpoint\":{\"every_steps\":10", 12, 24000},
		{"\"epochs\":5,\"checkpoint\":{\"keep\":2,\"every_steps\":10", 12, 6000},
		/* Steps 50 and 100 end epochs: each has one checkpoint. */
		{"\"epochs\":5,\"checkpoint\":{\"every_epochs\":2,\"every_steps\":10", 12, 24000},
		{"\"epochs\":5,\"checkpoint\":{\"every_epochs\":2,\"every_steps\":7", 19, 38000},
		/* Steps cut the third epoch short, and it ends there. Time cuts the second one,
		 * which does not end. */
		{"\"epochs\":5,\"steps\":60,\"checkpoint\":{\"every_epochs\":1", 3, 6000},
		{"\"epochs\":5,\"seconds\":4,\"checkpoint\":{\"every_epochs\":1", 1, 2000},
		{"\"epochs\":5,\"seconds\":4,\"checkpoint\":{\"every_steps\":10", 4, 8000},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct phase_store stores[PHASE_STORES_MAX];
		struct demand with, one;
		struct err err = {0};
		uint32_t store_count = 0;
		uint64_t count;
		struct fixture *f;
		char train[512];

		snprintf(
			train, sizeof(train),
			"\"compute\":\"100 ms\",%s,\"model\":{\"bytes\":1000},"
			"\"mesh\":{\"zero\":3},\"framing\":\"raw\",\"buffers\":\"3 MiB\",\"chunk\":\"1 MiB\"}",
			rows[i].train);
		f = job("file:///x", "\"format\":\"raw\",\"files\":50,\"sample_bytes\":1000",
			train);
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_EQUAL(train_check(&f->job, f->job.phases, 2, &err), 0);
		CU_ASSERT_EQUAL(
			train_checkpoint_size(&f->job, f->job.phases, 2, 2, &count, &one, &err), 0);
		CU_ASSERT_EQUAL(count, rows[i].count);
		if (count != rows[i].count)
			printf("%s: %llu\n", train, (unsigned long long)count);
		CU_ASSERT_EQUAL(one.bytes, 2000.0 * (double)rows[i].count);
		CU_ASSERT(one.memory_per_rank > 3 << 20 && one.memory_per_rank < 4 << 20);
		CU_ASSERT_EQUAL(train_stores(&f->job, f->job.phases, 2, stores, &store_count, &err),
				0);
		CU_ASSERT_EQUAL(store_count, 2);
		CU_ASSERT_STRING_EQUAL(stores[1].role, "checkpoint");
		CU_ASSERT(!stores[0].sized && stores[1].sized);
		CU_ASSERT_EQUAL(train_size(&f->job, f->job.phases, 2, 2, &with, &err), 0);
		CU_ASSERT_EQUAL(with.space_bytes, rows[i].space);
		CU_ASSERT(with.memory_per_rank > one.memory_per_rank);
		CU_ASSERT_EQUAL(with.note_count, rows[i].count ? 0 : 1);
		if (with.note_count)
			CU_ASSERT_STRING_EQUAL(
				with.notes[0],
				"the training ends before its first checkpoint is due");
		fixture_free(f);
	}
}

/* A snapshot is copied through two windows of a chunk. One that is held takes memory for all bytes
 * of the rank, whole pages for each of its files, and no ring; and so does a checkpoint that does
 * not stream. Each tensor whose file is in memory has 512 bytes of its layout. */
static void snapshot_memory(void)
{
	static const struct {
		const char *option, *uri;
		int64_t more; /* beyond that of the first row with this store */
	} rows[] = {
		{"", "file:///x", 0},
		{"\"async\":{\"snapshot\":\"copy\"},", "file:///x", 8 << 20},
		{"\"async\":\"hold\",", "file:///x", (1 << 20) + 4096 + 512 - (128 << 20)},
		{"\"fill\":\"whole\",", "file:///x", (1 << 20) + 4096 + 512 - (128 << 20)},
		{"", "sim://x", 0},
		{"\"async\":\"copy\",", "sim://x", 8 << 20},
		{"\"async\":\"hold\",", "sim://x", (1 << 20) + 4096 + 512},
	};
	uint64_t first = 0, count;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture *f;
		struct err err = {0};
		struct demand d;
		char train[512];

		snprintf(train, sizeof(train),
			 "\"checkpoint\":{\"every_epochs\":1,%s\"model\":{\"bytes\":1050000},"
			 "\"framing\":\"raw\",\"chunk\":\"4 MiB\"}",
			 rows[i].option);
		f = job(rows[i].uri, "\"format\":\"raw\",\"files\":50,\"sample_bytes\":1000",
			train);
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_EQUAL(
			train_checkpoint_size(&f->job, f->job.phases, 2, 2, &count, &d, &err), 0);
		first = rows[i].more ? first : d.memory_per_rank;
		CU_ASSERT_EQUAL((int64_t)d.memory_per_rank - (int64_t)first, rows[i].more);
		if ((int64_t)d.memory_per_rank - (int64_t)first != rows[i].more)
			printf("%s: %lld\n", rows[i].option,
			       (long long)d.memory_per_rank - (long long)first);
		fixture_free(f);
	}
}

/* The times of the plan are sums that workloads/train/size.c writes out, so a new account is in
 * none of them until somebody has decided where it belongs: it then gets a row here. */
static void accounts(void)
{
	static const struct {
		const char *name, *planned;
	} rows[] = {{"compute", "in all times"},
		    {"open", "in the expected time"},
		    {"first_byte", "in the expected time"},
		    {"transfer", "in the expected time"},
		    {"queue", "in the expected time, as the waits of workers"},
		    {"ranks", "not planned: ranks are taken to be equally fast"},
		    {"collectives", "not planned: of checkpoints"},
		    {"decode", "not planned"},
		    {"generate", "not planned: of checkpoints"},
		    {"copy", "no time is expected where batches are copied"},
		    {"checkpoint", "not planned: the plan has its bytes"},
		    {"haul", "not planned"}};

	CU_ASSERT_EQUAL(COUNT(rows), ACCOUNTS);
	for (size_t i = 0; i < ACCOUNTS; i++) {
		bool known = false;

		for (size_t k = 0; k < COUNT(rows); k++)
			known |= strcmp(rows[k].name, account_kinds[i].name) == 0;
		CU_ASSERT(known);
		if (!known)
			printf("the plan's time does not know the account %s\n",
			       account_kinds[i].name);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"the Aurora table", aurora},
		{"the mean demand of a sample", reads},
		{"no compute, few steps", no_compute},
		{"memory of each loader", memory},
		{"refusals", refusals},
		{"checkpoints", checkpoints},
		{"memory of a snapshot", snapshot_memory},
		{"a sample that reads much more than its bytes", test_amplified},
		{"the plan knows every account", accounts},
		CU_TEST_INFO_NULL,
	};

	return unit_main("train_size", tests);
}

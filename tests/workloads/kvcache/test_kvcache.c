/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the phase "kvcache" on stores that keep what is written: all bytes are compared, nothing
 * stays behind, and what no table can refuse is refused with a sentence. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/content/fnv.h"
#include "tests/test_folder.h"
#include "tests/unit.h"
#include "tests/workloads/kvcache/kvcache_fixture.h"
#include "workloads/kvcache/kvcache.h"
#include "workloads/trace/trace.h"

static char folder[] = "/tmp/haul-kvcache-XXXXXX";

/* Users of three kinds, with conversations and prompts, whose entries are small. They ask 20 times
 * per second. */
#define GQA "{\"layers\": 1, \"hidden\": 64, \"heads\": 2, \"kv_heads\": 2, \"head_dim\": 32}"
#define MLA "{\"attention\": \"mla\", \"layers\": 1, \"kv_rank\": 64}"
#define MANY \
	"\"users\": 8, \"duration\": \"600 s\", \"requests\": 25, \"threads\": 4, \"chunk\": 65536, " \
	"\"verify\": \"full\", \"rag\": {\"documents\": 2, \"tokens_min\": 100, \"tokens_max\": 2000}, "

/* Three tiers, which hold a few entries each, so that entries move all the time. */
static const struct moving_case {
	const char *policy, *store;
	unsigned
		depth; /* 0: that of the options; with more than 1, files are moved by io_uring where it works */
} moving[] = {
	{"", "file", 0},
	{"", "mem", 0},
	{"\"policy\": {\"write\": \"through\"}, ", "file", 0},
	{"\"policy\": {\"write\": \"back\", \"order\": \"fifo\"}, ", "mem", 0},
	{"\"lookup\": true, \"compress\": 2, ", "file", 0},
	/* Several entries in each thread. */
	{"\"lookup\": true, ", "file", 16},
	{"\"policy\": {\"write\": \"through\"}, ", "mem", 3},
};

static struct fixture *moving_run(const struct moving_case *c, const char *model, uint32_t tensor,
				  uint32_t ranks)
{
	char stores[512], phase[2048];
	/* Capacities are those of a rank, so the shards of an entry fill them as an entry fills
	 * those of one rank. */
	unsigned share = strcmp(model, GQA) == 0 ? tensor : 1;
	struct fixture *f;

	snprintf(stores, sizeof(stores),
		 "\"fast\": {\"uri\": \"mem://fast\", \"capacity\": \"256 MiB\"}, "
		 "\"slow\": {\"uri\": \"%s://%s/data\"%s}",
		 c->store, folder,
		 strcmp(c->store, "mem") == 0 ? ", \"capacity\": \"256 MiB\""
		 : c->depth > 1               ? ", \"engine\": \"uring\""
					      : "");
	snprintf(phase, sizeof(phase),
		 "\"model\": %s, " MANY
		 "%s\"depth\": %u, \"tiers\": [{\"kind\": \"cpu\", \"capacity\": \"%u KiB\"}, "
		 "{\"store\": \"fast\", \"capacity\": \"%u KiB\", \"promote_after\": 2}, "
		 "{\"store\": \"slow\", \"capacity\": \"%u KiB\"}]",
		 model, c->policy, c->depth ? c->depth : 1, 8192 / share, 12288 / share,
		 24576 / share);
	f = kvcache_new(tensor, stores, phase);
	fixture_run(f, ranks);
	return f;
}

static void test_moving(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/data/kvcache", folder);
	for (size_t i = 0; i < sizeof(moving) / sizeof(moving[0]); i++) {
		struct fixture *f = moving_run(&moving[i], GQA, 1, 2);

		kvcache_expect_ok(f);
		for (uint32_t rank = 0; rank < 2; rank++) {
			CU_ASSERT_TRUE(kvcache_of(f, rank, KV_REQUESTS) > 0);
			CU_ASSERT_TRUE(kvcache_of(f, rank, KV_HIT_DECODE) > 0);
			CU_ASSERT_TRUE(kvcache_tier(f, rank, 0, KV_TIER_WRITES) > 0);
			CU_ASSERT_TRUE(kvcache_of(f, rank, KV_MEMORY_P95_NS) > 0);
			for (uint32_t k = 0; k < 3; k++)
				CU_ASSERT_TRUE(kvcache_tier(f, rank, k, KV_TIER_USED_MOST_BYTES) <=
					       kvcache_tier(f, rank, k, KV_TIER_CAPACITY_BYTES));
		}
		CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
		fixture_free(f);
	}
}

/* Two groups of two ranks do the same, each rank with its shards. Of MLA, one rank writes them, and
 * both read them. */
static void test_groups(void)
{
	static const struct moving_case cases[] = {
		{"\"policy\": {\"write\": \"through\"}, ", "mem", 0},
		{"\"lookup\": true, ", "file", 0},
		{"", "file", 0},
		{"", "file", 4},
	};
	char path[128];

	snprintf(path, sizeof(path), "%s/data/kvcache", folder);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture *f = moving_run(&cases[i], i < 2 ? GQA : MLA, 2, 4);

		kvcache_expect_ok(f);
		for (uint32_t rank = 0; rank < 4; rank++) {
			bool leads = rank % 2 == 0;

			CU_ASSERT_EQUAL(kvcache_of(f, rank, KV_REQUESTS) > 0, leads);
			/* What has been written through leaves no more than a copy. */
			CU_ASSERT_TRUE(kvcache_tier(f, rank, 0,
						    i ? KV_TIER_DEMOTED_OUT : KV_TIER_DELETED) > 0);
			for (uint32_t k = 0; k < 3; k++) {
				CU_ASSERT_EQUAL(kvcache_tier(f, rank, k, KV_TIER_READS),
						kvcache_tier(f, rank / 2 * 2, k, KV_TIER_READS));
				CU_ASSERT_TRUE(kvcache_tier(f, rank, k, KV_TIER_USED_MOST_BYTES) <=
					       kvcache_tier(f, rank, k, KV_TIER_CAPACITY_BYTES));
			}
			CU_ASSERT_EQUAL(kvcache_of(f, rank, TALLY_BYTES_WRITTEN) > 0,
					leads || i < 2);
		}
		CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
		fixture_free(f);
	}
}

/* What has come into the shared tier and has not been deleted is in it, and the first server of
 * each node reports that. */
static void expect_shared(const struct fixture *f, uint32_t tensor)
{
	uint64_t entries = 0, reported = 0, capacity = 0;

	for (uint32_t rank = 0; rank < f->ranks; rank += tensor) {
		entries += kvcache_tier(f, rank, 1, KV_TIER_WRITES) +
			   kvcache_tier(f, rank, 1, KV_TIER_DEMOTED_IN) -
			   kvcache_tier(f, rank, 1, KV_TIER_DELETED);
		reported += kvcache_tier(f, rank, 1, KV_TIER_ENTRIES);
		capacity += kvcache_tier(f, rank, 1, KV_TIER_CAPACITY_BYTES);
		if (rank % (f->ranks / f->nodes)) {
			CU_ASSERT_EQUAL(kvcache_tier(f, rank, 1, KV_TIER_ENTRIES), 0);
			CU_ASSERT_EQUAL(kvcache_tier(f, rank, 1, KV_TIER_CAPACITY_BYTES), 0);
		}
	}
	CU_ASSERT_EQUAL(reported, entries);
	CU_ASSERT_EQUAL(capacity, 32 << 20);
	CU_ASSERT_EQUAL(fixture_sum(f, KV_ASKED) > 0, f->nodes > 1);
	CU_ASSERT_TRUE(entries > 0);
}

/* Servers with memory of their own fill one store together, and read what others have written. */
static void test_shared(void)
{
	static const struct {
		const char *policy, *store, *model;
		uint32_t tensor, nodes;
	} cases[] = {
		{"", "file", GQA, 1, 1},
		{"\"policy\": {\"write\": \"through\"}, \"depth\": 3, ", "mem", GQA, 1, 1},
		{"\"lookup\": true, \"depth\": 4, ", "file", MLA, 2, 1},
		{"", "file", GQA, 1, 2},
	};
	char path[128], stores[512], phase[2048];

	snprintf(path, sizeof(path), "%s/data/kvcache", folder);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture *f;

		snprintf(stores, sizeof(stores), "\"s\": {\"uri\": \"%s://%s/data\"%s}",
			 cases[i].store, folder,
			 strcmp(cases[i].store, "mem") == 0 ? ", \"capacity\": \"256 MiB\""
			 : i == 2                           ? ", \"engine\": \"uring\""
							    : "");
		snprintf(phase, sizeof(phase),
			 "\"model\": %s, " MANY
			 "%s\"tiers\": [{\"kind\": \"cpu\", \"capacity\": \"4 MiB\"}, "
			 "{\"store\": \"s\", \"capacity\": \"32 MiB\", \"shared\": \"%s\", "
			 "\"promote_after\": %u}]",
			 cases[i].model, cases[i].policy, i % 2 ? "all" : "node", i == 2 ? 0 : 3);
		f = kvcache_new(cases[i].tensor, stores, phase);
		f->nodes = cases[i].nodes;
		fixture_run(f, 4);
		kvcache_expect_ok(f);
		expect_shared(f, cases[i].tensor);
		/* All servers have the same documents. What is written through, one of them
		 * writes. */
		if (i == 1)
			CU_ASSERT_TRUE(fixture_sum(f, KV_PRESENT) > 0);
		CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
		fixture_free(f);
	}
}

static const struct refused_case {
	const char *phase, *says;
} refused[] = {
	{"\"tiers\": [{\"store\": \"x\"}]", "/phases/0/kvcache/tiers/0/store: there is no store"},
	{"\"tiers\": [\"s\", \"s\"]", "capacity: needs a limit"},
	{"\"tiers\": [{\"store\": \"s\", \"capacity\": 1}, \"s\"]", "two tiers are called"},
	{"\"tiers\": [{\"kind\": \"cpu\"}]", "one of them must be a store"},
	{"\"tiers\": [{\"kind\": \"gpu\", \"store\": \"s\"}, \"s\"]", "a tier \"gpu\" has none"},
	{"\"tiers\": [{\"kind\": \"cpu\"}, {\"kind\": \"cpu\", \"name\": \"more\"}, \"s\"]",
	 "only one memory"},
	{"\"tiers\": [{\"store\": \"s\", \"high\": 0.5, \"low\": 0.6}]", "must be at most high"},
	{"\"classes\": [{\"name\": \"a\"}, {\"name\": \"a\"}]", "two classes are called"},
	{"\"arrivals\": {\"file\": \"x\"}, \"templates\": [{\"name\": \"a\"}]",
	 "templates: are for users"},
	{"\"arrivals\": {\"speed\": 2}", "arrivals/file: is missing"},
	{"\"arrivals\": {\"cycles\": 2}", "arrivals/file: is missing"},
	{"\"tiers\": [{\"store\": \"s\", \"bandwidth\": \"1 GB/s\"}]",
	 "tiers/0/bandwidth: is that of an emulated accelerator"},
	{"\"tiers\": [{\"kind\": \"gpu\", \"capacity\": \"65537 GiB\"}, \"s\"]",
	 "tiers/0/capacity: a tier \"gpu\" has at most 65536 GiB"},
	{"\"tiers\": [{\"kind\": \"cpu\", \"capacity\": \"131073 GiB\"}, \"s\"]",
	 "tiers/0/capacity: a tier \"cpu\" has at most 131072 GiB"},
	{"\"tiers\": [{\"store\": \"s\", \"capacity\": 1, \"shared\": \"node\"}, {\"kind\": \"gpu\"}]",
	 "tiers/0/shared: \"node\" is possible for the last tier only"},
	{"\"tiers\": [{\"store\": \"s\", \"capacity\": 1}, {\"kind\": \"cpu\", \"shared\": \"all\"}]",
	 "tiers/1/shared: \"all\" needs a store"},
	{"\"tiers\": [{\"store\": \"s\", \"shared\": \"node\"}], \"trace\": \"x.csv\"",
	 "\"node\" is not possible with a trace"},
	{"\"tiers\": [{\"store\": \"s\", \"shared\": \"group\", \"entries\": 5}]",
	 "tiers/0/entries: counts only for"},
	{"\"folder\": \"../x\"", "/folder: must be"},
	{"\"folder\": \"\"", "/folder: must be"},
};

static void test_refused(void)
{
	char job[2048];

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct err err = {0};
		struct fixture *f;

		snprintf(
			job, sizeof(job),
			"{\"stores\": {\"s\": {\"uri\": \"sim://s\"}}, \"phases\": [{\"kvcache\": {"
			"\"model\": \"tiny-1b\", %s}}]}",
			refused[i].phase);
		f = fixture_new(job);
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		if (!f)
			return;
		CU_ASSERT_EQUAL(kvcache_check(&f->job, &f->job.phases[0], 1, &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, refused[i].says));
		if (!strstr(err.text, refused[i].says))
			fprintf(stderr, "\n%s\nsays: %s\n", refused[i].phase, err.text);
		fixture_free(f);
	}
}

/* What the greatest tiers of MLPerf's benchmark have is taken, and stages of layers are refused. */
static void test_bounds(void)
{
	struct fixture *f = kvcache_new(
		1, "\"s\": {\"uri\": \"sim://s\"}",
		"\"model\": \"tiny-1b\", \"tiers\": [{\"kind\": \"gpu\", \"capacity\": \"65536 GiB\"}, "
		"{\"kind\": \"cpu\", \"capacity\": \"131072 GiB\"}, \"s\"], "
		"\"policy\": {\"evictions_min\": 7, \"evictions_max\": 9}");
	struct kv_setup s;
	struct err err = {0};

	CU_ASSERT_EQUAL(kv_setup_of(&f->job, &f->job.phases[0], &s, &err), 0);
	CU_ASSERT_EQUAL(s.rules[0].capacity, UINT64_C(65536) << 30);
	CU_ASSERT_EQUAL(s.policy.evictions_min, 7);
	CU_ASSERT_EQUAL(s.policy.evictions_max, 9);
	f->job.cluster.pipeline = 2;
	CU_ASSERT_EQUAL(kv_setup_of(&f->job, &f->job.phases[0], &s, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "cannot run with cluster.pipeline = 2"));
	fixture_free(f);
}

/* Entries in files: making one durable is the device part of its write, and comparing its bytes the
 * host part of its read. */
static void test_parts(void)
{
	char stores[256];
	struct fixture *f;
	const struct hist *hists;

	snprintf(stores, sizeof(stores),
		 "\"s\": {\"uri\": \"file://%s/parts\", \"fsync\": \"file\"}", folder);
	f = kvcache_run(stores,
			"\"model\": " GQA ", \"lookup\": true, " MANY
			"\"tiers\": [{\"store\": \"s\", \"capacity\": \"64 MiB\"}]",
			1);
	kvcache_expect_ok(f);
	hists = f->tallies[0].hists;
	CU_ASSERT_TRUE(hist_count(&hists[KV_HIST_WRITE]) > 0);
	CU_ASSERT_EQUAL(hist_count(&hists[KV_HIST_WRITE_DEVICE]), hist_count(&hists[KV_HIST_SYNC]));
	CU_ASSERT_EQUAL(hist_count(&hists[KV_HIST_WRITE_DEVICE]),
			hist_count(&hists[KV_HIST_WRITE]));
	CU_ASSERT_EQUAL(hists[KV_HIST_WRITE_DEVICE].max_ns, hists[KV_HIST_SYNC].max_ns);
	CU_ASSERT_EQUAL(hist_count(&hists[KV_HIST_READ_HOST]), hist_count(&hists[KV_HIST_READ]));
	CU_ASSERT_TRUE(hists[KV_HIST_READ_HOST].max_ns > 0);
	CU_ASSERT_TRUE(hists[KV_HIST_READ_HOST].max_ns <= kvcache_of(f, 0, KV_VERIFY_NS));
	CU_ASSERT_TRUE(hists[KV_HIST_READ_DEVICE].max_ns < hists[KV_HIST_READ].max_ns);
	fixture_free(f);
}

/* A folder with something else in it stays as it is. */
static void test_folder(void)
{
	char stores[256], command[256];
	struct fixture *f;

	snprintf(command, sizeof(command), "mkdir -p %s/other/kvcache && touch %s/other/kvcache/x",
		 folder, folder);
	CU_ASSERT_EQUAL_FATAL(system(command), 0);
	snprintf(stores, sizeof(stores), "\"s\": {\"uri\": \"file://%s/other\"}", folder);
	f = kvcache_run_one(stores, "\"users\": 1, \"duration\": \"100 ms\"", 1);
	CU_ASSERT_EQUAL(f->rc[0], -EEXIST);
	CU_ASSERT_PTR_NOT_NULL(strstr(f->err[0].text, "holds \"x\""));
	fixture_free(f);
	snprintf(command, sizeof(command), "%s/other/kvcache/x", folder);
	CU_ASSERT_EQUAL(access(command, F_OK), 0);
}

struct traced {
	uint64_t hash, rows, bytes[TRACE_TIERS][TRACE_OPERATION_COUNT];
	uint64_t
		requests; /* of a full table: different ones, as each has rows next to each other */
};

/* Reads the trace that two ranks have made, whose rows must be in the order of time. */
static void read_trace(const char *path, struct traced *out)
{
	struct trace_reader t;
	struct trace_row row;
	struct err err = {0};
	struct trace_origin before = {.request = TRACE_NOBODY};
	uint64_t ns = 0;

	memset(out, 0, sizeof(*out));
	out->hash = FNV_START;
	CU_ASSERT_EQUAL_FATAL(trace_open(&t, path, false, &err), 0);
	while (trace_next(&t, &row, &err) > 0) {
		CU_ASSERT_TRUE(row.ns >= ns && row.ns >= 5000000000);
		ns = row.ns;
		out->rows++;
		out->requests +=
			row.origin.request != TRACE_NOBODY &&
			(row.origin.request != before.request || row.origin.rank != before.rank);
		before = row.origin;
		out->bytes[row.tier][row.operation] += row.bytes;
		out->hash = fnv_add(out->hash, row.key, row.key_length);
		out->hash = fnv_add(out->hash, &row.ns, sizeof(row.ns));
	}
	CU_ASSERT_STRING_EQUAL(err.text, "");
	trace_close(&t);
}

static uint64_t both(const struct fixture *f, uint32_t tier, unsigned measure)
{
	return kvcache_tier(f, 0, tier, measure) + kvcache_tier(f, 1, tier, measure);
}

/* A trace has what all ranks would do, and is the same each time, for any number of threads;
 * another seed gives another one. It opens no store: this one cannot be made. */
static void test_trace(void)
{
	static const struct {
		int threads, depth;
	} runs[] = {{1, 1}, {1, 1}, {2, 1}, {4, 8}, {1, 1}};
	enum { RUNS = sizeof(runs) / sizeof(runs[0]) };
	char path[128], phase[1024];
	struct traced traced[RUNS];

	snprintf(path, sizeof(path), "%s/trace.csv", folder);
	for (int i = 0; i < RUNS; i++) {
		struct fixture *f;

		snprintf(
			phase, sizeof(phase),
			"\"model\": \"tiny-1b\", \"users\": 5, \"duration\": \"20 s\", \"trace\": \"%s\", "
			"\"trace_epoch\": \"5 s\", \"threads\": %d, \"depth\": %d, "
			"\"tiers\": [{\"kind\": \"cpu\", \"capacity\": \"2 GiB\"}, "
			"{\"store\": \"s\", \"capacity\": \"4 GiB\"}]",
			path, runs[i].threads, runs[i].depth);
		f = kvcache_new(1, "\"s\": {\"uri\": \"file:///dev/null/none\"}", phase);
		f->job.seed += i == RUNS - 1;
		fixture_run(f, 2);
		kvcache_expect_ok(f);
		read_trace(path, &traced[i]);
		CU_ASSERT_EQUAL(traced[i].bytes[0][TRACE_WRITE], 0);
		for (uint32_t k = 0; k < 2; k++) {
			const uint64_t *bytes = traced[i].bytes[k + 1];

			CU_ASSERT_EQUAL(bytes[TRACE_READ],
					both(f, k, KV_TIER_READ_BYTES) +
						both(f, k, KV_TIER_DEMOTED_OUT_BYTES));
			CU_ASSERT_EQUAL(bytes[TRACE_WRITE],
					both(f, k, KV_TIER_WRITTEN_BYTES) +
						both(f, k, KV_TIER_DEMOTED_IN_BYTES));
			CU_ASSERT_TRUE(bytes[TRACE_READ] > 0 && bytes[TRACE_WRITE] > 0);
		}
		CU_ASSERT_TRUE(both(f, 1, KV_TIER_DELETED) > 0);
		fixture_free(f);
	}
	for (int i = 1; i < RUNS; i++) {
		bool same = i < RUNS - 1;

		CU_ASSERT_EQUAL(traced[0].hash == traced[i].hash, same);
		CU_ASSERT_TRUE(traced[0].rows == traced[i].rows || !same);
	}
}

/* A full table also has what leaves a tier, and who asked. A variable of the environment says where
 * it is. */
static void test_trace_full(void)
{
	char path[128], phase[1024];
	struct traced traced;
	struct fixture *f;

	snprintf(path, sizeof(path), "%s/full.csv", folder);
	snprintf(phase, sizeof(phase),
		 "\"model\": \"tiny-1b\", \"users\": 5, \"duration\": \"20 s\", "
		 "\"trace\": \"${HAUL_TEST_TRACES}/full.csv\", "
		 "\"trace_format\": \"full\", \"trace_epoch\": \"5 s\", "
		 "\"tiers\": [{\"kind\": \"cpu\", \"capacity\": \"2 GiB\"}, "
		 "{\"store\": \"s\", \"capacity\": \"4 GiB\"}]");
	CU_ASSERT_EQUAL(setenv("HAUL_TEST_TRACES", folder, 1), 0);
	f = kvcache_run("\"s\": {\"uri\": \"file:///dev/null/none\"}", phase, 2);
	kvcache_expect_ok(f);
	read_trace(path, &traced);
	for (uint32_t k = 0; k < 2; k++)
		CU_ASSERT_EQUAL(traced.bytes[k + 1][TRACE_DELETE],
				both(f, k, KV_TIER_DELETED_BYTES) +
					both(f, k, KV_TIER_DEMOTED_OUT_BYTES));
	CU_ASSERT_TRUE(traced.bytes[2][TRACE_DELETE] > 0);
	CU_ASSERT_EQUAL(traced.requests,
			kvcache_of(f, 0, KV_REQUESTS) + kvcache_of(f, 1, KV_REQUESTS));
	fixture_free(f);
}

/* A trace has the rows of one rank of a group, with even shards: half the bytes, all else the
 * same. */
static void test_trace_group(void)
{
	static const char options[] =
		"\"model\": \"tiny-1b\", \"users\": 5, \"duration\": \"20 s\", \"trace\": \"%s\", "
		"\"trace_epoch\": \"5 s\", \"tiers\": [{\"kind\": \"cpu\", \"capacity\": \"%d GiB\"}, "
		"{\"store\": \"s\", \"capacity\": \"%d GiB\"}]";
	struct traced traced[2];

	for (uint32_t tensor = 1; tensor <= 2; tensor++) {
		char path[128], phase[1024];
		struct fixture *f;

		snprintf(path, sizeof(path), "%s/group.csv", folder);
		snprintf(phase, sizeof(phase), options, path, 4 / (int)tensor, 8 / (int)tensor);
		f = kvcache_new(tensor, "\"s\": {\"uri\": \"file:///dev/null/none\"}", phase);
		fixture_run(f, tensor);
		kvcache_expect_ok(f);
		read_trace(path, &traced[tensor - 1]);
		CU_ASSERT_EQUAL(kvcache_of(f, tensor - 1, KV_REQUESTS) > 0, tensor == 1);
		fixture_free(f);
	}
	CU_ASSERT_TRUE(traced[0].bytes[2][TRACE_READ] > 0);
	CU_ASSERT_EQUAL(traced[0].hash, traced[1].hash);
	CU_ASSERT_EQUAL(traced[0].rows, traced[1].rows);
	for (int k = 0; k < TRACE_TIERS; k++)
		for (int i = 0; i < TRACE_OPERATION_COUNT; i++)
			CU_ASSERT_EQUAL(traced[0].bytes[k][i], 2 * traced[1].bytes[k][i]);
}

/* Every rank of a group has its rows, with its shard. Two heads are shared by two ranks. Of MLA,
 * each rank has all bytes in its memory, one writes them to the store, and both read them there. */
static void test_trace_ranks(void)
{
	static const char options[] =
		"\"model\": %s, \"users\": 8, \"duration\": \"20 s\", \"trace\": \"%s\", "
		"\"trace_epoch\": \"5 s\", \"trace_ranks\": \"%s\", \"tiers\": [{\"kind\": \"cpu\", "
		"\"capacity\": \"%d MiB\"}, {\"store\": \"s\", \"capacity\": \"%d MiB\"}]";
	static const char *const models[] = {GQA, MLA};

	for (int mla = 0; mla < 2; mla++) {
		struct traced one, all;

		for (uint32_t tensor = 1; tensor <= 2; tensor++) {
			char path[128], phase[1024];
			int share = mla ? 1 : (int)tensor;
			struct fixture *f;

			snprintf(path, sizeof(path), "%s/ranks.csv", folder);
			snprintf(phase, sizeof(phase), options, models[mla], path,
				 tensor == 1 ? "group" : "all", 8 / share, 32 / share);
			f = kvcache_new(tensor, "\"s\": {\"uri\": \"file:///dev/null/none\"}",
					phase);
			fixture_run(f, tensor);
			kvcache_expect_ok(f);
			read_trace(path, tensor == 1 ? &one : &all);
			fixture_free(f);
		}
		CU_ASSERT_TRUE(one.bytes[2][TRACE_WRITE] > 0 && one.bytes[2][TRACE_READ] > 0);
		for (int k = 1; k <= 2; k++) {
			uint64_t times = mla ? 2 : 1;

			CU_ASSERT_EQUAL(all.bytes[k][TRACE_READ], times * one.bytes[k][TRACE_READ]);
			times = mla && k == 1 ? 2 : 1;
			CU_ASSERT_EQUAL(all.bytes[k][TRACE_WRITE],
					times * one.bytes[k][TRACE_WRITE]);
		}
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"entries that move are what was written", test_moving},
		{"tensor groups", test_groups},
		{"servers that share a store", test_shared},
		{"options that are refused", test_refused},
		{"bounds and settings", test_bounds},
		{"parts of the time of an entry", test_parts},
		{"a folder that is not empty", test_folder},
		{"a trace", test_trace},
		{"a full trace", test_trace_full},
		{"a trace of a tensor group", test_trace_group},
		{"a trace of all ranks of a tensor group", test_trace_ranks},
		CU_TEST_INFO_NULL,
	};

	return test_folder_main("kvcache", tests, folder);
}

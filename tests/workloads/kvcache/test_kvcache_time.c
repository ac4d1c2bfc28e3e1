/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the times of the phase "kvcache", in virtual time and on stores that take a known time.
 * An entry of 1 MiB takes 10.49 ms at 100 MB/s. So on SLOW it takes 20 + 10.49 + 30 = 60.49 ms to
 * write and 10 + 10.49 = 20.49 ms to read, and a request, which writes its entry and reads it
 * twice, 101.46 ms. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit.h"
#include "tests/workloads/kvcache/kvcache_fixture.h"
#include "workloads/kvcache/requests/source_options.h"

#define SLOW \
	"\"s\": {\"uri\": \"sim://s\", \"rank_bandwidth\": \"100 MB/s\", \"open_latency\": \"10 ms\", " \
	"\"begin_latency\": \"20 ms\", \"commit_latency\": \"30 ms\"}"
#define NOTHING "\"n\": {\"uri\": \"null://n\"}"

static const double move_ms = 1048576 / 100e3;

static bool expect_ms(const struct hist *h, double wanted_ms)
{
	double found_ms = (double)hist_quantile_ns(h, 0.5) / 1e6;
	bool equal = fabs(found_ms - wanted_ms) <= 0.01 * wanted_ms;

	CU_ASSERT_TRUE(equal);
	if (!equal)
		fprintf(stderr, "\n%.3f ms, not %.3f ms\n", found_ms, wanted_ms);
	return equal;
}

/* Each request is alone, so nothing but the store determines its time. */
static void test_one_user(void)
{
	struct fixture *f = kvcache_run_one(SLOW, "\"users\": 1, \"duration\": \"20 s\"", 2);
	double request_ms = 50 + 2 * 10 + 3 * move_ms;

	kvcache_expect_ok(f);
	for (uint32_t rank = 0; rank < 2; rank++) {
		const struct hist *hists = f->tallies[rank].hists;
		uint64_t n = kvcache_of(f, rank, KV_REQUESTS);

		CU_ASSERT_EQUAL(f->stopped[rank], STOP_LIMIT);
		CU_ASSERT_TRUE(n >= 17 && n <= 24);
		CU_ASSERT_TRUE(kvcache_of(f, rank, KV_LEFT) <= 1);
		CU_ASSERT_EQUAL(kvcache_of(f, rank, KV_HITS), kvcache_of(f, rank, KV_HIT_DECODE));
		CU_ASSERT_EQUAL(kvcache_of(f, rank, KV_MISSES), 0);
		CU_ASSERT_EQUAL(kvcache_of(f, rank, KV_TOKENS), n);
		CU_ASSERT_TRUE(kvcache_of(f, rank, KV_ENTRY_WRITES) - n <= 1);
		CU_ASSERT_TRUE(kvcache_of(f, rank, KV_ENTRY_READS) - 2 * n <= 2);
		CU_ASSERT_EQUAL(kvcache_of(f, rank, TALLY_BYTES_WRITTEN),
				kvcache_of(f, rank, KV_ENTRY_WRITES) * ENTRY_BYTES);
		CU_ASSERT_EQUAL(kvcache_of(f, rank, TALLY_BYTES_READ),
				kvcache_of(f, rank, KV_ENTRY_READS) * ENTRY_BYTES);
		CU_ASSERT_EQUAL(kvcache_of(f, rank, KV_ENTRY_READ_BYTES),
				kvcache_of(f, rank, TALLY_BYTES_READ));
		CU_ASSERT_EQUAL(kvcache_of(f, rank, KV_ENTRY_WRITTEN_BYTES),
				kvcache_of(f, rank, TALLY_BYTES_WRITTEN));
		CU_ASSERT_EQUAL(hist_count(&hists[KV_HIST_REQUEST]), n);
		expect_ms(&hists[KV_HIST_WRITE], 50 + move_ms);
		expect_ms(&hists[KV_HIST_READ], 10 + move_ms);
		/* Nobody compares bytes, and this store does not tell what made them durable. */
		expect_ms(&hists[KV_HIST_READ_DEVICE], 10 + move_ms);
		CU_ASSERT_EQUAL(hist_count(&hists[KV_HIST_READ_DEVICE]),
				hist_count(&hists[KV_HIST_READ]));
		CU_ASSERT_TRUE(kvcache_of(f, rank, KV_READ_DEVICE_P95_NS) > 0);
		CU_ASSERT_EQUAL(hist_count(&hists[KV_HIST_WRITE_DEVICE]), 0);
		CU_ASSERT_EQUAL(kvcache_of(f, rank, KV_WRITE_DEVICE_P95_NS), 0);
		expect_ms(&hists[KV_HIST_REQUEST], request_ms);
		expect_ms(&hists[KV_HIST_REQUEST_STORAGE], request_ms);
		CU_ASSERT_TRUE(hists[KV_HIST_REQUEST_QUEUE].max_ns < 1000000);
		CU_ASSERT_TRUE(kvcache_of(f, rank, KV_LATE_NS) < 1000000);
		CU_ASSERT_EQUAL(hists[KV_HIST_LATE].max_ns, kvcache_of(f, rank, KV_LATE_NS));
		CU_ASSERT_EQUAL(hist_count(&hists[KV_HIST_LATE]), kvcache_of(f, rank, KV_OFFERED));
	}
	fixture_free(f);
}

/* Memory of 10 MiB evicts beyond 8 MiB: the ninth entry makes the first one move to the store, and
 * waits for that. */
static void test_demotion(void)
{
	struct fixture *f = kvcache_run_one(
		SLOW,
		"\"users\": 1, \"duration\": \"20 s\", \"verify\": \"full\", \"chunk\": 65536, "
		"\"depth\": 4, \"tiers\": [{\"kind\": \"cpu\", \"capacity\": 10485760}, \"s\"]",
		1);
	uint64_t n = kvcache_tier(f, 0, 0, KV_TIER_WRITES);

	kvcache_expect_ok(f);
	CU_ASSERT_TRUE(n >= 17 && n <= 24);
	CU_ASSERT_EQUAL(kvcache_tier(f, 0, 0, KV_TIER_DEMOTED_OUT), n - 8);
	CU_ASSERT_EQUAL(kvcache_tier(f, 0, 1, KV_TIER_DEMOTED_IN), n - 8);
	CU_ASSERT_EQUAL(kvcache_tier(f, 0, 1, KV_TIER_DEMOTED_IN_BYTES), (n - 8) * ENTRY_BYTES);
	CU_ASSERT_EQUAL(kvcache_tier(f, 0, 1, KV_TIER_READS), 0);
	CU_ASSERT_EQUAL(kvcache_tier(f, 0, 0, KV_TIER_ENTRIES), 8);
	CU_ASSERT_EQUAL(kvcache_tier(f, 0, 0, KV_TIER_USED_MOST_BYTES), 8 * ENTRY_BYTES);
	CU_ASSERT_EQUAL(kvcache_tier(f, 0, 0, KV_TIER_CAPACITY_BYTES), 10 * ENTRY_BYTES);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_MOVES), n - 8);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_ENTRY_WRITES), 0);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_ENTRY_WRITTEN_BYTES), 0);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, TALLY_BYTES_WRITTEN), (n - 8) * ENTRY_BYTES);
	expect_ms(&f->tallies[0].hists[KV_HIST_DEMOTE], 50 + move_ms);
	expect_ms(&f->tallies[0].hists[KV_HIST_REQUEST], 50 + move_ms);
	fixture_free(f);
}

/* An accelerator's memory takes no time and has no bytes. What it loses is deleted where no other
 * tier takes it. */
static void test_gpu(void)
{
	struct fixture *f = kvcache_run_one(
		SLOW ", " NOTHING,
		"\"users\": 1, \"duration\": \"20 s\", "
		"\"tiers\": [{\"kind\": \"gpu\", \"capacity\": 5242880}, {\"store\": \"s\", \"capacity\": 4194304}, "
		"{\"store\": \"n\", \"capacity\": 2097152}]",
		1);
	uint64_t n = kvcache_tier(f, 0, 0, KV_TIER_WRITES);

	kvcache_expect_ok(f);
	CU_ASSERT_TRUE(n >= 17 && n <= 24);
	/* 4 of 5 MiB, 3 of 4 (0.8 of it), and 2 of 2. */
	CU_ASSERT_EQUAL(kvcache_tier(f, 0, 0, KV_TIER_ENTRIES), 4);
	CU_ASSERT_EQUAL(kvcache_tier(f, 0, 1, KV_TIER_ENTRIES), 3);
	CU_ASSERT_EQUAL(kvcache_tier(f, 0, 2, KV_TIER_ENTRIES), 2);
	CU_ASSERT_EQUAL(kvcache_tier(f, 0, 1, KV_TIER_DEMOTED_IN), n - 4);
	CU_ASSERT_EQUAL(kvcache_tier(f, 0, 2, KV_TIER_DEMOTED_IN), n - 7);
	CU_ASSERT_EQUAL(kvcache_tier(f, 0, 2, KV_TIER_DELETED), n - 9);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_DELETES), n - 7 + n - 9);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_ENTRY_READS), 0);
	fixture_free(f);
}

/* An accelerator with a bandwidth: a request writes its entry and reads it twice. A victim on its
 * way to the next tier takes the bus, too. */
static void test_bus(void)
{
	struct fixture *f = kvcache_run_one(
		NOTHING,
		"\"users\": 1, \"duration\": \"20 s\", \"tiers\": [{\"kind\": \"gpu\", \"capacity\": 67108864, "
		"\"bandwidth\": \"100 MB/s\"}, \"n\"]",
		1);
	const struct table *t = &f->tallies[0].tables[KV_TABLE_TIERS];

	kvcache_expect_ok(f);
	CU_ASSERT_TRUE(kvcache_of(f, 0, KV_REQUESTS) >= 17);
	expect_ms(table_hist(t->kind, table_row(t, 0), KV_TIER_HIST_WRITE), move_ms);
	expect_ms(table_hist(t->kind, table_row(t, 0), KV_TIER_HIST_READ), move_ms);
	expect_ms(&f->tallies[0].hists[KV_HIST_REQUEST], 3 * move_ms);
	CU_ASSERT_EQUAL(hist_count(&f->tallies[0].hists[KV_HIST_READ]), 0);
	fixture_free(f);

	/* 4 of 5 MiB stay, so every write but the first four has a victim, which takes as long as
	 * an entry. */
	f = kvcache_run_one(
		NOTHING,
		"\"users\": 1, \"duration\": \"20 s\", \"tiers\": [{\"kind\": \"gpu\", \"capacity\": 5242880, "
		"\"bandwidth\": \"100 MB/s\"}, \"n\"]",
		1);
	kvcache_expect_ok(f);
	CU_ASSERT_TRUE(kvcache_tier(f, 0, 0, KV_TIER_DEMOTED_OUT) > 8);
	expect_ms(&f->tallies[0].hists[KV_HIST_REQUEST], 4 * move_ms);
	fixture_free(f);
}

/* What moves takes the bus at each end that has one. A write, two reads and a move in front of them
 * take as many times 10.49 ms as it says, at 100 MB/s. */
static const struct bus_case {
	const char *what, *phase;
	int times;
} bus_cases[] = {
	{"to a slower accelerator, for which the move waits",
	 "\"tiers\": [{\"kind\": \"gpu\", \"capacity\": 5242880, \"bandwidth\": \"100 MB/s\"}, "
	 "{\"kind\": \"gpu\", \"name\": \"b\", \"capacity\": 67108864, \"bandwidth\": \"50 MB/s\"}, \"n\"]",
	 2 + 3},
	{"to a faster one",
	 "\"tiers\": [{\"kind\": \"gpu\", \"capacity\": 5242880, \"bandwidth\": \"100 MB/s\"}, "
	 "{\"kind\": \"gpu\", \"name\": \"b\", \"capacity\": 67108864, \"bandwidth\": \"200 MB/s\"}, \"n\"]",
	 1 + 3},
	{"only the slower tier has a bus",
	 "\"tiers\": [{\"kind\": \"gpu\", \"capacity\": 5242880}, "
	 "{\"kind\": \"gpu\", \"name\": \"b\", \"capacity\": 67108864, \"bandwidth\": \"100 MB/s\"}, \"n\"]",
	 1},
	{"a copy of each entry for a store",
	 "\"policy\": {\"write\": \"through\"}, \"tiers\": [{\"kind\": \"gpu\", "
	 "\"capacity\": 67108864, \"bandwidth\": \"100 MB/s\"}, \"n\"]",
	 1 + 3},
	/* 4 of 60 entries are there, so nearly always the first read brings an entry, for which
	 * another one leaves. */
	{"promotion",
	 "\"mode\": \"decode\", \"stored_per_user\": 60, \"stored_tokens\": 1, "
	 "\"tiers\": [{\"kind\": \"gpu\", \"capacity\": 5242880, \"bandwidth\": \"100 MB/s\"}, "
	 "{\"store\": \"n\", \"promote_after\": 1}]",
	 1 + 2},
};

static void test_bus_ends(void)
{
	for (size_t i = 0; i < sizeof(bus_cases) / sizeof(bus_cases[0]); i++) {
		const struct bus_case *c = &bus_cases[i];
		struct fixture *f;
		char phase[512];

		snprintf(phase, sizeof(phase), "\"users\": 1, \"duration\": \"30 s\", %s",
			 c->phase);
		f = kvcache_run_one(NOTHING, phase, 1);
		kvcache_expect_ok(f);
		CU_ASSERT_TRUE(kvcache_of(f, 0, KV_REQUESTS) >= 24);
		if (!expect_ms(&f->tallies[0].hists[KV_HIST_REQUEST], c->times * move_ms))
			fprintf(stderr, "%s\n", c->what);
		fixture_free(f);
	}
}

/* A commit takes 0.5 s. Ten users ask once a second: with enough threads nobody waits for the
 * others, and with one thread they all do. */
static void test_slow_commit(void)
{
	static const char store[] = "\"s\": {\"uri\": \"sim://s\", \"commit_latency\": \"500 ms\"}";
	struct fixture *f = kvcache_run_one(
		store, "\"users\": 10, \"duration\": \"20 s\", \"threads\": 16, \"served\": 32", 1);

	kvcache_expect_ok(f);
	expect_ms(&f->tallies[0].hists[KV_HIST_REQUEST], 500);
	CU_ASSERT_TRUE(f->tallies[0].hists[KV_HIST_REQUEST].max_ns < 510000000);
	CU_ASSERT_TRUE(kvcache_of(f, 0, KV_REQUESTS) >= 180);
	fixture_free(f);

	f = kvcache_run_one(store, "\"users\": 10, \"duration\": \"20 s\", \"served\": 4", 1);
	kvcache_expect_ok(f);
	CU_ASSERT_TRUE(kvcache_of(f, 0, KV_REQUESTS) <= 41);
	CU_ASSERT_TRUE(kvcache_of(f, 0, KV_OFFERED) >= 180);
	CU_ASSERT_TRUE(kvcache_of(f, 0, KV_WAITING_MOST) >= 120);
	fixture_free(f);
}

/* The same with one thread whose queue has room for all: what it waits for keeps nobody waiting. Of
 * entries of 16 pieces, too. */
static void test_depth(void)
{
	static const char store[] = "\"s\": {\"uri\": \"sim://s\", \"commit_latency\": \"500 ms\"}";
	static const char *const chunks[] = {"\"1 MiB\"", "65536"};

	for (int i = 0; i < 2; i++) {
		struct fixture *f;
		char phase[256];

		snprintf(phase, sizeof(phase),
			 "\"users\": 10, \"duration\": \"20 s\", \"threads\": 1, \"depth\": 16, "
			 "\"served\": 32, \"chunk\": %s",
			 chunks[i]);
		f = kvcache_run_one(store, phase, 1);
		kvcache_expect_ok(f);
		expect_ms(&f->tallies[0].hists[KV_HIST_REQUEST], 500);
		CU_ASSERT_TRUE(f->tallies[0].hists[KV_HIST_REQUEST].max_ns < 520000000);
		CU_ASSERT_TRUE(kvcache_of(f, 0, KV_REQUESTS) >= 180);
		fixture_free(f);
	}
}

/* A request with an entry of 100 pieces, and half a second later one with a single piece. The store
 * moves pieces one after the other, so that the small request waits for the pieces of the large one
 * that are under way: at most as many as the queue is deep, before each of its own. */
static void test_fair(void)
{
	static char path[] = "/tmp/haul-fair-XXXXXX";
	char phase[256];
	FILE *out = fdopen(mkstemp(path), "w");
	struct fixture *f;

	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	fputs("TIMESTAMP,ContextTokens,GeneratedTokens\n"
	      "2024-01-01 00:00:00.0,100,1\n"
	      "2024-01-01 00:00:00.5,1,1\n",
	      out);
	fclose(out);
	snprintf(phase, sizeof(phase),
		 "\"model\": {\"layers\": 64, \"hidden\": 4096, \"heads\": 32, \"kv_heads\": 32}, "
		 "\"prefix\": {\"enabled\": false}, \"duration\": \"100 s\", \"threads\": 1, "
		 "\"depth\": 4, \"chunk\": \"1 MiB\", \"arrivals\": {\"file\": \"%s\"}",
		 path);
	f = kvcache_run(SLOW, phase, 1);
	kvcache_expect_ok(f);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_REQUESTS), 2);
	CU_ASSERT_TRUE(hist_quantile_ns(&f->tallies[0].hists[KV_HIST_REQUEST], 0.1) < 400000000);
	fixture_free(f);
	unlink(path);
}

static uint32_t published;

static void count_published(struct fixture *f, struct group *g, struct tally *so_far)
{
	(void)f;
	(void)g;
	(void)so_far;
	published++;
}

/* A phase is published ten times per second, though its threads have nothing to do nearly all the
 * time. */
static void test_published(void)
{
	char phase[512];
	struct fixture *f;

	snprintf(
		phase, sizeof(phase),
		"\"model\": {\"layers\": 1, \"hidden\": 64, \"heads\": 1, \"kv_heads\": 1, \"head_dim\": 64}, "
		"%s\"users\": 3, \"duration\": \"20 s\", \"threads\": 2, \"depth\": 4",
		kvcache_one_user);
	f = kvcache_new(1, NOTHING, phase);
	f->publish_every_ns = 100000000;
	f->publish = count_published;
	published = 0;
	fixture_run(f, 1);
	kvcache_expect_ok(f);
	CU_ASSERT_TRUE(published > 150 && published <= 200);
	fixture_free(f);
}

/* Only one request may write at a time, however many threads there are; reads go on. */
static void test_allocations(void)
{
	static const char store[] = "\"s\": {\"uri\": \"sim://s\", \"commit_latency\": \"200 ms\"}";
	struct fixture *f = kvcache_run_one(
		store,
		"\"users\": 20, \"duration\": \"10 s\", \"threads\": 16, \"max_concurrent_allocs\": 1",
		1);

	kvcache_expect_ok(f);
	CU_ASSERT_TRUE(kvcache_of(f, 0, KV_REQUESTS) <= 50);
	CU_ASSERT_TRUE(kvcache_of(f, 0, KV_REQUESTS) >= 40);
	CU_ASSERT_TRUE(kvcache_of(f, 0, KV_CREDIT_NS) > 0);
	fixture_free(f);
}

/* Tokens take 30 ms each, and nothing else takes any time. */
static void test_generation(void)
{
	struct fixture *f = kvcache_run_one(
		NOTHING, "\"users\": 2, \"duration\": \"10 s\", \"generation\": \"realistic\"", 1);

	kvcache_expect_ok(f);
	expect_ms(&f->tallies[0].hists[KV_HIST_REQUEST], 30);
	CU_ASSERT_TRUE(f->tallies[0].hists[KV_HIST_REQUEST_STORAGE].max_ns < 1000000);
	fixture_free(f);
}

/* More is asked for than can be served: the class with the higher priority does not wait, the other
 * one does. */
static void test_classes(void)
{
	struct fixture *f = kvcache_run_one(
		"\"s\": {\"uri\": \"sim://s\", \"commit_latency\": \"100 ms\"}",
		"\"users\": 30, \"duration\": \"20 s\", \"served\": 1, \"classes\": ["
		"{\"name\": \"low\", \"share\": 0.8, \"priority\": 1, \"p95\": \"150 ms\"}, "
		"{\"name\": \"high\", \"share\": 0.2, \"priority\": 2, \"p95\": \"1 s\"}]",
		1);
	uint64_t low = kvcache_class(f, 0, 0, KV_QOS_REQUESTS);
	uint64_t high = kvcache_class(f, 0, 1, KV_QOS_REQUESTS);

	kvcache_expect_ok(f);
	CU_ASSERT_EQUAL(low + high, kvcache_of(f, 0, KV_REQUESTS));
	CU_ASSERT_TRUE(high >= 85 && low >= 40 && low <= 110);
	CU_ASSERT_EQUAL(kvcache_class(f, 0, 1, KV_QOS_WITHIN_P95), high);
	CU_ASSERT_TRUE(kvcache_class(f, 0, 0, KV_QOS_WITHIN_P95) < low / 4);
	CU_ASSERT_EQUAL(kvcache_class(f, 0, 0, KV_QOS_P95_NS), 150000000);
	fixture_free(f);
}

/* What is written before the first request counts nowhere, and is there. */
static void test_precondition(void)
{
	struct fixture *f = kvcache_run_one(
		SLOW,
		"\"users\": 1, \"duration\": \"10 s\", \"precondition\": 6291456, "
		"\"precondition_tokens\": 1, \"tiers\": [{\"store\": \"s\", \"capacity\": 8388608}]",
		1);
	uint64_t n = kvcache_tier(f, 0, 0, KV_TIER_WRITES);

	kvcache_expect_ok(f);
	CU_ASSERT_TRUE(n >= 8 && n <= 13);
	CU_ASSERT_EQUAL(kvcache_tier(f, 0, 0, KV_TIER_DELETED), n + 6 - 8);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, TALLY_BYTES_WRITTEN), n * ENTRY_BYTES);
	fixture_free(f);
}

/* The phase ends after so many requests, before its time. */
static void test_requests(void)
{
	struct fixture *f =
		kvcache_run_one(SLOW, "\"users\": 1, \"duration\": \"100 s\", \"requests\": 5", 1);

	kvcache_expect_ok(f);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_REQUESTS), 5);
	CU_ASSERT_TRUE(kvcache_of(f, 0, TALLY_WALL_NS) < 8000000000);
	fixture_free(f);
}

/* Recorded requests arrive when they were recorded, each at one of the ranks, and the phase ends
 * when they are served. */
static void test_recorded(void)
{
	static char path[] = "/tmp/haul-recorded-XXXXXX";
	char phase[256];
	FILE *out = fdopen(mkstemp(path), "w");
	struct fixture *f;

	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	fputs("TIMESTAMP,ContextTokens,GeneratedTokens\n", out);
	for (int i = 0; i < 9; i++)
		fprintf(out, "2024-01-01 00:00:%02d.5,1,1\n", 10 * (i / 2));
	fclose(out);
	snprintf(phase, sizeof(phase),
		 "\"model\": {\"layers\": 64, \"hidden\": 4096, \"heads\": 32, \"kv_heads\": 32}, "
		 "\"prefix\": {\"enabled\": false}, \"duration\": \"100 s\", "
		 "\"arrivals\": {\"file\": \"%s\", \"speed\": 2}",
		 path);
	f = kvcache_run(SLOW, phase, 2);
	kvcache_expect_ok(f);
	for (uint32_t rank = 0; rank < 2; rank++) {
		CU_ASSERT_EQUAL(f->stopped[rank], STOP_NONE);
		CU_ASSERT_EQUAL(kvcache_of(f, rank, KV_REQUESTS), 5 - rank);
		CU_ASSERT_EQUAL(kvcache_of(f, rank, KV_LEFT), 0);
		CU_ASSERT_EQUAL(kvcache_of(f, rank, KV_ENTRY_WRITES), 5 - rank);
		CU_ASSERT_EQUAL(kvcache_of(f, rank, KV_ENTRY_READS), 2 * (5 - rank));
		expect_ms(&f->tallies[rank].hists[KV_HIST_REQUEST], 50 + 2 * 10 + 3 * move_ms);
	}
	/* The last one was recorded 40 s after the first one. */
	CU_ASSERT_TRUE(kvcache_of(f, 0, TALLY_WALL_NS) > 20000000000);
	CU_ASSERT_TRUE(kvcache_of(f, 0, TALLY_WALL_NS) < 21000000000);
	fixture_free(f);
	unlink(path);
}

/* What users ask for does not depend on who serves them: the same for any number of threads, and
 * other users with another seed. */
static void test_list(void)
{
	static const struct {
		uint32_t threads, depth, seed;
	} runs[] = {{1, 1, 0}, {1, 1, 0}, {2, 1, 0}, {4, 1, 0}, {4, 8, 0}, {1, 1, 1}};
	enum { RUNS = sizeof(runs) / sizeof(runs[0]), CLASSES = 3, FIGURES = 3 + CLASSES };
	uint64_t seen[RUNS][FIGURES];

	for (int i = 0; i < RUNS; i++) {
		struct fixture *f;
		char phase[256];

		snprintf(
			phase, sizeof(phase),
			"\"model\": {\"layers\": 1, \"hidden\": 64, \"heads\": 1, \"kv_heads\": 1, "
			"\"head_dim\": 64}, \"users\": 20, \"duration\": \"20 s\", \"threads\": %u, \"depth\": %u",
			runs[i].threads, runs[i].depth);
		f = kvcache_new(1, NOTHING, phase);
		f->job.seed += runs[i].seed;
		fixture_run(f, 1);
		kvcache_expect_ok(f);
		CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_LEFT), 0);
		seen[i][0] = kvcache_of(f, 0, KV_REQUESTS);
		seen[i][1] = kvcache_of(f, 0, KV_TOKENS);
		seen[i][2] = kvcache_tier(f, 0, 0, KV_TIER_WRITTEN_BYTES);
		for (uint32_t k = 0; k < CLASSES; k++)
			seen[i][3 + k] = kvcache_class(f, 0, k, KV_QOS_TOKENS);
		fixture_free(f);
	}
	for (int i = 1; i < RUNS - 1; i++)
		CU_ASSERT_EQUAL(memcmp(seen[0], seen[i], sizeof(seen[0])), 0);
	CU_ASSERT_NOT_EQUAL(seen[0][1], seen[RUNS - 1][1]);
	CU_ASSERT_NOT_EQUAL(seen[0][2], seen[RUNS - 1][2]);
}

static uint64_t decided(const struct fixture *f, uint32_t i, enum kv_scale_measure what)
{
	return table_row(&f->tallies[0].tables[KV_TABLE_AUTOSCALING], i)[what];
}

/* Nothing takes any time, so there are twice as many users each second: 4, 8, 16, 32, 64. A user
 * asks once a second, and in t seconds t - 0.49 times on average. */
static void test_more_users(void)
{
	struct fixture *f = kvcache_run_one(
		NOTHING,
		"\"users\": 4, \"duration\": \"10 s\", \"autoscaling\": {\"mode\": \"qos\", "
		"\"interval\": \"1 s\", \"up\": 2, \"users_max\": 64}",
		1);
	double wanted = 4 * 10 + 4 * 9 + 8 * 8 + 16 * 7 + 32 * 6 - 0.49 * 64;

	kvcache_expect_ok(f);
	CU_ASSERT_EQUAL(f->tallies[0].tables[KV_TABLE_AUTOSCALING].rows, 9);
	for (uint32_t i = 0; i < 9; i++) {
		CU_ASSERT_EQUAL(decided(f, i, KV_SCALE_USERS), i < 4 ? 8u << i : 64);
		CU_ASSERT_EQUAL(decided(f, i, KV_SCALE_NS) / 1000000000, i + 1);
	}
	CU_ASSERT_TRUE(fabs((double)kvcache_of(f, 0, KV_OFFERED) - wanted) < 0.04 * wanted);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_USERS), 64);
	fixture_free(f);
}

/* A write takes 0.5 s, ten times as long as it may. From the second decision on there are half as
 * many users each time. */
static void test_fewer_users(void)
{
	struct fixture *f = kvcache_run_one(
		"\"s\": {\"uri\": \"sim://s\", \"commit_latency\": \"500 ms\"}",
		"\"users\": 64, \"duration\": \"6500 ms\", \"threads\": 64, \"autoscaling\": "
		"{\"mode\": \"qos\", \"interval\": \"1 s\", \"down\": 0.5, \"samples\": 1, "
		"\"cooldown\": 0, \"users_max\": 64}",
		1);

	kvcache_expect_ok(f);
	CU_ASSERT_EQUAL(f->tallies[0].tables[KV_TABLE_AUTOSCALING].rows, 6);
	for (uint32_t i = 0; i < 6; i++) {
		CU_ASSERT_EQUAL(decided(f, i, KV_SCALE_USERS), 64 >> i);
		CU_ASSERT_EQUAL(decided(f, i, KV_SCALE_SATURATION_PPM), i ? 1000000 : 0);
		CU_ASSERT_EQUAL(decided(f, i, KV_SCALE_WRITE_P95_NS) / 10000000, i ? 50 : 0);
	}
	/* 64 users would ask 64 x 6 times. */
	CU_ASSERT_TRUE(kvcache_of(f, 0, KV_OFFERED) > 128);
	CU_ASSERT_TRUE(kvcache_of(f, 0, KV_OFFERED) < 192);
	fixture_free(f);
}

/* The store writes 20 entries a second, whoever asks for them: once more users do not help, the
 * phase ends. */
static void test_most_users(void)
{
	struct fixture *f = kvcache_run_one(
		"\"s\": {\"uri\": \"sim://s\", \"commit_latency\": \"50 ms\"}",
		"\"users\": 10, \"duration\": \"100 s\", \"autoscaling\": {\"mode\": \"capacity\", "
		"\"interval\": \"5 s\", \"users_max\": 1000}",
		1);
	uint32_t rows = f->tallies[0].tables[KV_TABLE_AUTOSCALING].rows;

	kvcache_expect_ok(f);
	CU_ASSERT_TRUE(rows >= 4 && rows <= 7);
	CU_ASSERT_EQUAL(decided(f, 0, KV_SCALE_USERS), 15);
	CU_ASSERT_TRUE(kvcache_of(f, 0, TALLY_WALL_NS) < 36000000000);
	CU_ASSERT_TRUE(kvcache_of(f, 0, KV_USERS) >= 20);
	CU_ASSERT_EQUAL(f->stopped[0], STOP_LIMIT);
	fixture_free(f);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"one user", test_one_user},
		{"demotion from memory to a store", test_demotion},
		{"an accelerator and two stores", test_gpu},
		{"an accelerator with a bandwidth", test_bus},
		{"both ends of what moves", test_bus_ends},
		{"a slow commit keeps nobody waiting", test_slow_commit},
		{"the depth of a thread", test_depth},
		{"entries side by side in a thread", test_fair},
		{"publication of idle threads", test_published},
		{"writes at a time", test_allocations},
		{"generation", test_generation},
		{"classes of service", test_classes},
		{"precondition", test_precondition},
		{"a number of requests", test_requests},
		{"recorded requests", test_recorded},
		{"the list of requests", test_list},
		{"autoscaling: more users", test_more_users},
		{"autoscaling: fewer users", test_fewer_users},
		{"autoscaling: the most users", test_most_users},
		CU_TEST_INFO_NULL,
	};

	return unit_main("kvcache_time", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of a tier that the ranks of two nodes share, in virtual time: its directory is divided, and
 * ranks ask each other. An entry has 1 MiB. A request reads the prompt, which is the same for all
 * ranks, writes it where it is missing, writes its own entry, and reads that twice. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/test_folder.h"
#include "tests/unit.h"
#include "tests/workloads/kvcache/kvcache_fixture.h"
#include "workloads/kvcache/kvcache.h"

enum { REQUESTS = 10, RANKS = 4, NODES = 2 };

#define GQA \
	"\"model\": {\"layers\": 64, \"hidden\": 4096, \"heads\": 32, \"kv_heads\": 32, \"head_dim\": 128}, "
#define MLA "\"model\": {\"attention\": \"mla\", \"layers\": 64, \"kv_rank\": 8192}, "
#define USER \
	"\"templates\": [{\"name\": \"one\", \"context_min\": 1, \"context_max\": 1, " \
	"\"generate_min\": 1, \"generate_max\": 1, \"think_min\": \"100 ms\", \"think_max\": \"100 ms\"}], " \
	"\"conversation\": {\"enabled\": false}, \"users\": 1, \"duration\": \"600 s\", "
#define PROMPT \
	"\"prefix\": {\"probability\": 1, \"prompts\": 1, \"tokens_min\": 1, \"tokens_max\": 1}, "
#define ALONE "\"prefix\": {\"enabled\": false}, "
#define TEN   "\"requests\": 10, "

static char folder[] = "/tmp/haul-kvcache-all-XXXXXX";

static struct fixture *all_new(const char *model, uint32_t tensor, const char *more,
			       const char *phase)
{
	char stores[512], text[4096];
	struct fixture *f;

	snprintf(stores, sizeof(stores),
		 "\"s\": {\"uri\": \"sim://s\", \"rank_bandwidth\": \"100 MB/s\"%s}", more);
	snprintf(text, sizeof(text), "%s" USER "%s", model, phase);
	f = kvcache_new(tensor, stores, text);
	f->nodes = NODES;
	return f;
}

static struct fixture *all_run(const char *more, const char *phase)
{
	struct fixture *f = all_new(GQA, 1, more, phase);

	fixture_run(f, RANKS);
	return f;
}

static uint64_t tier_sum(const struct fixture *f, uint32_t tier, unsigned measure)
{
	uint64_t sum = 0;

	for (uint32_t rank = 0; rank < f->ranks; rank++)
		sum += kvcache_tier(f, rank, tier, measure);
	return sum;
}

/* What came into the tier and has not left it is there. The first rank of each node reports its
 * part, which was never fuller than it may be. */
static void expect_balance(const struct fixture *f, uint32_t tier, uint64_t part)
{
	uint64_t came = tier_sum(f, tier, KV_TIER_WRITES) + tier_sum(f, tier, KV_TIER_DEMOTED_IN);

	CU_ASSERT_EQUAL(tier_sum(f, tier, KV_TIER_ENTRIES),
			came - tier_sum(f, tier, KV_TIER_DELETED));
	CU_ASSERT_EQUAL(tier_sum(f, tier, KV_TIER_USED_BYTES),
			tier_sum(f, tier, KV_TIER_ENTRIES) * ENTRY_BYTES);
	CU_ASSERT(fixture_sum(f, KV_ASKED) > 0);
	for (uint32_t rank = 0; rank < f->ranks; rank++) {
		uint64_t most = kvcache_tier(f, rank, tier, KV_TIER_USED_MOST_BYTES);

		if (rank % (RANKS / NODES) == 0) {
			CU_ASSERT(most > 0 && most <= part);
		} else {
			CU_ASSERT_EQUAL(most, 0);
			CU_ASSERT_EQUAL(kvcache_tier(f, rank, tier, KV_TIER_CAPACITY_BYTES), 0);
		}
	}
}

/* Forty requests, and one prompt that is written once: what a rank of one node has written, those
 * of the others read. */
static void test_found(void)
{
	static const struct {
		const char *model;
		uint32_t ranks, tensor, nodes;
		uint32_t writers; /* shards of an entry that are in the store */
	} cases[] = {{GQA, 4, 1, 2, 1}, {GQA, 6, 1, 3, 1}, {GQA, 8, 2, 2, 2}, {MLA, 8, 4, 2, 1}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t tensor = cases[i].tensor, servers = cases[i].ranks / tensor;
		uint64_t entries = servers * REQUESTS + 1, hits, misses;
		struct fixture *f =
			all_new(cases[i].model, tensor, "",
				PROMPT TEN "\"tiers\": [{\"store\": \"s\", \"shared\": \"all\"}]");

		f->nodes = cases[i].nodes;
		fixture_run(f, cases[i].ranks);
		kvcache_expect_ok(f);
		hits = fixture_sum(f, KV_HIT_PROMPT);
		misses = fixture_sum(f, KV_MISS_PROMPT);
		CU_ASSERT_EQUAL(fixture_sum(f, KV_REQUESTS), servers * REQUESTS);
		CU_ASSERT_EQUAL(hits + misses, servers * REQUESTS);
		/* At most the first request of each server comes too early. */
		CU_ASSERT(misses >= 1 && misses <= servers);
		CU_ASSERT_EQUAL(fixture_sum(f, KV_PRESENT), misses - 1);
		CU_ASSERT_EQUAL(fixture_sum(f, KV_ENTRY_WRITES), cases[i].writers * entries);
		CU_ASSERT_EQUAL(fixture_sum(f, KV_ENTRY_READS),
				tensor * (hits + 2ull * servers * REQUESTS));
		CU_ASSERT_EQUAL(tier_sum(f, 0, KV_TIER_ENTRIES), cases[i].writers * entries);
		CU_ASSERT_EQUAL(tier_sum(f, 0, KV_TIER_USED_MOST_BYTES), entries * ENTRY_BYTES);
		for (uint32_t rank = 0; rank < cases[i].ranks; rank++) {
			bool leads = rank % tensor == 0;

			CU_ASSERT_EQUAL(kvcache_of(f, rank, KV_HIT_PROMPT) >= REQUESTS - 1, leads);
			CU_ASSERT_EQUAL(kvcache_of(f, rank, KV_ASKED) > 0, leads);
		}
		fixture_free(f);
	}
}

/* Nine MiB are two parts of four and a half, of four entries each. */
static void test_capacity(void)
{
	struct fixture *f = all_run(
		"", PROMPT TEN
		"\"tiers\": [{\"store\": \"s\", \"capacity\": \"9 MiB\", \"shared\": \"all\"}]");

	kvcache_expect_ok(f);
	CU_ASSERT_EQUAL(fixture_sum(f, KV_REQUESTS), RANKS * REQUESTS);
	CU_ASSERT_EQUAL(tier_sum(f, 0, KV_TIER_ENTRIES), 8);
	CU_ASSERT_EQUAL(tier_sum(f, 0, KV_TIER_USED_MOST_BYTES), 8 * ENTRY_BYTES);
	CU_ASSERT_EQUAL(tier_sum(f, 0, KV_TIER_CAPACITY_BYTES), 9 * ENTRY_BYTES);
	expect_balance(f, 0, 4 * ENTRY_BYTES);
	fixture_free(f);
}

/* More leave at a time than one answer names, and room is made before an entry comes. */
static void test_many_victims(void)
{
	struct fixture *f = all_run(
		"", ALONE TEN
		"\"tiers\": [{\"store\": \"s\", \"capacity\": \"24 MiB\", \"low\": 0.1, \"shared\": \"all\"}]");

	kvcache_expect_ok(f);
	CU_ASSERT(tier_sum(f, 0, KV_TIER_DELETED) >= 11);
	expect_balance(f, 0, 12 * ENTRY_BYTES);
	fixture_free(f);
}

/* Behind memory of their own. 2560 KiB x 0.8 are two entries: the prompt, and the last one that was
 * written. */
static void test_behind_memory(void)
{
	static const char *const policies[] = {"move", "back", "through"};

	for (int i = 0; i < 3; i++) {
		char phase[1024];
		struct fixture *f;

		snprintf(
			phase, sizeof(phase),
			PROMPT TEN
			"\"chunk\": 65536, \"policy\": {\"write\": \"%s\"}, "
			"\"tiers\": [{\"kind\": \"cpu\", \"capacity\": \"2560 KiB\"}, "
			"{\"store\": \"s\", \"capacity\": \"12 MiB\", \"shared\": \"all\", \"promote_after\": %d}]",
			policies[i], 2 * (i == 1));
		f = all_run("", phase);
		kvcache_expect_ok(f);
		CU_ASSERT_EQUAL(fixture_sum(f, KV_REQUESTS), RANKS * REQUESTS);
		for (uint32_t rank = 0; rank < RANKS; rank++) {
			CU_ASSERT(i == 1 || kvcache_tier(f, rank, 0, KV_TIER_ENTRIES) == 2);
			CU_ASSERT_EQUAL(kvcache_tier(f, rank, 0, KV_TIER_DEMOTED_OUT),
					kvcache_tier(f, rank, 1, KV_TIER_DEMOTED_IN));
			if (i == 0)
				CU_ASSERT(kvcache_tier(f, rank, 1, KV_TIER_DEMOTED_IN) >=
					  REQUESTS - 2);
			if (i == 2)
				CU_ASSERT(kvcache_tier(f, rank, 1, KV_TIER_WRITES) >= REQUESTS);
		}
		expect_balance(f, 1, 6 * ENTRY_BYTES);
		fixture_free(f);
	}
}

/* Three entries of each rank before the first request. Ranks that have made theirs answer those
 * that have not. */
static void test_filled(void)
{
	struct fixture *f =
		all_run("", PROMPT TEN "\"precondition\": 3145728, \"precondition_tokens\": 1, "
				       "\"tiers\": [{\"store\": \"s\", \"shared\": \"all\"}]");

	kvcache_expect_ok(f);
	CU_ASSERT_EQUAL(fixture_sum(f, KV_ENTRY_WRITES), RANKS * REQUESTS + 1);
	CU_ASSERT_EQUAL(tier_sum(f, 0, KV_TIER_ENTRIES), RANKS * (REQUESTS + 3) + 1);
	fixture_free(f);
}

/* When the time is over, some writes and moves have not begun, and some questions have not been
 * answered. They leave nothing. */
static void test_dropped(void)
{
	static const char *const above[] = {
		"", "{\"kind\": \"cpu\", \"capacity\": \"5 MiB\", \"high\": 1}, "};

	for (uint32_t last = 0; last < 2; last++) {
		char phase[1024];
		struct fixture *f;

		snprintf(
			phase, sizeof(phase),
			GQA
			"%s\"users\": 20, \"duration\": \"8 s\", \"threads\": 1, \"chunk\": 65536, "
			"\"tiers\": [%s{\"store\": \"s\", \"capacity\": \"64 MiB\", \"shared\": \"all\"}]",
			kvcache_one_user, above[last]);
		f = kvcache_new(1, "\"s\": {\"uri\": \"sim://s\", \"rank_bandwidth\": \"3 MB/s\"}",
				phase);
		f->nodes = NODES;
		fixture_run(f, RANKS);
		kvcache_expect_ok(f);
		CU_ASSERT(fixture_sum(f, KV_REQUESTS) < fixture_sum(f, KV_OFFERED));
		CU_ASSERT(tier_sum(f, last, KV_TIER_ENTRIES) > 0);
		/* What is being written cannot leave, so the tier may be fuller than it should. */
		expect_balance(f, last, UINT64_MAX);
		fixture_free(f);
	}
}

/* Reads and writes that fail: the phase goes on, or ends on all ranks although only one has had the
 * error. */
static void test_failure(void)
{
	static const char *const on_error[] = {"count", "stop"};

	for (int i = 0; i < 2; i++) {
		char phase[512];
		struct fixture *f;

		snprintf(phase, sizeof(phase),
			 PROMPT
			 "\"requests\": 100, \"on_error\": \"%s\", \"tiers\": [{\"store\": \"s\", "
			 "\"capacity\": \"8 MiB\", \"shared\": \"all\"}]",
			 on_error[i]);
		f = all_run(", \"failure_rate\": 0.02", phase);
		for (uint32_t rank = 0; rank < RANKS; rank++) {
			CU_ASSERT_EQUAL(f->rc[rank] < 0, i == 1);
			CU_ASSERT_EQUAL(f->rc[rank], f->rc[0]);
		}
		CU_ASSERT(fixture_sum(f, TALLY_ERRORS) > 0);
		CU_ASSERT_EQUAL(fixture_sum(f, KV_REQUESTS) == 100 * RANKS, i == 0);
		if (i == 0)
			CU_ASSERT(tier_sum(f, 0, KV_TIER_USED_MOST_BYTES) <= 8 * ENTRY_BYTES);
		fixture_free(f);
	}
}

/* The same where much is under way. Ranks have nothing more to do at different times, and answer
 * until all have. */
static void test_failure_late(void)
{
	char phase[1024];

	snprintf(phase, sizeof(phase),
		 GQA "%s\"users\": 20, \"duration\": \"600 s\", \"threads\": 1, "
		     "\"on_error\": \"stop\", \"tiers\": [{\"store\": \"s\", "
		     "\"capacity\": \"64 MiB\", \"shared\": \"all\"}]",
		 kvcache_one_user);
	for (uint32_t seed = 0; seed < 4; seed++) {
		char store[256];
		struct fixture *f;

		snprintf(store, sizeof(store),
			 "\"s\": {\"uri\": \"sim://s%u\", \"rank_bandwidth\": \"%u MB/s\", "
			 "\"failure_rate\": 0.01}",
			 seed, 3 + seed);
		f = kvcache_new(1, store, phase);
		f->nodes = NODES;
		fixture_run(f, RANKS);
		CU_ASSERT(f->rc[0] < 0);
		for (uint32_t rank = 0; rank < RANKS; rank++)
			CU_ASSERT_EQUAL(f->rc[rank], f->rc[0]);
		CU_ASSERT(fixture_sum(f, TALLY_ERRORS) > 0);
		fixture_free(f);
	}
}

static void stop_signal(struct fixture *f, struct group *g, struct group *node)
{
	(void)g;
	(void)node;
	stop_ask(&f->stop, STOP_SIGNAL);
}

/* A signal that comes before the first entry is made: all ranks end. */
static void test_signal(void)
{
	struct fixture *f =
		all_new(GQA, 1, "",
			PROMPT TEN "\"precondition\": 31457280, \"precondition_tokens\": 1, "
				   "\"tiers\": [{\"store\": \"s\", \"shared\": \"all\"}]");

	f->between = stop_signal;
	fixture_run(f, RANKS);
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		CU_ASSERT_EQUAL(f->rc[rank], 0);
		CU_ASSERT_EQUAL(f->stopped[rank], STOP_SIGNAL);
	}
	CU_ASSERT_EQUAL(fixture_sum(f, KV_REQUESTS), 0);
	fixture_free(f);
}

/* Files keep what is written: all bytes are compared, whoever wrote them, and nothing stays. */
static void test_files(void)
{
	static const char *const tiers[] = {"", "{\"kind\": \"cpu\", \"capacity\": \"3 MiB\"}, "};
	char path[128], stores[256], phase[2048];

	snprintf(path, sizeof(path), "%s/data/kvcache", folder);
	snprintf(stores, sizeof(stores),
		 "\"s\": {\"uri\": \"file://%s/data\", \"engine\": \"psync\"}", folder);
	for (uint32_t i = 0; i < 2; i++) {
		struct fixture *f;

		snprintf(
			phase, sizeof(phase),
			GQA USER PROMPT TEN
			"\"verify\": \"full\", \"chunk\": 262144, \"tiers\": [%s{\"store\": \"s\", "
			"\"capacity\": \"16 MiB\", \"shared\": \"all\", \"promote_after\": %u}]",
			tiers[i], 2 * i);
		f = kvcache_new(1, stores, phase);
		f->nodes = NODES;
		fixture_run(f, RANKS);
		kvcache_expect_ok(f);
		CU_ASSERT_EQUAL(fixture_sum(f, KV_REQUESTS), RANKS * REQUESTS);
		CU_ASSERT(fixture_sum(f, KV_HIT_PROMPT) > 0);
		CU_ASSERT(i == 1 || fixture_sum(f, TALLY_BYTES_READ) > 0);
		expect_balance(f, i, 8 * ENTRY_BYTES);
		CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
		fixture_free(f);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"ranks of several nodes find each other's entries", test_found},
		{"one capacity", test_capacity},
		{"many victims", test_many_victims},
		{"a store behind memory", test_behind_memory},
		{"entries before the first request", test_filled},
		{"what is dropped at the end", test_dropped},
		{"a store that fails", test_failure},
		{"a store that fails while much is under way", test_failure_late},
		{"a signal", test_signal},
		{"files", test_files},
		CU_TEST_INFO_NULL,
	};

	return test_folder_main("kvcache_all", tests, folder);
}

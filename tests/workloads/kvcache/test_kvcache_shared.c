/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of tiers that ranks share, in virtual time. An entry has 1 MiB. A request reads the prompt,
 * which is the same for all ranks, writes it where it is missing, writes its own entry, and reads
 * that twice. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit.h"
#include "tests/workloads/kvcache/kvcache_fixture.h"
#include "workloads/kvcache/kvcache.h"

enum { REQUESTS = 10 };

#define STORE "\"s\": {\"uri\": \"sim://s\", \"rank_bandwidth\": \"100 MB/s\"%s}"
#define USER \
	"\"templates\": [{\"name\": \"one\", \"context_min\": 1, \"context_max\": 1, " \
	"\"generate_min\": 1, \"generate_max\": 1, \"think_min\": \"1 s\", \"think_max\": \"1 s\"}], " \
	"\"conversation\": {\"enabled\": false}, \"users\": 1, \"duration\": \"600 s\", "
#define PROMPT \
	"\"prefix\": {\"probability\": 1, \"prompts\": 1, \"tokens_min\": 1, \"tokens_max\": 1}, "

static const char gqa[] =
	"{\"layers\": 64, \"hidden\": 4096, \"heads\": 32, \"kv_heads\": 32, \"head_dim\": 128}";
static const char mla[] = "{\"attention\": \"mla\", \"layers\": 64, \"kv_rank\": 8192}";

static struct fixture *shared_new(const char *model, uint32_t tensor, const char *store,
				  const char *phase)
{
	char stores[512], text[4096];

	snprintf(stores, sizeof(stores), STORE, store);
	snprintf(text, sizeof(text), "\"model\": %s, " USER "%s", model, phase);
	return kvcache_new(tensor, stores, text);
}

static uint64_t tier_sum(const struct fixture *f, uint32_t tier, unsigned measure)
{
	uint64_t sum = 0;

	for (uint32_t rank = 0; rank < f->ranks; rank++)
		sum += kvcache_tier(f, rank, tier, measure);
	return sum;
}

/* There are so many stores without a limit, which servers share. In each, the prompt is written
 * once, by the first server that misses it; others that miss it meanwhile learn that it is
 * coming. */
static void expect_found(const struct fixture *f, uint32_t tensor, uint32_t parts, uint32_t writers)
{
	uint64_t servers = f->ranks / tensor, entries = servers * REQUESTS + parts;
	uint64_t hits = fixture_sum(f, KV_HIT_PROMPT), misses = fixture_sum(f, KV_MISS_PROMPT);

	kvcache_expect_ok(f);
	CU_ASSERT_EQUAL(fixture_sum(f, KV_REQUESTS), servers * REQUESTS);
	CU_ASSERT_EQUAL(hits + misses, servers * REQUESTS);
	CU_ASSERT_EQUAL(misses - fixture_sum(f, KV_PRESENT), parts);
	CU_ASSERT_EQUAL(fixture_sum(f, KV_MISSES), misses);
	CU_ASSERT_EQUAL(fixture_sum(f, KV_ENTRY_WRITES), writers * entries);
	CU_ASSERT_EQUAL(fixture_sum(f, KV_ENTRY_READS), tensor * (hits + 2 * servers * REQUESTS));
	CU_ASSERT_EQUAL(tier_sum(f, 0, KV_TIER_ENTRIES), writers * entries);
	CU_ASSERT_EQUAL(tier_sum(f, 0, KV_TIER_USED_BYTES), entries * ENTRY_BYTES);
	CU_ASSERT_EQUAL(tier_sum(f, 0, KV_TIER_USED_MOST_BYTES), entries * ENTRY_BYTES);
}

static void test_found(void)
{
	static const struct {
		const char *shared, *model;
		uint32_t ranks, tensor, nodes;
		uint32_t parts;   /* sets of entries that are told apart */
		uint32_t writers; /* shards of an entry that are in the store */
	} cases[] = {
		{"no", gqa, 2, 1, 1, 2, 1},   {"group", gqa, 2, 1, 1, 2, 1},
		{"node", gqa, 2, 1, 1, 1, 1}, {"all", gqa, 3, 1, 1, 1, 1},
		{"node", gqa, 4, 1, 2, 2, 1}, {"no", gqa, 4, 2, 1, 2, 2},
		{"node", gqa, 4, 2, 1, 1, 2}, {"node", mla, 4, 2, 1, 1, 1},
		{"node", gqa, 8, 2, 2, 2, 2},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char phase[512];
		struct fixture *f;

		snprintf(phase, sizeof(phase),
			 PROMPT
			 "\"requests\": %d, \"tiers\": [{\"store\": \"s\", \"shared\": \"%s\"}]",
			 REQUESTS, cases[i].shared);
		f = shared_new(cases[i].model, cases[i].tensor, "", phase);
		f->nodes = cases[i].nodes;
		fixture_run(f, cases[i].ranks);
		expect_found(f, cases[i].tensor, cases[i].parts, cases[i].writers);
		/* The first server of those that share it reports what is in the tier. */
		for (uint32_t rank = 0; rank < f->ranks; rank++)
			if (rank % (cases[i].ranks / cases[i].parts) >= cases[i].tensor)
				CU_ASSERT_EQUAL(kvcache_tier(f, rank, 0, KV_TIER_ENTRIES), 0);
		CU_ASSERT_EQUAL(fixture_sum(f, KV_ASKED), 0);
		fixture_free(f);
	}
}

/* One capacity for all: what three ranks write leaves when five entries are there. */
static void test_capacity(void)
{
	struct fixture *f = shared_new(
		gqa, 1, "",
		PROMPT
		"\"requests\": 10, \"tiers\": [{\"store\": \"s\", \"capacity\": \"5 MiB\", \"shared\": \"node\"}]");
	uint64_t writes;

	fixture_run(f, 3);
	kvcache_expect_ok(f);
	writes = tier_sum(f, 0, KV_TIER_WRITES);
	CU_ASSERT_TRUE(writes > 3 * REQUESTS);
	CU_ASSERT_EQUAL(kvcache_tier(f, 0, 0, KV_TIER_ENTRIES), 5);
	CU_ASSERT_EQUAL(tier_sum(f, 0, KV_TIER_ENTRIES), 5);
	CU_ASSERT_EQUAL(tier_sum(f, 0, KV_TIER_DELETED), writes - 5);
	CU_ASSERT_EQUAL(tier_sum(f, 0, KV_TIER_USED_MOST_BYTES), 5 * ENTRY_BYTES);
	CU_ASSERT_EQUAL(tier_sum(f, 0, KV_TIER_CAPACITY_BYTES), 5 * ENTRY_BYTES);
	CU_ASSERT_EQUAL(kvcache_tier(f, 0, 0, KV_TIER_CAPACITY_BYTES), 5 * ENTRY_BYTES);
	fixture_free(f);
}

/* Four entries at most: the directory is full before the tier is. */
static void test_entries(void)
{
	struct fixture *f = shared_new(
		gqa, 1, "",
		PROMPT
		"\"requests\": 10, \"tiers\": [{\"store\": \"s\", \"shared\": \"all\", \"entries\": 4}]");

	fixture_run(f, 2);
	kvcache_expect_ok(f);
	CU_ASSERT_EQUAL(fixture_sum(f, KV_REQUESTS), 2 * REQUESTS);
	CU_ASSERT_TRUE(tier_sum(f, 0, KV_TIER_USED_MOST_BYTES) <= 4 * ENTRY_BYTES);
	CU_ASSERT_EQUAL(tier_sum(f, 0, KV_TIER_WRITES) - tier_sum(f, 0, KV_TIER_DELETED),
			kvcache_tier(f, 0, 0, KV_TIER_ENTRIES));
	fixture_free(f);
}

/* Behind memory of their own. 2560 KiB x 0.8 are two entries. */
static void test_behind_memory(void)
{
	struct fixture *f = shared_new(
		gqa, 1, "",
		PROMPT
		"\"requests\": 10, \"chunk\": 65536, \"tiers\": [{\"kind\": \"cpu\", \"capacity\": \"2560 KiB\"}, "
		"{\"store\": \"s\", \"capacity\": \"8 MiB\", \"shared\": \"node\"}]");

	fixture_run(f, 2);
	kvcache_expect_ok(f);
	for (uint32_t rank = 0; rank < 2; rank++) {
		CU_ASSERT_EQUAL(kvcache_tier(f, rank, 0, KV_TIER_ENTRIES), 2);
		CU_ASSERT_EQUAL(kvcache_tier(f, rank, 0, KV_TIER_WRITES) -
					kvcache_tier(f, rank, 0, KV_TIER_DEMOTED_OUT) -
					kvcache_tier(f, rank, 0, KV_TIER_DELETED),
				2);
		CU_ASSERT_EQUAL(kvcache_tier(f, rank, 0, KV_TIER_DEMOTED_OUT),
				kvcache_tier(f, rank, 1, KV_TIER_DEMOTED_IN));
		CU_ASSERT_TRUE(kvcache_tier(f, rank, 1, KV_TIER_DEMOTED_IN) >= REQUESTS - 2);
	}
	CU_ASSERT_EQUAL(tier_sum(f, 1, KV_TIER_DEMOTED_IN) - tier_sum(f, 1, KV_TIER_DELETED),
			kvcache_tier(f, 0, 1, KV_TIER_ENTRIES));
	CU_ASSERT_EQUAL(kvcache_tier(f, 0, 1, KV_TIER_ENTRIES), 8);
	fixture_free(f);
}

/* Both ranks ingest the same two documents, whose lengths are drawn, and each chunk is written
 * once. */
static void test_documents(void)
{
	enum { DOCUMENTS = 2 };
	struct fixture *f = shared_new(
		gqa, 1, "",
		"\"prefix\": {\"enabled\": false}, \"requests\": 10, "
		"\"rag\": {\"documents\": 2, \"tokens_min\": 2, \"tokens_max\": 60, \"chunk_tokens\": 1, \"probability\": 0}, "
		"\"tiers\": [{\"store\": \"s\", \"shared\": \"node\"}]");
	uint64_t chunks;

	fixture_run(f, 2);
	kvcache_expect_ok(f);
	chunks = fixture_sum(f, KV_PRESENT);
	CU_ASSERT_TRUE(chunks >= 2 * DOCUMENTS);
	CU_ASSERT_EQUAL(fixture_sum(f, KV_ENTRY_WRITES), 2 * REQUESTS + chunks);
	fixture_free(f);
}

/* An entry that comes before the first request and is evicted before it is not part of what is
 * measured: six come, four of them leave when the sixth does, and one is written later. */
static void test_measured(void)
{
	struct fixture *f = shared_new(
		gqa, 1, "",
		"\"prefix\": {\"enabled\": false}, \"requests\": 1, "
		"\"precondition\": 6291456, \"precondition_tokens\": 1, "
		"\"tiers\": [{\"store\": \"s\", \"capacity\": \"5 MiB\", \"low\": 0.4, \"shared\": \"node\"}]");

	fixture_run(f, 1);
	kvcache_expect_ok(f);
	CU_ASSERT_EQUAL(kvcache_tier(f, 0, 0, KV_TIER_ENTRIES), 3);
	CU_ASSERT_EQUAL(kvcache_tier(f, 0, 0, KV_TIER_USED_MOST_BYTES), 3 * ENTRY_BYTES);
	fixture_free(f);
}

/* When the time is over, some writes and moves have not begun. They leave nothing in the tier. */
static void test_dropped(void)
{
	static const char *const above[] = {
		"", "{\"kind\": \"cpu\", \"capacity\": \"5 MiB\", \"high\": 1}, "};

	for (uint32_t last = 0; last < 2; last++) {
		char phase[512];
		struct fixture *f;

		snprintf(
			phase, sizeof(phase),
			"\"users\": 20, \"duration\": \"8 s\", \"threads\": 1, \"chunk\": 65536, "
			"\"tiers\": [%s{\"store\": \"s\", \"capacity\": \"64 MiB\", \"shared\": \"node\"}]",
			above[last]);
		f = kvcache_run_one("\"s\": {\"uri\": \"sim://s\", \"rank_bandwidth\": \"3 MB/s\"}",
				    phase, 2);
		kvcache_expect_ok(f);
		CU_ASSERT_TRUE(fixture_sum(f, KV_REQUESTS) < fixture_sum(f, KV_OFFERED));
		CU_ASSERT_TRUE(kvcache_tier(f, 0, last, KV_TIER_ENTRIES) > 0);
		CU_ASSERT_EQUAL(kvcache_tier(f, 0, last, KV_TIER_ENTRIES),
				tier_sum(f, last, KV_TIER_WRITES) +
					tier_sum(f, last, KV_TIER_DEMOTED_IN));
		fixture_free(f);
	}
}

/* Rank 1 needs a second for each MiB, three per request, and ends long after the others. Nobody
 * removes the entries, or counts them, before it has: so rank 0, which does both, has those that
 * come last. */
static void test_last(void)
{
	struct fixture *f = shared_new(gqa, 1, ", \"slow_ranks\": {\"1\": 0.01}",
				       "\"prefix\": {\"enabled\": false}, \"requests\": 10, "
				       "\"tiers\": [{\"store\": \"s\", \"shared\": \"node\"}]");

	fixture_run(f, 3);
	kvcache_expect_ok(f);
	for (uint32_t rank = 0; rank < 3; rank++) {
		CU_ASSERT_EQUAL(kvcache_of(f, rank, KV_REQUESTS), REQUESTS);
		CU_ASSERT_TRUE(kvcache_of(f, rank, TALLY_WALL_NS) > 30000000000);
	}
	CU_ASSERT_EQUAL(kvcache_tier(f, 0, 0, KV_TIER_ENTRIES), tier_sum(f, 0, KV_TIER_WRITES));
	CU_ASSERT_TRUE(tier_sum(f, 0, KV_TIER_WRITES) >= 3 * REQUESTS);
	fixture_free(f);
}

/* Entries that are there before the first request are each rank's own. */
static void test_filled(void)
{
	static const struct {
		const char *phase;
		uint64_t entries, writes; /* of both ranks */
	} cases[] = {
		{PROMPT "\"precondition\": 3145728, \"precondition_tokens\": 1, ", 6,
		 2 * REQUESTS + 1},
		{"\"prefix\": {\"enabled\": false}, \"mode\": \"decode\", "
		 "\"stored_per_user\": 3, \"stored_tokens\": 1, ",
		 6, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char phase[512];
		struct fixture *f;

		snprintf(
			phase, sizeof(phase),
			"%s\"requests\": 10, \"tiers\": [{\"store\": \"s\", \"shared\": \"node\"}]",
			cases[i].phase);
		f = shared_new(gqa, 1, "", phase);
		fixture_run(f, 2);
		kvcache_expect_ok(f);
		CU_ASSERT_EQUAL(fixture_sum(f, KV_ENTRY_WRITES), cases[i].writes);
		CU_ASSERT_EQUAL(tier_sum(f, 0, KV_TIER_ENTRIES),
				cases[i].entries + cases[i].writes);
		fixture_free(f);
	}
}

/* The capacities of test_kvcache_group, of the whole group: the results are the same. Of MLA, a
 * store has one copy. */
static void test_group(void)
{
	struct fixture *f = shared_new(
		gqa, 4, "",
		"\"prefix\": {\"enabled\": false}, \"requests\": 10, "
		"\"tiers\": [{\"kind\": \"gpu\", \"capacity\": \"5 MiB\", \"shared\": \"group\"}, "
		"{\"store\": \"s\", \"capacity\": \"4 MiB\", \"shared\": \"group\"}]");

	fixture_run(f, 8);
	kvcache_expect_ok(f);
	for (uint32_t rank = 0; rank < 8; rank++) {
		CU_ASSERT_EQUAL(kvcache_tier(f, rank, 0, KV_TIER_ENTRIES), 4);
		CU_ASSERT_EQUAL(kvcache_tier(f, rank, 1, KV_TIER_ENTRIES), 4);
		CU_ASSERT_EQUAL(kvcache_tier(f, rank, 1, KV_TIER_DEMOTED_IN), REQUESTS - 4);
		CU_ASSERT_EQUAL(kvcache_tier(f, rank, 1, KV_TIER_DELETED), REQUESTS - 8);
		CU_ASSERT_EQUAL(kvcache_tier(f, rank, 0, KV_TIER_CAPACITY_BYTES),
				rank % 4 ? 0 : 5 * ENTRY_BYTES);
	}
	fixture_free(f);
	f = shared_new(
		mla, 4, "",
		"\"prefix\": {\"enabled\": false}, \"requests\": 10, "
		"\"tiers\": [{\"store\": \"s\", \"capacity\": \"3 MiB\", \"shared\": \"group\"}]");
	fixture_run(f, 4);
	kvcache_expect_ok(f);
	CU_ASSERT_EQUAL(kvcache_tier(f, 0, 0, KV_TIER_ENTRIES), 3);
	CU_ASSERT_EQUAL(tier_sum(f, 0, KV_TIER_USED_MOST_BYTES), 3 * ENTRY_BYTES);
	fixture_free(f);
}

/* Reads and writes that fail: nobody waits for them, whether the phase goes on or ends. */
static void test_failure(void)
{
	static const char *const on_error[] = {"count", "stop"};

	for (int i = 0; i < 2; i++) {
		char phase[512];
		struct fixture *f;

		snprintf(phase, sizeof(phase),
			 PROMPT
			 "\"requests\": 100, \"on_error\": \"%s\", \"tiers\": [{\"store\": \"s\", "
			 "\"capacity\": \"5 MiB\", \"shared\": \"node\"}]",
			 on_error[i]);
		f = shared_new(gqa, 1, ", \"failure_rate\": 0.02", phase);
		fixture_run(f, 2);
		for (uint32_t rank = 0; rank < 2; rank++)
			CU_ASSERT_EQUAL(f->rc[rank] < 0, i == 1);
		CU_ASSERT_TRUE(fixture_sum(f, TALLY_ERRORS) > 0);
		CU_ASSERT_EQUAL(fixture_sum(f, KV_REQUESTS) == 200, i == 0);
		fixture_free(f);
	}
}

/* What a rank or a tensor group could not write, nobody finds. */
static void test_unwritten(void)
{
	for (uint32_t tensor = 1; tensor <= 2; tensor++) {
		struct fixture *f = shared_new(
			gqa, tensor, ", \"failure_rate\": 1",
			PROMPT
			"\"requests\": 10, \"on_error\": \"count\", \"tiers\": [{\"store\": \"s\", \"shared\": \"node\"}]");

		fixture_run(f, 2 * tensor);
		for (uint32_t rank = 0; rank < f->ranks; rank++)
			CU_ASSERT_EQUAL(f->rc[rank], 0);
		CU_ASSERT_EQUAL(fixture_sum(f, KV_REQUESTS), 2 * REQUESTS);
		CU_ASSERT_EQUAL(fixture_sum(f, KV_HIT_PROMPT), 0);
		CU_ASSERT_EQUAL(fixture_sum(f, KV_MISS_PROMPT), 2 * REQUESTS);
		fixture_free(f);
	}
}

/* Memory between two stores: what cannot be read from the first one is not in memory, and so cannot
 * come into the shared tier. Nobody reads it there. */
static void test_unmoved(void)
{
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t tensor = 1 + i / 2;
		char stores[256], phase[1024];
		struct fixture *f;

		snprintf(
			stores, sizeof(stores),
			", \"failure_rate\": 0}, \"t\": {\"uri\": \"sim://t\", \"failure_rate\": %u",
			i % 2);
		snprintf(
			phase, sizeof(phase),
			"\"prefix\": {\"probability\": 1, \"prompts\": 8, \"tokens_min\": 1, \"tokens_max\": 1}, "
			"\"requests\": 30, \"on_error\": \"count\", \"chunk\": 65536, \"tiers\": ["
			"{\"store\": \"t\", \"capacity\": \"%u KiB\", \"high\": 1}, "
			"{\"kind\": \"cpu\", \"capacity\": \"%u KiB\", \"high\": 1}, "
			"{\"store\": \"s\", \"shared\": \"node\"}]",
			2048 / tensor, 2048 / tensor);
		f = shared_new(gqa, tensor, stores, phase);
		fixture_run(f, 2 * tensor);
		for (uint32_t rank = 0; rank < f->ranks; rank++)
			CU_ASSERT_EQUAL(f->rc[rank], 0);
		CU_ASSERT_EQUAL(tier_sum(f, 2, KV_TIER_READS) > 0, i % 2 == 0);
		if (tensor == 1)
			CU_ASSERT_EQUAL(kvcache_tier(f, 0, 2, KV_TIER_ENTRIES) > 0, i % 2 == 0);
		fixture_free(f);
	}
}

static void test_refused(void)
{
	static const struct {
		const char *store, *shared, *users, *says;
	} cases[] = {
		{"sim://{rank}", "node", "1", "is another store for each rank"},
		{"sim://{node}", "all", "1", "is another store for each node"},
		{"sim://s", "node", "4194304", "more than 2^32 users"},
	};
	char store[128], phase[512];
	struct err err = {0};
	struct fixture *f;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(store, sizeof(store), "\"s\": {\"uri\": \"%s\"}", cases[i].store);
		snprintf(
			phase, sizeof(phase),
			"\"model\": \"tiny-1b\", \"users\": %s, \"tiers\": [{\"store\": \"s\", \"shared\": \"%s\"}]",
			cases[i].users, cases[i].shared);
		f = kvcache_new(1, store, phase);
		CU_ASSERT_EQUAL(kvcache_check(&f->job, &f->job.phases[0], 1024, &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].says));
		fixture_free(f);
	}
	f = kvcache_new(
		1, "\"s\": {\"uri\": [\"file:///a\", \"file:///b\"]}",
		"\"model\": \"tiny-1b\", \"tiers\": [{\"store\": \"s\", \"shared\": \"node\"}]");
	CU_ASSERT_EQUAL(kvcache_check(&f->job, &f->job.phases[0], 2, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "has several URIs"));
	fixture_free(f);
}

/* What a plan says of 4 ranks on two nodes, in groups of two. The ranks of a node have one
 * directory, or one part of it. */
static void test_planned(void)
{
	uint64_t alone = 0;

	static const struct {
		const char *shared, *note;
		double tiers;
	} cases[] = {
		{"no", "the tier \"s\" of a tensor group: 2 x 141 GB = 282 GB", 4},
		{"group", "the tier \"s\" of a tensor group: 141 GB", 2},
		{"node", "the tier \"s\" of a node: 141 GB", 2},
		{"all", "the tier \"s\" of all ranks: 141 GB", 1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char phase[512];
		struct phase_store stores[PHASE_STORES_MAX];
		struct demand demand = {.note_count = 0};
		struct err err = {0};
		uint32_t count = 0;
		struct fixture *f;

		snprintf(
			phase, sizeof(phase),
			"\"model\": \"tiny-1b\", \"tiers\": [{\"store\": \"s\", \"capacity\": \"141 GB\", \"shared\": \"%s\"}]",
			cases[i].shared);
		f = kvcache_new(2, "\"s\": {\"uri\": \"file:///s\"}", phase);
		f->job.cluster.ranks_per_node = 2;
		CU_ASSERT_EQUAL(kvcache_size(&f->job, &f->job.phases[0], 4, 2, &demand, &err), 0);
		alone = i == 0 ? demand.memory_per_rank : alone;
		CU_ASSERT_STRING_EQUAL(demand.notes[0], cases[i].note);
		CU_ASSERT_EQUAL(demand.memory_per_rank - alone,
				i >= 2 ? kv_shared_bytes(KV_SHARED_ENTRIES) / 2 : 0);
		CU_ASSERT_EQUAL(kvcache_stores(&f->job, &f->job.phases[0], 4, stores, &count, &err),
				0);
		CU_ASSERT_EQUAL_FATAL(count, 1);
		CU_ASSERT_EQUAL(stores[0].space_bytes, cases[i].tiers * 141e9);
		fixture_free(f);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"ranks find each other's entries", test_found},
		{"one capacity", test_capacity},
		{"a full directory", test_entries},
		{"a store behind memory", test_behind_memory},
		{"documents", test_documents},
		{"entries before the first request", test_filled},
		{"a tensor group", test_group},
		{"a store that fails", test_failure},
		{"what could not be written", test_unwritten},
		{"what could not be moved", test_unmoved},
		{"what is measured", test_measured},
		{"what is dropped at the end", test_dropped},
		{"a server that ends last", test_last},
		{"what is refused", test_refused},
		{"capacities and memory in the plan", test_planned},
		CU_TEST_INFO_NULL,
	};

	return unit_main("kvcache_shared_phase", tests);
}

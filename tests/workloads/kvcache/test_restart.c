/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of servers that are started anew, in virtual time. Every request begins with the same system prompt, of 64 blocks of
 * 64 KiB, and goes on with 10 blocks that are its own; a user asks 250 ms after an answer. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "core/numbers.h"
#include "tests/unit.h"
#include "tests/workloads/kvcache/kvcache_fixture.h"
#include "workloads/kvcache/serving/layout.h"

/* Opens, stats and pages of a listing take 5 ms, reads and writes 10 ms. */
#define LATE \
	"\"s\": {\"uri\": \"sim://s\", \"rank_bandwidth\": \"200 GB/s\", \"latency\": \"10 ms\", " \
	"\"open_latency\": \"5 ms\"}"
#define FAST "\"s\": {\"uri\": \"sim://s\", \"rank_bandwidth\": \"200 GB/s\"}"
#define MEM  "\"s\": {\"uri\": \"mem://s\", \"capacity\": \"1 GiB\"}"

enum { SHARED = 64, OWN = 10, BLOCK = 16 * 4096 };
static const double open_ms = 5, read_ms = 10;

static char phase[4096];

/* With room for so many slots, or buckets. */
static struct fixture *serve(const char *store, enum kv_layout_kind layout, uint32_t room,
			     uint32_t seconds, const char *serving)
{
	const struct kv_layout *l = &kv_layouts[layout];
	uint64_t capacity = room * (uint64_t)BLOCK;

	if (l->slots)
		capacity = l->slots->front + room * kv_slot_bytes(l->slots, BLOCK);
	if (l->buckets)
		capacity = room * kv_bucket_whole(l->buckets, BLOCK);
	snprintf(
		phase, sizeof(phase),
		"\"profile\": \"serving\", \"model\": {\"layers\": 1, \"hidden\": 1024, \"heads\": 8, "
		"\"kv_heads\": 8, \"head_dim\": 128}, \"conversation\": {\"enabled\": false}, "
		"\"prefix\": {\"probability\": 1, \"prompts\": 1, \"tokens_min\": 1024, \"tokens_max\": 1024}, "
		"\"templates\": [{\"name\": \"one\", \"context_min\": 160, \"context_max\": 160, "
		"\"generate_min\": 1, \"generate_max\": 1, \"think_min\": \"250 ms\", \"think_max\": \"250 ms\"}], "
		"\"users\": 1, \"duration\": \"%" PRIu32
		" s\", \"depth\": 256, \"verify\": \"full\", "
		"\"tiers\": [{\"kind\": \"store\", \"capacity\": %" PRIu64 "}], "
		"\"serving\": {\"block_tokens\": 16, \"layout\": \"%s\"%s}",
		seconds, capacity, l->name, serving);
	return kvcache_run(store, phase, 1);
}

static void close_to(double found, double wanted, double within)
{
	bool equal = fabs(found - wanted) <= within * wanted;

	CU_ASSERT_TRUE(equal);
	if (!equal)
		fprintf(stderr, "\n%.4f, not %.4f: %s\n", found, wanted, phase);
}

static double start_ms(const struct fixture *f)
{
	return (double)kvcache_of(f, 0, KV_START_UP_NS) / 1e6;
}

/* What is found of what was written; and whether all of that is there in the end. */
static void expect_blocks(const struct fixture *f, bool empty)
{
	uint64_t writes = kvcache_of(f, 0, KV_ENTRY_WRITES);
	uint64_t there =
		kvcache_tier(f, 0, 0, KV_TIER_ENTRIES) + kvcache_tier(f, 0, 0, KV_TIER_DELETED);

	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_START_UP_BLOCKS) > 0, !empty);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_START_UP_LOST), 0);
	CU_ASSERT_EQUAL(there < writes, empty);
	CU_ASSERT_TRUE(there <= writes);
}

/* A page of names, then one stat after the other. A request that comes meanwhile waits for the rest of it. */
static void test_folder(void)
{
	static const enum kv_layout_kind layouts[] = {KV_LAYOUT_LMCACHE_FS,
						      KV_LAYOUT_LMCACHE_FS_NATIVE};

	for (size_t i = 0; i < COUNT(layouts); i++) {
		struct fixture *f = serve(LATE, layouts[i], 100000, 30,
					  ", \"lookups\": 0, \"restart\": \"10 s\"");
		double blocks = (double)kvcache_of(f, 0, KV_START_UP_BLOCKS);
		double waited_ms = (double)kvcache_of(f, 0, KV_QUEUE_NS) / 1e6;

		kvcache_expect_ok(f);
		expect_blocks(f, false);
		CU_ASSERT_TRUE(blocks > 300);
		close_to(start_ms(f), (1 + blocks) * open_ms, 0.001);
		CU_ASSERT_TRUE(waited_ms > start_ms(f) - 260 && waited_ms < start_ms(f) + 60);
		CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_HITS),
				(kvcache_of(f, 0, KV_REQUESTS) - 1) * SHARED);
		fixture_free(f);
	}
}

/* The headers of both copies of the index, and the newer copy where one was written, which it is every minute; then the headers of
 * all slots, eight at a time, whether they hold blocks or not. */
static void test_slots(void)
{
	static const uint32_t rooms[] = {80, 200, 201, 1000};

	for (size_t i = 0; i < 2 * COUNT(rooms); i++) {
		uint32_t room = rooms[i / 2];
		struct fixture *f =
			serve(LATE, KV_LAYOUT_LMCACHE_RAW_BLOCK, room, i % 2 ? 70 : 20,
			      i % 2 ? ", \"restart\": \"61 s\"" : ", \"restart\": \"10 s\"");
		double reads = (i % 2 ? 3 : 2) + (room + 7) / 8;

		kvcache_expect_ok(f);
		expect_blocks(f, false);
		close_to(start_ms(f), reads * read_ms, 0.001);
		CU_ASSERT_TRUE(kvcache_of(f, 0, KV_START_UP_BLOCKS) <= room);
		CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_HITS),
				(kvcache_of(f, 0, KV_REQUESTS) - 1) * SHARED);
		fixture_free(f);
	}
}

/* Of each bucket, an open and a read of its .meta, and a stat; before and behind them a page of names. What fills no
 * bucket when the server starts anew is lost, and so is what does in the end. */
static void test_buckets(void)
{
	struct fixture *f =
		serve(LATE, KV_LAYOUT_MOONCAKE_BUCKET, 100, 90, ", \"restart\": \"60 s\"");
	uint64_t blocks = kvcache_of(f, 0, KV_START_UP_BLOCKS), all, hits;
	double buckets = (double)blocks / 500;

	kvcache_expect_ok(f);
	expect_blocks(f, false);
	CU_ASSERT_TRUE(blocks % 500 == 0 && blocks >= 1000);
	close_to(start_ms(f), (2 + 2 * buckets) * open_ms + buckets * read_ms, 0.001);
	all = SHARED + kvcache_of(f, 0, KV_REQUESTS) * OWN;
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_DROPPED), all - kvcache_of(f, 0, KV_ENTRY_WRITES));
	hits = kvcache_of(f, 0, KV_HITS);
	/* Until 500 blocks are one bucket, nothing is found. */
	CU_ASSERT_EQUAL(hits, (kvcache_of(f, 0, KV_REQUESTS) - 44) * SHARED);
	fixture_free(f);
}

/* Of each layout: what was in memory comes from the store afterwards, once, unless the server forgets what its file holds. */
static void test_memory(void)
{
	for (int i = 0; i < 2 * KV_LAYOUTS; i++) {
		const struct kv_layout *l = &kv_layouts[i / 2];
		bool mem = i % 2, empty = l->start == KV_START_EMPTY;
		struct fixture *f;

		/* Slots are written in place, which mem:// cannot. Buckets have a test of their own. */
		if (l->buckets || (mem && l->slots))
			continue;
		/* These are more blocks than a page of a listing has. */
		f = serve(mem ? MEM : FAST, i / 2, 5000, 50,
			  ", \"memory\": \"4 GiB\", \"restart\": \"45 s\"");
		CU_ASSERT_TRUE(kvcache_of(f, 0, KV_ENTRY_WRITES) > LIST_PAGE_ENTRIES + OWN * 50);
		kvcache_expect_ok(f);
		if (l->start == KV_START_NOTHING)
			CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_START_UP_NS) +
						kvcache_of(f, 0, KV_START_UP_BLOCKS) +
						kvcache_of(f, 0, KV_START_UP_LOST),
					0);
		if (l->start != KV_START_NOTHING)
			expect_blocks(f, empty);
		CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_BLOCKS_STORE), empty ? 0 : SHARED);
		CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_BLOCKS_MEMORY),
				(kvcache_of(f, 0, KV_REQUESTS) - 2) * SHARED);
		fixture_free(f);
	}
}

/* The names of blocks and of buckets that are whole; and others. */
static void test_names(void)
{
	static const struct {
		enum kv_layout_kind layout;
		const char *name;
		uint64_t number; /* 0: it has none */
	} cases[] = {
		{KV_LAYOUT_LMCACHE_FS, "a-SEP->b@0x01000100@0@ff.data", 255},
		{KV_LAYOUT_LMCACHE_FS_NATIVE, "m@c@0x01000100@0@ffffffffffffffff.data", UINT64_MAX},
		{KV_LAYOUT_LMCACHE_FS, "m@0x01000100@0@ff.data.tmp", 0},
		{KV_LAYOUT_LMCACHE_FS, "m@0x01000100@0@.data", 0},
		{KV_LAYOUT_LMCACHE_FS, "m@0x01000100@0@", 0},
		{KV_LAYOUT_LMCACHE_FS, ".haul-kvcache.json", 0},
		{KV_LAYOUT_MOONCAKE_BUCKET, "7356194041857.meta", 7356194041857},
		{KV_LAYOUT_MOONCAKE_BUCKET, "7356194041857.bucket", 0},
		{KV_LAYOUT_MOONCAKE_BUCKET, ".meta", 0},
		{KV_LAYOUT_MOONCAKE_BUCKET, "12a.meta", 0},
		{KV_LAYOUT_MOONCAKE_BUCKET, "", 0},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t number = 0;
		bool named = kv_layouts[cases[i].layout].listed(cases[i].name, &number);

		CU_ASSERT_EQUAL(named, cases[i].number > 0);
		CU_ASSERT_TRUE(!named || number == cases[i].number);
	}
}

/* A store that keeps bytes: the .meta of each bucket is read and compared; afterwards memory is filled from buckets. */
static void test_buckets_kept(void)
{
	struct fixture *f = serve(MEM, KV_LAYOUT_MOONCAKE_BUCKET, 100, 90,
				  ", \"memory\": \"4 GiB\", \"restart\": \"60 s\"");
	uint64_t blocks = kvcache_of(f, 0, KV_START_UP_BLOCKS);

	kvcache_expect_ok(f);
	expect_blocks(f, false);
	CU_ASSERT_TRUE(blocks % 500 == 0 && blocks >= 1000);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_BLOCKS_STORE), SHARED);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_STATS), blocks / 500);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_OPENS), blocks / 500 + SHARED);
	fixture_free(f);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"a folder is listed, and its files are asked for their sizes", test_folder},
		{"the index and the headers of slots are read", test_slots},
		{"the .meta of buckets are read", test_buckets},
		{"memory is empty, and what the store has is found", test_memory},
		{"names that a listing has", test_names},
		{"buckets of a store that keeps them", test_buckets_kept},
		CU_TEST_INFO_NULL,
	};

	return unit_main("restart", tests);
}

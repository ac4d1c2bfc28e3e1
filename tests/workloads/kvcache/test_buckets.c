/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of blocks in buckets: their bytes, and in virtual time what is there of them. Every request begins with the same system
 * prompt, of 64 blocks, and goes on with 10 blocks that are its own. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/numbers.h"
#include "tests/unit.h"
#include "tests/workloads/kvcache/kvcache_fixture.h"
#include "workloads/kvcache/serving/layout.h"

#define SLOW  "\"s\": {\"uri\": \"sim://s\", \"rank_bandwidth\": \"20 MB/s\"}"
#define STORE "\"s\": {\"uri\": \"sim://s\", \"rank_bandwidth\": \"2 GB/s\"}"
#define PROMPT \
	"\"conversation\": {\"enabled\": false}, " \
	"\"prefix\": {\"probability\": 1, \"prompts\": 1, \"tokens_min\": 1024, \"tokens_max\": 1024}, " \
	"\"templates\": [{\"name\": \"one\", \"context_min\": 160, \"context_max\": 160, " \
	"\"generate_min\": 1, \"generate_max\": 1, \"think_min\": \"250 ms\", \"think_max\": \"250 ms\"}], "

static char phase[4096];

/* Two blocks of 300 bytes, by hand: records of 316. Bytes are the same in whatever pieces they are made. */
static void test_bucket_bytes(void)
{
	static const char wanted[] = "\x08\xf8\x04"
				     "\x12\x10"
				     "0000000000000001"
				     "\x12\x10"
				     "000000000000002a"
				     "\x1a\x05\x10\x10\x18\xac\x02"
				     "\x1a\x08\x08\xbc\x02\x10\x10\x18\xac\x02";
	static const struct kv_buckets limits = {.bytes = 256 << 20, .blocks = 500};
	uint64_t keys[] = {1, 42};
	char meta[128], whole[632], part[632];
	struct kv_bucket b = {.block_bytes = 300, .count = 2, .keys = keys};
	struct pattern p;

	pattern_init(&p, 0, 300, 1, 1, 1 << 20);
	CU_ASSERT_EQUAL(kv_bucket_meta(&b), sizeof(wanted) - 1);
	b.meta = meta;
	CU_ASSERT_EQUAL(kv_bucket_meta(&b), sizeof(wanted) - 1);
	CU_ASSERT_EQUAL(memcmp(meta, wanted, sizeof(wanted) - 1), 0);
	kv_bucket_fill(&b, KV_BUCKET_META, p, 7, 3, part, 20);
	CU_ASSERT_EQUAL(memcmp(part, wanted + 3, 20), 0);
	kv_bucket_fill(&b, KV_BUCKET_DATA, p, 7, 0, whole, sizeof(whole));
	CU_ASSERT_EQUAL(memcmp(whole, wanted + 5, 16) + memcmp(whole + 316, wanted + 23, 16), 0);
	for (uint64_t piece = 1; piece < sizeof(whole); piece += 13) {
		memset(part, 0, sizeof(part));
		for (uint64_t at = 0; at < sizeof(whole); at += piece)
			kv_bucket_fill(&b, KV_BUCKET_DATA, p, 7, at, part + at,
				       min_u64(piece, sizeof(whole) - at));
		CU_ASSERT_EQUAL(memcmp(part, whole, sizeof(whole)), 0);
	}
	CU_ASSERT_EQUAL(kv_bucket_blocks(&limits, 1 << 20), 256);
	CU_ASSERT_EQUAL(kv_bucket_blocks(&limits, 1000), 500);
	CU_ASSERT_EQUAL(kv_bucket_blocks(&limits, 200 << 20), 1);
	CU_ASSERT_EQUAL(kv_bucket_blocks(&limits, (256 << 20) + 1), 0);
}

/* Runs for so many ms, with room for so many buckets of 500 blocks. */
static struct fixture *serve(const char *store, uint32_t buckets, uint32_t users, uint32_t ms)
{
	const uint64_t block = 2 * 64 * 2 * (uint64_t)16;
	const struct kv_buckets *limits = kv_layouts[KV_LAYOUT_MOONCAKE_BUCKET].buckets;

	snprintf(
		phase, sizeof(phase),
		"\"profile\": \"serving\", \"model\": {\"layers\": 1, \"hidden\": 64, \"heads\": 1, "
		"\"kv_heads\": 1, \"head_dim\": 64}, %s \"users\": %" PRIu32
		", \"duration\": \"%" PRIu32 " ms\", \"depth\": 16, \"verify\": \"full\", "
		"\"tiers\": [{\"kind\": \"store\", \"capacity\": %" PRIu64 "}], "
		"\"serving\": {\"block_tokens\": 16, \"layout\": \"mooncake_bucket\"}",
		PROMPT, users, ms, buckets * kv_bucket_whole(limits, block));
	return kvcache_run(store, phase, 1);
}

/* Blocks in buckets of 500: what has no bucket yet is not found, buckets go whole, and not those of a prompt that is being
 * fetched; on a store that keeps nothing, and on one that does. */
static void test_buckets(void)
{
	static const struct {
		uint32_t buckets, users;
		const char *store;
	} cases[] = {{100, 1, STORE},
		     {2, 1, STORE},
		     {1, 1, STORE},
		     {100, 8, STORE},
		     {2, 8, STORE},
		     {1, 8, STORE},
		     {2, 8, "\"s\": {\"uri\": \"mem://s\"}"},
		     {1, 8, SLOW}};
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t n, entries, deleted, writes, hits;
		struct fixture *f;

		f = serve(cases[i].store, cases[i].buckets, cases[i].users, 60000);
		kvcache_expect_ok(f);
		n = kvcache_of(f, 0, KV_REQUESTS);
		hits = kvcache_of(f, 0, KV_HITS);
		writes = kvcache_of(f, 0, KV_ENTRY_WRITES);
		entries = kvcache_tier(f, 0, 0, KV_TIER_ENTRIES);
		deleted = kvcache_tier(f, 0, 0, KV_TIER_DELETED);
		CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_GONE) + kvcache_of(f, 0, KV_STATS) +
					kvcache_of(f, 0, KV_PAYLOAD_ERRORS),
				0);
		CU_ASSERT_EQUAL(writes - deleted, entries);
		CU_ASSERT_TRUE(writes >= 1500 && writes % 500 == 0 && deleted % 500 == 0);
		CU_ASSERT_TRUE(entries <= cases[i].buckets * 500);
		CU_ASSERT_EQUAL(deleted > 0, cases[i].buckets < 100);
		CU_ASSERT_TRUE(hits - kvcache_of(f, 0, KV_ENTRY_READS) <=
			       (uint64_t)(cases[i].users > 1 ? cases[i].users * 64 : 0));
		/* The bucket with the shared prompt is used all the time. */
		if (cases[i].buckets > 1 && cases[i].users == 1) {
			CU_ASSERT_EQUAL(writes, (64 + n * 10) / 500 * 500);
			CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_DROPPED), (64 + n * 10) % 500);
			/* 64 + 44 * 10 are more than 500. */
			CU_ASSERT_EQUAL(hits, (n - 44) * 64);
		}
		fixture_free(f);
	}
}

/* A bucket takes 100 ms; it is written to its end also where the phase is over meanwhile. */
static void test_end(void)
{
	for (uint32_t ms = 10000; ms < 11600; ms += 40) {
		struct fixture *f = serve(SLOW, 100, 1, ms);
		uint64_t n = kvcache_of(f, 0, KV_REQUESTS), all = 64 + n * 10;

		kvcache_expect_ok(f);
		CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_ENTRY_WRITES), all / 500 * 500);
		CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_DROPPED), all % 500);
		fixture_free(f);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"the bytes of a bucket", test_bucket_bytes},
		{"blocks in buckets", test_buckets},
		{"a bucket at the end of a phase", test_end},
		CU_TEST_INFO_NULL,
	};

	return unit_main("buckets", tests);
}

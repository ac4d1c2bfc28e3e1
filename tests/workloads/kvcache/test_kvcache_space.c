/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the capacity of a tier that has none in the options, on the file system of the temporary
 * folder. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "tests/test_folder.h"
#include "tests/unit.h"
#include "tests/workloads/kvcache/kvcache_fixture.h"
#include "workloads/kvcache/run.h"

static char folder[] = "/tmp/haul-kvcache-space-XXXXXX";

/* A tier without a capacity has 95 % of what is free, of which each rank has its part; a store that
 * does not tell it has no limit. */
static void test_space(void)
{
	char stores[256];
	struct fixture *f;
	struct statvfs fs;
	uint64_t total, share = 0;

	CU_ASSERT_EQUAL(kv_space_share(1000, 0, 1), 950);
	CU_ASSERT_EQUAL(kv_space_share(1000, 0, 4), 237);
	CU_ASSERT_EQUAL(kv_space_share(99, 0, 0), 94);
	CU_ASSERT_EQUAL(kv_space_share(UINT64_C(1) << 62, 0, 1),
			(UINT64_C(1) << 62) / 100 * 95 + 3);
	CU_ASSERT_EQUAL(kv_space_share(1000, 350, 3), 200);
	CU_ASSERT_EQUAL(kv_space_share(1000, 950, 3), 0);
	CU_ASSERT_EQUAL(kv_space_share(1000, 2000, 3), 0);
	CU_ASSERT_EQUAL_FATAL(statvfs(folder, &fs), 0);
	total = (uint64_t)fs.f_blocks * fs.f_frsize;
	snprintf(stores, sizeof(stores), "\"s\": {\"uri\": \"file://%s/space\"}", folder);
	f = kvcache_run_one(stores, "\"users\": 1, \"duration\": \"100 ms\"", 4);
	kvcache_expect_ok(f);
	for (uint32_t rank = 0; rank < 4; rank++) {
		uint64_t capacity = kvcache_tier(f, rank, 0, KV_TIER_CAPACITY_BYTES);

		CU_ASSERT_TRUE(capacity > 0);
		CU_ASSERT_TRUE(capacity <= kv_space_share(total, 0, 4));
		share = capacity;
	}
	fixture_free(f);
	/* A tier of a node has the parts of all of its ranks, and is told of once. */
	f = kvcache_run_one(stores,
			    "\"users\": 1, \"duration\": \"100 ms\", "
			    "\"tiers\": [{\"store\": \"s\", \"shared\": \"node\"}]",
			    4);
	kvcache_expect_ok(f);
	CU_ASSERT_TRUE(kvcache_tier(f, 0, 0, KV_TIER_CAPACITY_BYTES) > 3 * share);
	CU_ASSERT_TRUE(kvcache_tier(f, 0, 0, KV_TIER_CAPACITY_BYTES) <=
		       kv_space_share(total, 0, 1));
	CU_ASSERT_EQUAL(kvcache_tier(f, 1, 0, KV_TIER_CAPACITY_BYTES), 0);
	fixture_free(f);
	f = kvcache_run_one("\"s\": {\"uri\": \"null://s\"}",
			    "\"users\": 1, \"duration\": \"100 ms\"", 2);
	kvcache_expect_ok(f);
	CU_ASSERT_EQUAL(kvcache_tier(f, 1, 0, KV_TIER_CAPACITY_BYTES), 0);
	fixture_free(f);
}

/* Four ranks, each with a tier of that capacity in another store on the same file system, one in
 * the same store, and the rest. */
static struct fixture *beside(uint64_t capacity)
{
	char stores[256], phase[512];

	snprintf(stores, sizeof(stores),
		 "\"s\": {\"uri\": \"file://%s/left\"}, \"other\": {\"uri\": \"file://%s/other\"}",
		 folder, folder);
	snprintf(phase, sizeof(phase),
		 "\"users\": 1, \"duration\": \"100 ms\", \"tiers\": ["
		 "{\"store\": \"other\", \"capacity\": %" PRIu64 "}, "
		 "{\"store\": \"s\", \"name\": \"first\", \"capacity\": %" PRIu64 "}, \"s\"]",
		 capacity, capacity);
	return kvcache_run_one(stores, phase, 4);
}

/* What tiers with capacities may take is left for them: half of what is free, and then twice as
 * much as is free. */
static void test_beside(void)
{
	struct statvfs fs;
	struct fixture *f;
	uint64_t is_free, share;

	CU_ASSERT_EQUAL_FATAL(statvfs(folder, &fs), 0);
	is_free = (uint64_t)fs.f_bavail * fs.f_frsize;
	share = is_free / 100 * 45 / 4;
	f = beside(is_free / 16);
	kvcache_expect_ok(f);
	for (uint32_t rank = 0; rank < 4; rank++) {
		uint64_t capacity = kvcache_tier(f, rank, 2, KV_TIER_CAPACITY_BYTES);

		/* Others write to this file system, too. */
		CU_ASSERT_TRUE(capacity > share / 2 && capacity < share / 2 * 3);
	}
	fixture_free(f);
	f = beside(is_free / 4);
	for (uint32_t rank = 0; rank < 4; rank++) {
		CU_ASSERT_EQUAL(f->rc[rank], -ENOSPC);
		CU_ASSERT_PTR_NOT_NULL(
			strstr(f->err[rank].text, "/tiers/2/capacity: nothing is left for it"));
	}
	fixture_free(f);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"a tier without a capacity", test_space},
		{"what other tiers may take", test_beside},
		CU_TEST_INFO_NULL,
	};

	return test_folder_main("kvcache_space", tests, folder);
}

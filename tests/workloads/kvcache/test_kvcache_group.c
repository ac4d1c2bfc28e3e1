/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of tensor groups in the phase "kvcache", in virtual time. An entry of 1 MiB takes 10.49 ms
 * at 100 MB/s, and a shard of it a part of that. A request writes its entry and reads it twice. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit.h"
#include "tests/workloads/kvcache/kvcache_fixture.h"
#include "workloads/kvcache/kvcache.h"

#define STORE "\"s\": {\"uri\": \"sim://s\", \"rank_bandwidth\": \"100 MB/s\"%s}"
#define HEADS(n, dim) \
	"{\"layers\": 64, \"hidden\": 4096, \"heads\": 96, \"kv_heads\": " #n \
	", \"head_dim\": " #dim "}"

static const char gqa[] = HEADS(32, 128), two_heads[] = HEADS(2, 2048),
		  three_heads[] = HEADS(3, 256);
static const char mla[] = "{\"attention\": \"mla\", \"layers\": 64, \"kv_rank\": 8192}";
static const double move_ms = 1048576 / 100e3;

static struct fixture *group_new(const char *model, uint32_t tensor, const char *more,
				 const char *phase)
{
	char store[512], text[2048];

	snprintf(store, sizeof(store), STORE, more);
	snprintf(text, sizeof(text), "\"model\": %s, %s\"users\": 1, \"duration\": \"20 s\"%s",
		 model, kvcache_one_user, phase);
	return kvcache_new(tensor, store, text);
}

static void expect_ms(const struct hist *h, double wanted_ms, const char *what, uint32_t rank)
{
	double found_ms = (double)hist_quantile_ns(h, 0.5) / 1e6;

	CU_ASSERT_TRUE(fabs(found_ms - wanted_ms) <= 0.01 * wanted_ms);
	if (fabs(found_ms - wanted_ms) > 0.01 * wanted_ms)
		fprintf(stderr, "\nrank %" PRIu32 ", %s: %.3f ms, not %.3f ms\n", rank, what,
			found_ms, wanted_ms);
}

/* The time of a rank for one shard, where rank 1 has a quarter of the speed. */
static double shard_ms(uint32_t rank, uint32_t tensor)
{
	return move_ms / tensor * (rank == 1 ? 4 : 1);
}

/* What one rank has done of a group's requests. */
static void expect_rank(const struct fixture *f, uint32_t rank, uint32_t tensor)
{
	const struct hist *hists = f->tallies[rank].hists;
	uint32_t leader = rank / tensor * tensor;
	uint64_t n = kvcache_of(f, leader, KV_REQUESTS);
	bool slow = leader <= 1 && 1 < leader + tensor;

	CU_ASSERT_TRUE(n >= 17 && n <= 24);
	CU_ASSERT_TRUE(kvcache_of(f, rank, KV_ENTRY_WRITES) - n <= 1);
	CU_ASSERT_TRUE(kvcache_of(f, rank, KV_ENTRY_READS) - 2 * n <= 2);
	CU_ASSERT_EQUAL(kvcache_of(f, rank, TALLY_BYTES_WRITTEN),
			kvcache_of(f, rank, KV_ENTRY_WRITES) * ENTRY_BYTES / tensor);
	CU_ASSERT_EQUAL(kvcache_tier(f, rank, 0, KV_TIER_ENTRIES),
			kvcache_tier(f, leader, 0, KV_TIER_ENTRIES));
	CU_ASSERT_EQUAL(kvcache_tier(f, rank, 0, KV_TIER_USED_BYTES),
			kvcache_tier(f, rank, 0, KV_TIER_ENTRIES) * ENTRY_BYTES / tensor);
	/* The leader waits for the slow rank, but not for what it does as fast as itself. */
	if (rank == leader && slow && rank != 1)
		CU_ASSERT_TRUE(fabs((double)kvcache_of(f, rank, KV_ACCOUNTS + ACCOUNT_RANKS) /
					    (3e6 * shard_ms(0, tensor) * 3) / (double)n -
				    1) < 0.1);
	expect_ms(&hists[KV_HIST_READ], shard_ms(rank, tensor), "read", rank);
	expect_ms(&hists[KV_HIST_WRITE], shard_ms(rank, tensor), "write", rank);
	if (rank == leader) {
		expect_ms(&hists[KV_HIST_REQUEST], 3 * move_ms / tensor * (slow ? 4 : 1), "request",
			  rank);
		return;
	}
	CU_ASSERT_EQUAL(kvcache_of(f, rank, KV_USERS), 0);
	CU_ASSERT_EQUAL(kvcache_of(f, rank, KV_OFFERED), 0);
	CU_ASSERT_EQUAL(kvcache_of(f, rank, KV_REQUESTS), 0);
	CU_ASSERT_EQUAL(kvcache_of(f, rank, KV_HITS), 0);
	CU_ASSERT_EQUAL(kvcache_class(f, rank, 0, KV_QOS_REQUESTS), 0);
	CU_ASSERT_EQUAL(hist_count(&hists[KV_HIST_REQUEST]), 0);
}

static void test_slowest(void)
{
	for (uint32_t ranks = 1; ranks <= 8; ranks *= 2)
		for (uint32_t tensor = 1; tensor <= 4 && tensor <= ranks; tensor *= 2) {
			struct fixture *f =
				group_new(gqa, tensor, ", \"slow_ranks\": {\"1\": 0.25}", "");

			fixture_run(f, ranks);
			kvcache_expect_ok(f);
			for (uint32_t rank = 0; rank < ranks; rank++) {
				expect_rank(f, rank, tensor);
				CU_ASSERT_EQUAL(f->stopped[rank], STOP_LIMIT);
			}
			fixture_free(f);
		}
}

/* What ranks hold together is written by the first of them, and read by all: MLA by one of all, two
 * heads by two of four. */
static void test_written_once(void)
{
	static const struct {
		const char *model;
		uint64_t writers, parts;
	} cases[] = {{mla, 1, 1}, {two_heads, 2, 2}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture *f = group_new(cases[i].model, 4, "", ", \"threads\": 2");
		uint64_t bytes = ENTRY_BYTES / cases[i].parts, n, written = 0;

		fixture_run(f, 4);
		kvcache_expect_ok(f);
		n = kvcache_of(f, 0, KV_REQUESTS);
		CU_ASSERT_TRUE(n >= 17 && n <= 24);
		for (uint32_t rank = 0; rank < 4; rank++) {
			bool writes = rank % (4 / cases[i].writers) == 0;

			written += kvcache_of(f, rank, TALLY_BYTES_WRITTEN);
			CU_ASSERT_EQUAL(kvcache_tier(f, rank, 0, KV_TIER_WRITES),
					writes ? kvcache_of(f, 0, KV_ENTRY_WRITES) : 0);
			CU_ASSERT_EQUAL(kvcache_tier(f, rank, 0, KV_TIER_ENTRIES),
					writes ? kvcache_tier(f, 0, 0, KV_TIER_ENTRIES) : 0);
			CU_ASSERT_TRUE(kvcache_of(f, rank, KV_ENTRY_READS) - 2 * n <= 2);
			CU_ASSERT_EQUAL(kvcache_of(f, rank, TALLY_BYTES_READ),
					kvcache_of(f, rank, KV_ENTRY_READS) * bytes);
		}
		CU_ASSERT_EQUAL(written, kvcache_of(f, 0, KV_ENTRY_WRITES) * ENTRY_BYTES);
		fixture_free(f);
	}
}

/* Three heads on two ranks: rank 1 has two of them, and the tiers go by its shard. A head has 64
 * KiB per token. */
static void test_uneven(void)
{
	struct fixture *f = group_new(
		three_heads, 2, "",
		", \"tiers\": [{\"kind\": \"cpu\", \"capacity\": \"1280 KiB\"}, \"s\"], \"chunk\": 65536");

	fixture_run(f, 2);
	kvcache_expect_ok(f);
	/* 1280 KiB x 0.8 are 8 shards of 128 KiB. */
	for (uint32_t rank = 0; rank < 2; rank++) {
		uint64_t bytes = 65536 << rank, n = kvcache_tier(f, 0, 0, KV_TIER_WRITES);

		CU_ASSERT_EQUAL(kvcache_tier(f, rank, 0, KV_TIER_ENTRIES), 8);
		CU_ASSERT_EQUAL(kvcache_tier(f, rank, 0, KV_TIER_USED_MOST_BYTES), 8 * bytes);
		CU_ASSERT_EQUAL(kvcache_tier(f, rank, 0, KV_TIER_WRITTEN_BYTES), n * bytes);
		CU_ASSERT_EQUAL(kvcache_tier(f, rank, 0, KV_TIER_DEMOTED_OUT), n - 8);
		CU_ASSERT_EQUAL(kvcache_tier(f, rank, 1, KV_TIER_DEMOTED_IN_BYTES),
				(n - 8) * bytes);
		CU_ASSERT_EQUAL(kvcache_of(f, rank, TALLY_BYTES_WRITTEN), (n - 8) * bytes);
	}
	fixture_free(f);
}

/* A group of three is possible, and a run says that it is unusual. */
static void test_odd(void)
{
	for (uint32_t tensor = 2; tensor <= 4; tensor++) {
		struct fixture *f = group_new(gqa, tensor, "", ", \"requests\": 2");

		fixture_run(f, tensor);
		kvcache_expect_ok(f);
		CU_ASSERT_EQUAL(strstr(f->message, "tensor 3 is not a power of two") != NULL,
				tensor == 3);
		CU_ASSERT_EQUAL(strstr(f->message, "a power of two") != NULL, tensor == 3);
		fixture_free(f);
	}
}

/* An accelerator's memory takes no time, and all ranks count what is in theirs. Preconditioning
 * counts nowhere. */
static void test_gpu(void)
{
	struct fixture *f = group_new(
		gqa, 4, "",
		", \"precondition\": 1048576, \"precondition_tokens\": 1, "
		"\"tiers\": [{\"kind\": \"gpu\", \"capacity\": \"1280 KiB\"}, {\"store\": \"s\", \"capacity\": \"1 MiB\"}]");

	fixture_run(f, 4);
	kvcache_expect_ok(f);
	for (uint32_t rank = 0; rank < 4; rank++) {
		uint64_t n = kvcache_of(f, 0, KV_REQUESTS);

		CU_ASSERT_TRUE(n >= 17 && n <= 24);
		CU_ASSERT_EQUAL(kvcache_tier(f, rank, 0, KV_TIER_WRITES), n);
		CU_ASSERT_EQUAL(kvcache_tier(f, rank, 0, KV_TIER_READS), 2 * n);
		CU_ASSERT_EQUAL(kvcache_tier(f, rank, 0, KV_TIER_ENTRIES), 4);
		CU_ASSERT_EQUAL(kvcache_tier(f, rank, 1, KV_TIER_ENTRIES), 4);
		CU_ASSERT_EQUAL(kvcache_tier(f, rank, 1, KV_TIER_DEMOTED_IN), n);
		CU_ASSERT_EQUAL(kvcache_tier(f, rank, 1, KV_TIER_DELETED), n - 4);
		CU_ASSERT_EQUAL(kvcache_of(f, rank, TALLY_BYTES_WRITTEN), n * ENTRY_BYTES / 4);
	}
	fixture_free(f);
}

/* A rank whose store fails ends the phase on all ranks. */
static void test_failure(void)
{
	struct fixture *f = group_new(gqa, 2, ", \"failure_rate\": 0.02", "");

	fixture_run(f, 4);
	for (uint32_t rank = 0; rank < 4; rank++) {
		CU_ASSERT_EQUAL(f->rc[rank], f->rc[0]);
		CU_ASSERT_TRUE(f->rc[rank] < 0);
	}
	CU_ASSERT_TRUE(kvcache_of(f, 0, TALLY_WALL_NS) < 15000000000);
	fixture_free(f);
}

static void test_refused(void)
{
	struct fixture *f = group_new(gqa, 4, "", "");
	struct demand demand = {.note_count = 0};
	struct err err = {0};

	/* Four ranks on two nodes. */
	f->nodes = 2;
	fixture_run(f, 4);
	for (uint32_t rank = 0; rank < 4; rank++) {
		CU_ASSERT_EQUAL(f->rc[rank], -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(f->err[rank].text, "has ranks on several"));
	}
	CU_ASSERT_EQUAL(kvcache_size(&f->job, &f->job.phases[0], 8, 6, &demand, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "the 6 ranks of a node are not a multiple"));
	CU_ASSERT_EQUAL(kvcache_size(&f->job, &f->job.phases[0], 8, 4, &demand, &err), 0);
	CU_ASSERT_EQUAL(kvcache_check(&f->job, &f->job.phases[0], 6, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "6 ranks are not a multiple of tensor = 4"));
	CU_ASSERT_EQUAL(kvcache_check(&f->job, &f->job.phases[0], 8, &err), 0);
	fixture_free(f);
	f = kvcache_new(2, "\"s\": {\"uri\": \"sim://{rank}\"}", "\"model\": \"deepseek-v3\"");
	CU_ASSERT_EQUAL(kvcache_check(&f->job, &f->job.phases[0], 2, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "is another store for each rank"));
	fixture_free(f);
	f = kvcache_new(2, "\"s\": {\"uri\": \"sim://{rank}\"}", "\"model\": \"tiny-1b\"");
	CU_ASSERT_EQUAL(kvcache_check(&f->job, &f->job.phases[0], 2, &err), 0);
	fixture_free(f);
}

/* Eight accelerators with 141 GB each, as the plan shows them. */
static void test_told(void)
{
	struct fixture *f = kvcache_new(
		8, "\"s\": {\"uri\": \"sim://s\"}",
		"\"model\": \"llama3.1-8b\", \"tiers\": [{\"kind\": \"gpu\", \"capacity\": \"141 GB\"}, "
		"{\"kind\": \"cpu\", \"capacity\": \"131072 GB\"}, \"s\"]");
	struct demand demand = {.note_count = 0};
	struct err err = {0};

	CU_ASSERT_EQUAL(kvcache_size(&f->job, &f->job.phases[0], 8, 8, &demand, &err), 0);
	CU_ASSERT_STRING_EQUAL(demand.notes[0],
			       "the tier \"gpu\" of a tensor group: 8 x 141 GB = 1,128 GB");
	CU_ASSERT_STRING_EQUAL(demand.notes[1],
			       "the tier \"cpu\" of a tensor group: 8 x 131,072 GB = 1.05 PB");
	fixture_free(f);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"a request takes as long as the slowest rank", test_slowest},
		{"what several ranks hold is written once", test_written_once},
		{"uneven shards", test_uneven},
		{"a group of three", test_odd},
		{"accelerators and preconditioning", test_gpu},
		{"a store that fails", test_failure},
		{"groups that are refused", test_refused},
		{"capacities in the plan", test_told},
		CU_TEST_INFO_NULL,
	};

	return unit_main("kvcache_group", tests);
}

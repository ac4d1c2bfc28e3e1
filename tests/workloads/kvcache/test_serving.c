/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the profile serving, in virtual time and on a store that takes a known time: 2 GB/s. A token has 4096 bytes per
 * layer, and a block 16 tokens. Every request begins with the same system prompt, of 64 blocks, and goes on with 10 blocks that
 * are its own; so all but the first one fetch 64 blocks and compute 160 tokens. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/numbers.h"
#include "tests/test_folder.h"
#include "tests/unit.h"
#include "tests/workloads/kvcache/kvcache_fixture.h"
#include "workloads/kvcache/serving/server.h"

#define STORE "\"s\": {\"uri\": \"sim://s\", \"rank_bandwidth\": \"2 GB/s\"}"
#define PROMPT \
	"\"conversation\": {\"enabled\": false}, " \
	"\"prefix\": {\"probability\": 1, \"prompts\": 1, \"tokens_min\": 1024, \"tokens_max\": 1024}, " \
	"\"templates\": [{\"name\": \"one\", \"context_min\": 160, \"context_max\": 160, " \
	"\"generate_min\": 1, \"generate_max\": 1, \"think_min\": \"250 ms\", \"think_max\": \"250 ms\"}], "
#define ALONE "\"users\": 1, \"duration\": \"5 s\", \"depth\": 256, "

#define BLOCKS "\"block_tokens\": 16, "

enum { TOKENS_SHARED = 1024, TOKENS_OWN = 160, LAYER_TOKEN_BYTES = 4096 };
static const double rate_ms = 2e6; /* bytes per ms */

static char phase[4096];

static struct fixture *serve(uint32_t layers, const char *rest, const char *serving, uint32_t ranks)
{
	snprintf(phase, sizeof(phase),
		 "\"profile\": \"serving\", \"model\": {\"layers\": %" PRIu32
		 ", \"hidden\": 1024, \"heads\": 8, \"kv_heads\": 8, \"head_dim\": 128}, %s%s"
		 "\"serving\": {%s}",
		 layers, PROMPT, rest, serving);
	return kvcache_run(STORE, phase, ranks);
}

static bool close_to(double found, double wanted, double within)
{
	bool equal = fabs(found - wanted) <= within * wanted;

	CU_ASSERT_TRUE(equal);
	if (!equal)
		fprintf(stderr, "\n%.4f, not %.4f: %s\n", found, wanted, phase);
	return equal;
}

static double median_ms(const struct fixture *f, enum kv_hist hist)
{
	return (double)hist_quantile_ns(&f->tallies[0].hists[hist], 0.5) / 1e6;
}

static double fetch_ms(uint32_t layers)
{
	return (double)TOKENS_SHARED * LAYER_TOKEN_BYTES * layers / rate_ms;
}

/* Layer by layer, and all at once: the time to the first token is the sum by hand. */
static void test_first_token(void)
{
	static const struct {
		uint32_t layers;
		bool layered;
		uint64_t prefill;
	} cases[] = {{1, false, 20000}, {2, false, 20000}, {32, false, 20000}, {1, true, 20000},
		     {2, true, 20000},  {32, true, 20000}, {2, true, 200000},  {32, true, 2000},
		     {32, true, 0},     {32, false, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint32_t layers = cases[i].layers;
		double fetch = fetch_ms(layers), stall = 0, compute = 0;
		char serving[256];
		struct fixture *f;

		if (cases[i].prefill)
			compute = TOKENS_OWN * 1e3 / (double)cases[i].prefill;
		for (uint32_t l = 0; l < layers; l++)
			stall = fmax(stall, fetch * (l + 1) / layers - compute * l / layers);
		if (!cases[i].layered)
			stall = fetch;
		snprintf(serving, sizeof(serving),
			 BLOCKS "\"layered\": %s, \"prefill_tokens_per_second\": %" PRIu64,
			 cases[i].layered ? "true" : "false", cases[i].prefill);
		f = serve(layers, ALONE, serving, 1);
		kvcache_expect_ok(f);
		close_to(median_ms(f, KV_HIST_TTFT), compute + stall, 0.02);
		close_to(median_ms(f, KV_HIST_STALL), stall, 0.02);
		close_to(median_ms(f, KV_HIST_FETCH), fetch, 0.02);
		fixture_free(f);
	}
}

/* The first prompt is missed whole, and then written once; each later one finds what is shared. */
static void test_counts(void)
{
	struct fixture *f = serve(1, ALONE, BLOCKS "\"lookups\": 1", 1);
	uint64_t n = kvcache_of(f, 0, KV_REQUESTS);

	kvcache_expect_ok(f);
	CU_ASSERT_TRUE(n >= 15 && n <= 22);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_BLOCKS_ASKED), n * 74);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_HITS), (n - 1) * 64);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_HIT_PROMPT), (n - 1) * 64);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_MISS_PROMPT), 64);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_MISS_TURN), n * 10);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_ENTRY_WRITES), 64 + n * 10);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_ENTRY_READS), (n - 1) * 64);
	/* One after the other: the first that misses is the last. */
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_LOOKUPS), 1 + (n - 1) * 65);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_DROPPED), 0);
	fixture_free(f);
	f = serve(1, ALONE, BLOCKS "\"pending\": 20", 1);
	n = kvcache_of(f, 0, KV_REQUESTS);
	kvcache_expect_ok(f);
	/* What is dropped of the shared prompt is missed again, and written then. */
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_DROPPED) + kvcache_of(f, 0, KV_ENTRY_WRITES),
			kvcache_of(f, 0, KV_MISSES));
	CU_ASSERT_TRUE(kvcache_of(f, 0, KV_DROPPED) > 50);
	fixture_free(f);
}

/* An open takes 10 ms, and a token 4,096 bytes at 2 GB/s: so a fetch takes 10 ms + 2.048 us per token, and
 * computing 10 us per token. They cross at 10 ms / 7.952 us = 1257.5 tokens. Where computing is faster
 * than the store, they do not cross. */
static void test_crossover(void)
{
	static const struct {
		uint64_t prefill;
		double tokens;
	} cases[] = {{100000, 1257.5}, {50000, 10e-3 / (20e-6 - 2.048e-6)}, {1000000, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fixture *f;

		snprintf(
			phase, sizeof(phase),
			"\"profile\": \"serving\", \"model\": {\"layers\": 1, \"hidden\": 1024, \"heads\": 8, "
			"\"kv_heads\": 8, \"head_dim\": 128}, \"conversation\": {\"end\": 0}, "
			"\"prefix\": {\"enabled\": false}, "
			"\"templates\": [{\"name\": \"one\", \"context_min\": 160, \"context_max\": 160, "
			"\"generate_min\": 1, \"generate_max\": 1, \"think_min\": \"200 ms\", \"think_max\": \"200 ms\"}], "
			"\"users\": 1, \"duration\": \"10 s\", \"depth\": 256, "
			"\"serving\": {\"block_tokens\": 16, \"context_max\": 4000, "
			"\"prefill_tokens_per_second\": %" PRIu64 "}",
			cases[i].prefill);
		f = kvcache_run("\"s\": {\"uri\": \"sim://s\", \"rank_bandwidth\": \"2 GB/s\", "
				"\"open_latency\": \"10 ms\"}",
				phase, 1);
		kvcache_expect_ok(f);
		close_to((double)kvcache_of(f, 0, KV_PAYS_TOKENS), cases[i].tokens, 0.02);
		fixture_free(f);
	}
}

/* The store itself says what is there, and has the bytes that were written, whichever rank wrote them;
 * on every layout whose blocks are objects. */
static void test_store(void)
{
	for (int layout = 0; layout < KV_LAYOUTS; layout++) {
		uint64_t hits = 0, writes = 0, lookups = 0, gone = 0, prompts = 0;
		struct fixture *f;

		if (kv_layouts[layout].slots || kv_layouts[layout].buckets)
			continue;
		snprintf(
			phase, sizeof(phase),
			"\"profile\": \"serving\", \"model\": {\"layers\": 1, \"hidden\": 64, \"heads\": 1, "
			"\"kv_heads\": 1, \"head_dim\": 64}, %s \"users\": 1, \"duration\": \"5 s\", "
			"\"threads\": 2, \"verify\": \"full\", "
			"\"serving\": {\"layout\": \"%s\", \"block_tokens\": 16}",
			PROMPT, kv_layout_names[layout]);
		f = kvcache_run("\"s\": {\"uri\": \"mem://s\"}", phase, 2);
		kvcache_expect_ok(f);
		for (uint32_t rank = 0; rank < 2; rank++) {
			prompts += kvcache_of(f, rank, KV_REQUESTS);
			hits += kvcache_of(f, rank, KV_HITS);
			writes += kvcache_of(f, rank, KV_ENTRY_WRITES);
			lookups += kvcache_of(f, rank, KV_LOOKUPS);
			gone += kvcache_of(f, rank, KV_GONE);
		}
		CU_ASSERT_TRUE(prompts >= 30);
		/* Both may miss the first time. */
		CU_ASSERT_TRUE(hits == (prompts - 1) * 64 || hits == (prompts - 2) * 64);
		CU_ASSERT_EQUAL(writes, 64 + prompts * 10);
		CU_ASSERT_TRUE(lookups >= hits + prompts);
		CU_ASSERT_EQUAL(gone, 0);
		fixture_free(f);
	}
}

/* Slots of a file: all that is written and not deleted has one, and what a prompt has found keeps its slot until it has
 * come, also where there are fewer slots than blocks of a prompt, and several prompts at a time. Where there is
 * room, the shared prompt stays, since it is used again and again. */
static void test_slots(void)
{
	static const struct {
		uint32_t slots, users;
	} cases[] = {{200, 1}, {76, 1}, {20, 1}, {1, 1}, {200, 8}, {30, 8}, {2, 8}};
	const uint64_t block = 16 * (uint64_t)LAYER_TOKEN_BYTES;

	for (int i = 0; i < KV_LAYOUTS * (int)COUNT(cases); i++) {
		const struct kv_layout *l = &kv_layouts[i % KV_LAYOUTS];
		uint32_t slots = cases[i / KV_LAYOUTS].slots, users = cases[i / KV_LAYOUTS].users;
		uint64_t n, entries, deleted, writes;
		char rest[256], serving[128];
		struct fixture *f;

		if (!l->slots)
			continue;
		snprintf(rest, sizeof(rest),
			 "\"users\": %" PRIu32 ", \"duration\": \"5 s\", \"depth\": 16, "
			 "\"tiers\": [{\"kind\": \"store\", \"capacity\": %" PRIu64 "}], ",
			 users, l->slots->front + slots * kv_slot_bytes(l->slots, block));
		snprintf(serving, sizeof(serving), BLOCKS "\"layout\": \"%s\"", l->name);
		f = serve(1, rest, serving, 1);
		kvcache_expect_ok(f);
		n = kvcache_of(f, 0, KV_REQUESTS);
		writes = kvcache_of(f, 0, KV_ENTRY_WRITES);
		entries = kvcache_tier(f, 0, 0, KV_TIER_ENTRIES);
		deleted = kvcache_tier(f, 0, 0, KV_TIER_DELETED);
		CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_GONE), 0);
		CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_STATS) + kvcache_of(f, 0, KV_OPENS), 0);
		CU_ASSERT_EQUAL(writes - deleted, entries);
		CU_ASSERT_TRUE(entries <= slots && (slots > 74 || deleted > 0));
		/* Those of prompts that were being fetched at the end are missing. */
		CU_ASSERT_TRUE(kvcache_of(f, 0, KV_HITS) - kvcache_of(f, 0, KV_ENTRY_READS) <=
			       (uint64_t)(users > 1 ? users * 64 : 0));
		if (slots > 74 && users == 1) {
			CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_HITS), (n - 1) * 64);
			CU_ASSERT_EQUAL(writes, 64 + n * 10);
			CU_ASSERT_EQUAL(entries, slots > 80 ? slots : 76);
		}
		fixture_free(f);
	}
}

/* The index of slots is written every 60 s, where blocks have been written since: a header and the index. Blocks have a
 * header and one piece. */
static void test_index(void)
{
	const struct kv_slots *slots = kv_layouts[KV_LAYOUT_LMCACHE_RAW_BLOCK].slots;
	static const struct {
		const char *duration;
		uint64_t written;
	} cases[] = {{"59 s", 0}, {"61 s", 1}, {"185 s", 3}};

	CU_ASSERT_EQUAL(kv_index_at(slots, 0), 4096);
	CU_ASSERT_EQUAL(kv_index_at(slots, 3), (128 << 20) + 4096);
	CU_ASSERT_EQUAL(kv_index_bytes(slots, 100), 512 + 1600);
	CU_ASSERT_EQUAL(kv_index_bytes(slots, 1 << 30), (128 << 20) - 4096);
	for (size_t i = 0; i < COUNT(cases); i++) {
		char rest[256];
		struct fixture *f;

		snprintf(rest, sizeof(rest),
			 "\"users\": 1, \"duration\": \"%s\", \"depth\": 16, "
			 "\"tiers\": [{\"kind\": \"store\", \"capacity\": \"512 MiB\"}], ",
			 cases[i].duration);
		f = serve(1, rest, BLOCKS "\"layout\": \"lmcache_raw_block\"", 1);
		kvcache_expect_ok(f);
		CU_ASSERT_EQUAL(hist_count(&f->tallies[0].hists[KV_HIST_CHUNK_WRITE]),
				2 * (kvcache_of(f, 0, KV_ENTRY_WRITES) + cases[i].written));
		fixture_free(f);
	}
}

/* Prompts that are computed at the same time miss the same blocks; each is written once. */
static void test_once(void)
{
	struct fixture *f = serve(1, "\"users\": 8, \"duration\": \"5 s\", \"depth\": 256, ",
				  BLOCKS "\"prefill_tokens_per_second\": 2000", 1);
	uint64_t n = kvcache_of(f, 0, KV_OFFERED);

	kvcache_expect_ok(f);
	CU_ASSERT_TRUE(kvcache_of(f, 0, KV_MISS_PROMPT) > 2 * 64);
	CU_ASSERT_TRUE(kvcache_of(f, 0, KV_PRESENT) > 0);
	CU_ASSERT_TRUE(kvcache_of(f, 0, KV_ENTRY_WRITES) <= 64 + n * 10);
	fixture_free(f);
}

/* Memory in front of the store has all that is shared. */
static void test_memory(void)
{
	struct fixture *f = serve(1, ALONE, BLOCKS "\"memory\": \"100 MiB\"", 1);
	uint64_t n = kvcache_of(f, 0, KV_REQUESTS);

	kvcache_expect_ok(f);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_BLOCKS_MEMORY), (n - 1) * 64);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_BLOCKS_STORE), 0);
	CU_ASSERT_EQUAL(kvcache_of(f, 0, KV_ENTRY_READS), 0);
	fixture_free(f);
}

/* Requests that arrive by that seed at a server that takes a constant time, one from the next (Lindley), without any
 * I/O: how long they wait on average, in units of that time, and how many are turned away since `room` wait. */
struct lindley {
	double wait;
	uint64_t turned_away;
};

static struct lindley lindley(enum kv_arrival_kind arrive, double rho, uint64_t requests,
			      double service_ns, uint64_t room)
{
	enum { STARTS = 128 };
	struct kv_source_options source = {.users = 1, .template_count = 1};
	struct kv_prompts_how how = {.source = &source,
				     .arrive = arrive,
				     .rate = rho * 1e9 / service_ns,
				     .block_tokens = 1024,
				     .context_max = 1 << 17,
				     .seed = 7,
				     .parts = 1};
	struct kv_prompt prompt = {.count = 0};
	struct kv_prompts p;
	struct lindley l = {0, 0};
	struct err err = {0};
	double starts[STARTS] = {0}, free_ns = 0, sum = 0;
	uint64_t served = 0;

	CU_ASSERT_TRUE_FATAL(room < STARTS);
	source.templates[0] = (struct kv_template){.share = 1, .context_max = 1};
	CU_ASSERT_EQUAL_FATAL(kv_prompts_open(&p, &how, &err), 0);
	for (uint64_t i = 0; i < requests; i++) {
		double due_ns;

		CU_ASSERT_EQUAL_FATAL(kv_prompts_next(&p, &prompt), 0);
		due_ns = (double)prompt.due_ns;
		/* Of those before it, `room` wait where the one that came so many before has not begun. */
		if (room && served >= room && starts[(served - room) % STARTS] > due_ns) {
			l.turned_away++;
			continue;
		}
		starts[served++ % STARTS] = free_ns = fmax(free_ns, due_ns);
		sum += free_ns - due_ns;
		free_ns += service_ns;
	}
	kv_prompts_close(&p);
	free(prompt.keys);
	l.wait = sum / (double)served / service_ns;
	return l;
}

/* A queue with one server that takes a constant time waits, on average, rho / (2 (1 - rho)) of that
 * time where arrivals are random (M/D/1). At 0.5 the run is long enough for that. At 0.9 only that of the
 * long form is; the mean of the short one is off by a fifth, so it is held to its own arrivals, and
 * two million of these to the formula. Above 1, what is beyond the queue is turned away. A prompt is one block here. */
static void test_open_arrivals(void)
{
	const struct {
		const char *arrive;
		enum kv_arrival_kind kind;
		double rho;
		uint64_t queue;
		const char *duration;
	} cases[] = {{"poisson", KV_ARRIVE_POISSON, 0.5, 0, "120 s"},
		     {"poisson", KV_ARRIVE_POISSON, 0.9, 0, unit_full() ? "2500 s" : "10 s"},
		     {"poisson", KV_ARRIVE_POISSON, 1.1, 50, "10 s"},
		     {"constant", KV_ARRIVE_CONSTANT, 1.1, 0, "10 s"}};
	double service_ms = fetch_ms(1);

	for (size_t i = 0; i < COUNT(cases); i++) {
		double rho = cases[i].rho, formula = rho / (2 * (1 - rho)), wait, ttft;
		uint64_t requests, offered;
		struct lindley by;
		struct fixture *f;
		char serving[256], rest[128];

		snprintf(
			serving, sizeof(serving),
			"\"block_tokens\": 1024, \"arrive\": \"%s\", \"rate\": %.9f, \"queue\": %" PRIu64,
			cases[i].arrive, rho * 1e3 / service_ms, cases[i].queue);
		snprintf(rest, sizeof(rest), "\"users\": 1, \"duration\": \"%s\", \"served\": 1, ",
			 cases[i].duration);
		f = serve(1, rest, serving, 1);
		kvcache_expect_ok(f);
		requests = kvcache_of(f, 0, KV_REQUESTS);
		offered = kvcache_of(f, 0, KV_OFFERED);
		wait = (double)kvcache_of(f, 0, KV_QUEUE_NS) / (double)requests / 1e6 / service_ms;
		ttft = (double)kvcache_of(f, 0, KV_TTFT_NS) / (double)requests / 1e6 / service_ms;
		by = lindley(cases[i].kind, rho, cases[i].queue ? offered : requests,
			     service_ms * 1e6, cases[i].queue);
		close_to(wait, by.wait, 0.015);
		/* From when it was due, also where the queue grows as long as the run is: whoever waits to ask
		 * until the last answer has come would see no wait at all. */
		close_to(ttft, wait + 1, 0.001);
		close_to((double)kvcache_of(f, 0, KV_TURNED_AWAY) + 1, (double)by.turned_away + 1,
			 0.02);
		if (cases[i].kind == KV_ARRIVE_CONSTANT)
			close_to(by.wait, ((double)requests - 1) / 2 * (1 - 1 / rho), 0.001);
		else if (requests > 20000)
			close_to(wait, formula, 0.05);
		else if (rho < 1)
			close_to(lindley(cases[i].kind, rho, 2000000, service_ms * 1e6, 0).wait,
				 formula, 0.05);
		fixture_free(f);
	}
}

/* LMCache's table of reads in flight (fs_native_read_depth @2249e8a): blocks of 6 MiB of an array of
 * 54 GB/s, whose reads are late by 8 or 32 ms; of each budget in flight the share of the best one's
 * rate, in per mille. 4 workers divide the budget and a batch of 256 blocks, over 256 readers, and
 * each reads so many blocks and waits for all of them. A worker is a request of 64 blocks here. The
 * one figure that is not published is how long a read takes without the delay: 1.5 ms, so that
 * the first share is met; the others follow. */
static void test_fetch_bytes(void)
{
	static const uint32_t delays_ms[] = {8, 32}, budgets_mib[] = {384, 768, 1536, 3072, 6144};
	static const double shares[][COUNT(budgets_mib)] = {{654, 976, 989, 1000, 999},
							    {316, 575, 998, 987, 1000}};

	for (size_t d = 0; d < COUNT(delays_ms); d++) {
		double rates[COUNT(budgets_mib)], most = 0;

		for (size_t b = 0; b < COUNT(budgets_mib); b++) {
			char store[160];
			struct fixture *f;

			snprintf(store, sizeof(store),
				 "\"s\": {\"uri\": \"sim://s\", \"rank_bandwidth\": \"54 GB/s\", "
				 "\"latency\": \"%" PRIu32 " ms\", \"first_byte\": \"1.5 ms\"}",
				 delays_ms[d]);
			snprintf(
				phase, sizeof(phase),
				"\"profile\": \"serving\", \"model\": {\"layers\": 12, \"hidden\": 512, "
				"\"heads\": 4, \"kv_heads\": 4, \"head_dim\": 128}, "
				"\"conversation\": {\"enabled\": false}, \"prefix\": {\"probability\": 1, "
				"\"prompts\": 1, \"tokens_min\": 16384, \"tokens_max\": 16384}, "
				"\"templates\": [{\"name\": \"one\", \"context_min\": 1, \"context_max\": 1, "
				"\"generate_min\": 1, \"generate_max\": 1, \"think_min\": \"10 us\", "
				"\"think_max\": \"10 us\"}], \"users\": 4, \"served\": 4, \"depth\": 256, "
				"\"duration\": \"1 s\", \"serving\": {\"layout\": \"lmcache_fs_native\", "
				"\"block_tokens\": 256, \"fetch_bytes\": \"%" PRIu32 " MiB\"}",
				budgets_mib[b] / 4);
			f = kvcache_run(store, phase, 1);
			kvcache_expect_ok(f);
			rates[b] = (double)kvcache_of(f, 0, KV_ENTRY_READS);
			most = fmax(most, rates[b]);
			fixture_free(f);
		}
		for (size_t b = 0; b < COUNT(budgets_mib); b++) {
			double found = rates[b] * 1000 / most;

			CU_ASSERT_TRUE(fabs(found - shares[d][b]) <= 30);
			if (fabs(found - shares[d][b]) > 30)
				fprintf(stderr, "\n%" PRIu32 " ms, %" PRIu32 " MiB: %.1f of %.0f\n",
					delays_ms[d], budgets_mib[b], found, shares[d][b]);
		}
	}
}

/* Leading blocks that two prompts have in common. */
static uint32_t in_common(const struct kv_prompt *a, const struct kv_prompt *b)
{
	uint32_t n = 0;

	while (n < a->count && n < b->count && a->keys[n] == b->keys[n])
		n++;
	return n;
}

/* BurstGPT's sessions: a prompt begins with what its session has said. One that is shorter than that cannot, and a row without a
 * session has nobody before it. Ranks share out whole sessions. A block has 16 tokens. */
static void test_sessions(void)
{
	static const char rows[] =
		"Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,"
		"Total tokens,Log Type\n"
		"1,a1,2.5,GPT-4,64,16,80,Conversation log\n"
		"2,b2,2.5,GPT-4,64,16,80,Conversation log\n"
		"3,,2.5,GPT-4,96,16,112,API log\n"
		"4,a1,2.5,GPT-4,100,16,116,Conversation log\n"
		"5,b2,2.5,GPT-4,79,16,95,Conversation log\n"
		"6,a1,2.5,GPT-4,200,16,216,Conversation log\n"
		"7,b2,2.5,GPT-4,128,16,144,Conversation log\n";
	/* The row that it goes on from, and the blocks in common with it. */
	static const struct {
		uint32_t before, blocks;
	} wanted[7] = {{0, 0}, {0, 0}, {0, 0}, {0, 4}, {1, 0}, {3, 6}, {4, 4}};
	struct kv_source_options source = {.users = 1, .template_count = 1};
	char folder[TEST_FOLDER_BYTES];
	FILE *f;

	test_folder_make(folder);
	snprintf(source.arrivals.file, sizeof(source.arrivals.file), "%s/burst.csv", folder);
	f = fopen(source.arrivals.file, "w");
	CU_ASSERT_TRUE_FATAL(f && fputs(rows, f) >= 0 && fclose(f) == 0);
	source.arrivals.context_max = 1 << 14;
	source.arrivals.speed = source.arrivals.cycles = 1;
	for (uint32_t parts = 1; parts <= 3; parts++) {
		struct kv_prompt prompts[7] = {{.count = 0}};

		for (uint32_t part = 0; part < parts; part++) {
			const struct kv_prompts_how how = {.source = &source,
							   .block_tokens = 16,
							   .context_max = 1 << 17,
							   .seed = 7,
							   .part = part,
							   .parts = parts,
							   .path = "x"};
			struct err err = {0};
			struct kv_prompts p;

			CU_ASSERT_EQUAL_FATAL(kv_prompts_open(&p, &how, &err), 0);
			while (kv_prompts_due(&p) != KV_PROMPTS_NEVER) {
				struct kv_prompt prompt = {.count = 0};

				CU_ASSERT_EQUAL_FATAL(kv_prompts_next(&p, &prompt), 0);
				CU_ASSERT_TRUE_FATAL(prompt.number < 7 &&
						     !prompts[prompt.number].keys);
				prompts[prompt.number] = prompt;
			}
			kv_prompts_close(&p);
		}
		for (uint32_t i = 0; i < 7; i++) {
			CU_ASSERT_EQUAL(prompts[i].count, prompts[i].context / 16);
			for (uint32_t k = 0; k < i; k++)
				if (k == wanted[i].before)
					CU_ASSERT_EQUAL(in_common(&prompts[k], &prompts[i]),
							wanted[i].blocks);
		}
		for (uint32_t i = 0; i < 7; i++)
			free(prompts[i].keys);
	}
	test_folder_remove(folder);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"the time to the first token is the sum by hand", test_first_token},
		{"blocks are counted", test_counts},
		{"where recomputing and fetching cross", test_crossover},
		{"the store says what is there", test_store},
		{"blocks in slots of a file", test_slots},
		{"the index of slots", test_index},
		{"a block that several prompts miss is written once", test_once},
		{"memory in front of the store", test_memory},
		{"bytes in flight, as LMCache's table has them", test_fetch_bytes},
		{"open arrivals wait as in M/D/1", test_open_arrivals},
		{"prompts of recorded sessions", test_sessions},
		CU_TEST_INFO_NULL,
	};

	return unit_main("serving", tests);
}

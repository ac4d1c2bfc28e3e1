/* SPDX-License-Identifier: Apache-2.0 */
/* MLPerf's options without I/O: what is offered, what the tiers make of it, and that a trace is the
 * same each time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/content/fnv.h"
#include "tests/unit.h"
#include "tests/workloads/kvcache/source_fixture.h"
#include "workloads/kvcache/tiers/entries.h"
#include "workloads/kvcache/trace/virtual_run.h"

static char folder[] = "/tmp/haul-virtual-XXXXXX", path[64];

#define GIB (UINT64_C(1) << 30)
static const uint64_t second_ns = 1000000000;

struct run {
	struct source_fixture users;
	struct kv_tiers tiers;
	struct trace_writer writer;
	struct trace_events events;
	struct virtual_run run;
};

/* Opens a run of llama3.1-8b with these options and capacities in bytes. traced: it writes a
 * trace. */
static void run_open(struct run *r, const char *json, const uint64_t capacity[3], bool traced)
{
	struct kv_policy policy = kv_policy_mlperf();
	struct kv_tier_rules rules[3];
	struct err err = {0};

	for (int k = 0; k < 3; k++)
		rules[k] = kv_tier_mlperf(capacity[k], k == 2);
	source_fixture_open(&r->users, json, 42);
	CU_ASSERT_EQUAL_FATAL(kv_tiers_init(&r->tiers, &policy, rules, 3), 0);
	r->run = (struct virtual_run){.source = &r->users.source,
				      .tiers = &r->tiers,
				      .model = &r->users.model,
				      .tensor = 1};
	if (!traced)
		return;
	CU_ASSERT_EQUAL_FATAL(trace_create(&r->writer, path, TRACE_FORMAT_CSV, 0, true, &err), 0);
	r->events = (struct trace_events){.to = &r->writer};
	r->tiers.event = trace_event;
	r->tiers.argument = &r->events;
	r->run.events = &r->events;
}

static void run_close(struct run *r)
{
	struct err err = {0};

	if (r->run.events)
		CU_ASSERT_EQUAL(trace_finish(&r->writer, path, &err), 0);
	kv_source_close(&r->users.source);
	kv_tiers_free(&r->tiers);
}

static uint64_t file_hash(void)
{
	static char text[1 << 20];
	uint64_t hash = FNV_START;
	size_t n;
	FILE *f = fopen(path, "r");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	while ((n = fread(text, 1, sizeof(text), f)) > 0)
		hash = fnv_add(hash, text, n);
	fclose(f);
	return hash;
}

/* The bytes of a trace follow from options and seed. Rows are in time order, agree with what the
 * tiers counted, and a key is written before it is read. */
static void test_trace(void)
{
	static const uint64_t capacity[] = {2 * GIB, 4 * GIB, 50 * GIB};
	const char *json = "{\"users\": 20, \"rag\": {\"documents\": 10}}";
	uint64_t hash[2], rows, ns = 0, of[TRACE_TIERS][TRACE_OPERATION_COUNT] = {{0}};
	static struct run r;
	struct trace_reader t;
	struct trace_row row;
	struct err err = {0};

	for (int i = 0; i < 2; i++) {
		run_open(&r, json, capacity, true);
		r.run.epoch_ns = 5 * second_ns;
		CU_ASSERT_EQUAL(virtual_run_until(&r.run, 60 * second_ns), 0);
		rows = r.writer.rows;
		run_close(&r);
		hash[i] = file_hash();
	}
	CU_ASSERT_EQUAL(hash[0], hash[1]);
	CU_ASSERT_EQUAL_FATAL(trace_open(&t, path, false, &err), 0);
	while (trace_next(&t, &row, &err) > 0) {
		CU_ASSERT(row.ns >= ns && row.ns >= 5 * second_ns && row.ns < 65 * second_ns);
		ns = row.ns;
		of[row.tier][row.operation] += row.bytes;
	}
	CU_ASSERT_STRING_EQUAL(err.text, "");
	CU_ASSERT_EQUAL(t.rows, rows);
	trace_close(&t);
	for (int k = 0; k < 3; k++) {
		const uint64_t *bytes = r.tiers.tier[k].counts.bytes;

		CU_ASSERT(bytes[KV_COUNT_READ] > 0);
		CU_ASSERT(bytes[k ? KV_COUNT_DEMOTED_IN : KV_COUNT_WRITE] > 0);
		CU_ASSERT_EQUAL(of[k][TRACE_READ],
				bytes[KV_COUNT_READ] + bytes[KV_COUNT_DEMOTED_OUT]);
		CU_ASSERT_EQUAL(of[k][TRACE_WRITE],
				bytes[KV_COUNT_WRITE] + bytes[KV_COUNT_DEMOTED_IN]);
	}
}

static bool within(double value, double wanted, double share)
{
	return fabs(value - wanted) <= share * wanted;
}

static void test_requests_end_it(void)
{
	static const uint64_t capacity[] = {0, 0, 1000 * GIB};
	struct run r;

	run_open(&r, "{\"users\": 20}", capacity, false);
	r.run.requests_most = 37;
	CU_ASSERT_EQUAL(virtual_run_until(&r.run, 20 * second_ns), 0);
	CU_ASSERT_EQUAL(r.run.requests, 37);
	CU_ASSERT_TRUE(virtual_run_over(&r.run));
	CU_ASSERT_EQUAL(virtual_run_until(&r.run, 40 * second_ns), 0);
	CU_ASSERT_EQUAL(r.run.requests, 37);
	run_close(&r);
}

/* MLPerf's first option: 492 requests and 266 GiB per second are offered. For decoding, 1,177 GiB
 * per second are read: the sum over the templates of (requests per second) x E[context x (1 +
 * ceil(generated / 32)); context < 10,000]. */
static void test_option_1(void)
{
	static const uint64_t capacity[] = {0, 0, KV_UNLIMITED};
	static const char *const json[] = {
		"{\"users\": 200}", "{\"users\": 200, \"conversation\": {\"enabled\": false}}"};
	static struct run r;
	const uint64_t *bytes = r.tiers.tier[2].counts.bytes;

	for (int alone = 0; alone < 2; alone++) {
		run_open(&r, json[alone], capacity, false);
		CU_ASSERT_EQUAL(virtual_run_until(&r.run, 300 * second_ns), 0);
		CU_ASSERT(within((double)r.run.requests / 300, 492, 0.02));
		CU_ASSERT(within((double)bytes[KV_COUNT_WRITE] / 300, 266.0 * GIB, 0.02));
		/* Nothing is evicted, so all that is asked for again is there; and prompts are
		 * found. */
		CU_ASSERT_EQUAL(r.run.misses[KV_CAUSE_DECODE] + r.run.misses[KV_CAUSE_TURN], 0);
		CU_ASSERT_EQUAL(r.run.misses[KV_CAUSE_PROMPT], 3);
		CU_ASSERT(within((double)r.run.hits[KV_CAUSE_PROMPT], 0.2 * (double)r.run.requests,
				 0.02));
		if (alone)
			CU_ASSERT(within((double)bytes[KV_COUNT_READ] / 300, 1177.0 * GIB, 0.02))
		/* Four turns come before one on average. */
		CU_ASSERT(within((double)r.run.hits[KV_CAUSE_TURN],
				 alone ? 0 : 4 * (double)r.run.requests, 0.02));
		run_close(&r);
	}
}

/* MLPerf's second option: what storage writes comes from above, and the original counts none of
 * that. */
static void test_option_2(void)
{
	static const uint64_t capacity[] = {0, 4 * GIB, KV_UNLIMITED};
	static struct run r;
	const uint64_t *bytes = r.tiers.tier[2].counts.bytes;

	run_open(&r, "{\"users\": 100}", capacity, false);
	CU_ASSERT_EQUAL(virtual_run_until(&r.run, 60 * second_ns), 0);
	CU_ASSERT(bytes[KV_COUNT_DEMOTED_IN] > 20 * bytes[KV_COUNT_WRITE]);
	CU_ASSERT(r.tiers.tier[1].counts.used_most <= 4 * GIB);
	run_close(&r);
}

/* Preconditioning, and what is there before a decode-only run. */
static void test_fill(void)
{
	static const uint64_t capacity[] = {0, 0, 10 * GIB};
	static struct run r;
	const struct kv_tier_counts *c = &r.tiers.tier[2].counts;

	run_open(&r, "{\"users\": 3}", capacity, false);
	CU_ASSERT_EQUAL(virtual_run_fill(&r.run, 20 * GIB, 2048), 0);
	CU_ASSERT_EQUAL(c->count[KV_COUNT_WRITE], 80);
	CU_ASSERT_EQUAL(c->count[KV_COUNT_EVICTED], 40);
	CU_ASSERT_EQUAL(c->used, 10 * GIB);
	run_close(&r);

	run_open(&r, "{\"users\": 3, \"mode\": \"decode\"}", capacity, false);
	CU_ASSERT_EQUAL(virtual_run_fill(&r.run, 0, 2048), 0);
	CU_ASSERT_EQUAL(c->count[KV_COUNT_WRITE], 30);
	CU_ASSERT_EQUAL(virtual_run_until(&r.run, 10 * second_ns), 0);
	CU_ASSERT(r.run.requests > 0 && r.run.misses[KV_CAUSE_DECODE] == 0);
	CU_ASSERT_EQUAL(c->count[KV_COUNT_WRITE], 30);
	run_close(&r);
}

/* A part of a tensor group: an eighth of the bytes, of the same requests. */
static void test_tensor(void)
{
	static const uint64_t capacity[] = {0, 0, KV_UNLIMITED};
	uint64_t bytes[2];
	static struct run r;

	for (int i = 0; i < 2; i++) {
		run_open(&r, "{\"users\": 10}", capacity, false);
		r.run.tensor = i ? 8 : 1;
		CU_ASSERT_EQUAL(virtual_run_until(&r.run, 10 * second_ns), 0);
		bytes[i] = r.tiers.tier[2].counts.bytes[KV_COUNT_WRITE];
		run_close(&r);
	}
	CU_ASSERT_EQUAL(bytes[0], 8 * bytes[1]);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"a number of requests ends it", test_requests_end_it},
		{"a trace", test_trace},
		{"option 1", test_option_1},
		{"option 2", test_option_2},
		{"filled beforehand", test_fill},
		{"a tensor group", test_tensor},
		CU_TEST_INFO_NULL,
	};
	int rc;

	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/trace.csv", folder);
	rc = unit_main("virtual_run", tests);
	unlink(path);
	rmdir(folder);
	return rc;
}

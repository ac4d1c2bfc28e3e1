/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of sim:// against times computed by hand. The clock is fake and starts at 1 s, so all times
 * are exact. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/node_block.h"
#include "tests/backends/rig.h"
#include "tests/libs/doubles/fake_clock.h"
#include "tests/libs/doubles/thread_group.h"
#include "tests/unit.h"

enum { MS = 1000000, US = 1000, MB = 1000000, DEPTH = 16 };
static const uint64_t start_ns = 1000000000;

/* The time in ns that count reads of this size take on one queue with this depth. */
static uint64_t reads_take(const char *json, uint32_t depth, uint32_t count, uint64_t bytes)
{
	struct request reqs[DEPTH], *list[DEPTH], *done[DEPTH];
	struct object o = {.key = "x"};
	uint32_t sent = 0, got = 0, n;
	struct queue q;
	struct rig r;
	uint64_t ns;

	rig_init(&r);
	CU_ASSERT_EQUAL_FATAL(rig_open(&r, json), 0);
	CU_ASSERT_EQUAL_FATAL(queue_open(&q, &r.store, depth, NULL), 0);
	for (; sent < depth && sent < count; sent++) {
		reqs[sent] = (struct request){
			.op = REQ_READ, .object = &o, .offset = sent, .length = bytes};
		list[sent] = &reqs[sent];
		CU_ASSERT_EQUAL(queue_submit(&q, &list[sent], 1), 0);
	}
	while (got < count) {
		n = queue_reap(&q, done, 1, DEPTH, UINT64_MAX);
		CU_ASSERT_FATAL(n > 0);
		got += n;
		for (uint32_t i = 0; i < n && sent < count; i++, sent++)
			CU_ASSERT_EQUAL(queue_submit(&q, &done[i], 1), 0);
	}
	CU_ASSERT_EQUAL(q.op[REQ_READ].bytes, count * bytes);
	CU_ASSERT_EQUAL(q.now_ns, clock_now(r.clock));
	ns = q.now_ns - start_ns;
	queue_close(&q);
	rig_close(&r);
	return ns;
}

static void test_known_answers(void)
{
	static const struct {
		const char *json;
		uint32_t depth, count;
		uint64_t bytes, expected_ns;
	} cases[] = {
		/* unlimited: takes no time */
		{"{\"uri\": \"sim://x\"}", 1, 10, MB, 0},
		/* the store's bandwidth: 100 MB at 2 GB/s */
		{"{\"uri\": \"sim://x\", \"bandwidth\": \"2 GB/s\"}", 1, 100, MB, 50 * MS},
		{"{\"uri\": \"sim://x\", \"bandwidth\": \"2 GB/s\"}", 8, 100, MB, 50 * MS},
		/* the rank's: 100 MB at 0.5 GB/s */
		{"{\"uri\": \"sim://x\", \"bandwidth\": \"2 GB/s\", \"rank_bandwidth\": \"500 MB/s\"}",
		 1, 100, MB, 200 * MS},
		{"{\"uri\": \"sim://x\", \"rank_bandwidth\": \"500 MB/s\"}", 4, 100, MB, 200 * MS},
		/* latency: one read at a time; ten at a time; with a transfer after it */
		{"{\"uri\": \"sim://x\", \"latency\": \"1 ms\"}", 1, 100, MB, 100 * MS},
		{"{\"uri\": \"sim://x\", \"latency\": \"1 ms\"}", 10, 100, MB, 10 * MS},
		{"{\"uri\": \"sim://x\", \"latency\": \"1 ms\", \"first_byte\": \"0.5 ms\", \"bandwidth\": \"1 GB/s\"}",
		 1, 10, MB, 25 * MS},
		/* depth hides latency: 100 transfers of 1 ms, and 1.5 ms after the last */
		{"{\"uri\": \"sim://x\", \"latency\": \"1 ms\", \"first_byte\": \"0.5 ms\", \"bandwidth\": \"1 GB/s\"}",
		 16, 100, MB, 101500 * US},
		/* rank 0 has a quarter of its bandwidth, or of the store's where ranks have no
		 * limit */
		{"{\"uri\": \"sim://x\", \"rank_bandwidth\": \"1 GB/s\", \"slow_ranks\": {\"0\": 0.25}}",
		 1, 10, MB, 40 * MS},
		{"{\"uri\": \"sim://x\", \"bandwidth\": \"1 GB/s\", \"slow_ranks\": {\"0\": 0.25}}",
		 1, 10, MB, 40 * MS},
		{"{\"uri\": \"sim://x\", \"bandwidth\": \"1 GB/s\", \"slow_ranks\": {\"1\": 0.25}}",
		 1, 10, MB, 10 * MS},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CU_ASSERT_EQUAL(
			reads_take(cases[i].json, cases[i].depth, cases[i].count, cases[i].bytes),
			cases[i].expected_ns);
}

static void test_stamps(void)
{
	struct object o = {.key = "x"};
	struct request req = {.op = REQ_READ, .object = &o, .length = 2 * MB};
	static struct rig_latency latency;
	struct queue q;
	struct rig r;

	rig_init(&r);
	CU_ASSERT_EQUAL_FATAL(
		rig_open(&r,
			 "{\"uri\": \"sim://x\", \"bandwidth\": \"1 GB/s\", \"latency\": \"3 ms\", "
			 "\"first_byte\": \"1 ms\", \"open_latency\": \"7 ms\"}"),
		0);
	CU_ASSERT_EQUAL_FATAL(queue_open(&q, &r.store, 1, NULL), 0);
	rig_record(&q, &latency);
	CU_ASSERT_EQUAL(queue_do(&q, &req), 0);
	CU_ASSERT_EQUAL(req.answer.submit_ns, start_ns);
	CU_ASSERT_EQUAL(req.answer.first_byte_ns, start_ns + 4 * MS);
	CU_ASSERT_EQUAL(req.answer.done_ns, start_ns + 6 * MS);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_OPEN, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(clock_now(r.clock), start_ns + 13 * MS);
	/* 5 ms of compute, then the store is idle */
	clock_advance(r.clock, 5 * MS);
	req.due_ns = start_ns + 14 * MS;
	CU_ASSERT_EQUAL(queue_do(&q, &req), 0);
	CU_ASSERT_EQUAL(req.answer.submit_ns, start_ns + 18 * MS);
	CU_ASSERT_EQUAL(req.answer.done_ns, start_ns + 24 * MS);
	CU_ASSERT_EQUAL(latency.service[REQ_READ].max_ns, 6 * MS);
	CU_ASSERT_EQUAL(latency.response[REQ_READ].max_ns, 10 * MS);
	queue_close(&q);
	rig_close(&r);
}

static void test_writes(void)
{
	struct object o = {.key = "x"};
	struct queue q;
	uint64_t bytes;
	struct rig r;

	rig_init(&r);
	CU_ASSERT_EQUAL_FATAL(rig_open(&r, "{\"uri\": \"sim://x\", \"bandwidth\": \"1 GB/s\"}"), 0);
	CU_ASSERT_EQUAL_FATAL(queue_open(&q, &r.store, 1, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_BEGIN, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_WRITE, 0, MB, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_WRITE, MB, MB, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&q, &o, REQ_COMMIT, 0, 0, NULL, &bytes), 0);
	CU_ASSERT_EQUAL(bytes, 2 * MB);
	CU_ASSERT_EQUAL(clock_now(r.clock), start_ns + 2 * MS);
	queue_close(&q);
	rig_close(&r);
}

/* The time of one request of the store that test_other_requests opens. */
static uint64_t other_takes(struct queue *q, struct rig *r, struct object *o, enum request_op op)
{
	uint64_t before = clock_now(r->clock);

	CU_ASSERT_EQUAL(rig_do(q, o, op, 0, op == REQ_WRITE ? MB : 0, NULL, NULL), 0);
	return clock_now(r->clock) - before;
}

/* Requests that move no bytes, in the order of a row; each takes so many ms. */
static void test_other_requests(void)
{
	static const struct {
		enum request_op op;
		uint64_t ms;
	} rows[] = {
		{REQ_BEGIN, 3},  {REQ_WRITE, 1},  {REQ_COMMIT, 5}, {REQ_OPEN, 2},
		{REQ_READ, 0},   {REQ_CLOSE, 0},  {REQ_BEGIN, 3},  {REQ_ABORT, 0},
		{REQ_STAT, 2},   {REQ_DELETE, 7}, {REQ_UPDATE, 2}, {REQ_CLOSE, 0},
		{REQ_UPDATE, 2}, {REQ_WRITE, 1},  {REQ_CLOSE, 5},  {REQ_CLOSE, 0},
	};
	struct object o = {.key = "x"};
	struct queue q;
	struct rig r;

	rig_init(&r);
	CU_ASSERT_EQUAL_FATAL(
		rig_open(&r, "{\"uri\": \"sim://x\", \"bandwidth\": \"1 GB/s\", "
			     "\"open_latency\": \"2 ms\", \"begin_latency\": \"3 ms\", "
			     "\"commit_latency\": \"5 ms\", \"delete_latency\": \"7 ms\"}"),
		0);
	CU_ASSERT_EQUAL_FATAL(queue_open(&q, &r.store, 1, NULL), 0);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CU_ASSERT_EQUAL(other_takes(&q, &r, &o, rows[i].op), rows[i].ms * MS);
	queue_close(&q);
	rig_close(&r);
}

static void test_deadline_ends_a_wait(void)
{
	struct object o = {.key = "x"};
	struct request req[2], *list[2] = {&req[0], &req[1]}, *done[2];
	struct queue q;
	struct rig r;

	rig_init(&r);
	CU_ASSERT_EQUAL_FATAL(rig_open(&r, "{\"uri\": \"sim://x\", \"bandwidth\": \"1 GB/s\"}"), 0);
	CU_ASSERT_EQUAL_FATAL(queue_open(&q, &r.store, 2, NULL), 0);
	req[0] = req[1] = (struct request){.op = REQ_READ, .object = &o, .length = 10 * MB};
	queue_submit(&q, list, 2);
	CU_ASSERT_EQUAL(queue_reap(&q, done, 0, 2, UINT64_MAX), 0);
	CU_ASSERT_EQUAL(clock_now(r.clock), start_ns);
	CU_ASSERT_EQUAL(queue_reap(&q, done, 2, 2, 0), 0);
	CU_ASSERT_EQUAL(clock_now(r.clock), start_ns);
	CU_ASSERT_EQUAL(queue_reap(&q, done, 1, 2, start_ns + 4 * MS), 0);
	CU_ASSERT_EQUAL(clock_now(r.clock), start_ns + 4 * MS);
	CU_ASSERT_EQUAL(queue_reap(&q, done, 2, 2, start_ns + 15 * MS), 1);
	CU_ASSERT_PTR_EQUAL(done[0], &req[0]);
	CU_ASSERT_EQUAL(clock_now(r.clock), start_ns + 15 * MS);
	CU_ASSERT_EQUAL(queue_reap(&q, done, 1, 1, UINT64_MAX), 1);
	CU_ASSERT_EQUAL(clock_now(r.clock), start_ns + 20 * MS);
	queue_close(&q);
	rig_close(&r);
}

/* Requests come back in the order of their completion, which the varying latencies change. */
static void test_earliest_first(void)
{
	enum { COUNT = 200 };
	static struct request reqs[COUNT], *list[COUNT], *done[COUNT];
	struct object o = {.key = "x"};
	double sum = 0, squares = 0, mean;
	uint64_t last = 0;
	struct queue q;
	struct rig r;

	rig_init(&r);
	CU_ASSERT_EQUAL_FATAL(
		rig_open(
			&r,
			"{\"uri\": \"sim://x\", \"latency\": \"10 ms\", \"latency_stdev\": \"2 ms\"}"),
		0);
	CU_ASSERT_EQUAL_FATAL(queue_open(&q, &r.store, COUNT, NULL), 0);
	for (uint32_t i = 0; i < COUNT; i++) {
		reqs[i] = (struct request){
			.op = REQ_READ, .object = &o, .offset = i * 4096, .length = 4096};
		list[i] = &reqs[i];
	}
	CU_ASSERT_EQUAL(queue_submit(&q, list, COUNT), 0);
	CU_ASSERT_EQUAL(queue_reap(&q, done, COUNT, COUNT, UINT64_MAX), COUNT);
	for (uint32_t i = 0; i < COUNT; i++) {
		double ms = (double)(done[i]->answer.done_ns - start_ns) / MS;

		CU_ASSERT(done[i]->answer.done_ns >= last);
		last = done[i]->answer.done_ns;
		sum += ms;
		squares += ms * ms;
	}
	mean = sum / COUNT;
	CU_ASSERT_DOUBLE_EQUAL(mean, 10, 0.6); /* 4 standard errors */
	CU_ASSERT_DOUBLE_EQUAL(sqrt(squares / COUNT - mean * mean), 2, 0.4);
	queue_close(&q);
	rig_close(&r);
}

/* Hash of the indices of the reads that fail, of 10,000, and their number. */
static uint64_t failures(uint64_t seed, uint32_t *count)
{
	struct object o = {.key = "x"};
	uint64_t hash = 0;
	struct queue q;
	struct rig r;

	rig_init(&r);
	r.seed = seed;
	*count = 0;
	CU_ASSERT_EQUAL_FATAL(
		rig_open(&r,
			 "{\"uri\": \"sim://x\", \"latency\": \"1 ms\", \"bandwidth\": \"1 GB/s\", "
			 "\"failure_rate\": 0.05}"),
		0);
	CU_ASSERT_EQUAL_FATAL(queue_open(&q, &r.store, 1, NULL), 0);
	for (uint64_t i = 0; i < 10000; i++) {
		uint64_t bytes, before = clock_now(r.clock);
		int status = rig_do(&q, &o, REQ_READ, i * MB, MB, NULL, &bytes);

		CU_ASSERT(status == 0 || status == -EIO);
		CU_ASSERT_EQUAL(bytes, status ? 0 : MB);
		CU_ASSERT_EQUAL(clock_now(r.clock) - before, status ? MS : 2 * MS);
		*count += status != 0;
		hash = mix64(hash + (status ? i + 1 : 0));
	}
	CU_ASSERT_EQUAL(q.op[REQ_READ].errors, *count);
	queue_close(&q);
	rig_close(&r);
	return hash;
}

static void test_failures_are_drawn_and_repeat(void)
{
	uint32_t first, again, other;
	uint64_t hash = failures(42, &first);

	CU_ASSERT_EQUAL(failures(42, &again), hash);
	CU_ASSERT_NOT_EQUAL(failures(43, &other), hash);
	CU_ASSERT(abs((int)first - 500) < 90); /* 4 standard deviations of 21.8 */
	CU_ASSERT(abs((int)other - 500) < 90);
}

struct ranks {
	const char *json;
	uint32_t nodes;
	uint64_t took_ns[8];
};

/* Each rank reads 20 MB in turn with the others, and has a clock of its own. */
static int one_rank(struct group *g, void *argument)
{
	struct ranks *ranks = argument;
	struct object o = {.key = "x"};
	struct queue q;
	struct rig r;

	rig_init(&r);
	r.node = g;
	r.place = (struct rank_place){.world_rank = g->rank,
				      .world_ranks = g->size * ranks->nodes,
				      .nodes = ranks->nodes};
	if (rig_open(&r, ranks->json) < 0 || queue_open(&q, &r.store, 1, NULL) < 0)
		return -1;
	for (int i = 0; i < 20; i++) {
		struct request req = {.op = REQ_READ, .object = &o, .length = MB}, *list[] = {&req},
			       *done[1];

		for (uint32_t turn = 0; turn < g->size; turn++) {
			if (turn == g->rank)
				queue_submit(&q, list, 1);
			group_barrier(g);
		}
		queue_reap(&q, done, 1, 1, UINT64_MAX);
	}
	ranks->took_ns[g->rank] = q.now_ns - start_ns;
	queue_close(&q);
	rig_close(&r);
	group_barrier(g);
	node_blocks_free(g);
	return 0;
}

static void test_ranks_share_the_store(void)
{
	struct ranks fair = {.json = "{\"uri\": \"sim://x\", \"bandwidth\": \"1 GB/s\"}",
			     .nodes = 1};
	struct ranks nodes = {.json = fair.json, .nodes = 4};
	struct ranks skewed = {
		.json = "{\"uri\": \"sim://x\", \"rank_bandwidth\": \"1 GB/s\", \"slow_ranks\": {\"1\": 0.5}}",
		.nodes = 1};

	/* 40 MB at 1 GB/s: the second rank ends with the last read, the first one read earlier. */
	CU_ASSERT_EQUAL(thread_group_run(2, one_rank, &fair, NULL), 0);
	CU_ASSERT_EQUAL(fair.took_ns[0], 39 * MS);
	CU_ASSERT_EQUAL(fair.took_ns[1], 40 * MS);
	/* One node of four has a quarter of the bandwidth. */
	CU_ASSERT_EQUAL(thread_group_run(2, one_rank, &nodes, NULL), 0);
	CU_ASSERT_EQUAL(nodes.took_ns[1], 160 * MS);
	/* 20 MB at 1 GB/s, and at half of it. */
	CU_ASSERT_EQUAL(thread_group_run(2, one_rank, &skewed, NULL), 0);
	CU_ASSERT_EQUAL(skewed.took_ns[0], 20 * MS);
	CU_ASSERT_EQUAL(skewed.took_ns[1], 40 * MS);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"known answers", test_known_answers},
		{"stamps", test_stamps},
		{"writes", test_writes},
		{"other requests", test_other_requests},
		{"deadline ends a wait", test_deadline_ends_a_wait},
		{"earliest first", test_earliest_first},
		{"failures are drawn and repeat", test_failures_are_drawn_and_repeat},
		{"ranks share the store", test_ranks_share_the_store},
		CU_TEST_INFO_NULL,
	};

	return unit_main("sim", tests);
}

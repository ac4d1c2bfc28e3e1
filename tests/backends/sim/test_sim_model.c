/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the model of a store (backends/sim/model.h) against closed forms, in no time at all: the model
 * is a function. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

#include "backends/sim/model.h"
#include "core/arena.h"
#include "tests/unit.h"

enum { MS = 1000000, MB = 1000000, DRAWS = 1000000, SEED = 7 };

struct bench {
	struct arena arena;
	struct sim_options options;
	struct sim_law law;
	_Atomic uint64_t *store, metadata, node, rank;
	struct sim_servers servers;
	struct err err;
};

static int bench_open(struct bench *b, const char *json, uint64_t shares)
{
	const struct option *tables[] = {sim_options, NULL};
	cJSON *object = cJSON_Parse(json);
	int rc;

	memset(b, 0, sizeof(*b));
	rc = options_parse(tables, &b->options, object, "/s", &b->arena, &b->err);
	if (rc == 0)
		rc = sim_check(&b->options, "/s", &b->err);
	cJSON_Delete(object);
	sim_law_make(&b->law, &b->options, SEED, shares);
	b->store = calloc(SIM_SERVERS_MAX, sizeof(*b->store));
	b->servers = (struct sim_servers){b->store, &b->metadata, &b->node, &b->rank};
	return rc;
}

static void bench_close(struct bench *b)
{
	free((void *)b->store);
	arena_free(&b->arena);
}

static struct sim_answer ask(struct bench *b, enum request_op op, uint64_t at, uint64_t key,
			     uint64_t offset, uint64_t length)
{
	const struct sim_ask a = {.op = op,
				  .arrival_ns = at,
				  .key = key,
				  .offset = offset,
				  .length = length,
				  .rank_bandwidth = sim_rank_rate(&b->options, 0, b->law.shares)};
	struct sim_answer answer;

	sim_serve(&b->law, &b->servers, &a, &answer);
	return answer;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void near(double is, double wanted, double share)
{
	CU_ASSERT_DOUBLE_EQUAL(is, wanted, fabs(wanted) * share);
	if (fabs(is - wanted) > fabs(wanted) * share)
		printf("is %.9g, wanted %.9g\n", is, wanted);
}

/* Latencies of each distribution: mean, median, 99 % quantile, as told or known. */
static void test_distributions(void)
{
	static const struct {
		const char *json;
		double mean, p50, p99; /* ms; 0: not looked at */
	} cases[] = {
		{"{\"latency\": \"3 ms\"}", 3, 3, 3},
		{"{\"latency\": \"50 ms\", \"latency_stdev\": \"10 ms\"}", 50, 50, 73.263},
		/* much of it is below 0 and counts as 0, and the mean is as told */
		{"{\"latency\": \"50 ms\", \"latency_stdev\": \"50 ms\"}", 50, 0, 0},
		{"{\"latency\": \"1 ms\", \"latency_stdev\": \"10 ms\"}", 1, 0, 0},
		{"{\"latency\": \"1 ms\", \"p99\": \"20 ms\"}", 2.2917, 1,
		 20}, /* exp(s^2 / 2), s = ln(20) / 2.32635 */
		{"{\"p50\": \"2 ms\", \"p99\": \"2 ms\"}", 2, 2, 2},
		{"{\"latencies\": [{\"share\": 0.5, \"within\": \"2 ms\"}, "
		 "{\"share\": 0.9, \"within\": \"4 ms\"}, {\"share\": 1, \"within\": \"24 ms\"}]}",
		 0.5 * 1 + 0.4 * 3 + 0.1 * 14, 2, 22},
		{"{\"latency\": \"4 ms\", \"stragglers\": 0.02, \"straggler_speed\": 0.25}",
		 4 * (1 + 0.02 * 3), 4, 16},
		{"{\"latency\": \"4 ms\", \"cached\": 0.75}", 1, 0, 0},
	};
	static double ms[DRAWS];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct backend_model known;
		double sum = 0;
		struct bench b;

		CU_ASSERT_EQUAL_FATAL(bench_open(&b, cases[i].json, 1), 0);
		for (int k = 0; k < DRAWS; k++) {
			ms[k] = (double)ask(&b, REQ_READ, 0, 2 * (uint64_t)k + 1, 0, MB).done_ns /
				MS;
			sum += ms[k];
		}
		qsort(ms, DRAWS, sizeof(ms[0]), by_value);
		near(sum / DRAWS, cases[i].mean, 0.01);
		if (cases[i].p50 > 0)
			near(ms[DRAWS / 2], cases[i].p50, 0.01);
		if (cases[i].p99 > 0)
			near(ms[DRAWS / 100 * 99], cases[i].p99, 0.01);
		sim_model(&b.options, 1, 1, &known);
		near(known.request_s * 1e3, cases[i].mean, 0.001);
		bench_close(&b);
	}
}

/* M/D/1: Poisson arrivals at one server of constant time wait rho / (2 (1 - rho)) of it. */
static void test_one_server_with_random_arrivals(void)
{
	static const double rhos[] = {0.3, 0.5, 0.8};

	for (unsigned i = 0; i < 3; i++) {
		struct random random = {.key = SEED};
		const struct draw gap = {DRAW_EXPONENTIAL, MS / rhos[i], 0};
		uint64_t at = 0;
		double waited = 0;
		struct bench b;

		CU_ASSERT_EQUAL_FATAL(bench_open(&b, "{\"bandwidth\": \"1 GB/s\"}", 1), 0);
		for (int k = 0; k < 2 * DRAWS; k++) {
			at += draw_next(&gap, &random);
			waited += (double)(ask(&b, REQ_READ, at, 1, 0, MB).done_ns - at - MS);
		}
		near(waited / (2 * DRAWS) / MS, rhos[i] / (2 * (1 - rhos[i])), 0.01);
		bench_close(&b);
	}
}

/* The greatest of n exponential-like draws is known for uniform ones: n / (n + 1) of the range. */
static void test_greatest_of_n(void)
{
	const char json[] = "{\"latencies\": [{\"share\": 1, \"within\": \"100 ms\"}]}";
	static const uint64_t counts[] = {2, 16, 100};
	struct bench b;

	CU_ASSERT_EQUAL_FATAL(bench_open(&b, json, 1), 0);
	for (unsigned i = 0; i < 3; i++) {
		double sum = 0;
		uint64_t key = 1;

		for (int round = 0; round < DRAWS / 100; round++) {
			uint64_t most = 0;

			for (uint64_t k = 0; k < counts[i]; k++, key += 2) {
				uint64_t ns = ask(&b, REQ_READ, 0, key, 0, 0).done_ns;

				most = ns > most ? ns : most;
			}
			sum += (double)most;
		}
		near(sum / (DRAWS / 100) / MS, 100.0 * (double)counts[i] / ((double)counts[i] + 1),
		     0.01);
	}
	bench_close(&b);
}

/* Each limit alone, and which of several counts: the time of 100 reads of 1 MB that all arrive at 0. */
static void test_limits(void)
{
	static const struct {
		const char *json;
		uint64_t shares;
		double ms;
	} cases[] = {
		{"{\"bandwidth\": \"1 GB/s\"}", 1, 100},
		{"{\"bandwidth\": \"1 GB/s\"}", 4, 400},
		{"{\"node\": \"1 GB/s\"}", 4, 100},
		{"{\"rank_bandwidth\": \"1 GB/s\"}", 4, 100},
		{"{\"stream\": \"1 GB/s\"}", 1, 1},
		{"{\"bandwidth\": \"2 GB/s\", \"node\": \"1 GB/s\", \"stream\": \"0.5 GB/s\"}", 1,
		 100},
		{"{\"bandwidth\": \"1 GB/s\", \"stream\": \"0.5 GB/s\"}", 1, 101},
		{"{\"bandwidth\": \"1 GB/s\", \"slow_ranks\": {\"0\": 0.5}}", 1, 200},
		{"{\"latency\": \"4 ms\", \"bandwidth\": \"1 GB/s\", \"cached\": 1}", 1, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t last = 0;
		struct bench b;

		CU_ASSERT_EQUAL_FATAL(bench_open(&b, cases[i].json, cases[i].shares), 0);
		for (int k = 0; k < 100; k++) {
			uint64_t ns = ask(&b, REQ_READ, 0, 1, 0, MB).done_ns;

			last = ns > last ? ns : last;
		}
		near((double)last / MS, cases[i].ms, 1e-9);
		bench_close(&b);
	}
}

/* The whole store opens so many per second; reads are not limited by that. */
static void test_metadata(void)
{
	struct bench b;

	CU_ASSERT_EQUAL_FATAL(bench_open(&b, "{\"opens\": 1000, \"open_latency\": \"5 ms\"}", 2),
			      0);
	for (unsigned k = 1; k <= 10; k++)
		CU_ASSERT_EQUAL(ask(&b, REQ_OPEN, 0, 1, 0, 0).done_ns, (uint64_t)(2 * k + 5) * MS);
	CU_ASSERT_EQUAL(ask(&b, REQ_READ, 0, 1, 0, MB).done_ns, 0);
	CU_ASSERT_EQUAL(ask(&b, REQ_CLOSE, 0, 1, 0, 0).done_ns, 0);
	CU_ASSERT_EQUAL(ask(&b, REQ_DELETE, 0, 1, 0, 0).done_ns, 22 * MS);
	bench_close(&b);
}

/* Objects lie on servers at random, as many more on the fullest as is told. An object without
 * stripes stays on its server; with stripes it does not. */
static void test_servers(void)
{
	static const struct {
		const char *json;
		double fullest; /* of the bytes, on the first server */
	} cases[] = {
		{"{\"bandwidth\": \"1 GB/s\", \"servers\": 10}", 0.1},
		{"{\"bandwidth\": \"1 GB/s\", \"servers\": 10, \"imbalance\": 0.5}", 0.15},
		{"{\"bandwidth\": \"1 GB/s\", \"servers\": 10, \"imbalance\": 9}", 1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double rest = 0;
		struct bench b;

		CU_ASSERT_EQUAL_FATAL(bench_open(&b, cases[i].json, 1), 0);
		for (uint64_t k = 0; k < DRAWS; k++)
			ask(&b, REQ_READ, 0, 2 * k + 1, 0, MB);
		near((double)b.store[0] / (10.0 * MS * DRAWS), cases[i].fullest, 0.03);
		for (int s = 1; s < 10; s++)
			rest += (double)b.store[s];
		near((double)b.store[0] + rest, 10.0 * MS * DRAWS, 1e-9);
		bench_close(&b);
	}
}

static uint32_t servers_of_one_object(const char *json)
{
	uint32_t used = 0;
	struct bench b;

	CU_ASSERT_EQUAL_FATAL(bench_open(&b, json, 1), 0);
	for (uint64_t k = 0; k < 1000; k++)
		ask(&b, REQ_READ, 0, 1, k * MB, MB);
	for (int s = 0; s < 10; s++)
		used += b.store[s] > 0;
	bench_close(&b);
	return used;
}

static void test_stripes(void)
{
	CU_ASSERT_EQUAL(servers_of_one_object("{\"bandwidth\": 1e9, \"servers\": 10}"), 1);
	CU_ASSERT_EQUAL(servers_of_one_object(
				"{\"bandwidth\": 1e9, \"servers\": 10, \"stripe\": \"1 MB\"}"),
			10);
}

/* A straggler takes longer by itself, and holds up no other request. */
static void test_stragglers_hold_up_nobody(void)
{
	struct bench b;

	CU_ASSERT_EQUAL_FATAL(bench_open(&b,
					 "{\"bandwidth\": \"1 GB/s\", \"stragglers\": 1, "
					 "\"straggler_speed\": 0.25}",
					 1),
			      0);
	CU_ASSERT_EQUAL(ask(&b, REQ_READ, 0, 1, 0, MB).done_ns, 4 * MS);
	CU_ASSERT_EQUAL(ask(&b, REQ_READ, 0, 1, 0, MB).done_ns, 5 * MS);
	bench_close(&b);
}

/* Many requests in one: sums of draws have the mean and the deviation of what they stand for. */
static void test_many_in_one(void)
{
	enum { PIECES = 64, ROUNDS = 16, TIMES = 20000 };
	/* ms; of the deviation of stragglers and of cached reads: that of their number. */
	static const struct {
		const char *json;
		double mean, deviation;
	} rows[] = {
		{"{\"latency\": \"40 ms\"}", 640, 0},
		{"{\"latency\": \"40 ms\", \"latency_stdev\": \"10 ms\"}", 640, 20},
		{"{\"latencies\": [{\"share\": 1, \"within\": \"60 ms\"}]}", 480, 34.64},
		{"{\"latency\": \"40 ms\", \"cached\": 0.25}", 480, 34.64},
		{"{\"latency\": \"40 ms\", \"cached\": 0.95}", 32, 17.44},
		{"{\"latency\": \"40 ms\", \"stragglers\": 0.02, \"straggler_speed\": 0.25}", 678.4,
		 33.6},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		double sum = 0, squares = 0, mean;
		struct bench b;

		CU_ASSERT_EQUAL(bench_open(&b, rows[i].json, 1), 0);
		for (uint64_t k = 0; k < TIMES; k++) {
			const struct sim_ask a = {.op = REQ_READ,
						  .key = mix64(k) | 1,
						  .length = PIECES * MB,
						  .pieces = PIECES,
						  .rounds = ROUNDS};
			struct sim_answer answer;
			double ms;

			sim_serve(&b.law, &b.servers, &a, &answer);
			ms = (double)answer.done_ns / MS;
			sum += ms;
			squares += ms * ms;
		}
		mean = sum / TIMES;
		near(mean, rows[i].mean, 0.01);
		if (rows[i].deviation > 0)
			near(sqrt(squares / TIMES - mean * mean), rows[i].deviation, 0.03);
		bench_close(&b);
	}
}

static void test_refusals(void)
{
	static const struct {
		const char *json, *sentence;
	} cases[] = {
		{"{\"latency_stdev\": 1}", "/s/latency_stdev: set latency, too"},
		{"{\"p99\": 1}", "/s/p99: set latency (its median) or p50, too"},
		{"{\"p50\": 1}", "/s/p50: set p99, too"},
		{"{\"p50\": 1, \"latency\": 1}", "/s/p50: say either p50 or latency"},
		{"{\"latency\": 2, \"p99\": 1}", "/s/p99: must not be less than the median"},
		{"{\"latency\": 1, \"latency_stdev\": 1, \"p99\": 3}",
		 "/s/p99: say either p99 or latency_stdev"},
		{"{\"latency\": 1, \"latencies\": [{\"share\": 1, \"within\": 1}]}",
		 "/s/latencies: say either latencies or latency"},
		{"{\"latencies\": [{\"share\": 1, \"within\": 1}, {\"share\": 0.5, \"within\": 2}]}",
		 "/s/latencies/1: shares and times must increase"},
		{"{\"servers\": 4}",
		 "/s/servers: has no effect on an unlimited store; set bandwidth"},
		{"{\"bandwidth\": 1, \"stripe\": 9}", "/s/stripe: set servers, too"},
		{"{\"bandwidth\": 1, \"servers\": 2, \"imbalance\": 1.5}",
		 "/s/imbalance: must be at most 1, for then all lies on one of 2 servers"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bench b;

		CU_ASSERT(bench_open(&b, cases[i].json, 1) < 0);
		CU_ASSERT_STRING_EQUAL(b.err.text, cases[i].sentence);
		bench_close(&b);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"distributions of latency", test_distributions},
		{"one server with random arrivals", test_one_server_with_random_arrivals},
		{"the greatest of n draws", test_greatest_of_n},
		{"limits", test_limits},
		{"metadata", test_metadata},
		{"objects on servers", test_servers},
		{"stripes", test_stripes},
		{"stragglers hold up nobody", test_stragglers_hold_up_nobody},
		{"many in one", test_many_in_one},
		{"refusals", test_refusals},
		CU_TEST_INFO_NULL,
	};

	return unit_main("sim_model", tests);
}

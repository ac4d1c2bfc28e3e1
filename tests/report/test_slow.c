/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of who is slow: the fence by hand, ranks and nodes of known phases, and how often chance
 * alone names somebody. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/random.h"
#include "report/fence.h"
#include "report/shapes.h"
#include "report/slow.h"
#include "tests/unit.h"

static void test_median(void)
{
	double odd[] = {5, 1, 9}, even[] = {4, 1, 3, 100};

	CU_ASSERT_DOUBLE_EQUAL(fence_median(odd, 3), 5, 0);
	CU_ASSERT_DOUBLE_EQUAL(fence_median(even, 4), 3.5, 0);
	CU_ASSERT_TRUE(isnan(fence_median(even, 0)));
}

/* The logarithms of 1, 2, 4, 8, 16 are 0 to 4 times ln 2. Their median is 2 ln 2, and their
 * distances from it are 2, 1, 0, 1, 2 times ln 2, of which the middle one is ln 2. */
static void test_fence_by_hand(void)
{
	const double values[] = {16, 2, 1, NAN, 8, 4}, ln2 = log(2);
	struct fence f;

	CU_ASSERT_TRUE_FATAL(fence_of(&f, values, 6, 1));
	CU_ASSERT_DOUBLE_EQUAL(f.median, 2 * ln2, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(f.mad, ln2, 1e-12);
	/* One value is looked at: chance exceeds sqrt(2 ln 50) = 2.80 deviations, so 3 it is. Five
	 * values widen the fence by 1 + 16 / 5. */
	CU_ASSERT_DOUBLE_EQUAL(f.reach, 3 * 4.2 * 1.4826 * ln2, 1e-9);
	CU_ASSERT_FALSE(fence_beyond(&f, 16, 16));
	CU_ASSERT_TRUE(fence_beyond(&f, 4 * exp(f.reach) * 1.01, 1e9));
	CU_ASSERT_FALSE(fence_beyond(&f, 4 * exp(f.reach) * 0.99, 1e9));
	/* A hundred values: sqrt(2 ln 5,000) deviations. */
	CU_ASSERT_TRUE_FATAL(fence_of(&f, values, 6, 100));
	CU_ASSERT_DOUBLE_EQUAL(f.reach, sqrt(2 * log(5000)) * 4.2 * 1.4826 * ln2, 1e-9);
}

static void test_fence_of_equal_values(void)
{
	const double values[] = {8, 8, 8, 8, 8};
	struct fence f;

	CU_ASSERT_TRUE_FATAL(fence_of(&f, values, 5, 5));
	CU_ASSERT_DOUBLE_EQUAL(f.reach, 0, 0);
	CU_ASSERT_TRUE(fence_beyond(&f, 10.01, 10.01));
	CU_ASSERT_FALSE(fence_beyond(&f, 9.99, 9.99));
	/* A value from a sample that may as well be 9.99. */
	CU_ASSERT_FALSE(fence_beyond(&f, 10.01, 9.99));
	CU_ASSERT_FALSE(fence_beyond(&f, NAN, NAN));
}

static void test_fence_of_few_values(void)
{
	const double values[] = {1, 1, 1, 0, NAN, 100};
	struct fence f;

	CU_ASSERT_FALSE(fence_of(&f, values, 3, 3));
	CU_ASSERT_FALSE(fence_of(&f, values, 5, 5));
	CU_ASSERT_TRUE(fence_of(&f, values, 6, 6));
}

/* A phase of 100 s as a results file has it. */
enum { RANKS_MAX = 256, PER_NODE_MAX = 8 };
enum {
	COLUMN_RANK,
	COLUMN_NODE,
	COLUMN_OPERATIONS,
	COLUMN_OPEN,
	COLUMN_TRANSFER,
	COLUMN_COMPUTE,
	COLUMN_RATE,
	COLUMNS
};
static struct results_column columns[COLUMNS] = {
	[COLUMN_RANK] = {.name = "rank"},
	[COLUMN_NODE] = {.name = "node"},
	[COLUMN_OPERATIONS] = {.name = "operations"},
	[COLUMN_OPEN] = {.name = "open_ns", .role = ROLE_ACCOUNT_STORAGE},
	[COLUMN_TRANSFER] = {.name = "transfer_ns", .role = ROLE_ACCOUNT_STORAGE},
	[COLUMN_COMPUTE] = {.name = "compute_ns", .role = ROLE_ACCOUNT_COMPUTE},
	[COLUMN_RATE] = {.name = "bytes_per_second", .role = ROLE_BYTE_RATE, .real = true},
};

struct made {
	struct results_phase_read phase;
	union results_cell cells[RANKS_MAX][COLUMNS];
	struct results_latency_row latencies[RANKS_MAX];
};

/* All ranks alike: they wait 20 s, with a p99 of 10 ms, at 1 GB/s. */
static void make(struct made *m, uint32_t ranks, uint32_t per_node)
{
	memset(m, 0, sizeof(*m));
	for (uint32_t i = 0; i < ranks; i++) {
		m->cells[i][COLUMN_RANK].count = i;
		m->cells[i][COLUMN_NODE].count = i / per_node;
		m->cells[i][COLUMN_OPERATIONS].count = 1000;
		m->cells[i][COLUMN_OPEN].count = 5000000000;
		m->cells[i][COLUMN_TRANSFER].count = 15000000000 + i * 1000000;
		m->cells[i][COLUMN_RATE].real = 1e9 + i * 1e6;
		m->latencies[i] = (struct results_latency_row){1000, 10e6 + i * 1e3, 9.5e6};
	}
	m->phase.record.seconds = 100;
	strcpy(m->phase.record.name, "train");
	strcpy(m->phase.latencies.name, "read");
	m->phase.latencies.rows = ranks;
	m->phase.latencies.row = m->latencies;
	m->phase.ranks = (struct results_table){.column_count = COLUMNS,
						.row_count = ranks,
						.columns = columns,
						.cells = &m->cells[0][0]};
}

static void slow_down(struct made *m, uint32_t rank)
{
	m->cells[rank][COLUMN_TRANSFER].count *= 4;
	m->cells[rank][COLUMN_RATE].real /= 4;
	m->latencies[rank].p99_ns *= 4;
	m->latencies[rank].p99_least_ns *= 4;
}

static struct made made;

static void test_nobody(void)
{
	struct slow s;

	make(&made, 16, 4);
	CU_ASSERT_FALSE(slow_of(&made.phase, &s));
	/* Two nodes, one slower than the other: nobody can tell which of them is as it should
	 * be. */
	make(&made, 8, 4);
	for (uint32_t i = 4; i < 8; i++)
		slow_down(&made, i);
	CU_ASSERT_FALSE(slow_of(&made.phase, &s));
	memset(&made, 0, sizeof(made));
	CU_ASSERT_FALSE(slow_of(&made.phase, &s));
}

static void test_slow_rank(void)
{
	struct slow s;

	make(&made, 16, 4);
	slow_down(&made, 9);
	CU_ASSERT_TRUE_FATAL(slow_of(&made.phase, &s));
	CU_ASSERT_EQUAL_FATAL(s.count, 1);
	CU_ASSERT_EQUAL(s.units[0].rank, 9);
	CU_ASSERT_EQUAL(s.units[0].ranks, 1);
	CU_ASSERT_EQUAL(s.units[0].node, 2);
	for (unsigned i = 0; i < SLOW_MEASURES; i++)
		CU_ASSERT_TRUE(s.units[0].beyond[i]);
	CU_ASSERT_DOUBLE_EQUAL(s.units[0].value[SLOW_STORAGE], 65.036, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(s.units[0].median[SLOW_STORAGE], 20.0075, 1e-3);
	CU_ASSERT_DOUBLE_EQUAL(s.units[0].value[SLOW_RATE], 1.009e9 / 4, 1);
	CU_ASSERT_TRUE(s.units[0].limit[SLOW_RATE] < 0.81e9);
	slow_free(&s);
	/* Whoever has no requests of its own is not compared. */
	made.cells[9][COLUMN_OPERATIONS].count = 0;
	CU_ASSERT_FALSE(slow_of(&made.phase, &s));
}

static void test_faster_is_not_slow(void)
{
	struct slow s;

	make(&made, 16, 4);
	made.cells[3][COLUMN_TRANSFER].count /= 100;
	made.cells[3][COLUMN_RATE].real *= 100;
	made.latencies[3].p99_ns /= 100;
	CU_ASSERT_FALSE(slow_of(&made.phase, &s));
}

/* To wait for 1 % of the phase where the others wait for 0.1 % is no loss. */
static void test_short_waits(void)
{
	struct slow s;

	make(&made, 16, 4);
	for (uint32_t i = 0; i < 16; i++) {
		made.cells[i][COLUMN_OPEN].count = 0;
		made.cells[i][COLUMN_TRANSFER].count = 100000000;
	}
	made.cells[5][COLUMN_TRANSFER].count = 1000000000;
	CU_ASSERT_FALSE(slow_of(&made.phase, &s));
	made.cells[5][COLUMN_TRANSFER].count = 2000000000;
	CU_ASSERT_TRUE_FATAL(slow_of(&made.phase, &s));
	CU_ASSERT_EQUAL(s.units[0].rank, 5);
	slow_free(&s);
}

static void expect_node(uint32_t ranks, uint32_t per_node, uint32_t node, uint32_t healthy)
{
	struct slow s;

	make(&made, ranks, per_node);
	for (uint32_t i = 0; i < per_node - healthy; i++)
		slow_down(&made, node * per_node + i);
	CU_ASSERT_TRUE_FATAL(slow_of(&made.phase, &s));
	CU_ASSERT_EQUAL_FATAL(s.count, 1);
	CU_ASSERT_EQUAL(s.units[0].ranks, per_node);
	CU_ASSERT_EQUAL(s.units[0].node, node);
	CU_ASSERT_EQUAL(s.units[0].rank, node * per_node);
	CU_ASSERT_TRUE(s.units[0].beyond[SLOW_STORAGE]);
	slow_free(&s);
}

static void test_slow_node(void)
{
	expect_node(16, 4, 3, 0);
	/* one of its ranks has been spared */
	expect_node(16, 4, 0, 1);
	/* too few nodes to compare them: its ranks are compared with the others' */
	expect_node(12, 4, 1, 0);
	expect_node(8, 2, 2, 0);
}

/* The other ranks of the node are as fast as all: it is not the node. */
static void test_node_with_one_slow_rank(void)
{
	struct slow s;

	for (uint32_t per_node = 1; per_node <= 4; per_node++) {
		make(&made, 8 * per_node, per_node);
		slow_down(&made, 4);
		CU_ASSERT_TRUE_FATAL(slow_of(&made.phase, &s));
		CU_ASSERT_EQUAL(s.count, 1);
		CU_ASSERT_EQUAL(s.units[0].ranks, 1);
		CU_ASSERT_EQUAL(s.units[0].rank, 4);
		slow_free(&s);
	}
}

/* Of many ranks, a file has the percentiles of nodes only. */
static void test_latencies_of_nodes(void)
{
	struct slow s;

	make(&made, 32, 4);
	made.phase.latencies.by_node = true;
	made.phase.latencies.rows = 8;
	made.latencies[5].p99_ns *= 4;
	made.latencies[5].p99_least_ns *= 4;
	CU_ASSERT_TRUE_FATAL(slow_of(&made.phase, &s));
	CU_ASSERT_EQUAL(s.count, 1);
	CU_ASSERT_EQUAL(s.units[0].node, 5);
	CU_ASSERT_EQUAL(s.units[0].ranks, 4);
	CU_ASSERT_FALSE(s.units[0].beyond[SLOW_STORAGE]);
	slow_free(&s);
}

static char hosts[4][RESULTS_NAME_BYTES] = {"a", "b", "c", "d"};

static void test_words(void)
{
	static char none[] = "";
	struct results_file f = {.path = none,
				 .build = none,
				 .command_line = none,
				 .error = none,
				 .job_text = none,
				 .nodes = 4,
				 .ranks = 16,
				 .hosts = hosts,
				 .phase_count = 1,
				 .phases = &made.phase};
	const struct report_options plain = {0};
	const struct results_file *const files[] = {&f};
	char *text;

	make(&made, 16, 4);
	made.phase.record.within = RECORD_NOT_WITHIN;
	slow_down(&made, 9);
	text = report_text(&f, &plain);
	CU_ASSERT(text &&
		  strstr(text, "train: rank 9 on c was slow: it waited 65 s for storage (median "));
	free(text);
	for (uint32_t i = 8; i < 12; i++)
		slow_down(&made, i);
	text = report_text(&f, &plain);
	CU_ASSERT(text && strstr(text, "train: node c (ranks 8 to 11) was slow: the middle"));
	CU_ASSERT(text && !strstr(text, "rank 9 on c"));
	free(text);
	text = report_json(files, 1, &plain);
	CU_ASSERT(text && strstr(text, "\"who\": \"node c (ranks 8 to 11)\""));
	free(text);
	make(&made, 16, 4);
	made.phase.record.within = RECORD_NOT_WITHIN;
	text = report_json(files, 1, &plain);
	CU_ASSERT(text && strstr(text, "\"slow\": null"));
	free(text);
}

/* A run in which no rank is slower than another: each reads as often from the same store, whose
 * latencies are drawn, and each node has its own luck. Requests follow one another, so the wait of
 * a rank is their sum. */
struct shape {
	const char *name;
	uint32_t ranks, per_node, reads;
	struct draw latency; /* of a read, in us */
	double node_deviation;
};

static const struct shape shapes[] = {
	{"normal", 4, 4, 400, {DRAW_NORMAL, 1000, 100}, 0},
	{"few reads", 8, 2, 30, {DRAW_GAMMA, 2, 500}, 0},
	{"one read", 16, 4, 1, {DRAW_EXPONENTIAL, 1000, 0}, 0},
	{"long tail", 16, 4, 400, {DRAW_EXPONENTIAL, 1000, 0}, 0},
	{"very long tail", 64, 4, 400, {DRAW_GAMMA, 0.2, 5000}, 0},
	{"nodes differ", 32, 8, 400, {DRAW_EXPONENTIAL, 1000, 0}, 0.1},
	{"nodes differ much", 64, 4, 200, {DRAW_EXPONENTIAL, 1000, 0}, 0.3},
	{"many", 256, 4, 50, {DRAW_EXPONENTIAL, 1000, 0}, 0.1},
};
enum { SHAPES = sizeof(shapes) / sizeof(*shapes), RUNS = 100 };

/* The same as of the file (results-schema/read_summary.c): the 99th percentile, and what it is at
 * least. */
static void make_latencies(struct results_latency_row *row, double *values, uint32_t n)
{
	double error = sqrt(0.99 * 0.01 / n), least = 0.99 - 3 * error;

	fence_median(values, n); /* sorts */
	row->count = n;
	row->p99_ns = values[(uint32_t)ceil(0.99 * n) - 1];
	row->p99_least_ns = values[least > 0 ? (uint32_t)ceil(least * n) - 1 : 0];
}

static void make_by_chance(struct made *m, const struct shape *shape, uint64_t seed, double factor)
{
	struct random random = {.key = random_at(seed, 1, shape->ranks)};
	double values[400], node = 1, longest = 0;

	make(m, shape->ranks, shape->per_node);
	for (uint32_t i = 0; i < shape->ranks; i++) {
		double wait_ns = 0;

		if (i % shape->per_node == 0)
			node = exp(shape->node_deviation * random_normal(random_next(&random)));
		for (uint32_t k = 0; k < shape->reads; k++) {
			double us = (double)draw_next(&shape->latency, &random) + 1;

			values[k] = us * 1e3 * node * (i == 1 ? factor : 1);
			wait_ns += values[k];
		}
		longest = wait_ns > longest ? wait_ns : longest;
		m->cells[i][COLUMN_OPEN].count = 0;
		m->cells[i][COLUMN_TRANSFER].count = (uint64_t)wait_ns;
		m->cells[i][COLUMN_RATE].real = 1e15 / wait_ns;
		make_latencies(&m->latencies[i], values, shape->reads);
	}
	m->phase.record.seconds = longest / 1e9;
}

static void test_by_chance(void)
{
	for (unsigned i = 0; i < SHAPES; i++) {
		uint32_t named = 0;

		for (uint64_t seed = 1; seed <= RUNS; seed++) {
			struct slow s;

			make_by_chance(&made, &shapes[i], seed, 1);
			if (!slow_of(&made.phase, &s))
				continue;
			named += s.count;
			slow_free(&s);
		}
		printf("\n      %s: %u named in %d runs", shapes[i].name, named, RUNS);
		CU_ASSERT_TRUE(named <= 5);
	}
}

/* The same runs, with a rank that takes four times as long for each read. */
static void test_planted(void)
{
	static const unsigned enough[] = {0, 3, 4, 5};

	for (unsigned i = 0; i < sizeof(enough) / sizeof(*enough); i++) {
		uint32_t found = 0;

		for (uint64_t seed = 1; seed <= RUNS; seed++) {
			struct slow s;

			make_by_chance(&made, &shapes[enough[i]], seed, 4);
			if (!slow_of(&made.phase, &s))
				continue;
			found += s.units[0].rank == 1 && s.units[0].ranks == 1;
			slow_free(&s);
		}
		printf("\n      %s: found in %u of %d runs", shapes[enough[i]].name, found, RUNS);
		CU_ASSERT_TRUE(found >= 95);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"median", test_median},
		{"fence by hand", test_fence_by_hand},
		{"fence of equal values", test_fence_of_equal_values},
		{"fence of few values", test_fence_of_few_values},
		{"nobody is slow", test_nobody},
		{"a slow rank", test_slow_rank},
		{"faster is not slow", test_faster_is_not_slow},
		{"short waits", test_short_waits},
		{"a slow node", test_slow_node},
		{"a node with one slow rank", test_node_with_one_slow_rank},
		{"latencies of nodes", test_latencies_of_nodes},
		{"words", test_words},
		{"by chance", test_by_chance},
		{"planted", test_planted},
		CU_TEST_INFO_NULL,
	};

	return unit_main("slow", tests);
}

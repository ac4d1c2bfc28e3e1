/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the arrival process in the phase "io": when operations start, and how many are done
 * when. The clock, on which rates, arrivals and warm-up are tested, advances only when a thread
 * sleeps. */
#include <math.h>
#include <stdio.h>

#include "tests/libs/doubles/fake_clock.h"
#include "tests/unit.h"
#include "tests/workloads/train/train_fixture.h"
#include "workloads/common/meter.h"
#include "workloads/common/options.h"
#include "workloads/io/io.h"

static void expect_ok(const struct fixture *f)
{
	for (uint32_t r = 0; r < f->ranks; r++)
		CU_ASSERT_EQUAL(f->rc[r], 0);
}

static void test_series(void)
{
	static struct done_series s;
	uint64_t second = 1000000000;

	done_series_clear(&s);
	for (uint64_t i = 1; i <= 100000; i++)
		done_series_add(&s, i * second / 1000, 1);
	CU_ASSERT_EQUAL(done_series_until(&s, 100 * second), 100000);
	for (uint64_t at = 0; at < 100; at += 7) {
		uint64_t until = done_series_until(&s, at * second);

		CU_ASSERT_TRUE(until >= at * 1000 && until <= at * 1000 + 100000 / 2048 + 1);
	}
}

/* Exponential gaps: mean and deviation are 1 / rate, and a share e^-1 of the gaps is longer than
 * that. */
static void test_poisson(void)
{
	enum { N = 200000 };
	struct pace_options o = {.rate = 4000, .arrivals = ARRIVALS_POISSON};
	double sum = 0, squares = 0, longer = 0, mean = 1e6;
	uint64_t last = 5000, due;
	struct pace p;

	/* Four threads share 4,000 operations per second. */
	pace_init(&p, &o, 1, 42, 2, 4, 5000);
	for (unsigned i = 0; i < N; i++) {
		double gap;

		due = pace_take(&p, 0);
		gap = (double)(due - last);
		last = due;
		sum += gap;
		squares += gap * gap;
		longer += gap > mean;
	}
	CU_ASSERT_DOUBLE_EQUAL(sum / N, mean, 0.01 * mean);
	CU_ASSERT_DOUBLE_EQUAL(sqrt(squares / N - sum / N * (sum / N)), mean, 0.01 * mean);
	CU_ASSERT_DOUBLE_EQUAL(longer / N, exp(-1), 0.005);
}

static void test_pace(void)
{
	struct pace_options o = {.rate = 3};
	struct pace p;

	pace_init(&p, &o, 1, 42, 0, 1, 1000);
	for (unsigned i = 0; i < 4; i++) {
		uint64_t wanted = 1000 + i * 1000000000ull / 3;

		CU_ASSERT_TRUE(pace_next(&p) <= wanted && pace_next(&p) + 1 >= wanted);
		CU_ASSERT_EQUAL(pace_take(&p, pace_next(&p)), 0);
	}
	/* Two intervals late: missed operations are not caught up with. */
	pace_take(&p, 2000001000);
	CU_ASSERT_EQUAL(pace_next(&p), 2000001000ull + 333333333);

	o.arrivals = ARRIVALS_CONSTANT;
	pace_init(&p, &o, 1, 42, 1, 3, 1000);
	CU_ASSERT_EQUAL(pace_take(&p, 99000000000), 1000 + 333333333);
	CU_ASSERT_EQUAL(pace_take(&p, 99000000000), 1000 + 333333333 + 1000000000);

	/* 10 MB/s in blocks of 1 MB are ten operations per second. */
	o = (struct pace_options){.bandwidth = 10000000};
	pace_init(&p, &o, 1000000, 42, 0, 1, 0);
	pace_take(&p, 0);
	CU_ASSERT_EQUAL(pace_next(&p), 100000000);
}

/* Placements of ranks on nodes (in sequence, in turn, uneven): the shift, and how many ranks read
 * from their own node. */
static void test_shift(void)
{
	static const struct {
		uint32_t nodes[8], ranks, node_count, shift, at_home;
	} cases[] = {
		{{0, 0, 0, 0, 1, 1, 1, 1}, 8, 2, 4, 0},
		{{0, 1, 0, 1}, 4, 2, 1, 0},
		{{0, 0, 1, 1, 2, 2}, 6, 3, 2, 0},
		{{0, 0, 0, 1}, 4, 2, 2, 2},
		{{0, 1}, 2, 2, 1, 0},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t shift = shift_between(cases[i].nodes, cases[i].ranks, cases[i].node_count);
		uint32_t at_home = 0;

		CU_ASSERT_EQUAL(shift, cases[i].shift);
		for (uint32_t r = 0; r < cases[i].ranks; r++)
			at_home +=
				cases[i].nodes[r] == cases[i].nodes[(r + shift) % cases[i].ranks];
		CU_ASSERT_EQUAL(at_home, cases[i].at_home);
	}
}

static struct fixture *on_fake_clock(const char *phase, uint32_t ranks)
{
	char job[512];
	struct fixture *f;

	snprintf(job, sizeof(job),
		 "{\"stores\": {\"s\": {\"uri\": \"null://\"}}, \"phases\": [{\"io\": {%s}}]}",
		 phase);
	f = fixture_new(job);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	clock_init_fake(&f->clock, 1000000000);
	fixture_run(f, ranks);
	return f;
}

static void test_rates(void)
{
	struct fixture *f = on_fake_clock(
		"\"operation\": \"read\", \"passes\": 0, \"seconds\": 10, \"rate\": 200", 1);

	expect_ok(f);
	CU_ASSERT_EQUAL(fixture_sum(f, IO_DONE), 2000);
	fixture_free(f);
	f = on_fake_clock(
		"\"operation\": \"write\", \"passes\": 0, \"count\": 300, \"bandwidth\": \"100 MiB/s\"",
		1);
	expect_ok(f);
	CU_ASSERT_DOUBLE_EQUAL((double)f->tallies[0].rank_row[IO_LAST_DONE_NS], 2.99e9, 1e6);
	fixture_free(f);
	f = on_fake_clock(
		"\"operation\": \"stat\", \"passes\": 0, \"seconds\": 100, \"rate\": 100, "
		"\"arrivals\": \"poisson\"",
		1);
	expect_ok(f);
	CU_ASSERT_DOUBLE_EQUAL((double)fixture_sum(f, IO_DONE), 10000, 300);
	fixture_free(f);
}

static void test_warmup(void)
{
	struct fixture *f = on_fake_clock("\"operation\": \"read\", \"passes\": 0, \"seconds\": 2, "
					  "\"warmup\": 1, \"rate\": 100",
					  1);
	uint64_t counted = fixture_sum(f, IO_DONE);

	expect_ok(f);
	CU_ASSERT_TRUE(counted >= 199 && counted <= 200);
	CU_ASSERT_EQUAL(fixture_sum(f, IO_READS), counted);
	CU_ASSERT_EQUAL(hist_count(&f->tallies[0].hists[0]), counted);
	/* The operations are reads, plus an open or two. */
	CU_ASSERT_TRUE(fixture_sum(f, IO_WARMUP_OPERATIONS) + counted >= 300);
	CU_ASSERT_TRUE(fixture_sum(f, IO_WARMUP_OPERATIONS) <= 110);
	fixture_free(f);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"series", test_series}, {"poisson", test_poisson}, {"pace", test_pace},
		{"shift", test_shift},   {"rates", test_rates},     {"warm-up", test_warmup},
		CU_TEST_INFO_NULL,
	};

	return unit_main("io_pace", tests);
}

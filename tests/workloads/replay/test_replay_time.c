/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the times of the phase "replay", in virtual time and on a store that takes a known time:
 * 1 MiB takes 10.49 ms at 100 MB/s, so an object of 1 MiB takes 20 + 10.49 + 30 = 60.49 ms to write
 * and 10 + 10.49 = 20.49 ms to read. */
#include <math.h>
#include <stdio.h>

#include "tests/unit.h"
#include "tests/workloads/replay/replay_fixture.h"

#define SLOW \
	"\"uri\": \"sim://s\", \"rank_bandwidth\": \"100 MB/s\", \"open_latency\": \"10 ms\", " \
	"\"begin_latency\": \"20 ms\", \"commit_latency\": \"30 ms\""

static const double move_ms = 1048576 / 100e3;

static void expect_ms(double found_ms, double wanted_ms)
{
	CU_ASSERT_TRUE(fabs(found_ms - wanted_ms) <= 0.01 * wanted_ms);
	if (fabs(found_ms - wanted_ms) > 0.01 * wanted_ms)
		fprintf(stderr, "\n%.3f ms, not %.3f ms\n", found_ms, wanted_ms);
}

static double median_ms(const struct fixture *f, unsigned hist)
{
	return (double)hist_quantile_ns(&f->tallies[0].hists[hist], 0.5) / 1e6;
}

/* A phase lasts as long as the trace, divided by the speed, and the last operation. */
static void test_speed(void)
{
	static const char text[] = REPLAY_HEADER REPLAY_ROW(50, Write, 1048576, 2, "a")
		REPLAY_ROW(51, Write, 1048576, 2, "b") REPLAY_ROW(54, Read, 1048576, 2, "a");
	static const struct {
		const char *options;
		double least_ms;
	} cases[] = {
		{", \"speed\": 1", 4000 + 10 + 10.49},
		{", \"speed\": 4", 1000 + 10 + 10.49},
		{", \"speed\": 0", 2 * 60.49 + 20.49},
		{", \"speed\": 0, \"size_scale\": 0.5", 2 * 55.24 + 15.24},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture *f = replay_run_trace(SLOW, text, cases[i].options, 1);
		double wall_ms = (double)replay_of(f, TALLY_WALL_NS) / 1e6;

		replay_expect_ok(f);
		CU_ASSERT_TRUE(wall_ms >= 0.999 * cases[i].least_ms &&
			       wall_ms <= cases[i].least_ms + 20);
		if (wall_ms < 0.999 * cases[i].least_ms || wall_ms > cases[i].least_ms + 20)
			fprintf(stderr, "\n%s: %.3f ms\n", cases[i].options, wall_ms);
		fixture_free(f);
	}
}

/* A read that is due while its key is being written waits for that, and counts from its time. */
static void test_waits(void)
{
	static const char text[] = REPLAY_HEADER REPLAY_ROW(0, Write, 1048576, 2, "a")
		REPLAY_ROW(0.010, Read, 1048576, 2, "a");
	struct fixture *f = replay_run_trace(SLOW, text, ", \"depth\": 4", 1);

	replay_expect_ok(f);
	CU_ASSERT_EQUAL(replay_of(f, REPLAY_WAITED), 1);
	expect_ms(median_ms(f, REPLAY_HIST_WRITE), 50 + move_ms);
	expect_ms(median_ms(f, REPLAY_HIST_READ), 50 + move_ms - 10 + 10 + move_ms);
	CU_ASSERT_TRUE(replay_of(f, REPLAY_LATE_START_NS) < 1000000);
	fixture_free(f);
}

/* With one operation in flight, a row may be taken up late. */
static void test_late(void)
{
	static const char text[] = REPLAY_HEADER REPLAY_ROW(0, Write, 1048576, 2, "a")
		REPLAY_ROW(0.010, Read, 1048576, 2, "b");
	struct fixture *f = replay_run_trace(SLOW, text, "", 1);

	replay_expect_ok(f);
	CU_ASSERT_EQUAL(replay_of(f, REPLAY_WAITED), 0);
	expect_ms((double)replay_of(f, REPLAY_LATE_START_NS) / 1e6, 50 + move_ms - 10);
	fixture_free(f);
}

static void test_seconds(void)
{
	static const char text[] = REPLAY_HEADER REPLAY_ROW(0, Write, 1048576, 2, "a")
		REPLAY_ROW(1, Read, 1048576, 2, "a") REPLAY_ROW(1000, Read, 1048576, 2, "a");
	struct fixture *f = replay_run_trace(SLOW, text, ", \"seconds\": 3", 1);

	CU_ASSERT_EQUAL(f->rc[0], 0);
	CU_ASSERT_EQUAL(f->stopped[0], STOP_LIMIT);
	CU_ASSERT_EQUAL(replay_of(f, REPLAY_REQUESTS), 2);
	CU_ASSERT_EQUAL(replay_of(f, REPLAY_LEFT), 1);
	fixture_free(f);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"recorded times, faster, as fast as possible", test_speed},
		{"a row waits for its key", test_waits},
		{"a row waits for a free slot", test_late},
		{"a phase ends after its seconds", test_seconds},
		CU_TEST_INFO_NULL,
	};
	int rc;

	if (replay_fixture_begin())
		return 1;
	rc = unit_main("replay_time", tests);
	return replay_fixture_end() ? 1 : rc;
}

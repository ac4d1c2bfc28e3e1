/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of clock readers: which machines they trust, that they keep to the clock, and that they
 * never go back. */
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "tests/libs/doubles/fake_clock.h"
#include "tests/unit.h"

enum { READINGS = 200000, WINDOW_NS = 4096 };

/* Whether a clock learns the counter where Linux says this. */
static bool learns(const char *source)
{
	char path[] = "/tmp/haul_clock_XXXXXX";
	int fd = mkstemp(path);
	struct clock c;
	bool learned;

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(dprintf(fd, "%s", source), (int)strlen(source));
	close(fd);
	clock_init(&c);
	learned = clock_learn_counter(&c, path);
	CU_ASSERT_EQUAL(learned, c.counter.window > 0);
	unlink(path);
	return learned;
}

static void only_a_counter_that_linux_trusts(void)
{
	static const char *const others[] = {"hpet\n", "kvm-clock\n", "tsc", "tsc-early\n", ""};
	struct clock c;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		CU_ASSERT_FALSE(learns(others[i]));
	CU_ASSERT_EQUAL(learns("tsc\n"), clock_ticks() != 0);
	clock_init(&c);
	CU_ASSERT_FALSE(clock_learn_counter(&c, "/nonexistent/source"));
	clock_init_fake(&c, 1000);
	CU_ASSERT_FALSE(clock_learn_counter(&c, CLOCK_SOURCE));
}

/* A fake clock, beside the true counter, of which 256 ticks are said to be 1 ns. */
static void count_on(struct clock *c, uint64_t apart)
{
	clock_init_fake(c, 1000);
	c->counter = (struct clock_counter){.window = (uint64_t)WINDOW_NS << 8,
					    .scale = UINT64_C(1) << (CLOCK_SCALE_BITS - 8),
					    .apart = apart};
}

static void without_a_counter_the_clock_itself(void)
{
	struct clock_reader r;
	struct clock c;

	clock_init_fake(&c, 1000);
	clock_reader_init(&r, &c);
	CU_ASSERT_EQUAL(clock_read(&r), 1000);
	clock_advance(&c, 5);
	CU_ASSERT_EQUAL(clock_read(&r), 1005);
}

static void counts_on_from_the_last_answer(void)
{
	struct clock_reader r;
	uint64_t last = 0, now;
	struct clock c;

	count_on(&c, UINT64_MAX);
	clock_reader_init(&r, &c);
	CU_ASSERT_EQUAL(clock_read(&r), 1000);
	for (int i = 0; i < READINGS; i++) {
		now = clock_read(&r);
		CU_ASSERT_FATAL(now >= last && now >= 1000);
		last = now;
	}
	/* The clock stood meanwhile. */
	CU_ASSERT_EQUAL(last > 1000, clock_ticks() != 0);
}

/* The clock stands while the counter goes on, so the clock's answer is before what the reader has
 * said. */
static void never_goes_back(void)
{
	struct clock_reader r;
	struct clock c;

	if (!clock_ticks())
		return; /* this processor has no counter that we use */
	count_on(&c, UINT64_MAX);
	clock_reader_init(&r, &c);
	CU_ASSERT_EQUAL(clock_read(&r), 1000);
	r.ticks -= c.counter.window;
	CU_ASSERT_EQUAL(clock_read(&r), 1000 + WINDOW_NS);
	clock_advance(&c, 1000000);
	r.ticks -= c.counter.window;
	CU_ASSERT_EQUAL(clock_read(&r), 1001000);
	/* On another processor the counter is behind. */
	r.ticks = clock_ticks() + (UINT64_C(1) << 60);
	CU_ASSERT_EQUAL(clock_read(&r), 1001000);
}

/* Where the answer took long, the clock is asked again each time. */
static void does_not_count_on_from_an_old_answer(void)
{
	struct clock_reader r;
	struct clock c;

	if (!clock_ticks())
		return;
	count_on(&c, 0);
	clock_reader_init(&r, &c);
	CU_ASSERT_EQUAL(clock_read(&r), 1000);
	CU_ASSERT_EQUAL(clock_read(&r), 1000);
	clock_advance(&c, 7);
	CU_ASSERT_EQUAL(clock_read(&r), 1007);
}

/* Beside the kernel's clock, whatever else the machine does. 2 us are what a reader could be wrong
 * by if the kernel corrected its time by a tenth meanwhile. */
static void keeps_to_the_clock(void)
{
	uint64_t last = 0, wrong = 0;
	struct clock_reader r;
	struct clock c;

	clock_init(&c);
	clock_learn_counter(&c, CLOCK_SOURCE);
	clock_reader_init(&r, &c);
	for (int i = 0; i < READINGS; i++) {
		uint64_t before = clock_now(&c), now = clock_read(&r), after = clock_now(&c);

		wrong += now < last || now + 2000 < before || now > after + 2000;
		last = now;
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"only a counter that Linux trusts", only_a_counter_that_linux_trusts},
		{"without a counter the clock itself", without_a_counter_the_clock_itself},
		{"counts on from the last answer", counts_on_from_the_last_answer},
		{"never goes back", never_goes_back},
		{"does not count on from an old answer", does_not_count_on_from_an_old_answer},
		{"keeps to the clock", keeps_to_the_clock},
		CU_TEST_INFO_NULL,
	};

	return unit_main("clock_reader", tests);
}

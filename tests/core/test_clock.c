/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of clocks: the fake clock, sleeps of the real clock, and how long it spins. */
#include <CUnit/CUnit.h>
#include <pthread.h>
#include <signal.h>

#include "core/clock.h"
#include "tests/libs/doubles/fake_clock.h"
#include "tests/unit.h"

static void fake_moves_only_when_told(void)
{
	struct clock c;

	clock_init_fake(&c, 1000);
	CU_ASSERT_EQUAL(clock_now(&c), 1000);
	CU_ASSERT_EQUAL(clock_now(&c), 1000);
	clock_advance(&c, 5);
	CU_ASSERT_EQUAL(clock_now(&c), 1005);
	clock_sleep_until(&c, 2000);
	CU_ASSERT_EQUAL(clock_now(&c), 2000);
	clock_sleep_until(&c, 1500); /* in the past: the clock never goes back */
	CU_ASSERT_EQUAL(clock_now(&c), 2000);
}

static void *sleep_on(void *argument)
{
	struct clock *c = argument;

	for (uint64_t until = 1; until <= 20000; until++)
		clock_sleep_until(c, until);
	return NULL;
}

static void fake_is_shared(void)
{
	struct clock c;
	pthread_t threads[4];

	clock_init_fake(&c, 0);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, sleep_on, &c);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CU_ASSERT_EQUAL(clock_now(&c), 20000);
}

/* A sleep never ends early. This holds on any machine, however busy. */
static void real_never_returns_early(void)
{
	for (int spin = 0; spin < 2; spin++) {
		struct clock c;

		clock_init(&c);
		c.spin = spin;
		for (int i = 0; i < 20; i++) {
			uint64_t until = clock_now(&c) + (uint64_t)i * 50000;

			clock_sleep_until(&c, until);
			CU_ASSERT_TRUE(clock_now(&c) >= until);
		}
		clock_sleep_until(&c, 0);
	}
}

static void spinning_follows_lateness(void)
{
	static const struct {
		uint32_t spin_ns;
		uint64_t late_ns;
		uint32_t next_ns;
	} table[] = {
		{100000, 0, 100000},      {100000, 100000, 100000}, {100000, 100001, 125000},
		{125000, 5000, 124610},   {200000, 200000, 198438}, {390000, 1000000000, 400000},
		{400000, 400001, 400000}, {400000, 1, 395313},      {100063, 0, 100063},
	};
	uint32_t spin = CLOCK_SPIN_NS;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		CU_ASSERT_EQUAL(clock_spin_next(table[i].spin_ns, table[i].late_ns),
				table[i].next_ns);
	/* One sleep in 25 wakes later than the others: the clock spins for it, and reduces the
	 * spinning slowly. */
	for (int i = 0; i < 1000; i++) {
		spin = clock_spin_next(spin, i % 25 ? 10000 : 150000);
		CU_ASSERT(spin < 188000);
	}
	CU_ASSERT(spin > 120000);
	for (int i = 0; i < 1000; i++)
		spin = clock_spin_next(spin, 10000);
	CU_ASSERT(spin <= CLOCK_SPIN_NS + 63);
}

static void ignore(int signal)
{
	(void)signal;
}

static void *send_signals(void *argument)
{
	pthread_t *sleeper = argument;
	struct clock c;

	clock_init(&c);
	for (int i = 0; i < 10; i++) {
		clock_sleep_until(&c, clock_now(&c) + 500000);
		pthread_kill(*sleeper, SIGUSR2);
	}
	return NULL;
}

static void signals_do_not_shorten_a_sleep(void)
{
	struct sigaction action = {.sa_handler = ignore};
	pthread_t self = pthread_self(), sender;
	struct clock c;
	uint64_t until;

	sigaction(SIGUSR2, &action, NULL);
	clock_init(&c);
	until = clock_now(&c) + 20000000;
	pthread_create(&sender, NULL, send_signals, &self);
	clock_sleep_until(&c, until);
	CU_ASSERT_TRUE(clock_now(&c) >= until);
	pthread_join(sender, NULL);
}

static void utc_is_a_date_of_this_century(void)
{
	CU_ASSERT_TRUE(clock_utc_ns() > UINT64_C(1577836800) * 1000000000);
	CU_ASSERT_TRUE(clock_utc_ns() < UINT64_C(4102444800) * 1000000000);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"a fake clock moves only when told", fake_moves_only_when_told},
		{"a fake clock is shared by threads", fake_is_shared},
		{"a sleep never ends early", real_never_returns_early},
		{"spinning follows lateness", spinning_follows_lateness},
		{"signals do not shorten a sleep", signals_do_not_shorten_a_sleep},
		{"the wall clock is in ns since 1970", utc_is_a_date_of_this_century},
		CU_TEST_INFO_NULL,
	};

	return unit_main("clock", tests);
}

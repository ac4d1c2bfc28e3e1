/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of credits: no thread takes a credit that was not given, and every credit that was given is
 * taken. */
#include <errno.h>
#include <pthread.h>

#include "core/clock.h"
#include "core/credits.h"
#include "tests/unit.h"

enum { TAKERS = 8, BULK = 7, GIVEN = 2858 * BULK };

static void counts(void)
{
	struct credits c;
	uint64_t began_ns;

	credits_init(&c, 2);
	CU_ASSERT_EQUAL(credits_take(&c, 0), 0);
	CU_ASSERT_EQUAL(credits_take(&c, 0), 0);
	CU_ASSERT_EQUAL(credits_take(&c, 0), -ETIMEDOUT);
	began_ns = clock_kernel_ns();
	CU_ASSERT_EQUAL(credits_take(&c, 3000000), -ETIMEDOUT);
	CU_ASSERT(clock_kernel_ns() - began_ns >= 3000000);
	credits_give(&c, 3);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(credits_take(&c, 0), 0);
	CU_ASSERT_EQUAL(credits_take(&c, 0), -ETIMEDOUT);
}

struct taker {
	struct credits *credits;
	_Atomic uint32_t *all;
	uint64_t taken;
};

static void *take_all(void *argument)
{
	struct taker *t = argument;

	/* A credit behind the last one ends its taker; where a wake-up is lost, this hangs. */
	while (credits_take(t->credits, UINT64_C(1) << 60) == 0 &&
	       atomic_fetch_add(t->all, 1) < GIVEN)
		t->taken++;
	return NULL;
}

/* Takers run out of credits again and again, so a lost wake-up would leave credits behind. */
static void none_is_lost(void)
{
	struct taker takers[TAKERS];
	pthread_t threads[TAKERS];
	struct credits c;
	_Atomic uint32_t all = 0;
	uint64_t taken = 0;
	uint32_t given;

	credits_init(&c, 0);
	for (int i = 0; i < TAKERS; i++) {
		takers[i] = (struct taker){&c, &all, 0};
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, take_all, &takers[i]), 0);
	}
	for (given = 0; given < GIVEN; given += BULK)
		credits_give(&c, BULK);
	credits_give(&c, TAKERS);
	for (int i = 0; i < TAKERS; i++) {
		pthread_join(threads[i], NULL);
		taken += takers[i].taken;
	}
	CU_ASSERT_EQUAL(taken, given);
	CU_ASSERT_EQUAL(atomic_load(&c.count), 0);
	CU_ASSERT_EQUAL(atomic_load(&c.waiters), 0);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"counts, and waits no longer than asked", counts},
		{"none is lost", none_is_lost},
		CU_TEST_INFO_NULL,
	};

	return unit_main("credits", tests);
}

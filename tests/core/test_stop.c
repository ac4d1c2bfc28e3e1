/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of stop reasons: the largest one wins, whichever thread asks. */
#include <CUnit/CUnit.h>
#include <pthread.h>

#include "core/stop.h"
#include "tests/unit.h"

static void larger_reasons_win(void)
{
	struct stop s;

	atomic_init(&s.reason, STOP_NONE);
	CU_ASSERT_EQUAL(stop_asked(&s), STOP_NONE);
	stop_ask(&s, STOP_SIGNAL);
	CU_ASSERT_EQUAL(stop_asked(&s), STOP_SIGNAL);
	stop_ask(&s, STOP_LIMIT);
	CU_ASSERT_EQUAL(stop_asked(&s), STOP_SIGNAL);
	stop_ask(&s, STOP_ERROR);
	CU_ASSERT_EQUAL(stop_asked(&s), STOP_ERROR);
}

static void *ask_each(void *argument)
{
	for (int reason = STOP_ERROR; reason > STOP_NONE; reason--)
		stop_ask(argument, (enum stop_reason)reason);
	return NULL;
}

static void from_any_thread(void)
{
	for (int round = 0; round < 50; round++) {
		pthread_t threads[4];
		struct stop s;

		atomic_init(&s.reason, STOP_NONE);
		for (int i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, ask_each, &s);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
		CU_ASSERT_EQUAL(stop_asked(&s), STOP_ERROR);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"larger reasons win", larger_reasons_win},
		{"from any thread", from_any_thread},
		CU_TEST_INFO_NULL,
	};

	return unit_main("stop", tests);
}

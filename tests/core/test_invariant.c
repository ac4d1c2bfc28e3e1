/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of invariants: a broken one stops its thread and tells where, or ends the process where nobody listens. */
#include "core/invariant.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/buffers.h"
#include "core/clock_wait.h"
#include "core/content/permutation.h"
#include "core/measure/table.h"
#include "tests/unit.h"

static void break_buffers_twice(void)
{
	struct buffers b;
	void *slot;

	buffers_init(&b, 2, 1, NULL);
	slot = buffers_take(&b);
	buffers_give(&b, slot);
	buffers_give(&b, slot);
}

static void break_buffers_foreign(void)
{
	struct buffers b;
	void *slot;

	buffers_init(&b, 2, 1, NULL);
	slot = buffers_take(&b);
	buffers_give(&b, (char *)slot + 1);
}

static void break_permutation(void)
{
	struct permutation p;

	permutation_init(&p, 100, 1);
	permutation_at(&p, 100);
}

static void break_table(void)
{
	static const struct table_kind kinds[2] = {{.name = "a", .rows_max = 1},
						   {.name = "b", .rows_max = 1}};
	struct table a, b;

	table_init(&a, &kinds[0], 0, NULL);
	table_init(&b, &kinds[1], 0, NULL);
	table_add(&a, &b);
}

static void keep(void)
{
	struct buffers b;
	struct permutation p;

	buffers_init(&b, 2, 1, NULL);
	buffers_give(&b, buffers_take(&b));
	permutation_init(&p, 100, 1);
	permutation_at(&p, 99);
}

/* The signal that ends a copy of this process in which `does` is called; 0: it ends by itself. */
static int ending_of(void (*does)(void))
{
	const struct rlimit none = {0, 0};
	pid_t copy = fork();
	int state = 0;

	if (copy == 0) {
		setrlimit(RLIMIT_CORE, &none);
		does();
		_exit(0);
	}
	CU_ASSERT_EQUAL_FATAL(waitpid(copy, &state, 0), copy);
	return WIFSIGNALED(state) ? WTERMSIG(state) : 0;
}

static void test_nobody_listens(void)
{
	static void (*const breaks[])(void) = {break_buffers_twice, break_buffers_foreign,
					       break_permutation, break_table};

	CU_ASSERT_EQUAL(ending_of(keep), 0);
	for (unsigned i = 0; i < sizeof(breaks) / sizeof(*breaks); i++)
		CU_ASSERT_EQUAL(ending_of(breaks[i]), SIGABRT);
}

static void *break_one(void *reached)
{
	INVARIANT(reached == NULL, "this break is planted");
	*(volatile bool *)reached = true;
	return NULL;
}

/* In a copy, since the thread never ends. */
static void listen(void)
{
	const struct invariant *broken;
	volatile bool reached = false;
	siginfo_t info;
	pthread_t thread;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGABRT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (pthread_create(&thread, NULL, break_one, (void *)&reached) != 0 ||
	    !clock_signal_wait(&set, &info, UINT64_C(60000000000)))
		_exit(1);
	broken = info.si_value.sival_ptr;
	if (info.si_code != SI_QUEUE || info.si_pid != getpid() || reached ||
	    strcmp(broken->condition, "reached == NULL") != 0 ||
	    strcmp(broken->reason, "this break is planted") != 0 ||
	    !strstr(broken->file, "test_invariant.c") || broken->line <= 0)
		_exit(2);
	raise(SIGKILL);
}

static void test_somebody_listens(void)
{
	CU_ASSERT_EQUAL(ending_of(listen), SIGKILL);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"nobody listens", test_nobody_listens},
		{"somebody listens", test_somebody_listens},
		CU_TEST_INFO_NULL,
	};

	return unit_main("invariant", tests);
}

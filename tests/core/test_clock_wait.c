/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of waits: none ends early for want of time, and each says why it ended. */
#include "core/clock_wait.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/time_ns.h"
#include "tests/unit.h"

static const uint64_t wait_ns = 2 * NS_PER_MS;

static void test_sem(void)
{
	uint64_t until_ns;
	sem_t s;

	sem_init(&s, 0, 2);
	CU_ASSERT_TRUE(clock_sem_wait(&s, 0)); /* what is there is taken, however late */
	CU_ASSERT_TRUE(clock_sem_wait(&s, UINT64_MAX));
	until_ns = clock_kernel_ns() + wait_ns;
	CU_ASSERT_FALSE(clock_sem_wait(&s, until_ns));
	CU_ASSERT(clock_kernel_ns() >= until_ns);
	sem_destroy(&s);
}

struct board {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool said;
};

static void *announce(void *argument)
{
	struct board *board = argument;

	pthread_mutex_lock(&board->lock);
	board->said = true;
	pthread_cond_signal(&board->changed);
	pthread_mutex_unlock(&board->lock);
	return NULL;
}

static void test_cond(void)
{
	struct board board = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
	uint64_t until_ns = clock_kernel_ns() + wait_ns;
	pthread_t thread;

	pthread_mutex_lock(&board.lock);
	while (clock_cond_wait(&board.changed, &board.lock, until_ns))
		;
	CU_ASSERT(clock_kernel_ns() >= until_ns);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, announce, &board), 0);
	while (!board.said)
		CU_ASSERT_TRUE(clock_cond_wait(&board.changed, &board.lock, UINT64_MAX));
	pthread_mutex_unlock(&board.lock);
	pthread_join(thread, NULL);
}

static void test_word(void)
{
	for (int shared = 0; shared < 2; shared++) {
		_Atomic uint32_t word = 3;
		uint64_t until_ns = clock_kernel_ns() + wait_ns;

		while (clock_word_wait(&word, 3, wait_ns, shared))
			;
		CU_ASSERT(clock_kernel_ns() >= until_ns);
		CU_ASSERT_TRUE(clock_word_wait(&word, 4, UINT64_C(1) << 60, shared));
		clock_word_wake(&word, UINT32_MAX, shared);
	}
}

static void test_fd(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	uint64_t until_ns = clock_kernel_ns() + wait_ns;
	int ends[2], epoll = epoll_create1(0);

	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
	CU_ASSERT_FALSE(clock_fd_wait(-1, POLLIN, wait_ns));
	CU_ASSERT(clock_kernel_ns() >= until_ns);
	CU_ASSERT_FALSE(clock_fd_wait(ends[0], POLLIN, 0));
	CU_ASSERT_EQUAL(clock_epoll_wait(epoll, &event, 1, 0), 0);
	CU_ASSERT_EQUAL(write(ends[1], "", 1), 1);
	CU_ASSERT_TRUE(clock_fd_wait(ends[0], POLLIN, UINT64_C(1) << 60));
	CU_ASSERT_EQUAL(clock_epoll_wait(epoll, &event, 1, -1), 1);
	close(ends[0]);
	close(ends[1]);
	close(epoll);
}

static void test_signal(void)
{
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	CU_ASSERT_FALSE(clock_signal_wait(&set, NULL, 0));
	pthread_kill(pthread_self(), SIGUSR2);
	CU_ASSERT_TRUE(clock_signal_wait(&set, &info, UINT64_C(1) << 60));
	CU_ASSERT_EQUAL(info.si_signo, SIGUSR2);
}

/* A nap is not counted as computing. */
static void test_nap(void)
{
	uint64_t before = clock_thread_cpu_ns(), began_ns = clock_kernel_ns(), asleep, after;

	clock_nap(50 * NS_PER_MS);
	asleep = clock_thread_cpu_ns();
	do
		after = clock_thread_cpu_ns();
	while (after - asleep < 2 * NS_PER_MS);
	CU_ASSERT(clock_kernel_ns() - began_ns >= 50 * NS_PER_MS);
	CU_ASSERT(asleep - before < 40 * NS_PER_MS);
	CU_ASSERT(after > asleep && asleep > 0);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"semaphores", test_sem}, {"conditions", test_cond}, {"words", test_word},
		{"descriptors", test_fd}, {"signals", test_signal},  {"naps", test_nap},
		CU_TEST_INFO_NULL,
	};

	return unit_main("clock_wait", tests);
}

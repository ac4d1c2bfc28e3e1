/* SPDX-License-Identifier: Apache-2.0 */
/* Waits: see clock_wait.h. */
#include "core/clock_wait.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/numbers.h"
#include "core/time_ns.h"

void clock_nap(uint64_t ns)
{
	const struct timespec nap = ns_to_timespec(ns);

	nanosleep(&nap, NULL);
}

bool clock_sem_wait(sem_t *semaphore, uint64_t until_ns)
{
	const struct timespec until = ns_to_timespec(until_ns);
	int rc;

	do {
		rc = until_ns == UINT64_MAX ? sem_wait(semaphore)
					    : sem_clockwait(semaphore, CLOCK_MONOTONIC, &until);
	} while (rc < 0 && errno == EINTR);
	return rc == 0;
}

bool clock_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ns)
{
	const struct timespec until = ns_to_timespec(until_ns);

	if (until_ns == UINT64_MAX)
		return pthread_cond_wait(condition, lock) == 0;
	return pthread_cond_clockwait(condition, lock, CLOCK_MONOTONIC, &until) != ETIMEDOUT;
}

bool clock_word_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t ns, bool between_processes)
{
	const struct timespec most = ns_to_timespec(ns);

	return syscall(SYS_futex, word, between_processes ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE,
		       expected, &most, NULL, 0) == 0 ||
	       errno != ETIMEDOUT;
}

void clock_word_wake(_Atomic uint32_t *word, uint32_t most, bool between_processes)
{
	syscall(SYS_futex, word, between_processes ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE,
		min_u32(most, INT32_MAX), NULL, NULL, 0);
}

bool clock_fd_wait(int fd, short events, uint64_t ns)
{
	const struct timespec most = ns_to_timespec(ns);
	struct pollfd look = {.fd = fd, .events = events};

	return ppoll(&look, 1, &most, NULL) > 0;
}

int clock_epoll_wait(int epoll, struct epoll_event *events, int max, int ms)
{
	return epoll_wait(epoll, events, max, ms);
}

bool clock_signal_wait(const sigset_t *set, siginfo_t *info, uint64_t ns)
{
	const struct timespec most = ns_to_timespec(ns);

	return sigtimedwait(set, info, &most) > 0;
}

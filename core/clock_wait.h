/* SPDX-License-Identifier: Apache-2.0 */
/* Waits: the only door to sleeps and timed waits of the kernel, beside clock_sleep_until
 * (tests/project/check_clocks.py). All deadlines are of the monotonic clock, in ns. A deadline of
 * UINT64_MAX is none. Any thread. */
#ifndef HAUL_CORE_CLOCK_WAIT_H
#define HAUL_CORE_CLOCK_WAIT_H

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct epoll_event;

/* Sleeps for about ns. A signal may end it earlier. */
void clock_nap(uint64_t ns);

/* Takes the semaphore, if it is posted until then; a signal does not end the wait. Returns whether
 * it was taken. */
bool clock_sem_wait(sem_t *semaphore, uint64_t until_ns);

/* Waits for the condition, possibly in vain. Returns false once the deadline has passed. */
bool clock_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ns);

/* Waits while *word is expected, for ns at most, and possibly in vain. between_processes: the word
 * is in memory that several processes share. Returns false if the time has passed. */
bool clock_word_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t ns,
		     bool between_processes);

/* Wakes at most so many of those that wait for the word. */
void clock_word_wake(_Atomic uint32_t *word, uint32_t most, bool between_processes);

/* Waits until fd is ready for events (poll(2)), for ns at most; fd -1: until the time has passed.
 * Returns whether it is ready. */
bool clock_fd_wait(int fd, short events, uint64_t ns);

/* epoll_wait(2), which counts in ms; -1: without an end. */
int clock_epoll_wait(int epoll, struct epoll_event *events, int max, int ms);

/* Takes a pending signal of the set, which the caller has blocked, or waits for one for ns at most.
 * Returns whether there was one. info may be NULL. */
bool clock_signal_wait(const sigset_t *set, siginfo_t *info, uint64_t ns);

#endif

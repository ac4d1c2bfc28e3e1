/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time: see virtual_time.h.
 *
 * There is one lock, and one thread runs. The other threads are in the queue of those that are
 * ready to run, or in the list of those that wait: for an address (a semaphore, a condition, a
 * futex word, a thread), for a time, or for whichever comes first. A thread that waits lets the
 * next one of the queue run; if the queue is empty, the clock advances to the earliest deadline. */
#include "tests/virtual_time.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NEVER       UINT64_MAX
#define SECOND_NS   1000000000ull
/* CLOCK_MONOTONIC at the start, and the offset of CLOCK_REALTIME. */
#define START_NS    (1000 * SECOND_NS)
#define REALTIME_NS (1700000000 * SECOND_NS)

/* A thread that does not run. */
struct sleeper {
	struct sleeper *next;
	const void *what;  /* the address it waits for; NULL: none, only the time */
	uint64_t until_ns; /* NEVER: no deadline */
	bool late;         /* the deadline passed first */
	bool runs;
	pthread_cond_t turn;
};

struct list {
	struct sleeper *first, **end;
};

struct thread {
	struct thread *next;
	struct sleeper start;
	void *(*body)(void *argument);
	void *argument;
	pthread_t id;
	bool ended;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct list ready = {NULL, &ready.first}, waiting = {NULL, &waiting.first};
static struct thread *threads;
static uint64_t now_ns = START_NS, oversleep_ns;

/* The linker's names of a function of the C library and of its replacement. */
#define WRAPPED(name, ...) \
	int __real_##name(__VA_ARGS__); \
	int __wrap_##name(__VA_ARGS__)

WRAPPED(clock_gettime, clockid_t clock, struct timespec *t);
WRAPPED(clock_nanosleep, clockid_t clock, int flags, const struct timespec *t,
	struct timespec *left);
WRAPPED(nanosleep, const struct timespec *t, struct timespec *left);
WRAPPED(sched_yield, void);
WRAPPED(sem_wait, sem_t *s);
WRAPPED(sem_timedwait, sem_t *s, const struct timespec *t);
WRAPPED(sem_clockwait, sem_t *s, clockid_t clock, const struct timespec *t);
WRAPPED(sem_post, sem_t *s);
WRAPPED(pthread_mutex_lock, pthread_mutex_t *m);
WRAPPED(pthread_cond_wait, pthread_cond_t *c, pthread_mutex_t *m);
WRAPPED(pthread_cond_clockwait, pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
	const struct timespec *t);
WRAPPED(pthread_cond_signal, pthread_cond_t *c);
WRAPPED(pthread_cond_broadcast, pthread_cond_t *c);
WRAPPED(pthread_create, pthread_t *id, const pthread_attr_t *a, void *(*body)(void *argument),
	void *argument);
WRAPPED(pthread_join, pthread_t id, void **result);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

/* Which thread runs. */

static void list_append(struct list *l, struct sleeper *s)
{
	s->next = NULL;
	*l->end = s;
	l->end = &s->next;
}

static void list_remove(struct list *l, struct sleeper *s)
{
	struct sleeper **at = &l->first;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	if (l->end == &s->next)
		l->end = at;
}

static void wake(struct sleeper *s, bool late)
{
	list_remove(&waiting, s);
	s->late = late;
	list_append(&ready, s);
}

/* Wakes at most so many of the threads that wait for an address, in the order in which they came.
 * Returns their number. */
static int wake_all(const void *what, int most)
{
	struct sleeper *s = waiting.first, *next;
	int n = 0;

	for (; s && n < most; s = next) {
		next = s->next;
		if (s->what == what) {
			wake(s, false);
			n++;
		}
	}
	return n;
}

static struct sleeper *earliest(void)
{
	struct sleeper *found = NULL;

	for (struct sleeper *s = waiting.first; s; s = s->next)
		if (s->until_ns != NEVER && (!found || s->until_ns < found->until_ns))
			found = s;
	return found;
}

/* Lets the next thread run. Returns false if no thread can ever run again. The caller has the lock
 * and must wait for its turn. */
static bool run_next(void)
{
	struct sleeper *s = earliest();

	while (s && (s->until_ns <= now_ns || !ready.first)) {
		now_ns = s->until_ns > now_ns ? s->until_ns : now_ns;
		wake(s, true);
		s = earliest();
	}
	s = ready.first;
	if (!s)
		return false;
	list_remove(&ready, s);
	s->runs = true;
	__real_pthread_cond_signal(&s->turn);
	return true;
}

static void await_turn(struct sleeper *s)
{
	while (!s->runs)
		__real_pthread_cond_wait(&s->turn, &lock);
}

/* Waits for an address, a time or both, with the lock held. Returns false if the time passed
 * first. */
static bool await(const void *what, uint64_t until_ns)
{
	struct sleeper s = {.what = what, .until_ns = until_ns, .turn = PTHREAD_COND_INITIALIZER};

	list_append(&waiting, &s);
	if (!run_next()) {
		fprintf(stderr, "virtual time: all threads wait, and no deadline will wake one\n");
		abort();
	}
	await_turn(&s);
	return !s.late;
}

static void yield(void)
{
	struct sleeper s = {.turn = PTHREAD_COND_INITIALIZER};

	list_append(&ready, &s);
	run_next();
	await_turn(&s);
}

/* The clock and sleeps. */

static uint64_t ns_of(clockid_t clock, const struct timespec *t)
{
	uint64_t ns = (uint64_t)t->tv_sec * SECOND_NS + (uint64_t)t->tv_nsec;

	return clock == CLOCK_REALTIME ? ns - REALTIME_NS : ns;
}

void virtual_time_oversleep(uint64_t ns)
{
	__real_pthread_mutex_lock(&lock);
	oversleep_ns = ns;
	pthread_mutex_unlock(&lock);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	const struct sleeper *due;
	uint64_t ns;

	if (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME)
		return __real_clock_gettime(clock, t);
	__real_pthread_mutex_lock(&lock);
	now_ns += VIRTUAL_TIME_LOOK_NS;
	due = earliest();
	if (due && due->until_ns <= now_ns)
		yield(); /* other threads wake in time although this one spins */
	ns = clock == CLOCK_REALTIME ? now_ns + REALTIME_NS : now_ns;
	pthread_mutex_unlock(&lock);
	t->tv_sec = (time_t)(ns / SECOND_NS);
	t->tv_nsec = (long)(ns % SECOND_NS);
	return 0;
}

static void sleep_until(uint64_t until_ns)
{
	__real_pthread_mutex_lock(&lock);
	if (until_ns > now_ns)
		await(NULL, until_ns + oversleep_ns);
	pthread_mutex_unlock(&lock);
}

int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *t,
			   struct timespec *left)
{
	(void)left;
	if (flags & TIMER_ABSTIME)
		sleep_until(ns_of(clock, t));
	else
		sleep_until(now_ns + ns_of(CLOCK_MONOTONIC, t));
	return 0;
}

int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
	return __wrap_clock_nanosleep(CLOCK_MONOTONIC, 0, t, left);
}

int __wrap_sched_yield(void)
{
	__real_pthread_mutex_lock(&lock);
	now_ns += VIRTUAL_TIME_YIELD_NS;
	yield();
	pthread_mutex_unlock(&lock);
	return 0;
}

/* Semaphores, mutexes, conditions and futexes. */

static int sem_wait_until(sem_t *s, uint64_t until_ns)
{
	bool in_time = true;
	int rc;

	__real_pthread_mutex_lock(&lock);
	while ((rc = sem_trywait(s)) < 0 && in_time)
		in_time = await(s, until_ns);
	pthread_mutex_unlock(&lock);
	if (rc < 0)
		errno = ETIMEDOUT;
	return rc;
}

int __wrap_sem_wait(sem_t *s)
{
	return sem_wait_until(s, NEVER);
}

int __wrap_sem_timedwait(sem_t *s, const struct timespec *t)
{
	return sem_wait_until(s, ns_of(CLOCK_REALTIME, t));
}

int __wrap_sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *t)
{
	return sem_wait_until(s, ns_of(clock, t));
}

int __wrap_sem_post(sem_t *s)
{
	int rc;

	__real_pthread_mutex_lock(&lock);
	rc = __real_sem_post(s);
	wake_all(s, 1);
	pthread_mutex_unlock(&lock);
	return rc;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
	int rc;

	while ((rc = pthread_mutex_trylock(m)) == EBUSY)
		__wrap_sched_yield();
	return rc;
}

static int cond_wait_until(pthread_cond_t *c, pthread_mutex_t *m, uint64_t until_ns)
{
	bool in_time;

	__real_pthread_mutex_lock(&lock);
	pthread_mutex_unlock(m);
	in_time = await(c, until_ns);
	pthread_mutex_unlock(&lock);
	__wrap_pthread_mutex_lock(m);
	return in_time ? 0 : ETIMEDOUT;
}

int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	return cond_wait_until(c, m, NEVER);
}

int __wrap_pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
				  const struct timespec *t)
{
	return cond_wait_until(c, m, ns_of(clock, t));
}

static int cond_wake(const pthread_cond_t *c, int most)
{
	__real_pthread_mutex_lock(&lock);
	wake_all(c, most);
	pthread_mutex_unlock(&lock);
	return 0;
}

int __wrap_pthread_cond_signal(pthread_cond_t *c)
{
	return cond_wake(c, 1);
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *c)
{
	return cond_wake(c, INT_MAX);
}

/* FUTEX_WAIT and FUTEX_WAKE between threads, which are the only futex operations that haul uses. */
static long futex(int *word, int op, int value, const struct timespec *t)
{
	long rc = 0;

	__real_pthread_mutex_lock(&lock);
	if (op == FUTEX_WAKE_PRIVATE) {
		rc = wake_all(word, value);
	} else if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) {
		rc = -1;
		errno = EAGAIN;
	} else if (!await(word, t ? now_ns + ns_of(CLOCK_MONOTONIC, t) : NEVER)) {
		rc = -1;
		errno = ETIMEDOUT;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

/* Most calls have fewer arguments than are read here; what is read beyond them is passed on, and
 * not looked at. */
__attribute__((no_sanitize("address"))) long __wrap_syscall(long number, ...)
{
	va_list list;
	long a[6];

	va_start(list, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_futex)
		return futex((int *)a[0], (int)a[1], (int)a[2], (const struct timespec *)a[3]);
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Making and joining threads. */

static void *thread_main(void *argument)
{
	struct thread *t = argument;
	void *result;

	__real_pthread_mutex_lock(&lock);
	await_turn(&t->start);
	pthread_mutex_unlock(&lock);
	result = t->body(t->argument);
	__real_pthread_mutex_lock(&lock);
	t->ended = true;
	wake_all(t, INT_MAX);
	run_next();
	pthread_mutex_unlock(&lock);
	return result;
}

int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *a, void *(*body)(void *argument),
			  void *argument)
{
	struct thread *t = calloc(1, sizeof(*t));
	int rc;

	if (!t)
		return EAGAIN;
	t->body = body;
	t->argument = argument;
	pthread_cond_init(&t->start.turn, NULL);
	__real_pthread_mutex_lock(&lock);
	rc = __real_pthread_create(&t->id, a, thread_main, t);
	if (rc == 0) {
		*id = t->id;
		list_append(&ready, &t->start);
		t->next = threads;
		threads = t;
	}
	pthread_mutex_unlock(&lock);
	if (rc)
		free(t);
	return rc;
}

int __wrap_pthread_join(pthread_t id, void **result)
{
	struct thread **at = &threads, *t;

	__real_pthread_mutex_lock(&lock);
	while (!pthread_equal((*at)->id, id))
		at = &(*at)->next;
	t = *at;
	*at = t->next;
	while (!t->ended)
		await(t, NEVER);
	pthread_mutex_unlock(&lock);
	free(t);
	return __real_pthread_join(id, result);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Opener threads: see opener.h. */
#include "backends/dfs/opener.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/dfs/aside.h"
#include "backends/dfs/object.h"
#include "core/clock_wait.h"
#include "core/numbers.h"

/* One writer, one reader. Positions only grow. */
struct opener_ring {
	struct request **slots;
	_Atomic uint32_t head, tail;
};

/* Whether a thread is in the library or at the requests of its caller. Who gives requests up waits
 * while it is at them, which is short, and then it comes there no more. */
enum { THREAD_AWAY, THREAD_CLAIMS, THREAD_LEFT };

struct opener_thread {
	struct dfs_task task; /* the first member: a task is a thread's */
	struct dfs_opener *opener;
	pthread_t thread;
	bool started;
	_Atomic int claim;
	sem_t wake; /* one for each request that was asked, and one to end */
	struct opener_ring asked, done;
};

struct dfs_opener {
	struct clock *clock;
	const struct stop *stop;
	sem_t ended; /* one for each request that was done */
	uint32_t mask, next, busy, count;
	bool left; /* requests were given up: threads may be in the library for ever */
	_Atomic uint32_t owners; /* the queue, and each thread */
	struct opener_thread threads[];
};

static void ring_put(struct opener_ring *r, uint32_t mask, struct request *req)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	r->slots[head & mask] = req;
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
}

static struct request *ring_get(struct opener_ring *r, uint32_t mask)
{
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	struct request *req;

	if (tail == atomic_load_explicit(&r->head, memory_order_acquire))
		return NULL;
	req = r->slots[tail & mask];
	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
	return req;
}

static void opener_free(struct dfs_opener *opener)
{
	for (uint32_t i = 0; i < opener->count; i++) {
		if (opener->threads[i].asked.slots)
			sem_destroy(&opener->threads[i].wake);
		free(opener->threads[i].asked.slots);
	}
	sem_destroy(&opener->ended);
	free(opener);
}

/* The last one frees. */
static void opener_leave(struct dfs_opener *opener)
{
	if (atomic_fetch_sub(&opener->owners, 1) == 1)
		opener_free(opener);
}

static bool opener_claim(struct dfs_task *task)
{
	struct opener_thread *t = (struct opener_thread *)task;
	int away = THREAD_AWAY;

	return atomic_compare_exchange_strong(&t->claim, &away, THREAD_CLAIMS);
}

static void opener_release(struct dfs_task *task)
{
	struct opener_thread *t = (struct opener_thread *)task;

	atomic_store(&t->claim, THREAD_AWAY);
}

/* Takes a request and gives it back done. False: there is none, or nobody waits for it any more. */
static bool opener_serve(struct opener_thread *t)
{
	struct dfs_opener *opener = t->opener;
	struct request *req;

	if (!opener_claim(&t->task))
		return false;
	req = ring_get(&t->asked, opener->mask);
	if (req)
		dfs_task_begin(&t->task, req);
	opener_release(&t->task);
	if (!req)
		return false;
	dfs_task_do(&t->task);
	if (!opener_claim(&t->task))
		return false;
	dfs_task_end(&t->task);
	ring_put(&t->done, opener->mask, req);
	opener_release(&t->task);
	sem_post(&opener->ended);
	return true;
}

/* A wake without a request ends the thread. */
static void *opener_run(void *argument)
{
	struct opener_thread *t = argument;

	do {
		while (sem_wait(&t->wake) < 0)
			;
	} while (opener_serve(t));
	opener_leave(t->opener);
	return NULL;
}

static int opener_start(struct dfs_opener *opener, struct opener_thread *t, struct dfs_store *store)
{
	int rc;

	t->opener = opener;
	t->task =
		(struct dfs_task){.store = store, .claim = opener_claim, .release = opener_release};
	t->asked.slots = calloc(2 * ((size_t)opener->mask + 1), sizeof(*t->asked.slots));
	if (!t->asked.slots)
		return -ENOMEM;
	t->done.slots = t->asked.slots + opener->mask + 1;
	sem_init(&t->wake, 0, 0);
	atomic_fetch_add(&opener->owners, 1);
	rc = pthread_create(&t->thread, NULL, opener_run, t);
	t->started = rc == 0;
	if (rc)
		atomic_fetch_sub(&opener->owners, 1);
	return -rc;
}

int dfs_opener_open(struct dfs_opener **out, const struct store *store, uint32_t threads,
		    uint32_t depth, struct err *err)
{
	struct dfs_opener *opener = calloc(1, sizeof(*opener) + threads * sizeof(*opener->threads));
	int rc = 0;

	*out = NULL;
	if (!opener)
		return err_set(err, -ENOMEM, "no memory for a queue of depth %u", depth);
	opener->clock = store->clock;
	opener->stop = store->stop;
	atomic_init(&opener->owners, 1);
	opener->mask = 1;
	while (opener->mask < depth)
		opener->mask *= 2;
	opener->mask--;
	sem_init(&opener->ended, 0, 0);
	while (rc == 0 && opener->count < threads)
		rc = opener_start(opener, &opener->threads[opener->count++], dfs_store_of(store));
	if (rc == 0) {
		*out = opener;
		return 0;
	}
	dfs_opener_close(opener);
	return err_set(err, rc, "%s: a thread that opens objects cannot start: %s", store->uri,
		       strerror(-rc));
}

void dfs_opener_close(struct dfs_opener *opener)
{
	if (!opener)
		return;
	for (uint32_t i = 0; i < opener->count; i++) {
		struct opener_thread *t = &opener->threads[i];

		if (!t->started)
			continue;
		sem_post(&t->wake);
		if (opener->left)
			pthread_detach(t->thread);
		else
			pthread_join(t->thread, NULL);
	}
	opener_leave(opener);
}

/* Those of one thread: done, under way, and not begun. */
static uint32_t opener_give_up_of(struct dfs_opener *opener, struct opener_thread *t,
				  struct request **out)
{
	int away = THREAD_AWAY;
	struct request *req;
	uint32_t n = 0;

	while (!atomic_compare_exchange_weak(&t->claim, &away, THREAD_LEFT)) {
		if (away == THREAD_LEFT)
			break;
		away = THREAD_AWAY;
		sched_yield();
	}
	while ((req = ring_get(&t->done, opener->mask)) != NULL)
		out[n++] = req;
	if (t->task.asked)
		out[n++] = t->task.asked;
	t->task.asked = NULL;
	while ((req = ring_get(&t->asked, opener->mask)) != NULL)
		out[n++] = req;
	return n;
}

uint32_t dfs_opener_give_up(struct dfs_opener *opener, struct request **out)
{
	uint32_t n = 0;

	opener->left = true;
	for (uint32_t i = 0; i < opener->count; i++)
		n += opener_give_up_of(opener, &opener->threads[i], out + n);
	opener->busy = 0;
	return n;
}

void dfs_opener_ask(struct dfs_opener *opener, struct request *req)
{
	struct opener_thread *t = &opener->threads[opener->next];

	opener->next = opener->next + 1 == opener->count ? 0 : opener->next + 1;
	opener->busy++;
	ring_put(&t->asked, opener->mask, req);
	sem_post(&t->wake);
}

uint32_t dfs_opener_busy(const struct dfs_opener *opener)
{
	return opener->busy;
}

/* Whether one request more has been done than was taken. */
static bool opener_wait(struct dfs_opener *opener, uint64_t until_ns)
{
	int rc = sem_trywait(&opener->ended);

	if (rc == 0 || clock_now(opener->clock) >= until_ns)
		return rc == 0;
	/* A stop may come meanwhile, after which nobody waits for ever. */
	if (opener->stop)
		until_ns = min_u64(until_ns, clock_now(opener->clock) + DFS_LOOK_NS);
	return clock_sem_wait(&opener->ended, until_ns);
}

struct request *dfs_opener_take(struct dfs_opener *opener, uint64_t until_ns)
{
	struct request *req = NULL;

	if (!opener->busy || !opener_wait(opener, until_ns))
		return NULL;
	for (uint32_t i = 0; !req && i < opener->count; i++)
		req = ring_get(&opener->threads[i].done, opener->mask);
	opener->busy--;
	return req;
}

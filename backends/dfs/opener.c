/* Opener threads: see opener.h. */
#include "backends/dfs/opener.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/dfs/object.h"
#include "core/time_ns.h"

/* One writer, one reader. Positions only grow. */
struct opener_ring {
	struct request **slots;
	_Atomic uint32_t head, tail;
};

struct opener_thread {
	struct dfs_opener *opener;
	pthread_t thread;
	bool started;
	sem_t wake; /* one for each request that was asked, and one to end */
	struct opener_ring asked, done;
};

struct dfs_opener {
	const struct store *store;
	sem_t ended; /* one for each request that was done */
	uint32_t mask, next, busy, count;
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

/* A wake without a request ends the thread. */
static void *opener_run(void *argument)
{
	struct opener_thread *t = argument;
	struct dfs_opener *opener = t->opener;
	struct request *req;

	for (;;) {
		while (sem_wait(&t->wake) < 0)
			;
		req = ring_get(&t->asked, opener->mask);
		if (!req)
			return NULL;
		dfs_object_do(opener->store, req);
		ring_put(&t->done, opener->mask, req);
		sem_post(&opener->ended);
	}
}

static int opener_start(struct dfs_opener *opener, struct opener_thread *t)
{
	int rc;

	t->opener = opener;
	t->asked.slots = calloc(2 * ((size_t)opener->mask + 1), sizeof(*t->asked.slots));
	if (!t->asked.slots)
		return -ENOMEM;
	t->done.slots = t->asked.slots + opener->mask + 1;
	sem_init(&t->wake, 0, 0);
	rc = pthread_create(&t->thread, NULL, opener_run, t);
	t->started = rc == 0;
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
	opener->store = store;
	opener->mask = 1;
	while (opener->mask < depth)
		opener->mask *= 2;
	opener->mask--;
	sem_init(&opener->ended, 0, 0);
	while (rc == 0 && opener->count < threads)
		rc = opener_start(opener, &opener->threads[opener->count++]);
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

		if (t->started) {
			sem_post(&t->wake);
			pthread_join(t->thread, NULL);
		}
		if (t->asked.slots)
			sem_destroy(&t->wake);
		free(t->asked.slots);
	}
	sem_destroy(&opener->ended);
	free(opener);
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
	struct timespec until = ns_to_timespec(until_ns);
	int rc = sem_trywait(&opener->ended);

	if (rc == 0 || clock_now(opener->store->clock) >= until_ns)
		return rc == 0;
	do {
		rc = until_ns == UINT64_MAX
			     ? sem_wait(&opener->ended)
			     : sem_clockwait(&opener->ended, CLOCK_MONOTONIC, &until);
	} while (rc < 0 && errno == EINTR);
	return rc == 0;
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

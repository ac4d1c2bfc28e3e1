#include "workloads/loader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_AT_CANCEL_NS 20000000u

static void *loader_thread_main(void *argument);
static int loader_thread_open(struct loader *l, struct loader_thread *t, uint32_t index,
			      struct err *err);

int loader_open(struct loader *l, const struct worker_options *options, uint32_t workers,
		uint32_t prefetch, struct err *err)
{
	uint32_t count = workers ? workers : 1, i;
	int rc = 0;

	memset(l, 0, sizeof(*l));
	l->options = *options;
	l->options.cancel = &l->cancel;
	l->workers = workers;
	l->prefetch = prefetch;
	l->next_serial = 1;
	l->threads = calloc(count, sizeof(*l->threads));
	if (!l->threads)
		return err_set(err, -ENOMEM, "no memory for %u readers", count);
	for (i = 0; i < count && rc == 0; i++)
		rc = loader_thread_open(l, &l->threads[i], i, err);
	if (rc < 0)
		loader_close(l);
	return rc;
}

static int loader_thread_open(struct loader *l, struct loader_thread *t, uint32_t index,
			      struct err *err)
{
	uint32_t i;
	int rc;

	t->loader = l;
	rc = worker_open(&t->worker, &l->options, index, err);
	if (rc < 0 || !l->workers)
		return rc;
	t->batches = calloc(l->prefetch, sizeof(*t->batches));
	if (!t->batches)
		return err_set(err, -ENOMEM, "no memory for %u batches", l->prefetch);
	rc = ring_init(&t->credits, l->prefetch, err);
	if (rc == 0)
		rc = ring_init(&t->filled, l->prefetch, err);
	if (rc < 0)
		return rc;
	for (i = 0; i < l->prefetch; i++)
		ring_put(&t->credits, &t->batches[i], 0);
	sem_init(&t->go, 0, 0);
	sem_init(&t->rest, 0, 0);
	rc = -pthread_create(&t->thread, NULL, loader_thread_main, t);
	if (rc < 0) {
		sem_destroy(&t->go);
		sem_destroy(&t->rest);
		return err_set(err, rc, "reader thread %u: %s", index, strerror(-rc));
	}
	t->started = true;
	return 0;
}

static void loader_sem_wait(sem_t *semaphore)
{
	while (sem_wait(semaphore) < 0 && errno == EINTR)
		;
}

/* A credit, or NULL when the epoch is given up. */
static struct batch *loader_credit(struct loader_thread *t)
{
	void *b;

	while (ring_take(&t->credits, &b, clock_kernel_ns() + LOOK_AT_CANCEL_NS) < 0)
		if (atomic_load(&t->loader->cancel))
			return NULL;
	return b;
}

static void loader_thread_epoch(struct loader_thread *t)
{
	const struct assignment *a = &t->loader->assignment;
	struct batch *b;
	bool last = false;
	uint64_t k;

	for (k = t->worker.index; k < a->batches && !last; k += t->loader->workers) {
		b = loader_credit(t);
		if (!b)
			return;
		worker_build(&t->worker, a, k, b);
		last = b->error || b->cut;
		ring_put(&t->filled, b, UINT64_MAX);
	}
}

static void *loader_thread_main(void *argument)
{
	struct loader_thread *t = argument;

	for (;;) {
		loader_sem_wait(&t->go);
		if (atomic_load(&t->loader->quit))
			return NULL;
		loader_thread_epoch(t);
		sem_post(&t->rest);
	}
}

void loader_start(struct loader *l, uint64_t start_ns)
{
	uint32_t i;

	l->options.start_ns = start_ns;
	for (i = 0; i < loader_worker_count(l); i++)
		timeline_init(&l->threads[i].worker.timeline, start_ns);
}

void loader_begin(struct loader *l, const struct assignment *a)
{
	uint32_t i;

	l->assignment = *a;
	l->assignment.first_serial = l->next_serial;
	l->next_serial += a->batches;
	l->busy = true;
	atomic_store(&l->cancel, false);
	for (i = 0; i < l->workers; i++)
		sem_post(&l->threads[i].go);
}

int loader_take(struct loader *l, uint64_t k, uint64_t since_ns, uint64_t deadline_ns,
		struct batch *out)
{
	struct loader_thread *t = &l->threads[l->workers ? k % l->workers : 0];
	void *b;
	int rc;

	worker_wanted(&t->worker, l->assignment.first_serial + k, since_ns);
	if (!l->workers) {
		worker_build(&t->worker, &l->assignment, k, out);
		return 0;
	}
	rc = ring_take(&t->filled, &b, deadline_ns);
	if (rc < 0)
		return rc;
	*out = *(struct batch *)b;
	ring_put(&t->credits, b, 0);
	return 0;
}

void loader_end(struct loader *l)
{
	uint32_t i;
	void *b;

	if (!l->busy)
		return;
	atomic_store(&l->cancel, true);
	for (i = 0; i < l->workers; i++) {
		loader_sem_wait(&l->threads[i].rest);
		while (ring_take(&l->threads[i].filled, &b, 0) == 0)
			ring_put(&l->threads[i].credits, b, 0);
	}
	l->busy = false;
}

void loader_close(struct loader *l)
{
	uint32_t count = l->workers ? l->workers : 1, i;

	if (!l->threads)
		return;
	loader_end(l);
	atomic_store(&l->quit, true);
	for (i = 0; i < count; i++) {
		struct loader_thread *t = &l->threads[i];

		if (t->started) {
			sem_post(&t->go);
			pthread_join(t->thread, NULL);
			sem_destroy(&t->go);
			sem_destroy(&t->rest);
		}
		if (t->worker.options)
			worker_close(&t->worker);
		ring_free(&t->credits);
		ring_free(&t->filled);
		free(t->batches);
	}
	free(l->threads);
	l->threads = NULL;
}

uint32_t loader_worker_count(const struct loader *l)
{
	return l->workers ? l->workers : 1;
}

struct worker *loader_worker(struct loader *l, uint32_t i)
{
	return &l->threads[i].worker;
}

uint64_t loader_live_bytes(const struct loader *l)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < loader_worker_count(l); i++)
		bytes += atomic_load_explicit(&l->threads[i].worker.live_bytes,
					      memory_order_relaxed);
	return bytes;
}

uint64_t loader_live_p99_ns(const struct loader *l)
{
	uint64_t worst = 0, ns;
	uint32_t i;

	for (i = 0; i < loader_worker_count(l); i++) {
		ns = atomic_load_explicit(&l->threads[i].worker.live_p99_ns, memory_order_relaxed);
		worst = ns > worst ? ns : worst;
	}
	return worst;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The loader as the main thread sees it; thread.c has what becomes of each batch. */
#include "workloads/train/loader/loader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock_wait.h"

static int loader_allocate(struct loader *l, struct err *err);
static int loader_thread_start(struct loader *l, uint32_t index, struct err *err);

/* Whether any reader may take any sample. */
static bool loader_shares_samples(const struct loader *l)
{
	return l->options.kind == LOADER_SAMPLE && l->options.workers;
}

/* Whether all readers build each batch together. */
static bool loader_shares_batches(const struct loader *l)
{
	return l->options.kind == LOADER_STREAM && l->options.workers;
}

uint32_t loader_read_slots(const struct loader_options *o, uint32_t depth)
{
	uint32_t workers = o->workers ? o->workers : 1;

	if (o->kind == LOADER_STREAM)
		return (o->interleave + workers - 1) / workers;
	return o->kind == LOADER_BATCH ? depth : 1;
}

int loader_open(struct loader *l, const struct loader_options *options,
		const struct reader_options *reader_options, struct err *err)
{
	uint32_t i;
	int rc;

	memset(l, 0, sizeof(*l));
	l->options = *options;
	l->reader_options = *reader_options;
	l->reader_options.reader_count = options->workers ? options->workers : 1;
	l->reader_options.read_slots = loader_read_slots(options, reader_options->depth);
	l->reader_options.cancel = &l->cancel;
	l->reader_options.awaited = &l->awaited;
	l->next_number = 1;
	rc = loader_allocate(l, err);
	if (rc == 0 && options->pin_memory)
		rc = pin_copy_open(&l->pin_copy, err);
	for (i = 0; i < l->reader_count && rc == 0; i++)
		rc = reader_open(&l->readers[i], &l->reader_options, i, err);
	for (i = 0; i < l->thread_count && rc == 0; i++)
		rc = loader_thread_start(l, i, err);
	if (rc < 0)
		loader_close(l);
	return rc;
}

/* A batch slot has a part for each reader that may build its batch. */
static int loader_allocate(struct loader *l, struct err *err)
{
	const struct loader_options *o = &l->options;
	uint32_t i;

	l->reader_count = o->workers ? o->workers : 1;
	l->thread_count = o->workers ? o->workers + o->pin_memory : 0;
	l->work_queue_count = loader_shares_samples(l) ? 1 : l->reader_count;
	l->part_count = loader_shares_samples(l) || loader_shares_batches(l) ? l->reader_count : 1;
	l->slot_count = (loader_shares_batches(l) ? 1 : l->work_queue_count) * o->prefetch;
	l->readers = calloc(l->reader_count, sizeof(*l->readers));
	l->threads = calloc(l->thread_count + 1, sizeof(*l->threads));
	l->work_queues = aligned_alloc(64, l->work_queue_count * sizeof(*l->work_queues));
	l->slots = aligned_alloc(64, l->slot_count * sizeof(*l->slots));
	l->parts = calloc((size_t)l->slot_count * l->part_count, sizeof(*l->parts));
	if (o->shuffle_samples)
		l->arrivals =
			calloc(o->shuffle_samples + l->slot_count * o->batch, sizeof(*l->arrivals));
	if (!l->readers || !l->threads || !l->work_queues || !l->slots || !l->parts ||
	    (o->shuffle_samples && !l->arrivals))
		return err_set(err, -ENOMEM, "no memory for %u readers with %u batches each",
			       l->reader_count, o->prefetch);
	memset(l->work_queues, 0, l->work_queue_count * sizeof(*l->work_queues));
	memset(l->slots, 0, l->slot_count * sizeof(*l->slots));
	for (i = 0; i < l->slot_count; i++) {
		sem_init(&l->slots[i].filled, 0, 0);
		sem_init(&l->slots[i].pinned, 0, 0);
	}
	return 0;
}

static void loader_sem_wait(sem_t *semaphore)
{
	while (sem_wait(semaphore) < 0 && errno == EINTR)
		;
}

static void *loader_thread_main(void *argument)
{
	struct loader_thread *t = argument;

	for (;;) {
		loader_sem_wait(&t->go);
		if (atomic_load(&t->loader->quit))
			return NULL;
		t->epoch(t);
		sem_post(&t->rest);
	}
}

static int loader_thread_start(struct loader *l, uint32_t index, struct err *err)
{
	struct loader_thread *t = &l->threads[index];
	int rc;

	t->loader = l;
	t->index = index;
	t->epoch = index < l->options.workers ? loader_work : loader_pin;
	sem_init(&t->go, 0, 0);
	sem_init(&t->rest, 0, 0);
	rc = -pthread_create(&t->thread, NULL, loader_thread_main, t);
	if (rc < 0)
		return err_set(err, rc, "reader thread %u: %s", index, strerror(-rc));
	t->started = true;
	return 0;
}

void loader_start(struct loader *l, uint64_t start_ns)
{
	uint32_t i;

	l->reader_options.start_ns = start_ns;
	for (i = 0; i < l->reader_count; i++)
		meter_start(&l->readers[i].meter, start_ns);
}

static void loader_drain(sem_t *semaphore)
{
	while (sem_trywait(semaphore) == 0)
		;
}

/* All threads rest. Clears what an epoch that was given up has left. */
static void loader_reset(struct loader *l)
{
	uint64_t credits = l->options.prefetch * l->queue_items;
	uint32_t i;

	for (i = 0; i < l->work_queue_count; i++) {
		credits_init(&l->work_queues[i].credits,
			     credits < INT32_MAX ? (uint32_t)credits : INT32_MAX);
		atomic_store(&l->work_queues[i].next, i);
	}
	for (i = 0; i < l->slot_count; i++) {
		loader_drain(&l->slots[i].filled);
		loader_drain(&l->slots[i].pinned);
		atomic_store(&l->slots[i].left, l->batch_items);
	}
}

void loader_begin(struct loader *l, const struct assignment *a)
{
	uint32_t i;

	l->assignment = *a;
	l->assignment.first_number = l->next_number;
	l->next_number += a->batches;
	l->queue_items = loader_shares_samples(l) ? a->sequence.batch : 1;
	l->batch_items = loader_shares_batches(l) ? l->reader_count : l->queue_items;
	if (a->sequence.shuffle_samples)
		sequence_shuffle_buffer(&a->sequence, &l->shuffle_buffer, l->arrivals);
	l->busy = true;
	atomic_store(&l->cancel, false);
	loader_reset(l);
	/* Without workers the reader is the main thread's own, and rests whenever that counts. */
	for (i = 0; l->options.workers && i < l->reader_count; i++)
		snapshot_wake(&l->readers[i].part);
	for (i = 0; i < l->thread_count; i++)
		sem_post(&l->threads[i].go);
}

static bool loader_paused(void *loader)
{
	const struct loader *l = loader;

	return l->reader_options.pause && l->reader_options.pause(l->reader_options.pause_argument);
}

static int loader_build_here(struct loader *l, uint64_t k, struct batch *out)
{
	uint64_t from, to;

	loader_batch(l, k, out);
	sequence_arrivals(&l->assignment.sequence, k, &from, &to);
	reader_build(&l->readers[0], &l->assignment, k, from, to, out);
	loader_shuffle(l, k, out);
	if (l->options.pin_memory && !out->cut)
		loader_copy(l, out, loader_paused, l);
	return 0;
}

int loader_take(struct loader *l, uint64_t k, uint64_t since_ns, uint64_t deadline_ns,
		struct batch *out)
{
	struct batch_slot *slot = &l->slots[k % l->slot_count];

	awaited_set(&l->awaited, l->assignment.first_number + k, since_ns);
	if (!l->options.workers)
		return loader_build_here(l, k, out);
	if (!clock_sem_wait(l->options.pin_memory ? &slot->pinned : &slot->filled, deadline_ns))
		return -ETIMEDOUT;
	if (l->options.pin_memory)
		*out = slot->batch;
	else
		loader_collect(l, k, out);
	return 0;
}

void loader_give(struct loader *l, uint64_t k)
{
	uint32_t i;

	if (!l->options.workers)
		return;
	atomic_store_explicit(&l->slots[k % l->slot_count].left, l->batch_items,
			      memory_order_relaxed);
	for (i = 0; i < (loader_shares_batches(l) ? l->work_queue_count : 1); i++)
		credits_give(&l->work_queues[(k + i) % l->work_queue_count].credits,
			     (uint32_t)l->queue_items);
}

void loader_end(struct loader *l)
{
	uint32_t i;

	if (!l->busy)
		return;
	atomic_store(&l->cancel, true);
	/* Wakes readers that wait for a credit. */
	for (i = 0; i < l->work_queue_count; i++)
		credits_give(&l->work_queues[i].credits, l->reader_count);
	for (i = 0; i < l->thread_count; i++)
		loader_sem_wait(&l->threads[i].rest);
	if (!l->options.workers)
		reader_rest(&l->readers[0]);
	l->busy = false;
}

/* Of the readers that built it, the one that was waited for longest counts; and the copy, if it had
 * begun. */
void loader_blamed(const struct loader *l, uint64_t k, uint64_t blamed[ACCOUNTS])
{
	const struct batch *parts = loader_parts(l, k);
	const struct batch *pinned = &l->slots[k % l->slot_count].batch;
	uint64_t number = l->assignment.first_number + k, most = 0, sum;
	uint32_t i;
	int s;

	memset(blamed, 0, ACCOUNTS * sizeof(*blamed));
	for (i = 0; i < l->part_count; i++) {
		for (s = 0, sum = 0; s < ACCOUNTS && parts[i].number == number; s++)
			sum += parts[i].blamed[s];
		if (sum <= most)
			continue;
		most = sum;
		memcpy(blamed, parts[i].blamed, sizeof(parts[i].blamed));
	}
	if (pinned->number == number)
		blamed[ACCOUNT_COPY] += pinned->blamed[ACCOUNT_COPY];
}

static void loader_free(struct loader *l)
{
	uint32_t i;

	for (i = 0; l->slots && i < l->slot_count; i++) {
		sem_destroy(&l->slots[i].filled);
		sem_destroy(&l->slots[i].pinned);
	}
	pin_copy_close(&l->pin_copy);
	free(l->readers);
	free(l->threads);
	free(l->work_queues);
	free(l->slots);
	free(l->parts);
	free(l->arrivals);
	memset(l, 0, sizeof(*l));
}

void loader_close(struct loader *l)
{
	uint32_t i;

	loader_end(l);
	atomic_store(&l->quit, true);
	for (i = 0; l->threads && i < l->thread_count; i++) {
		struct loader_thread *t = &l->threads[i];

		if (!t->started)
			continue;
		sem_post(&t->go);
		pthread_join(t->thread, NULL);
		sem_destroy(&t->go);
		sem_destroy(&t->rest);
	}
	for (i = 0; l->readers && i < l->reader_count; i++)
		if (l->readers[i].options)
			reader_close(&l->readers[i]);
	loader_free(l);
}

uint32_t loader_reader_count(const struct loader *l)
{
	return l->reader_count;
}

struct reader *loader_reader(struct loader *l, uint32_t i)
{
	return &l->readers[i];
}

uint64_t loader_live_bytes(const struct loader *l)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < l->reader_count; i++)
		bytes +=
			atomic_load_explicit(&l->readers[i].meter.live_bytes, memory_order_relaxed);
	return bytes;
}

uint64_t loader_live_p99_ns(const struct loader *l)
{
	uint64_t worst = 0, ns;
	uint32_t i;

	for (i = 0; i < l->reader_count; i++) {
		ns = atomic_load_explicit(&l->readers[i].meter.live_p99_ns, memory_order_relaxed);
		worst = ns > worst ? ns : worst;
	}
	return worst;
}

bool loader_live_oldest(const struct loader *l, uint64_t *file)
{
	uint64_t oldest_ns = UINT64_MAX;

	for (uint32_t i = 0; i < l->reader_count; i++)
		for (uint32_t k = 0; k < l->reader_options.read_slots; k++) {
			const struct sample_read *r = &l->readers[i].read_slots[k];
			uint64_t live = atomic_load_explicit(&r->live_file, memory_order_relaxed);
			uint64_t since = atomic_load_explicit(&r->live_ns, memory_order_relaxed);

			if (!live || since >= oldest_ns)
				continue;
			oldest_ns = since;
			*file = live - 1;
		}
	return oldest_ns != UINT64_MAX;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a batch: its parts are read, put together, shuffled and copied, by threads or by
 * the main thread. */
#include "workloads/train/loader/loader.h"

#include <string.h>

#include "core/clock.h"
#include "core/clock_wait.h"

int pin_copy_open(struct pin_copy *c, struct err *err)
{
	int rc = buffers_init(&c->buffers, PIN_COPY_BUFFERS, PIN_COPY_BUFFER_BYTES, err);

	if (rc < 0)
		return rc;
	c->from = buffers_take(&c->buffers);
	c->to = buffers_take(&c->buffers);
	return 0;
}

void pin_copy_close(struct pin_copy *c)
{
	buffers_free(&c->buffers);
}

/* Copies bytes; asks quits before each piece whether to give up. */
static void pin_copy_bytes(struct pin_copy *c, uint64_t bytes, bool (*quits)(void *argument),
			   void *argument)
{
	uint64_t n;

	for (; bytes && !quits(argument); bytes -= n) {
		n = bytes < PIN_COPY_BUFFER_BYTES ? bytes : PIN_COPY_BUFFER_BYTES;
		memcpy(c->to, c->from, n);
		/* Nobody reads the copy. Without this, the compiler might leave it out. */
		__asm__ volatile("" : : "r"(c->to) : "memory");
	}
}

#define LOADER_POLL_NS 20000000u

/* Samples that were read for batch k wait here for their turn to go into the shuffle buffer. */
static struct brought_sample *loader_arrivals(const struct loader *l, uint64_t k)
{
	return l->arrivals + l->options.shuffle_samples + k % l->slot_count * l->options.batch;
}

void loader_batch(const struct loader *l, uint64_t k, struct batch *out)
{
	const struct rank_sequence *s = &l->assignment.sequence;
	uint64_t ahead;

	batch_clear(out, l->assignment.first_number + k);
	if (!s->shuffle_samples)
		return;
	ahead = shuffle_buffer_ahead(s->shuffle_samples, s->samples);
	out->arrivals = (struct arrivals){
		.buffer = l->arrivals,
		.here = loader_arrivals(l, k),
		.ahead = ahead,
		.first = ahead + k * s->batch,
	};
}

void loader_shuffle(struct loader *l, uint64_t k, struct batch *out)
{
	const struct brought_sample *next;
	struct brought_sample sample;
	uint64_t i;

	if (!l->assignment.sequence.shuffle_samples || out->error || out->cut)
		return;
	next = loader_arrivals(l, k);
	for (i = 0; i < l->assignment.sequence.batch; i++) {
		sample = shuffle_buffer_take(&l->shuffle_buffer,
					     shuffle_buffer_more(&l->shuffle_buffer) ? next++
										     : NULL);
		batch_take(out, &sample);
	}
}

/* The main thread waited for the reader that ended the batch. */
void loader_collect(struct loader *l, uint64_t k, struct batch *out)
{
	const struct batch *parts = loader_parts(l, k);
	uint64_t number = l->assignment.first_number + k;
	uint32_t i;

	batch_clear(out, number);
	for (i = 0; i < l->part_count; i++)
		if (parts[i].number == number)
			batch_add(out, &parts[i]);
	i = l->part_count > 1 ? l->slots[k % l->slot_count].last : 0;
	memcpy(out->blamed, parts[i].blamed, sizeof(out->blamed));
	loader_shuffle(l, k, out);
}

static bool loader_cancelled(void *loader)
{
	const struct loader *l = loader;

	return atomic_load_explicit(&l->cancel, memory_order_relaxed);
}

/* Returns false when the epoch is given up. */
static bool loader_wait_long(struct loader *l, sem_t *semaphore)
{
	if (sem_trywait(semaphore) == 0)
		return true;
	while (!clock_sem_wait(semaphore, clock_kernel_ns() + LOADER_POLL_NS))
		if (loader_cancelled(l))
			return false;
	return true;
}

/* Takes the next work item for this thread's reader. A queue gives its items out in order, each for
 * a credit, so that no reader reads further ahead than the credits allow. False: none is left. */
static bool loader_claim(struct loader_thread *t, uint64_t *item)
{
	struct loader *l = t->loader;
	struct work_queue *queue = &l->work_queues[t->index % l->work_queue_count];
	uint64_t items = l->assignment.batches * l->batch_items;

	if (atomic_load_explicit(&queue->next, memory_order_relaxed) >= items)
		return false;
	while (credits_take(&queue->credits, LOADER_POLL_NS) < 0) {
		snapshot_look(&l->readers[t->index].part);
		if (loader_cancelled(l))
			return false;
	}
	/* The item may have become free by a credit that another reader took: what that one has
	 * seen, this one must see. */
	*item = atomic_fetch_add_explicit(&queue->next, l->work_queue_count, memory_order_acq_rel);
	return *item < items;
}

/* A work item has ended. Whoever ends the last of a batch hands the batch over. */
static void loader_hand_over(struct loader_thread *t, struct batch_slot *slot)
{
	if (atomic_fetch_sub_explicit(&slot->left, 1, memory_order_acq_rel) > 1)
		return;
	slot->last = t->index;
	sem_post(&slot->filled);
}

/* What is read for a work item: all items of a batch are as large. With streams, an item is the
 * whole batch, and each reader reads what lies in its own files. */
static void loader_work_item(const struct loader *l, uint64_t item, uint64_t *from, uint64_t *to)
{
	uint64_t i = item % l->batch_items, n;

	sequence_arrivals(&l->assignment.sequence, item / l->batch_items, from, to);
	if (l->options.kind == LOADER_STREAM)
		return;
	n = *to - *from;
	*to = *from + n * (i + 1) / l->batch_items;
	*from += n * i / l->batch_items;
}

/* After an error, a reader reads no more but still takes its work items: earlier batches of other
 * readers must become whole, and the main thread ends at the batch that has the error. */
static void loader_work_items(struct loader_thread *t)
{
	struct loader *l = t->loader;
	const struct assignment *a = &l->assignment;
	uint64_t item, k, from, to;
	struct batch *part;
	bool failed = false;

	while (!loader_cancelled(l) && loader_claim(t, &item)) {
		k = item / l->batch_items;
		part = loader_parts(l, k) + (l->part_count > 1 ? t->index : 0);
		if (part->number != a->first_number + k)
			loader_batch(l, k, part);
		loader_work_item(l, item, &from, &to);
		if (!failed)
			reader_build(&l->readers[t->index], a, k, from, to, part);
		if (part->cut)
			return;
		failed = failed || part->error;
		loader_hand_over(t, &l->slots[k % l->slot_count]);
	}
}

void loader_work(struct loader_thread *t)
{
	struct reader *reader = &t->loader->readers[t->index];

	loader_work_items(t);
	reader_rest(reader);
	snapshot_rest(&reader->part);
}

void loader_copy(struct loader *l, struct batch *b, bool (*quits)(void *argument), void *argument)
{
	uint64_t began_ns = clock_now(l->reader_options.clock);

	pin_copy_bytes(&l->pin_copy, b->logical_bytes, quits, argument);
	b->blamed[ACCOUNT_COPY] +=
		awaited_span(&l->awaited, b->number, began_ns, clock_now(l->reader_options.clock));
}

void loader_pin(struct loader_thread *t)
{
	struct loader *l = t->loader;
	struct batch_slot *slot;
	uint64_t k;

	for (k = 0; k < l->assignment.batches; k++) {
		slot = &l->slots[k % l->slot_count];
		if (!loader_wait_long(l, &slot->filled))
			return;
		loader_collect(l, k, &slot->batch);
		loader_copy(l, &slot->batch, loader_cancelled, l);
		sem_post(&slot->pinned);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-over between two threads without a lock, and without a system call while both have work: a ring of numbers, and a bell for
 * the one that sleeps.
 *
 *	writer                                   reader
 *	fills in what a number stands for
 *	places[n] = number, posted = n + 1 ───►  sees posted, takes the number, works
 *	rings the bell                           nothing there: arms the bell, looks again, sleeps
 *
 * Order in memory. What was written before kv_ring_post is seen after kv_ring_take (release, acquire). The bell rests on two pairs
 * of a store and a later load, all sequentially consistent: the writer stores `posted` and loads `asleep`, the reader stores
 * `asleep` and loads `posted`. In the one order that all of them have, the store that comes second is followed by a load that sees the
 * first one. So either the writer finds a sleeper to wake, or the reader finds the number and does not sleep. A bell that
 * was rung for a reader that did not sleep after all leaves a count in its semaphore, and a later sleep ends at once.
 *
 * The ring has no bound of its own: a writer never has more numbers under way than it was opened for. A number is under way until its
 * reader has answered by other means, and so a place is free again when it is needed. */
#ifndef HAUL_WORKLOADS_KVCACHE_RING_H
#define HAUL_WORKLOADS_KVCACHE_RING_H

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { KV_RING_LINE = 64 };

struct kv_ring {
	uint32_t *places; /* [mask + 1] */
	uint32_t mask;
	/* Of the writer. Each side has its own cache lines. */
	char before_posted[KV_RING_LINE];
	_Atomic uint64_t posted; /* numbers, ever */
	char before_taken[KV_RING_LINE];
	uint64_t taken; /* of the reader */
	char behind[KV_RING_LINE];
};

/* most: numbers that are under way at a time. Returns 0 or -ENOMEM. */
static inline int kv_ring_open(struct kv_ring *r, uint32_t most)
{
	uint32_t places = 1;

	while (places < most)
		places *= 2;
	*r = (struct kv_ring){.mask = places - 1};
	r->places = calloc(places, sizeof(*r->places));
	return r->places ? 0 : -ENOMEM;
}

static inline void kv_ring_close(struct kv_ring *r)
{
	free(r->places);
	r->places = NULL;
}

/* Writer. */
static inline void kv_ring_post(struct kv_ring *r, uint32_t number)
{
	uint64_t posted = atomic_load_explicit(&r->posted, memory_order_relaxed);

	r->places[posted & r->mask] = number;
	atomic_store_explicit(&r->posted, posted + 1, memory_order_seq_cst);
}

/* Reader: whether there is a number; after kv_bell_arm, too. */
static inline bool kv_ring_has(const struct kv_ring *r)
{
	return atomic_load_explicit(&r->posted, memory_order_seq_cst) != r->taken;
}

/* Reader: takes the next number. Returns false where there is none. */
static inline bool kv_ring_take(struct kv_ring *r, uint32_t *number)
{
	if (atomic_load_explicit(&r->posted, memory_order_acquire) == r->taken)
		return false;
	*number = r->places[r->taken++ & r->mask];
	return true;
}

struct kv_bell {
	_Atomic bool asleep;
	sem_t *sem;
};

/* Whoever has stored something for the sleeper, by a sequentially consistent operation. Any
 * thread. */
static inline void kv_bell_ring(struct kv_bell *b)
{
	if (atomic_load_explicit(&b->asleep, memory_order_seq_cst) &&
	    atomic_exchange_explicit(&b->asleep, false, memory_order_seq_cst))
		sem_post(b->sem);
}

/* The sleeper, before it looks for the last time and waits for the semaphore; and afterwards. */
static inline void kv_bell_arm(struct kv_bell *b)
{
	atomic_store_explicit(&b->asleep, true, memory_order_seq_cst);
}

static inline void kv_bell_disarm(struct kv_bell *b)
{
	atomic_store_explicit(&b->asleep, false, memory_order_relaxed);
}

#endif

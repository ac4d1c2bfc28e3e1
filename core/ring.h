/* SPDX-License-Identifier: Apache-2.0 */
/* Ring buffer of records of any length between two threads: one writes, the other reads. Nothing
 * waits and nothing is locked. Where a record finds no room, the writer drops it.
 *
 *	| word | record … | word | record … |      … | 0 | (rest of the ring, skipped) |
 *
 * The word is the record's length. Records do not wrap. Positions only grow. */
#ifndef HAUL_CORE_RING_H
#define HAUL_CORE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { RING_WORD = 8 };

struct ring {
	uint8_t *memory;
	uint64_t bytes; /* a power of two */
	/* Used by the writer. Each side has its own cache lines. */
	uint8_t before_head[64 - 2 * RING_WORD];
	_Atomic uint64_t head;
	uint64_t claimed, tail_seen;
	/* Used by the reader. */
	uint8_t before_tail[64 - 3 * RING_WORD];
	_Atomic uint64_t tail;
	uint64_t head_seen;
	uint8_t behind[64 - 2 * RING_WORD];
};

/* bytes is the least size, and at least twice the largest record. Touches all pages. Returns false
 * where there is no memory. */
static inline bool ring_init(struct ring *r, uint64_t bytes)
{
	*r = (struct ring){.bytes = 2048};
	while (r->bytes < bytes)
		r->bytes *= 2;
	r->memory = malloc(r->bytes);
	if (r->memory)
		memset(r->memory, 0, r->bytes);
	return r->memory;
}

static inline void ring_free(struct ring *r)
{
	free(r->memory);
}

static inline uint64_t ring_span(uint64_t bytes)
{
	return RING_WORD + (bytes + RING_WORD - 1) / RING_WORD * RING_WORD;
}

static inline uint64_t *ring_word(struct ring *r, uint64_t position)
{
	return (uint64_t *)(void *)(r->memory + (position & (r->bytes - 1)));
}

/* Writer: room for a record of bytes (> 0), aligned to 8. NULL where there is no room. */
static inline void *ring_claim(struct ring *r, uint64_t bytes)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	uint64_t rest = r->bytes - (head & (r->bytes - 1)), span = ring_span(bytes);
	uint64_t end = head + (span <= rest ? 0 : rest) + span;

	if (end - r->tail_seen > r->bytes) {
		r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
		if (end - r->tail_seen > r->bytes)
			return NULL;
	}
	if (span > rest)
		*ring_word(r, head) = 0;
	*ring_word(r, end - span) = bytes;
	r->claimed = end;
	return ring_word(r, end - span) + 1;
}

/* Writer: publishes the record that was claimed last. */
static inline void ring_publish(struct ring *r)
{
	atomic_store_explicit(&r->head, r->claimed, memory_order_release);
}

/* Reader: the oldest record, or NULL where the ring is empty. */
static inline const void *ring_front(struct ring *r)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	if (tail == r->head_seen) {
		r->head_seen = atomic_load_explicit(&r->head, memory_order_acquire);
		if (tail == r->head_seen)
			return NULL;
	}
	if (*ring_word(r, tail) == 0) {
		tail += r->bytes - (tail & (r->bytes - 1));
		atomic_store_explicit(&r->tail, tail, memory_order_release);
	}
	return ring_word(r, tail) + 1;
}

/* Reader: frees the record of ring_front. */
static inline void ring_release(struct ring *r)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	atomic_store_explicit(&r->tail, tail + ring_span(*ring_word(r, tail)),
			      memory_order_release);
}

/* Any thread: whether all that was published has been released. */
static inline bool ring_empty(const struct ring *r)
{
	return atomic_load_explicit(&r->tail, memory_order_acquire) ==
	       atomic_load_explicit(&r->head, memory_order_acquire);
}

/* Any thread: bytes in use. */
static inline uint64_t ring_held(const struct ring *r)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);

	return atomic_load_explicit(&r->head, memory_order_acquire) - tail;
}

#endif

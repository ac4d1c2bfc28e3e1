/* Single-producer, single-consumer ring of pointers with bounded waits; how a worker hands finished
 * work to the main thread. Semaphores only: no lock is shared, nobody spins. */
#ifndef HAUL_CORE_RING_H
#define HAUL_CORE_RING_H

#include <semaphore.h>
#include <stdint.h>

#include "core/err.h"

struct ring {
	void **slots;
	uint32_t capacity, head, tail; /* head: consumer's, tail: producer's */
	sem_t filled, empty;
};

int ring_init(struct ring *r, uint32_t capacity, struct err *err);
void ring_free(struct ring *r);

/* Puts or takes one item; waits until deadline_ns (CLOCK_MONOTONIC; 0: not at all; UINT64_MAX: for
 * ever). 0, or -ETIMEDOUT. A full ring blocks the producer: capacity is the number of credits. */
int ring_put(struct ring *r, void *item, uint64_t deadline_ns);
int ring_take(struct ring *r, void **item, uint64_t deadline_ns);

#endif

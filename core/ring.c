/* Ring of pointers: see ring.h.
 *
 * filled counts items, empty counts free slots; each index belongs to one side, and posting a
 * semaphore publishes the slot written before. */
#include "core/ring.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>

static int wait_for(sem_t *semaphore, uint64_t deadline_ns);

int ring_init(struct ring *r, uint32_t capacity, struct err *err)
{
	if (capacity == 0 || capacity > SEM_VALUE_MAX)
		return err_set(err, -EINVAL, "a ring of %u slots cannot be made", capacity);
	r->slots = calloc(capacity, sizeof(*r->slots));
	if (r->slots == NULL)
		return err_set(err, -ENOMEM, "no memory for a ring of %u slots", capacity);
	r->capacity = capacity;
	r->head = 0;
	r->tail = 0;
	sem_init(&r->filled, 0, 0);
	sem_init(&r->empty, 0, capacity);
	return 0;
}

void ring_free(struct ring *r)
{
	if (r->slots == NULL)
		return;
	sem_destroy(&r->filled);
	sem_destroy(&r->empty);
	free(r->slots);
	r->slots = NULL;
}

int ring_put(struct ring *r, void *item, uint64_t deadline_ns)
{
	int rc = wait_for(&r->empty, deadline_ns);

	if (rc < 0)
		return rc;
	r->slots[r->tail] = item;
	r->tail = r->tail + 1 == r->capacity ? 0 : r->tail + 1;
	sem_post(&r->filled);
	return 0;
}

int ring_take(struct ring *r, void **item, uint64_t deadline_ns)
{
	int rc = wait_for(&r->filled, deadline_ns);

	if (rc < 0)
		return rc;
	*item = r->slots[r->head];
	r->head = r->head + 1 == r->capacity ? 0 : r->head + 1;
	sem_post(&r->empty);
	return 0;
}

static int wait_for(sem_t *semaphore, uint64_t deadline_ns)
{
	const uint64_t second_ns = 1000000000;
	struct timespec t = {
		.tv_sec = (time_t)(deadline_ns / second_ns),
		.tv_nsec = (long)(deadline_ns % second_ns),
	};

	for (;;) {
		int rc;

		if (deadline_ns == 0)
			rc = sem_trywait(semaphore);
		else if (deadline_ns == UINT64_MAX)
			rc = sem_wait(semaphore);
		else
			rc = sem_clockwait(semaphore, CLOCK_MONOTONIC, &t);
		if (rc == 0)
			return 0;
		if (errno != EINTR)
			return -ETIMEDOUT;
	}
}

/* Removes objects, as many by one request as the store takes: what `haul clean` deletes with. Owned by the
 * thread of its queue. */
#ifndef HAUL_WORKLOADS_COMMON_BATCH_DELETE_H
#define HAUL_WORKLOADS_COMMON_BATCH_DELETE_H

#include "backends/queue/queue.h"

struct remover {
	struct queue *queue;
	struct io_key *keys; /* [IO_KEYS_MAX]; NULL: the store takes one at a time */
	uint64_t *bytes;     /* [IO_KEYS_MAX] */
	uint32_t count;      /* waiting to be removed */
	void (*removed)(void *argument, const struct io *io, uint64_t bytes);
	void *argument;
};

/* removed is called once for each key added, in remover_add or remover_flush: io has the key, status (0,
 * -ENOENT where the store can tell, or the error) and why. It must not use the queue. -ENOMEM. */
int remover_open(struct remover *r, struct queue *q,
		 void (*removed)(void *argument, const struct io *io, uint64_t bytes),
		 void *argument, struct err *err);
/* Zeroes are closed. What waits is not removed. */
void remover_close(struct remover *r);

/* An object, no folder; bytes are the caller's. With nothing else in flight. */
void remover_add(struct remover *r, const char *key, uint64_t bytes);
void remover_flush(struct remover *r);

#endif

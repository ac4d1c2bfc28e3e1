/* SPDX-License-Identifier: Apache-2.0 */
/* Batched deletes: removes objects, as many per request as the store takes. It belongs to the
 * thread of its queue. */
#ifndef HAUL_WORKLOADS_COMMON_BATCH_DELETE_H
#define HAUL_WORKLOADS_COMMON_BATCH_DELETE_H

#include "backends/queue/queue.h"

struct batch_delete {
	struct queue *queue;
	struct request_key *keys; /* [REQ_KEYS_MAX]; NULL: the store takes one at a time */
	uint64_t *bytes;          /* [REQ_KEYS_MAX] */
	uint32_t count;           /* waiting to be removed */
	void (*removed)(void *argument, const struct request *req, uint64_t bytes);
	void *argument;
};

/* removed is called once for each added key, in batch_delete_add or batch_delete_flush. The request
 * then has the key, the status (0, -ENOENT where the store can tell, or the error) and why. removed
 * must not use the queue. Returns 0 or -ENOMEM. */
int batch_delete_open(struct batch_delete *r, struct queue *q,
		      void (*removed)(void *argument, const struct request *req, uint64_t bytes),
		      void *argument, struct err *err);
/* May be called for a zeroed struct. Keys that still wait are not removed. */
void batch_delete_close(struct batch_delete *r);

/* Adds an object, not a folder. bytes are passed to removed. Nothing else may be in flight. */
void batch_delete_add(struct batch_delete *r, const char *key, uint64_t bytes);
void batch_delete_flush(struct batch_delete *r);

#endif

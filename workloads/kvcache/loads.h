/* SPDX-License-Identifier: Apache-2.0 */
/* Loads of I/O threads: which of them gets the next operation. It is one that has the fewest, so that nothing waits behind an
 * operation that takes long while another thread is idle; of several, the one that became so last, whose memory is still in the caches.
 *
 *	with[0] ─► thread 2 ─► thread 5        idle
 *	with[1] ─► thread 0                    one operation each
 *	with[2] ─► …
 *
 * O(1). One thread: the main thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_LOADS_H
#define HAUL_WORKLOADS_KVCACHE_LOADS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/list.h"

struct kv_load {
	struct list_link link; /* among the threads with as many operations */
	uint32_t operations;
};

struct kv_loads {
	uint32_t most;          /* operations of a thread */
	uint32_t least;         /* the load of the thread that is next; most: all are full */
	struct kv_load *thread; /* [threads] */
	struct list *with;      /* [most + 1]: the threads by their operations */
};

/* threads, most: at least 1. Returns 0 or -ENOMEM; kv_loads_close is allowed then, too. */
int kv_loads_open(struct kv_loads *l, uint32_t threads, uint32_t most);
void kv_loads_close(struct kv_loads *l);

/* Whether a thread can take one more. */
static inline bool kv_loads_room(const struct kv_loads *l)
{
	return l->least < l->most;
}

/* The thread that gets one more operation. There must be room. */
uint32_t kv_loads_take(struct kv_loads *l);
/* It has done one. Returns whether it is idle now. */
bool kv_loads_done(struct kv_loads *l, uint32_t thread);

#endif

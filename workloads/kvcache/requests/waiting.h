/* Waiting requests: a queue per rank of priority, each first come, first served. They grow as long as users ask faster than
 * stores answer, since the users of MLPerf's benchmark wait for nobody. One thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_WAITING_H
#define HAUL_WORKLOADS_KVCACHE_WAITING_H

#include "core/numbers.h"
#include "workloads/kvcache/requests/source.h"
#include "workloads/kvcache/tiers/pool.h"

/* A zeroed struct is empty; its memory goes back with kv_pool_free. */
struct kv_waiting {
	struct kv_pool pool;
	struct list line[KV_CLASSES_MAX]; /* by rank */
	uint32_t count, most;             /* in all lines; the most so far */
};

/* rank: 0 is served first. Returns 0 or -ENOMEM. */
int kv_waiting_add(struct kv_waiting *w, uint32_t rank, const struct kv_request *request);

/* Takes the next one; false: there is none. */
bool kv_waiting_take(struct kv_waiting *w, struct kv_request *out);

#endif

/* Waiting requests: a queue per rank of priority, each first come, first served. They grow as long as users ask faster than
 * stores answer, since the users of MLPerf's benchmark wait for nobody. One thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_WAITING_H
#define HAUL_WORKLOADS_KVCACHE_WAITING_H

#include "workloads/kvcache/requests/source.h"

/* A ring of requests, which doubles when it is full. */
struct kv_waiting_ring {
	struct kv_request *requests;
	uint32_t room, first, count; /* room: 0 or a power of two */
};

struct kv_waiting {
	struct kv_waiting_ring ring[KV_CLASSES_MAX];
	uint32_t count, most; /* in all rings; the most so far */
};

/* A zeroed struct is empty. */
void kv_waiting_free(struct kv_waiting *w);

/* rank: 0 is served first. Returns 0 or -ENOMEM. */
int kv_waiting_add(struct kv_waiting *w, uint32_t rank, const struct kv_request *request);

/* Takes the next one; false: there is none. */
bool kv_waiting_take(struct kv_waiting *w, struct kv_request *out);

#endif

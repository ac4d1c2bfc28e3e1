/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are being served: which are free, which may go on, which are parked until there is
 * a credit, and when the generations end. Only the main thread of a rank.
 *
 *	free ──► ready ──► (its step has operations under way) ──► ready ──► … ──► generation ──► free
 *	                 └─► parked, while others hold all credits ─┘ */
#ifndef HAUL_WORKLOADS_KVCACHE_SERVED_H
#define HAUL_WORKLOADS_KVCACHE_SERVED_H

#include "core/heap.h"
#include "workloads/kvcache/kvcache.h"
#include "workloads/kvcache/requests/source.h"
#include "workloads/kvcache/requests/steps.h"
#include "workloads/kvcache/tiers/operations.h"

struct kv_served {
	struct list_link link; /* among the free ones, those that may go on, or the parked ones */
	struct kv_request request;
	struct kv_steps steps;
	struct kv_step step; /* the one that was taken last */
	bool hit;            /* it was a read of an entry that is there */
	bool credit;         /* it holds one of max_concurrent_allocs */
	bool parked;         /* its step waits for a credit */
	uint32_t under_way;  /* operations and questions of the step */
	uint64_t served_ns;  /* since when */
	uint64_t asked_ns;   /* when its step asked for operations, or was parked */
	uint64_t storage_ns; /* spent waiting for operations */
	uint64_t ends_ns;    /* its generation */
};

struct kv_serving {
	struct kv_served *all; /* [setup.served] */
	struct list free, ready, parked;
	struct heap generating;
	uint32_t busy;                       /* requests that are not free */
	uint64_t credits;                    /* of max_concurrent_allocs */
	uint32_t class_rank[KV_CLASSES_MAX]; /* 0: served first */
};

int kv_serving_open(struct kv_serving *v, const struct kv_setup *setup, struct err *err);
void kv_serving_close(struct kv_serving *v);

/* Begins to serve a request; there must be a free one. And lets it be free again. */
void kv_served_begin(struct kv_serving *v, const struct kv_source *source,
		     const struct kv_request *request, uint64_t now_ns);
void kv_served_free(struct kv_serving *v, struct kv_served *s);

/* Takes the next one out of ready or parked; NULL: there is none. */
struct kv_served *kv_served_next(struct list *list);
void kv_served_park(struct kv_serving *v, struct kv_served *s, uint64_t now_ns);

/* Gives back a credit, if it has one, so that one that is parked may go on. */
void kv_served_give_credit(struct kv_serving *v, struct kv_served *s);

/* The last operation of its step has ended: it may go on. */
void kv_served_ended(struct kv_serving *v, struct kv_served *s, uint64_t now_ns);

/* From now on its tokens are generated, until ends_ns. And takes one whose generation has ended by
 * now_ns; NULL: there is none. */
void kv_served_generate(struct kv_serving *v, struct kv_served *s, uint64_t ends_ns);
struct kv_served *kv_served_generated(struct kv_serving *v, uint64_t now_ns);
/* When the next generation ends; UINT64_MAX: there is none. */
uint64_t kv_served_due(const struct kv_serving *v);

/* Waiting requests: a queue per rank of priority, each first come, first served. They grow as long
 * as users ask faster than stores answer, since the users of MLPerf's benchmark wait for nobody. */
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

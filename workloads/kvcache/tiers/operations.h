/* SPDX-License-Identifier: Apache-2.0 */
/* Operations under way: what tiers ask of stores, in an order in which each entry stays right, and otherwise side by side.
 *
 * An operation may begin when others have ended:
 *
 *	chain   the one before it of the same step of a request: first victims leave, then the entry is written
 *	entry   the earlier ones of the same entry; reads of an entry wait only for those that change it
 *
 * One that `asks` also waits until it is admitted. None ever waits for one that was added later, so no two wait for each other.
 *
 * Those that may begin wait in a queue per rank of priority, first come, first served. An entry may be gone from the tiers
 * while its operations are still under way, and come back: they are told apart by its id.
 *
 * An operation stays where it is in memory until kv_operations_end. One thread: the main thread hands operations that it has taken
 * to I/O threads, and ends them when they come back. */
#ifndef HAUL_WORKLOADS_KVCACHE_OPERATIONS_H
#define HAUL_WORKLOADS_KVCACHE_OPERATIONS_H

#include <stdbool.h>
#include <stdlib.h>

#include "core/list.h"
#include "workloads/kvcache/tiers/entries.h"

/* Pool: items of one size that do not move in memory, taken and given back one at a time. Its
 * memory comes in blocks, which go back with kv_pool_free alone. All zero is an empty pool.
 *
 * An item begins with a struct list_link: its place among the free ones, and its owner's while it
 * is taken. One thread. */

enum { KV_POOL_BLOCK = 64 };

struct kv_pool {
	struct list free, blocks;
};

/* bytes: of an item, the same at each call. What it holds is undefined. NULL: no memory. */
static inline void *kv_pool_take(struct kv_pool *p, size_t bytes)
{
	if (list_empty(&p->free)) {
		char *block = malloc(sizeof(struct list_link) + KV_POOL_BLOCK * bytes);

		if (!block)
			return NULL;
		list_append(&p->blocks, (void *)block);
		block += sizeof(struct list_link);
		for (size_t i = 0; i < KV_POOL_BLOCK; i++)
			list_append(&p->free, (void *)(block + i * bytes));
	}
	return list_take(&p->free);
}

/* The item that was used last is taken first: its memory is still in the caches. */
static inline void kv_pool_give(struct kv_pool *p, void *item)
{
	list_prepend(&p->free, item);
}

static inline void kv_pool_free(struct kv_pool *p)
{
	struct list_link *block;

	while ((block = list_take(&p->blocks)))
		free(block);
	*p = (struct kv_pool){.free = {NULL, NULL}};
}

enum { KV_PRIORITIES = 9 };

struct kv_served;

enum kv_operation_kind {
	KV_OPERATION_READ,
	KV_OPERATION_WRITE,
	KV_OPERATION_MOVE, /* read from `from`, written to `to`, deleted from `from` */
	KV_OPERATION_DELETE,
	KV_OPERATION_LOOKUP /* asks whether it is there; of the profile serving */
};

/* What has come of an operation that writes. */
enum kv_outcome {
	KV_OUTCOME_DONE,
	KV_OUTCOME_FAILED, /* some of it may be there */
	KV_OUTCOME_DROPPED /* it was never begun */
};

struct kv_operation {
	/* Among those that may begin, or the free ones. It is the caller's from kv_operations_take
	 * on. */
	struct list_link link;

	/* Of the caller. */
	enum kv_operation_kind kind;
	uint32_t from, to;       /* tiers */
	uint32_t priority;       /* 0: first */
	struct kv_served *owner; /* the request that asked for it; NULL */
	enum kv_outcome outcome;
	bool promotes; /* a write of what was read from a slower tier, or the delete that follows it */
	bool asks;     /* it may not begin before kv_operations_admit */
	uint64_t bytes;
	uint64_t asked_ns;
	uint64_t begins_ns, ends_ns; /* on the bus of an accelerator */
	struct kv_id id;

	/* Used by this module. */
	struct list_link of_entry; /* among the operations of its entry */
	uint32_t line;             /* its entry, by number */
	uint32_t
		waits; /* how many it waits for: the one before it in its chain, and to be admitted */
	bool held;     /* waits for earlier ones of its entry */
	struct kv_operation *then; /* the next one in its chain */
};

struct kv_operations {
	struct kv_pool pool;
	struct kv_entries lines; /* entries that have operations */
	uint32_t under_way;      /* added and not ended */
	struct list ready[KV_PRIORITIES];
};

/* Returns 0 or -ENOMEM. kv_operations_free is allowed in any case, and on zeroed memory. */
int kv_operations_init(struct kv_operations *o);
void kv_operations_free(struct kv_operations *o);

/* Adds an operation; after: the one before it in its chain, which has not ended and which no other
 * follows, or NULL. Returns it, or NULL: no memory. */
struct kv_operation *kv_operations_add(struct kv_operations *o, const struct kv_operation *what,
				       struct kv_operation *after);

/* An operation that asks may begin, as far as this module is concerned. Its kind, tiers and
 * priority may be changed until then. */
void kv_operations_admit(struct kv_operations *o, struct kv_operation *op);

/* Takes the next one that may begin, of the priorities below that number; NULL: there is none. */
struct kv_operation *kv_operations_take(struct kv_operations *o, uint32_t priorities);

/* It has ended, as it was taken. */
void kv_operations_end(struct kv_operations *o, struct kv_operation *op);

#endif

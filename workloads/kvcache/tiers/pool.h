/* SPDX-License-Identifier: Apache-2.0 */
/* Pool: items of one size that do not move in memory, taken and given back one at a time. Its
 * memory comes in blocks, which go back with kv_pool_free alone. All zero is an empty pool.
 *
 * An item begins with a struct list_link: its place among the free ones, and its owner's while it
 * is taken. One thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_POOL_H
#define HAUL_WORKLOADS_KVCACHE_POOL_H

#include <stdlib.h>

#include "core/list.h"

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

#endif

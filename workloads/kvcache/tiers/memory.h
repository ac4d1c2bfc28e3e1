/* SPDX-License-Identifier: Apache-2.0 */
/* Memory tier: entries in blocks of one size, in memory of the rank.
 *
 *	entry a   | block 3 | block 0 | block 7 |      next: 3 -> 0 -> 7
 *
 * An entry stays until it has been moved away or deleted, which may be some time after the tiers have decided so. Meanwhile
 * there may be more bytes than the capacity. So more blocks are reserved than the capacity needs; those beyond it take no
 * memory until they are used.
 *
 * The main thread puts, finds and removes entries. An I/O thread follows the blocks of an entry that it works on. */
#ifndef HAUL_WORKLOADS_KVCACHE_MEMORY_H
#define HAUL_WORKLOADS_KVCACHE_MEMORY_H

#include "core/err.h"
#include "workloads/kvcache/tiers/entries.h"

struct kv_memory {
	char *base; /* NULL: there is no such tier */
	uint64_t block_bytes, mapped_bytes;
	uint32_t blocks, made; /* reserved; used at least once */
	uint32_t *next;        /* [blocks]: of an entry, or among the free ones */
	uint32_t free;
	uint32_t used; /* blocks */
	struct kv_entries entries;
};

/* capacity: bytes, whose pages are touched now. largest: bytes of the largest entry. Returns
 * -ENOMEM with a sentence. Call kv_memory_close also after an error. */
int kv_memory_open(struct kv_memory *m, uint64_t capacity, uint64_t largest, uint64_t block_bytes,
		   struct err *err);
void kv_memory_close(struct kv_memory *m);

/* Makes room for an entry, or finds it if it is there. Returns its first block, or KV_NONE: there
 * is no room. */
uint32_t kv_memory_put(struct kv_memory *m, struct kv_id id, uint64_t bytes);
/* The first block of an entry; KV_NONE: it is not there. */
uint32_t kv_memory_find(const struct kv_memory *m, struct kv_id id);
void kv_memory_remove(struct kv_memory *m, struct kv_id id);

static inline void *kv_memory_block(const struct kv_memory *m, uint32_t block)
{
	return m->base + block * m->block_bytes;
}

static inline uint32_t kv_memory_next(const struct kv_memory *m, uint32_t block)
{
	return m->next[block];
}

#endif

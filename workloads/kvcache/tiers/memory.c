/* SPDX-License-Identifier: Apache-2.0 */
/* Memory tier: see memory.h. */
#include "workloads/kvcache/tiers/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	MEMORY_RESERVE = 4,  /* capacities for which blocks are reserved */
	MEMORY_ENTRIES = 16, /* and entries of the largest size */
	MEMORY_PAGE = 4096
};

/* An entry in memory. */
struct memory_entry {
	struct kv_item item;
	uint32_t first; /* its first block */
};

static int memory_map(struct kv_memory *m, uint64_t touched)
{
	m->base = mmap(NULL, m->mapped_bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m->base == MAP_FAILED) {
		m->base = NULL;
		return -ENOMEM;
	}
	madvise(m->base, m->mapped_bytes, MADV_HUGEPAGE);
	for (uint64_t at = 0; at < touched; at += MEMORY_PAGE)
		m->base[at] = 1;
	return 0;
}

int kv_memory_open(struct kv_memory *m, uint64_t capacity, uint64_t largest, uint64_t block_bytes,
		   struct err *err)
{
	uint64_t needed = capacity / block_bytes + 1, entry = largest / block_bytes + 1;
	uint64_t blocks = MEMORY_RESERVE * needed + MEMORY_ENTRIES * entry;
	int rc;

	*m = (struct kv_memory){.block_bytes = block_bytes, .free = KV_NONE};
	if (blocks >= KV_NONE)
		return err_set(err, -EINVAL, "the tier \"cpu\" has more than 2^32 chunks");
	m->blocks = (uint32_t)blocks;
	m->mapped_bytes = blocks * block_bytes;
	rc = kv_entries_init(&m->entries, sizeof(struct memory_entry));
	m->next = malloc(blocks * sizeof(*m->next));
	if (rc == 0)
		rc = m->next ? memory_map(m, capacity) : -ENOMEM;
	if (rc < 0)
		return err_set(err, rc, "no memory for %" PRIu64 " bytes of the tier \"cpu\"",
			       capacity);
	return 0;
}

void kv_memory_close(struct kv_memory *m)
{
	if (m->base)
		munmap(m->base, m->mapped_bytes);
	free(m->next);
	if (m->block_bytes)
		kv_entries_free(&m->entries);
	*m = (struct kv_memory){.base = NULL};
}

static uint32_t *memory_first(const struct kv_memory *m, uint32_t number)
{
	struct memory_entry *entry = kv_entries_at(&m->entries, number);

	return &entry->first;
}

uint32_t kv_memory_put(struct kv_memory *m, struct kv_id id, uint64_t bytes)
{
	uint32_t count = (uint32_t)((bytes + m->block_bytes - 1) / m->block_bytes), first = KV_NONE,
		 number;

	number = kv_entries_find(&m->entries, id);
	if (number != KV_NONE)
		return *memory_first(m, number);
	if (!count || m->blocks - m->used < count)
		return KV_NONE;
	number = kv_entries_add(&m->entries, id);
	if (number == KV_NONE)
		return KV_NONE;
	for (uint32_t i = 0; i < count; i++) {
		/* Blocks that were used before come first, since they have memory. */
		uint32_t block = m->free;

		if (block == KV_NONE)
			block = m->made++;
		else
			m->free = m->next[block];
		m->next[block] = first;
		first = block;
	}
	m->used += count;
	*memory_first(m, number) = first;
	return first;
}

uint32_t kv_memory_find(const struct kv_memory *m, struct kv_id id)
{
	uint32_t number = kv_entries_find(&m->entries, id);

	return number == KV_NONE ? KV_NONE : *memory_first(m, number);
}

void kv_memory_remove(struct kv_memory *m, struct kv_id id)
{
	uint32_t number = kv_entries_find(&m->entries, id), block;

	if (number == KV_NONE)
		return;
	block = *memory_first(m, number);
	while (block != KV_NONE) {
		uint32_t next = m->next[block];

		m->next[block] = m->free;
		m->free = block;
		m->used--;
		block = next;
	}
	kv_entries_remove(&m->entries, number);
}

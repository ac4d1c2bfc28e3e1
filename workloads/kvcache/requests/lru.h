/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks in the order in which they were last used: which of a prompt's blocks a cache of a given size has, and which one it
 * loses. What a cache server's eviction does, without any bytes.
 *
 * A block is known by 64 bits, which stand for its tokens and all tokens before it. One thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_LRU_H
#define HAUL_WORKLOADS_KVCACHE_LRU_H

#include <stdbool.h>

#include "workloads/kvcache/tiers/entries.h"

struct kv_lru {
	struct kv_entries entries;
	uint32_t oldest, youngest; /* KV_NONE: there is none */
	uint64_t room;             /* blocks at most; UINT64_MAX: no limit */
};

/* The id of a block in tables and stores. */
static inline struct kv_id kv_block_id(uint64_t key)
{
	return kv_id_make(KV_KEY_BLOCK, 0, 0, key);
}

/* Returns 0 or -ENOMEM. kv_lru_free is allowed then, too, and on zeroed memory. */
int kv_lru_init(struct kv_lru *l, uint64_t room);
void kv_lru_free(struct kv_lru *l);

bool kv_lru_has(const struct kv_lru *l, uint64_t key);
/* Uses a block, which is put there if it is missing. Returns 0 or -ENOMEM. What is there beyond the
 * room is the caller's to take. */
int kv_lru_use(struct kv_lru *l, uint64_t key);
void kv_lru_remove(struct kv_lru *l, uint64_t key);
/* Uses a block, and holds it until it is let go of as often. Returns its number, which is below the
 * most blocks that there have been at a time; KV_NONE: no memory. */
uint32_t kv_lru_hold(struct kv_lru *l, uint64_t key);
void kv_lru_let_go(struct kv_lru *l, uint64_t key);
/* Takes the block that was used least recently out, if there is one too many; or in any case. */
bool kv_lru_over(struct kv_lru *l, uint64_t *key);
bool kv_lru_take(struct kv_lru *l, uint64_t *key);
/* The number of the block that was used least recently of those that nobody holds, which becomes the oldest one;
 * KV_NONE: all are held. */
uint32_t kv_lru_idle(struct kv_lru *l);
/* Where one more would be too many, takes the block that was used least recently of those that nobody
 * holds; else key is 0. Returns false where all are held. */
bool kv_lru_room(struct kv_lru *l, uint64_t *key);

/* All blocks, from l->oldest on: the id of one, and the next one; KV_NONE: there is none. */
static inline struct kv_id kv_lru_id(const struct kv_lru *l, uint32_t number)
{
	return kv_entry_at(&l->entries, number)->item.id;
}
static inline uint32_t kv_lru_newer(const struct kv_lru *l, uint32_t number)
{
	return kv_entry_at(&l->entries, number)->link[0].newer;
}

/* How many leading blocks of a prompt are there; then all of them are used. Returns -ENOMEM in
 * place of the number, as UINT32_MAX. */
uint32_t kv_lru_prompt(struct kv_lru *l, const uint64_t *keys, uint32_t count);

#endif

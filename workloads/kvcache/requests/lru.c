/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks by their last use: see lru.h. */
#include "workloads/kvcache/requests/lru.h"

#include <errno.h>

int kv_lru_init(struct kv_lru *l, uint64_t room)
{
	*l = (struct kv_lru){.oldest = KV_NONE, .youngest = KV_NONE, .room = room};
	return kv_entries_init(&l->entries, kv_entry_bytes(1));
}

void kv_lru_free(struct kv_lru *l)
{
	kv_entries_free(&l->entries);
}

bool kv_lru_has(const struct kv_lru *l, uint64_t key)
{
	return kv_entries_find(&l->entries, kv_block_id(key)) != KV_NONE;
}

static struct kv_link *lru_link(const struct kv_lru *l, uint32_t number)
{
	return kv_entry_at(&l->entries, number)->link;
}

static void lru_unlink(struct kv_lru *l, uint32_t number)
{
	const struct kv_link *link = lru_link(l, number);

	if (link->older == KV_NONE)
		l->oldest = link->newer;
	else
		lru_link(l, link->older)->newer = link->newer;
	if (link->newer == KV_NONE)
		l->youngest = link->older;
	else
		lru_link(l, link->newer)->older = link->older;
}

static void lru_append(struct kv_lru *l, uint32_t number)
{
	*lru_link(l, number) = (struct kv_link){.older = l->youngest, .newer = KV_NONE};
	if (l->youngest == KV_NONE)
		l->oldest = number;
	else
		lru_link(l, l->youngest)->newer = number;
	l->youngest = number;
}

int kv_lru_use(struct kv_lru *l, uint64_t key)
{
	uint32_t number = kv_entries_find(&l->entries, kv_block_id(key));

	if (number != KV_NONE)
		lru_unlink(l, number);
	else
		number = kv_entries_add(&l->entries, kv_block_id(key));
	if (number == KV_NONE)
		return -ENOMEM;
	lru_append(l, number);
	return 0;
}

static void lru_drop(struct kv_lru *l, uint32_t number)
{
	lru_unlink(l, number);
	kv_entries_remove(&l->entries, number);
}

void kv_lru_remove(struct kv_lru *l, uint64_t key)
{
	uint32_t number = kv_entries_find(&l->entries, kv_block_id(key));

	if (number != KV_NONE)
		lru_drop(l, number);
}

uint32_t kv_lru_hold(struct kv_lru *l, uint64_t key)
{
	uint32_t number;

	if (kv_lru_use(l, key) < 0)
		return KV_NONE;
	number = l->youngest;
	kv_entry_at(&l->entries, number)->uses++;
	return number;
}

void kv_lru_let_go(struct kv_lru *l, uint64_t key)
{
	uint32_t number = kv_entries_find(&l->entries, kv_block_id(key));

	if (number != KV_NONE)
		kv_entry_at(&l->entries, number)->uses--;
}

bool kv_lru_take(struct kv_lru *l, uint64_t *key)
{
	uint32_t number = l->oldest;

	if (number == KV_NONE)
		return false;
	*key = kv_entry_at(&l->entries, number)->item.id.low;
	lru_drop(l, number);
	return true;
}

bool kv_lru_over(struct kv_lru *l, uint64_t *key)
{
	return l->entries.live > l->room && kv_lru_take(l, key);
}

/* Those that are held are in use, so they become the youngest on the way. */
uint32_t kv_lru_idle(struct kv_lru *l)
{
	for (uint32_t i = 0; i < l->entries.live; i++) {
		uint32_t number = l->oldest;

		if (!kv_entry_at(&l->entries, number)->uses)
			return number;
		lru_unlink(l, number);
		lru_append(l, number);
	}
	return KV_NONE;
}

bool kv_lru_room(struct kv_lru *l, uint64_t *key)
{
	*key = 0;
	if (l->entries.live < l->room)
		return true;
	return kv_lru_idle(l) != KV_NONE && kv_lru_take(l, key);
}

uint32_t kv_lru_prompt(struct kv_lru *l, const uint64_t *keys, uint32_t count)
{
	uint32_t found = 0;
	uint64_t gone;

	while (found < count && kv_lru_has(l, keys[found]))
		found++;
	for (uint32_t i = 0; i < count; i++) {
		if (kv_lru_use(l, keys[i]) < 0)
			return UINT32_MAX;
		kv_lru_over(l, &gone);
	}
	return found;
}

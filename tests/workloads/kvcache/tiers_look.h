/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at tiers without changing them. */
#ifndef HAUL_TESTS_WORKLOADS_KVCACHE_TIERS_LOOK_H
#define HAUL_TESTS_WORKLOADS_KVCACHE_TIERS_LOOK_H

#include <errno.h>

#include "workloads/kvcache/tiers/tiers.h"

/* The fastest tier that has an entry, or -ENOENT. It does not become younger. Parts of other nodes
 * are not asked. */
static inline int tiers_look(const struct kv_tiers *t, struct kv_id id)
{
	uint32_t number = kv_entries_find(&t->entries, id);

	if (number != KV_NONE)
		return __builtin_ctz(kv_entry_at(&t->entries, number)->tiers);
	return t->shared && kv_tiers_here(t, id) && kv_shared_has(t->shared, id) ? (int)t->own
										 : -ENOENT;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers shared by the backends: blocks of a node found by name, keys as numbers, the end of what
 * was written. Not for workloads. */
#ifndef HAUL_BACKENDS_STORE_H
#define HAUL_BACKENDS_STORE_H

#include "backends/backend.h"
#include "core/content/random.h"

static inline const struct store_options *store_common(const struct store *store)
{
	return store->options;
}

/* The FNV-1a hash of a key or another text. */
uint64_t text_hash(const char *text);

/* Whether a listing wants the entry of that name. For stores that cannot list in parts
 * themselves. */
static inline bool listing_wants(const struct listing *l, const char *name)
{
	return l->parts <= 1 || mix64(text_hash(name)) % l->parts == l->part;
}

/* Raises the word to value. Several threads may write one object. */
static inline void word_raise(uint64_t *word, uint64_t value)
{
	uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);

	while (old < value && !__atomic_compare_exchange_n(word, &old, value, true,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

#endif

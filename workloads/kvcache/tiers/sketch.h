/* SPDX-License-Identifier: Apache-2.0 */
/* Count-min sketch: about how often a key has come lately, also keys that no cache holds (Cormode,
 * Muthukrishnan, J. Algorithms 2005). Counts may be too high, when keys share counters, but never
 * too low, except that all are halved when ten times as many keys have come as a row has counters,
 * so that what was popular once is forgotten (TinyLFU: Einziger, Friedman, Manes, ACM TOS 2017).
 * One thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_SKETCH_H
#define HAUL_WORKLOADS_KVCACHE_SKETCH_H

#include <stdint.h>

enum { KV_SKETCH_ROWS = 4, KV_SKETCH_PERIOD = 10 };

struct kv_sketch {
	uint8_t *counters; /* [KV_SKETCH_ROWS][width] */
	uint64_t width;    /* a power of two */
	uint64_t added;    /* since the last halving */
};

/* keys: how many different ones to tell apart. Returns 0 or -ENOMEM. */
int kv_sketch_init(struct kv_sketch *s, uint64_t keys);
void kv_sketch_free(struct kv_sketch *s);

/* The key with that hash has come once more. */
void kv_sketch_add(struct kv_sketch *s, uint64_t hash);
uint32_t kv_sketch_count(const struct kv_sketch *s, uint64_t hash); /* at most 255 */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Policy of a key-value cache: the rules by which its tiers take, keep and lose entries. They are
 * constant while a phase runs. */
#ifndef HAUL_WORKLOADS_KVCACHE_POLICY_H
#define HAUL_WORKLOADS_KVCACHE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* Count-min sketch: about how often a key has come lately, also keys that no cache holds (Cormode,
 * Muthukrishnan, J. Algorithms 2005). Counts may be too high, when keys share counters, but never
 * too low, except that all are halved when ten times as many keys have come as a row has counters,
 * so that what was popular once is forgotten (TinyLFU: Einziger, Friedman, Manes, ACM TOS 2017).
 * One thread. */

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

#define KV_UNLIMITED UINT64_MAX

enum kv_write {
	KV_WRITE_MOVE, /* an entry is in one tier; what moves leaves no copy */
	KV_WRITE_BACK, /* a copy below stays when an entry is promoted; what has one is dropped and not demoted */
	KV_WRITE_THROUGH /* an entry is written to all tiers below as well */
};
enum kv_order { KV_LRU, KV_FIFO };

/* Of one tier. Ratios are parts of its capacity. */
struct kv_tier_rules {
	uint64_t capacity; /* bytes; KV_UNLIMITED */
	double high,
		low; /* room is made when it would be fuller than high, until it is at most low */
	double largest; /* refuses larger entries, but for the last tier */
	double trusted; /* takes an entry without more ado while it is less full than this */
	/* Refuses an entry larger than that part of low rather than demote what little it has (less
	 * than sparse); 0: never. */
	double sparse, sparse_entry;
	uint32_t
		admit_after; /* takes what is demoted or written through from its nth access on; 0: always */
	uint32_t promote_after; /* an entry read here moves up from its nth access on; 0: never */
};

struct kv_policy {
	enum kv_write write;
	enum kv_order order;
	bool forced; /* the last tier takes every entry, beyond its capacity if need be */
	bool dropped; /* what the next tier cannot take is deleted; else the tier that wants room refuses */
	uint32_t depth; /* tiers below the first one that may be asked to make room */
	uint32_t evictions_min,
		evictions_max; /* victims per attempt to make room: entries + 100, within these */
	uint64_t sketch_keys;  /* for admission and promotion: different keys at a time */
};

/* The waterfall of MLPerf's benchmark, with its defaults; last: of the last tier, which evicts only
 * when it is full. */
struct kv_policy kv_policy_mlperf(void);
struct kv_tier_rules kv_tier_mlperf(uint64_t capacity, bool last);

/* Ratios of a tier in whole bytes. Comparisons of whole bytes with these are the same as with the
 * products themselves. */
struct kv_limits {
	bool limited; /* false: the others mean nothing */
	uint64_t high, low, largest, trusted, sparse, sparse_entry;
};
struct kv_limits kv_limits_of(const struct kv_tier_rules *rules);

/* How many victims one attempt may have in a tier with that number of entries: bounded, so that a
 * tier full of small ones does not stop everything else. */
uint64_t kv_policy_victims(const struct kv_policy *policy, uint64_t entries);

#endif

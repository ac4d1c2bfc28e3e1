/* SPDX-License-Identifier: Apache-2.0 */
/* A slow model of the waterfall of MLPerf's benchmark, for comparison with
 * workloads/kvcache/tiers/tiers.h: three tiers, an array of entries, a sorted snapshot for each
 * attempt to make room, sums over all entries, and floating point, as in the description of the
 * original. */
#ifndef HAUL_TESTS_WORKLOADS_KVCACHE_SLOW_TIERS_H
#define HAUL_TESTS_WORKLOADS_KVCACHE_SLOW_TIERS_H

#include <stdbool.h>
#include <stdint.h>

enum { SLOW_TIERS = 3, SLOW_ENTRIES = 1 << 14, SLOW_EVENTS = 1 << 16 };

struct slow_entry {
	uint64_t key, size, last_access, access_count;
	int location; /* -1: none */
};

/* "W" to, "R" from, "D" from → to, "E" from */
struct slow_event {
	char kind;
	int from, to;
	uint64_t key, size;
};

struct slow_tiers {
	double limit[SLOW_TIERS]; /* INFINITY */
	double used[SLOW_TIERS];
	uint64_t clock;
	struct slow_entry entries[SLOW_ENTRIES];
	int count;
	struct slow_event events[SLOW_EVENTS];
	int event_count;
};

void slow_write(struct slow_tiers *s, uint64_t key, uint64_t size);
void slow_read(struct slow_tiers *s, uint64_t key);
uint64_t slow_tier_bytes(const struct slow_tiers *s, int tier);

#endif

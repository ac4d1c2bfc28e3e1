/* This rank's part in its tensor group. The first rank of a group leads: it has the users, the
 * tiers and the operations. The others follow what it posts on the board (board.h). A rank that is
 * alone leads, and writes. */
#ifndef HAUL_WORKLOADS_KVCACHE_PART_H
#define HAUL_WORKLOADS_KVCACHE_PART_H

#include "workloads/kvcache/run.h"

/* Finds this rank's group, and the memory that it shares. Collective over the phase. */
int kv_part_open(struct kv_run *r, struct err *err);

/* The leader tells the group what is in the tiers; and the counts of a tier, as this rank knows
 * them, in bytes of its shards. */
void kv_part_tell(struct kv_run *r);
struct kv_tier_counts kv_part_counts(const struct kv_run *r, uint32_t tier);

/* Whether this rank puts its shards into that tier. */
bool kv_part_puts(const struct kv_run *r, uint32_t tier);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* This rank among others: in its tensor group, and among the servers that share a tier.
 *
 * The first rank of a group leads: it has the users, the tiers and the operations. The others
 * follow what it posts on the board (board.h). A rank that is alone leads, and writes.
 *
 * A tier that several servers share: the last one, a store that the ranks of a node, or all ranks,
 * fill and read together. A server is a rank, or the leader of a tensor group; the others of a
 * group follow their leader, and know nothing of the directory (tiers/shared.h). Where all ranks
 * are on several nodes, each node has a part of it (remote.h).
 *
 *	server a    cpu ─┐                                  FOLDER/FIRST/TIER/…   shards 0 of all entries
 *	server b    cpu ─┼─► directory ─► one store ─►      FOLDER/FIRST+1/TIER/… shards 1
 *	server c    cpu ─┘
 *
 * What several servers mean by one id must be one entry. Prompts and documents are the same for
 * all of them. Users are not, so the ids of their entries get the number of the server. The bytes
 * of an entry are a function of its id and its shard, so each server can compare what another one
 * has written. */
#ifndef HAUL_WORKLOADS_KVCACHE_PART_H
#define HAUL_WORKLOADS_KVCACHE_PART_H

#include "workloads/kvcache/run.h"

/* Finds this rank's group, and the memory that it shares. Collective over the phase. */
int kv_part_open(struct kv_run *r, struct err *err);

/* Finds the ranks that share the last tier, and its directory. After kv_part_open; collective over
 * the phase. */
int kv_part_open_servers(struct kv_run *r, struct err *err);
/* The id that an entry of this server has among those of all servers. */
struct kv_id kv_part_id(const struct kv_run *r, struct kv_id id);

/* The leader tells the group what is in the tiers; and the counts of a tier, as this rank knows
 * them, in bytes of its shards. */
void kv_part_tell(struct kv_run *r);
struct kv_tier_counts kv_part_counts(const struct kv_run *r, uint32_t tier);

/* Whether this rank puts its shards into that tier. */
bool kv_part_puts(const struct kv_run *r, uint32_t tier);

#endif

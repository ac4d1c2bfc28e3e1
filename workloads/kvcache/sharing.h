/* A tier that several servers share: the last one, a store that the ranks of a node, or all ranks,
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
#ifndef HAUL_WORKLOADS_KVCACHE_SHARING_H
#define HAUL_WORKLOADS_KVCACHE_SHARING_H

#include "workloads/kvcache/run.h"

/* Finds the ranks that share the last tier, and its directory. After kv_part_open; collective over
 * the phase. */
int kv_sharing_open(struct kv_run *r, struct err *err);

/* The id that an entry of this server has among those of all servers. */
struct kv_id kv_sharing_id(const struct kv_run *r, struct kv_id id);
/* An operation has ended: the directory hears of it where it was one of the shared tier. */
void kv_sharing_ended(struct kv_run *r, const struct kv_operation *op);
/* Sets what this rank's server reports of the shared tier: all of it or nothing. */
void kv_sharing_counts(const struct kv_run *r, struct kv_tier_counts *c);
/* The capacity of a tier that this rank reports; 0: none, or another rank does. */
uint64_t kv_sharing_capacity(const struct kv_run *r, uint32_t tier);
/* The rank under whose folder the shards of this rank are in a tier. */
uint32_t kv_sharing_folder(const struct kv_run *r, uint32_t tier);

#endif

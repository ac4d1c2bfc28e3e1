/* Capacity of a tier whose options name none: 95 % of what is free on its store at the start, as in MLPerf's benchmark. There each
 * process takes that for itself; here the ranks that write to the same file system share it, and a tier that
 * several of them fill together has all of their shares. What other tiers of the phase may take there, whose capacities
 * are in the options, is left for them. Where the store does not tell what is free, there is no limit. */
#ifndef HAUL_WORKLOADS_KVCACHE_SPACE_H
#define HAUL_WORKLOADS_KVCACHE_SPACE_H

#include <stdint.h>

struct err;
struct kv_run;

/* Sets the capacity, once the stores are open. Collective over the phase. */
int kv_space(struct kv_run *r, struct err *err);
/* What one rank takes of a space that it shares: sharers is how many ranks do, and the other tiers may take the bytes reserved. */
uint64_t kv_space_share(uint64_t free_bytes, uint64_t reserved, uint64_t sharers);

#endif

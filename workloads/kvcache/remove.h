/* Removing the entries of a phase "kvcache" when it is over. Only the leader of a tensor group knows which there are. It tells the
 * others, page by page, and each rank removes what it has written. */
#ifndef HAUL_WORKLOADS_KVCACHE_REMOVE_H
#define HAUL_WORKLOADS_KVCACHE_REMOVE_H

#include <stdint.h>

struct kv_run;

/* Removes what this rank has in a store, all ranks of a tensor group together. Returns how many entries have stayed. */
uint64_t kv_remove(struct kv_run *r, uint32_t store);

#endif

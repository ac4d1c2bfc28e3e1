/* `haul clean` for the entries of phases "kvcache", which only runs that were killed leave behind: removes what the
 * description in a phase's folder says that haul keeps there. What does not have the name of an entry stays, and then so does
 * the description. Without a description nothing is touched. */
#ifndef HAUL_WORKLOADS_KVCACHE_CLEAN_H
#define HAUL_WORKLOADS_KVCACHE_CLEAN_H

#include "workloads/workload.h"

/* The folders of all phases of this kind in the job. 0 also where there is no description, or the store keeps nothing. */
int kvcache_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err);

#endif

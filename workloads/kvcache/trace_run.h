/* Trace of a phase "kvcache": what all ranks would ask of their tiers, on a virtual clock, written as one file in the order of
 * time. No store is opened and no byte is moved, so a trace depends only on the options, the seed and the number of ranks. */
#ifndef HAUL_WORKLOADS_KVCACHE_TRACE_RUN_H
#define HAUL_WORKLOADS_KVCACHE_TRACE_RUN_H

#include "workloads/kvcache/run.h"

/* Runs the users of r through its tiers, which are open, and has rank 0 write the file. Fills in the tally. Collective. */
int kv_trace_run(struct kv_run *r, enum stop_reason *stopped, struct err *err);

#endif

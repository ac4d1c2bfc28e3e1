/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a phase "kvcache", about in the order in which it goes through them. */
#ifndef HAUL_WORKLOADS_KVCACHE_PHASE_H
#define HAUL_WORKLOADS_KVCACHE_PHASE_H

#include "workloads/kvcache/run.h"

/* space.c. Sets the capacity of a tier whose options name none, once the stores are open.
 * Collective over the phase. */
int kv_space(struct kv_run *r, struct err *err);
/* What one rank takes of a space that it shares: sharers is how many ranks do, and the other tiers
 * may take the bytes reserved. */
uint64_t kv_space_share(uint64_t free_bytes, uint64_t reserved, uint64_t sharers);

/* loop.c. Writes what is there before the first request. Not collective. */
int kv_fill(struct kv_run *r, struct err *err);
/* From the first request to the last answer. Collective. */
int kv_loop(struct kv_run *r, enum stop_reason *stopped);

/* serve.c. Serves waiting requests as long as there is room; takes the steps of all requests that
 * may go on. Returns whether any could. */
bool kv_serve(struct kv_run *r);
/* Ends the requests whose generations have ended. */
void kv_serve_generated(struct kv_run *r);

/* scale.c. Autoscaling: where it is time, decides how many users ask from now on, or that the phase
 * is over. Each rank, or the leader of each tensor group, decides for itself. */
void kv_scale_begin(struct kv_run *r);
void kv_scale(struct kv_run *r);
bool kv_rounds(const struct job_phase *phase, struct phase_rounds *out);

/* remove.c. Removes what this rank has in a store, all ranks of a tensor group together. Returns
 * how many entries have stayed. */
uint64_t kv_remove(struct kv_run *r, uint32_t store);

/* trace_run.c. In place of all of these: writes what would be done to the file of the options,
 * without I/O. Collective. */
int kv_trace_run(struct kv_run *r, enum stop_reason *stopped, struct err *err);

#endif

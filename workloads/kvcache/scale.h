/* Autoscaling of a phase "kvcache": what was measured since the last decision, and the users that ask from now on. Each rank, or the
 * leader of each tensor group, decides for itself. */
#ifndef HAUL_WORKLOADS_KVCACHE_SCALE_H
#define HAUL_WORKLOADS_KVCACHE_SCALE_H

#include "workloads/kvcache/run.h"

void kv_scale_begin(struct kv_run *r);
/* Where it is time, decides how many users ask from now on, or that the phase is over. */
void kv_scale(struct kv_run *r);

#endif

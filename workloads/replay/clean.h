/* Removing what a run of the phase "replay" has left, for `haul clean`. */
#ifndef HAUL_WORKLOADS_REPLAY_CLEAN_H
#define HAUL_WORKLOADS_REPLAY_CLEAN_H

#include "workloads/workload.h"

int replay_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err);

#endif

/* Trace of a phase "replay": the rows that it would do, written to a file, with no store opened. This makes one format of
 * another, and shows what tiers make of a trace. */
#ifndef HAUL_WORKLOADS_REPLAY_TRACE_OUT_H
#define HAUL_WORKLOADS_REPLAY_TRACE_OUT_H

#include "workloads/workload.h"

/* Rank 0 reads the trace and writes the file. Counts rows. Collective. */
int replay_trace_out(struct phase_context *ctx, enum stop_reason *stopped, struct err *err);

#endif

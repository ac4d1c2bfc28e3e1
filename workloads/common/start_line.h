/* Start line: all ranks begin a piece of work at the same time. */
#ifndef HAUL_WORKLOADS_COMMON_START_LINE_H
#define HAUL_WORKLOADS_COMMON_START_LINE_H

#include "workloads/workload.h"

/* A time of ctx->clock at which the threads of all ranks begin (clock_sleep_until). The ranks of a node agree on a time
 * that is so far ahead that agreeing, which takes milliseconds where ranks outnumber the cores, is not part of the work;
 * a rank that gets a core later begins late. first: the phase begins with it, so that workload_begin is called.
 * Collective. */
int start_line(struct phase_context *ctx, bool first, uint64_t *start_ns);

#endif

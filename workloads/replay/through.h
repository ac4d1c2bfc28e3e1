/* SPDX-License-Identifier: Apache-2.0 */
/* A trace through tiers: its rows of Prefill and Decode are requests, and tiers with capacities of
 * one's own decide what is read, written, demoted and deleted where. Nothing of this depends on
 * when I/O happens, so every rank can do it for itself, with the same outcome. */
#ifndef HAUL_WORKLOADS_REPLAY_THROUGH_H
#define HAUL_WORKLOADS_REPLAY_THROUGH_H

#include "workloads/trace/trace.h"

/* Takes a row, in the order of the trace. Returns 0, or a negative errno with a sentence, which
 * ends the reading. */
typedef int (*replay_take)(void *argument, const struct trace_row *row, struct err *err);

enum replay_through_kind { REPLAY_THROUGH_NONE, REPLAY_THROUGH_MLPERF };

struct replay_through {
	enum replay_through_kind kind;
	uint64_t gpu, cpu; /* bytes of the tiers 0 and 1; 0: there is no such tier */
	uint64_t storage;  /* of tier 2; 0: no limit */
	bool deletes;      /* there are rows for what leaves a tier */
};

/* Reads the trace to its end, and gives its rows, or those that its tiers make of it, to `take`.
 * *misses is the number of reads whose entry no tier had; they have no row. */
int replay_through_all(const struct replay_through *t, struct trace_reader *from, replay_take take,
		       void *argument, uint64_t *misses, struct err *err);

#endif

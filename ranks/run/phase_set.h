/* SPDX-License-Identifier: Apache-2.0 */
/* Phases that run at the same time: those of a "together", or one phase alone on all ranks. Private
 * to ranks/run. */
#ifndef HAUL_RANKS_RUN_PHASE_SET_H
#define HAUL_RANKS_RUN_PHASE_SET_H

#include "ranks/run/state.h"

/* The phases, and where they are in the job. */
struct phase_set {
	uint32_t count;
	uint32_t index[JOB_TOGETHER_MAX];
	bool alone; /* of those that run together there is one, which runs by itself for comparison */
};

/* Runs the phases, each on its ranks, and publishes each. targets: of all phases of the job.
 * *status says how the run goes on. Collective over all ranks of the run. As run_phases. */
int phase_set_do(struct run *run, const struct run_options *options, const struct phase_set *set,
		 struct repeat_targets *targets, enum exit_status *status,
		 enum stop_reason *stopped, struct err *err);

#endif

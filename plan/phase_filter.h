/* SPDX-License-Identifier: Apache-2.0 */
/* Phase filter: selects phases of a job by --only and --skip, by name or kind. Pure functions, any
 * thread. */
#ifndef HAUL_PLAN_PHASE_FILTER_H
#define HAUL_PLAN_PHASE_FILTER_H

#include "core/job/job.h"

/* With neither option the filter selects all phases. */
struct phase_filter {
	const char *const *only;
	unsigned only_count;
	const char *const *skip;
	unsigned skip_count;
};

bool phase_filter_wants(const struct phase_filter *c, const struct job_phase *phase);

/* Removes the other phases from the job: a removed phase need not be possible, and data that exists
 * is not generated. Refuses a name that no phase has, and a filter that leaves no phase. */
int phase_filter_apply(const struct phase_filter *c, struct job *job, struct err *err);

#endif

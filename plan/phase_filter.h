/* Which phases of a job are meant: --only and --skip, by name or kind. Pure functions, any thread. */
#ifndef HAUL_PLAN_PHASE_FILTER_H
#define HAUL_PLAN_PHASE_FILTER_H

#include "core/job/job.h"

/* None of either: all phases. */
struct phase_filter {
	const char *const *only;
	unsigned only_count;
	const char *const *skip;
	unsigned skip_count;
};

bool phase_filter_wants(const struct phase_filter *c, const struct job_phase *phase);

/* Takes the other phases out of the job: what is left out need not be possible, data that exists is not
 * generated. A name that no phase has is refused, and so is leaving nothing. */
int phase_filter_apply(const struct phase_filter *c, struct job *job, struct err *err);

#endif

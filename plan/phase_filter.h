/* Which phases of a job are meant: --only and --skip, by name or kind. Pure functions, any thread. */
#ifndef HAUL_PLAN_PHASE_FILTER_H
#define HAUL_PLAN_PHASE_FILTER_H

#include "core/job/job.h"

/* None of either: all phases. */
struct choice {
	const char *const *only;
	unsigned only_count;
	const char *const *skip;
	unsigned skip_count;
};

bool choice_wants(const struct choice *c, const struct job_phase *phase);

/* Takes the other phases out of the job: what is left out need not be possible, data that exists is not
 * generated. A name that no phase has is refused, and so is leaving nothing. */
int choice_apply(const struct choice *c, struct job *job, struct err *err);

#endif

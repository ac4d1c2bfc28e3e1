/* SPDX-License-Identifier: Apache-2.0 */
/* Which phases a search has to run only once: where the judged phase only reads, and no value of the
 * search changes what the phases before it do, they run before the first run alone, and those behind
 * it after the last one. Plain data, any thread. */
#ifndef HAUL_PLAN_SEARCH_ONCE_H
#define HAUL_PLAN_SEARCH_ONCE_H

#include <stdbool.h>

#include "core/job/job.h"
#include "plan/phase_filter.h"

/* A zeroed struct has seen no job. */
struct once {
	char *before; /* what the phases before the judged one do in the first job that was seen */
	bool again;   /* they have to run again */
};

/* Looks at one job of the search, of which `judged` is the index of the judged phase. filter: phases
 * that run; NULL: all. -ENOMEM. */
int once_see(struct once *o, const struct job *job, uint32_t judged,
	     const struct phase_filter *filter, struct err *err);
void once_free(struct once *o);

/* Whether a phase is one that runs in each run of the search: the judged one, and what runs at the
 * same time. Of the others, *before tells on which side of it they are. */
bool once_each(const struct job *job, uint32_t judged, uint32_t phase, bool *before);

#endif

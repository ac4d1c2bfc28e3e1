/* SPDX-License-Identifier: Apache-2.0 */
/* How long the runs of a search take and what they write, as far as the plans of its jobs tell. */
#ifndef HAUL_PLAN_SEARCH_COST_H
#define HAUL_PLAN_SEARCH_COST_H

#include <stdio.h>

#include "plan/plan.h"
#include "plan/search/once.h"

/* A zeroed struct knows nothing. */
struct search_cost {
	struct once once; /* whether phases around the judged one run once */
	/* How long a run takes that makes no data set, and what it writes, at the larger end of the
	 * range; and what of that the judged phase does. untold: how long is not known. */
	double run_seconds, run_bytes, judged_seconds, judged_bytes;
	bool untold, judged_untold;
	bool others; /* there are phases beside the judged one */
};

/* Adds a job of the search, of which `judged` is the index of the judged phase. plan: of the job;
 * NULL: only its phases count. -ENOMEM. */
int search_cost_add(struct search_cost *c, const struct job *job, uint32_t judged,
		    const struct plan *plan, struct err *err);

/* Prints it for `runs` runs, in which the judged phase runs for `whole` times its time. */
void search_cost_say(FILE *out, const struct search_cost *c, double runs, double whole);

void search_cost_free(struct search_cost *c);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Users of a key-value cache, as measure.c measures them: the most of each rank whose requests are answered in
 * time, in runs of the phase's own length. They are left out where what they wrote would be read from a page
 * cache, and where the budget has no time or the space no room for a search whose step is at most a quarter of
 * its range. Plain data; any one thread. */
#ifndef HAUL_PLAN_ASSESS_USERS_H
#define HAUL_PLAN_ASSESS_USERS_H

#include "plan/assess/assess.h"

/* Its share of the budget, in shares of a training. */
enum { USERS_WEIGHT = 4 };

/* Whether the budget as a whole has time for a search. */
bool users_fit(const struct assess *a, const struct assess_workload *w);

/* Adds the phase to those of the job. */
struct cJSON;
void users_add(struct cJSON *phases, const struct assess *a, const struct assess_workload *w);

/* Begins the search; false: its share of the budget is too short, or the ceilings say enough. */
bool users_begin(struct assess *a, const struct assess_workload *w, double share_s);

/* From users of a rank to all users. */
void users_end(const struct assess *a, struct assess_workload *w, double elapsed_s);

#endif

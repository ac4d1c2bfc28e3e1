/* SPDX-License-Identifier: Apache-2.0 */
/* Settings with which the ceilings of reading are measured: threads, depth and engine, of which the best
 * are searched for by successive halving (plan/search/halving.h), as haul run --tune does. They are taken only
 * where they are shown to be better than those of the job. Plain data; any one thread. */
#ifndef HAUL_PLAN_ASSESS_SETTLE_H
#define HAUL_PLAN_ASSESS_SETTLE_H

#include "plan/assess/assess.h"

/* How long a run of the search is by that budget; 0: there is no time for it. */
double settle_seconds(const struct assess_ask *ask);

/* The next run of the search for a phase's settings. false: it has ended, and they are settled. */
bool settle_next(struct assess *a, enum assess_settled which, struct assess_look *look);
/* What it has found. false: no search goes on for that phase. */
bool settle_found(struct assess *a, const char *phase, double found);

/* The changes to the job that they are. */
void settle_sets(const struct assess *a, enum assess_settled which, uint32_t settings,
		 struct assess_look *look);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Trainings of the catalogue at their own shape, on as many accelerators as there are ranks, and users of a
 * key-value cache, for as long as the budget gives: a search for the greatest number that reaches the target.
 * One that cannot be measured in its share of the budget is left out. Plain data; any one thread. */
#ifndef HAUL_PLAN_ASSESS_MEASURE_H
#define HAUL_PLAN_ASSESS_MEASURE_H

#include "plan/assess/assess.h"

/* Adds what is measured to the job. */
struct cJSON;
void measure_add(struct cJSON *job, const struct assess *a);

/* As assess_next and assess_found. Where a look has found nothing, its search has ended. */
bool measure_next(struct assess *a, double elapsed_s, struct assess_look *look);
void measure_found(struct assess *a, const char *phase, double found);

#endif

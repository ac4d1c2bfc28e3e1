/* SPDX-License-Identifier: Apache-2.0 */
/* The phases by which haul assess measures the ceilings of a storage. Constants; any thread. */
#ifndef HAUL_PLAN_ASSESS_CEILINGS_H
#define HAUL_PLAN_ASSESS_CEILINGS_H

#include "plan/assess/assess.h"

enum {
	CEILING_MADE = 3,               /* times of a phase in which what is read is written */
	CEILING_PHASES = 13,            /* times of a phase that all of them may take together */
	CEILING_THREADS = 4,            /* of a rank */
	CEILING_OBJECTS = 4,            /* of a rank that are read */
	CEILING_BLOCK = 8 << 20,        /* their size is a multiple of it */
	CEILING_WRITTEN = 64 << 20,     /* bytes of an object that is written */
	CEILING_SMALL_PER_SECOND = 1000 /* small objects of a rank, for each second of a phase */
};

/* The phase of a ceiling, and the bytes of its operation where its main figure is bytes per second. */
struct ceiling_kind {
	const char *phase;
	double bytes;
};
extern const struct ceiling_kind ceiling_kinds[ASSESS_CEILINGS];

/* measure.c. Trainings of the catalogue at their own shape, on as many accelerators as there are ranks, and
 * users of a key-value cache, for as long as the budget gives: a search for the greatest number that
 * reaches the target. One that cannot be measured in its share of the budget is left out.
 *
 * Adds what is measured to the job. */
struct cJSON;
void measure_add(struct cJSON *job, const struct assess *a);

/* As assess_next and assess_found. Where a look has found nothing, its search has ended. */
bool measure_next(struct assess *a, double elapsed_s, struct assess_look *look);
void measure_found(struct assess *a, const char *phase, double found);

#endif

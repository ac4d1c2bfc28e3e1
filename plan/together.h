/* SPDX-License-Identifier: Apache-2.0 */
/* What phases that run together ask of storage at the same time. Pure functions, any thread. */
#ifndef HAUL_PLAN_TOGETHER_H
#define HAUL_PLAN_TOGETHER_H

#include <stdio.h>

#include "plan/plan.h"

struct plan_together {
	const struct job_together *together;
	uint32_t first, count; /* phases of the plan */
	/* Sums over the phases that need a rate; INFINITY: one of them has no compute time. */
	double bytes_per_second, opens_per_second;
};

/* Fills out where phase i is the first of several that run together; else returns false. */
bool plan_together_at(const struct plan *plan, uint32_t i, struct plan_together *out);

/* A line for each of them: who runs where, and what they need in sum. */
void plan_together_text(FILE *out, const struct plan *plan);

struct cJSON;

/* The same as a list: "phases" are indices into the plan's phases. */
void plan_together_json(struct cJSON *to, const struct plan *plan);

#endif

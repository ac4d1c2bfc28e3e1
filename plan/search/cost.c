/* SPDX-License-Identifier: Apache-2.0 */
/* What a search takes: see cost.h. */
#include "plan/search/cost.h"

#include <math.h>

#include "core/units.h"
#include "workloads/workload.h"

/* The time of a phase if storage keeps up; 0: not known. */
static double cost_phase_seconds(const struct demand *d)
{
	double whole = d->total_seconds > 0 ? d->total_seconds
					    : d->seconds * (double)(d->epochs ? d->epochs : 1);

	return d->seconds_limit > 0 && (whole <= 0 || d->seconds_limit < whole) ? d->seconds_limit
										: whole;
}

static void cost_add_plan(struct search_cost *c, const struct job *job, uint32_t judged,
			  const struct plan *plan)
{
	double seconds = 0, bytes = 0;
	bool before;

	for (uint32_t i = 0; i < plan->phase_count; i++) {
		const struct plan_phase *p = &plan->phases[i];
		double own = cost_phase_seconds(&p->demand), written = 0;

		if (((const struct workload *)p->phase->section->owner)->generating) {
			c->others = true;
			continue;
		}
		for (uint32_t k = 0; k < p->store_count; k++)
			written += p->stores[k].space_bytes;
		c->untold |= own <= 0;
		seconds += own;
		bytes += written;
		if (!once_each(job, judged, (uint32_t)(p->phase - job->phases), &before)) {
			c->others = true;
			continue;
		}
		c->judged_untold |= own <= 0;
		c->judged_seconds = fmax(c->judged_seconds, own);
		c->judged_bytes = fmax(c->judged_bytes, written);
	}
	c->run_seconds = fmax(c->run_seconds, seconds);
	c->run_bytes = fmax(c->run_bytes, bytes);
}

int search_cost_add(struct search_cost *c, const struct job *job, uint32_t judged,
		    const struct plan *plan, struct err *err)
{
	if (plan)
		cost_add_plan(c, job, judged, plan);
	return once_see(&c->once, job, judged, NULL, err);
}

/* Phases that run once take a time that is not counted here where it is not known. */
void search_cost_say(FILE *out, const struct search_cost *c, double runs, double whole)
{
	double others = c->once.again ? 0 : c->run_bytes - c->judged_bytes;
	double bytes = (c->run_bytes - others) * runs + others;
	double seconds = c->judged_seconds * whole;
	char text[UNITS_TEXT_BYTES];

	if (c->once.again)
		seconds += (c->run_seconds - c->judged_seconds) * runs;
	if (c->once.again ? c->untold : c->judged_untold)
		fprintf(out, "           how long a run takes is not known beforehand");
	else
		fprintf(out, "           %s at most if storage keeps up",
			units_time(text, seconds));
	if (bytes > 0)
		fprintf(out, " · writes %s in all", units_bytes_decimal(text, bytes));
	fprintf(out, "%s\n",
		c->once.again && c->run_bytes > c->judged_bytes
			? " · each run has all phases of the job"
		: c->others ? " · data are made once"
			    : "");
}

void search_cost_free(struct search_cost *c)
{
	once_free(&c->once);
}

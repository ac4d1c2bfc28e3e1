/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of an assessment: see assess.h. */
#include "plan/assess/assess.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/numbers.h"
#include "plan/assess/ceilings.h"
#include "plan/assess/measure.h"

/* The share of the budget in which the ceilings are measured, and its phases that take as long as the
 * others. What opens and publishes phases takes the rest. */
static const double ceilings_share = 0.4;
/* The share of the budget after which each of the runs that measure ceilings ends. What was not
 * measured then is unknown. */
static const double ceilings_until[] = {0.5, 0.85, 0.95};
static const double seconds_most = 30, seconds_least = 0.05;
static const double space_most = 16 * 1073741824.0, space_per_second = 1073741824.0;

int assess_init(struct assess *a, const struct assess_ask *ask, struct err *err)
{
	memset(a, 0, sizeof(*a));
	a->ask = *ask;
	a->seconds = fmin(ask->budget_s * ceilings_share / CEILING_PHASES, seconds_most);
	if (a->seconds < seconds_least)
		return err_set(err, -EINVAL, "--budget: must be at least %g s, is %g s",
			       ceil(seconds_least * CEILING_PHASES / ceilings_share),
			       ask->budget_s);
	if (a->ask.space_bytes <= 0)
		a->ask.space_bytes = fmin(space_most, space_per_second * a->seconds);
	for (unsigned i = 0; i < ASSESS_CEILINGS; i++)
		a->ceilings[i] = (double)NAN;
	return 0;
}

static void look_at(struct assess_look *look, const char *const *phases)
{
	for (; *phases; phases++)
		look->phases[look->phase_count++] = *phases;
}

/* The set that is read is as large as the store writes in CEILING_MADE times of a phase. */
static void look_make(const struct assess *a, const char *const *phases, struct assess_look *look)
{
	double each = a->ceilings[ASSESS_WRITE] * a->seconds * CEILING_MADE / a->ask.ranks /
		      CEILING_OBJECTS;
	double most = a->ask.space_bytes / a->ask.ranks / CEILING_OBJECTS;

	if (isnan(each) || each > most)
		each = most;
	if (each < CEILING_BLOCK)
		each = CEILING_BLOCK;
	for (; *phases; phases++)
		snprintf(look->sets[look->set_count++], ASSESS_SET_BYTES, "%s.size=%.0f", *phases,
			 floor(each / CEILING_BLOCK) * CEILING_BLOCK);
}

/* Names are made as many as small objects were written in the time of a phase, since all of them are
 * looked up and removed. */
static void look_names(const struct assess *a, const char *const *phases, struct assess_look *look)
{
	double each = floor(a->ceilings[ASSESS_PUT] * a->seconds / a->ask.ranks);

	for (; !isnan(each) && *phases; phases++)
		snprintf(look->sets[look->set_count++], ASSESS_SET_BYTES, "%s.objects=%.0f",
			 *phases, fmax(each, 1));
}

static bool ceilings_next(struct assess *a, struct assess_look *look)
{
	static const char *const writes[] = {"write", "erase", "commit", "put", "get", NULL};
	static const char *const reads[] = {"make", "read", "random", NULL};
	static const char *const names[] = {"create", "stat", "remove", NULL};
	static const char *const *const all[] = {writes, reads, names};

	if (a->stage == COUNT(all))
		return false;
	look->until_s = ceilings_until[a->stage] * a->ask.budget_s;
	look_at(look, all[a->stage]);
	if (all[a->stage] == reads)
		look_make(a, reads, look);
	if (all[a->stage] == names)
		look_names(a, names, look);
	a->stage++;
	return true;
}

bool assess_next(struct assess *a, double elapsed_s, struct assess_look *look)
{
	memset(look, 0, sizeof(*look));
	return ceilings_next(a, look) || measure_next(a, elapsed_s, look);
}

void assess_found(struct assess *a, const char *phase, double found)
{
	measure_found(a, phase, found);
	for (unsigned i = 0; i < ASSESS_CEILINGS; i++)
		if (strcmp(ceiling_kinds[i].phase, phase) == 0)
			a->ceilings[i] = found / ceiling_kinds[i].bytes;
}

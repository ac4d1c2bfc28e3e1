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
#include "plan/assess/settle.h"

/* The share of the budget in which the ceilings are measured, and its phases that take as long as the
 * others. What opens and publishes phases takes the rest. */
static const double ceilings_share = 0.4;
/* The share of the budget after which runs that measure ceilings end. What was not measured then is
 * unknown. */
static const double writes_until = 0.5, reads_until = 0.85, names_until = 0.95;
/* And that much later, since all else follows from them: a short budget on a busy machine is soon over. */
static const double late_s = 10;
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
	for (unsigned i = 0; i < ASSESS_SETTLED; i++)
		snprintf(a->settings[i], ASSESS_SET_BYTES, "threads=%d depth=1", CEILING_THREADS);
	a->settle_s = settle_seconds(ask);
	return 0;
}

static void look_at(struct assess_look *look, const char *const *phases)
{
	for (; *phases; phases++)
		look->phases[look->phase_count++] = *phases;
}

/* The set that is read is as large as the store writes in CEILING_MADE times of a phase. */
static void look_made(const struct assess *a, struct assess_look *look)
{
	static const char *const phases[] = {"make", "read", "random"};
	double each = a->ceilings[ASSESS_WRITE] * a->seconds * CEILING_MADE / a->ask.ranks /
		      CEILING_OBJECTS;
	double most = a->ask.space_bytes / a->ask.ranks / CEILING_OBJECTS;

	if (isnan(each) || each > most)
		each = most;
	if (each < CEILING_BLOCK)
		each = CEILING_BLOCK;
	for (unsigned i = 0; i < COUNT(phases); i++)
		snprintf(look->sets[look->set_count++], ASSESS_SET_BYTES, "%s.size=%.0f", phases[i],
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

/* Runs of the ceilings: what is written; what is read is made; settings for it are searched for, and it is
 * read with them; names. */
enum {
	STAGE_WRITE,
	STAGE_MAKE,
	STAGE_SETTLE_READ,
	STAGE_READ,
	STAGE_SETTLE_RANDOM,
	STAGE_RANDOM,
	STAGE_NAMES,
	STAGES
};
static const char *const stage_phases[STAGES][ASSESS_PHASES_MAX] = {
	[STAGE_WRITE] = {"write", "erase", "commit", "put", "get"},
	[STAGE_MAKE] = {"make"},
	[STAGE_READ] = {"read"},
	[STAGE_RANDOM] = {"random"},
	[STAGE_NAMES] = {"create", "stat", "remove"},
};

static bool stage_next(struct assess *a, unsigned stage, struct assess_look *look)
{
	enum assess_settled which =
		stage < STAGE_SETTLE_RANDOM ? ASSESS_SETTLED_READ : ASSESS_SETTLED_RANDOM;

	look->until_s = late_s + a->ask.budget_s * (stage == STAGE_WRITE   ? writes_until
						    : stage == STAGE_NAMES ? names_until
									   : reads_until);
	look_at(look, stage_phases[stage]);
	switch (stage) {
	case STAGE_SETTLE_READ:
	case STAGE_SETTLE_RANDOM:
		look_made(a, look);
		return a->settle_s > 0 && settle_next(a, which, look);
	case STAGE_READ:
	case STAGE_RANDOM:
		if (a->settled[which])
			settle_sets(a, which, a->settled[which], look);
		/* fallthrough */
	case STAGE_MAKE:
		look_made(a, look);
		return true;
	case STAGE_NAMES:
		look_names(a, stage_phases[stage], look);
		return true;
	default:
		return true;
	}
}

static bool ceilings_next(struct assess *a, double elapsed_s, struct assess_look *look)
{
	while (a->stage < STAGES) {
		/* What may not be made to its end is not read. */
		if (a->stage > STAGE_MAKE && a->stage < STAGE_NAMES &&
		    elapsed_s >= reads_until * a->ask.budget_s + late_s) {
			a->stage = STAGE_NAMES;
			a->settling = false;
		}
		memset(look, 0, sizeof(*look));
		if (stage_next(a, a->stage, look)) {
			a->stage += !a->settling;
			return true;
		}
		a->stage++;
	}
	memset(look, 0, sizeof(*look));
	return false;
}

bool assess_next(struct assess *a, double elapsed_s, struct assess_look *look)
{
	return ceilings_next(a, elapsed_s, look) || measure_next(a, elapsed_s, look);
}

void assess_found(struct assess *a, const char *phase, double found)
{
	if (settle_found(a, phase, found))
		return;
	measure_found(a, phase, found);
	for (unsigned i = 0; i < ASSESS_CEILINGS; i++)
		if (strcmp(ceiling_kinds[i].phase, phase) == 0)
			a->ceilings[i] = found / ceiling_kinds[i].bytes;
}

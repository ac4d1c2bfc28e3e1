/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of an assessment: see assess.h. */
#include "plan/assess/assess.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/numbers.h"
#include "plan/assess/ceilings.h"

/* Settings with which the ceilings of reading are measured: threads, depth and engine, of which the best
 * are searched for by successive halving, as haul run --tune does. They are taken only where they are
 * shown to be better than those of the job. */

/* Of the budget, for the runs of each phase, without opening and publishing them. */
static const double settle_share = 0.1, settle_least_s = 0.25;
enum { SETTLE_REPEATS = 3 };

/* The first are those of the job. Where engines can be chosen, all depths above 1 are those of uring. */
static const struct {
	uint32_t threads, depth;
} choices[] = {{CEILING_THREADS, 1}, {16, 1}, {CEILING_THREADS, 8}, {16, 8}, {1, 32},
	       {CEILING_THREADS, 32}};

static const char *const settle_phases[ASSESS_SETTLED] = {
	[ASSESS_SETTLED_READ] = "read", [ASSESS_SETTLED_RANDOM] = "random"};

static struct halving_ask settle_ask(const struct assess_ask *ask, uint8_t left_out[])
{
	for (uint32_t i = 0; i < COUNT(choices); i++)
		left_out[i] = choices[i].depth > 1 && !ask->engines && !ask->deep;
	return (struct halving_ask){.count = COUNT(choices),
				    .left_out = left_out,
				    .base = 0,
				    .repeats = SETTLE_REPEATS};
}

static double settle_seconds(const struct assess_ask *ask)
{
	uint8_t left_out[COUNT(choices)];
	const struct halving_ask halving = settle_ask(ask, left_out);
	double seconds = ask->budget_s * settle_share / halving_cost(&halving).whole;

	return seconds < settle_least_s ? 0 : seconds;
}

static void settle_words(const struct assess *a, uint32_t settings, char out[ASSESS_SET_BYTES])
{
	int n = snprintf(out, ASSESS_SET_BYTES, "threads=%u depth=%u", choices[settings].threads,
			 choices[settings].depth);

	if (a->ask.engines)
		snprintf(out + n, (size_t)(ASSESS_SET_BYTES - n), " engine=%s",
			 choices[settings].depth > 1 ? "uring" : "psync");
}

static void settle_sets(const struct assess *a, enum assess_settled which, uint32_t settings,
			struct assess_look *look)
{
	const char *phase = settle_phases[which];

	snprintf(look->sets[look->set_count++], ASSESS_SET_BYTES, "%s.threads=%u", phase,
		 choices[settings].threads);
	snprintf(look->sets[look->set_count++], ASSESS_SET_BYTES, "%s.depth=%u", phase,
		 choices[settings].depth);
	if (a->ask.engines)
		snprintf(look->sets[look->set_count++], ASSESS_SET_BYTES, "stores.data.engine=%s",
			 choices[settings].depth > 1 ? "uring" : "psync");
}

/* The best, where it is shown to be better than those of the job. */
static void settle_end(struct assess *a, enum assess_settled which)
{
	struct tune_row rows[COUNT(choices) + 1];
	struct tune_head head;

	halving_answer(&a->settle, &head, rows);
	a->settling = false;
	a->settled[which] = head.better ? (uint32_t)rows[0].combination - 1 : 0;
	settle_words(a, a->settled[which], a->settings[which]);
}

static bool settle_next(struct assess *a, enum assess_settled which, struct assess_look *look)
{
	uint8_t left_out[COUNT(choices)];
	const struct halving_ask ask = settle_ask(&a->ask, left_out);
	struct halving_look turn;

	if (!a->settling)
		halving_init(&a->settle, &ask);
	/* A run that was cut has no figure. */
	else if (a->unsettled)
		halving_add(&a->settle, (double)NAN);
	a->settling = a->unsettled = true;
	a->settle_phase = which;
	if (!halving_next(&a->settle, &turn)) {
		settle_end(a, which);
		return false;
	}
	look->phases[look->phase_count++] = settle_phases[which];
	settle_sets(a, which, turn.candidate, look);
	snprintf(look->sets[look->set_count++], ASSESS_SET_BYTES, "%s.seconds=%.0f ms",
		 settle_phases[which], a->settle_s * 1e3);
	return true;
}

static bool settle_found(struct assess *a, const char *phase, double found)
{
	if (!a->settling || strcmp(settle_phases[a->settle_phase], phase) != 0)
		return false;
	a->unsettled = false;
	halving_add(&a->settle, found);
	return true;
}

/* Runs of the ceilings. */

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

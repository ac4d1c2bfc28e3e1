/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the ceilings: see settle.h. */
#include "plan/assess/settle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/numbers.h"
#include "plan/assess/ceilings.h"

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

double settle_seconds(const struct assess_ask *ask)
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

void settle_sets(const struct assess *a, enum assess_settled which, uint32_t settings,
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

bool settle_next(struct assess *a, enum assess_settled which, struct assess_look *look)
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

bool settle_found(struct assess *a, const char *phase, double found)
{
	if (!a->settling || strcmp(settle_phases[a->settle_phase], phase) != 0)
		return false;
	a->unsettled = false;
	halving_add(&a->settle, found);
	return true;
}

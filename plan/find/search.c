/* SPDX-License-Identifier: Apache-2.0 */
/* Search for the greatest load that meets a target: see search.h. */
#include "plan/find/search.h"

#include <math.h>
#include <string.h>

#include "core/numbers.h"

const char *const search_states[SEARCH_STATES] = {[SEARCH_OPEN] = "open",
						  [SEARCH_MET] = "met",
						  [SEARCH_MISSED] = "missed",
						  [SEARCH_UNDECIDED] = "undecided"};
const char *const search_ends[SEARCH_ENDS] = {[SEARCH_GOES_ON] = "stopped",
					      [SEARCH_FOUND] = "found",
					      [SEARCH_NONE] = "none",
					      [SEARCH_ALL] = "all",
					      [SEARCH_UNKNOWN] = "unknown"};

/* The ends of the range of undecided values are searched for until they are known to this share of
 * the answer: an end that is known better is not worth its time. */
enum { SEARCH_END_SHARE = 32 };

void search_init(struct search *s, const struct search_ask *ask)
{
	memset(s, 0, sizeof(*s));
	s->ask = *ask;
	if (!s->ask.by)
		s->ask.by = 1;
}

static bool search_meets(const struct search *s, double value)
{
	return s->ask.most ? value <= s->ask.asked : value >= s->ask.asked;
}

/* Statistics of a step, with the interval by which it is judged. A search looks at many values, each
 * several times, so that 5 of 100 wrong looks would be a wrong answer too often: with this level the
 * range of the answer is right in 95 of 100 searches (test_search counts them). */
static const double search_level = 0.99;

static struct stats search_stats(const struct search *search, const struct search_step *step)
{
	struct stats s = stats_of(step->found, step->repeats);
	double half = stats_t(search_level, s.n - 1) * s.stdev / sqrt(s.n) +
		      search->ask.blur * fabs(s.mean);

	s.low = s.mean - half;
	s.high = s.mean + half;
	return s;
}

/* Whether the step's interval, or its only repeat where no more are wanted, is on one side. */
static enum search_state search_judge(const struct search *s, const struct search_step *step)
{
	const struct stats *of = &step->stats;
	bool met = search_meets(s, of->mean);

	if (s->ask.repeats == 1)
		return met ? SEARCH_MET : SEARCH_MISSED;
	if (step->repeats >= 2 && search_meets(s, of->low) == met &&
	    search_meets(s, of->high) == met)
		return met ? SEARCH_MET : SEARCH_MISSED;
	return step->repeats < s->ask.repeats ? SEARCH_OPEN : SEARCH_UNDECIDED;
}

void search_add(struct search *s, double found)
{
	struct search_step *step = &s->steps[s->count - 1];

	if (isnan(found)) {
		s->end = SEARCH_UNKNOWN;
		return;
	}
	step->found[step->repeats++] = found;
	step->stats = search_stats(s, step);
	step->state = search_judge(s, step);
}

/* Between which two values the answer to a question lies: the greatest that is below, and the least
 * that is above. */
struct search_gap {
	uint64_t below, above;
	bool below_known, above_known;
};

enum search_question {
	SEARCH_MEAN,       /* what is below has a mean that meets the target */
	SEARCH_SURE_MET,   /* what is below surely meets it */
	SEARCH_SURE_MISSED /* what is above surely misses it */
};

static bool search_below(const struct search *s, const struct search_step *step,
			 enum search_question question)
{
	if (question == SEARCH_SURE_MET)
		return step->state == SEARCH_MET;
	if (question == SEARCH_SURE_MISSED)
		return step->state != SEARCH_MISSED;
	return search_meets(s, step->stats.mean);
}

/* The gap at its lower side: a value above the first one that is above does not count as below, so
 * that noise cannot turn the ends around. */
static struct search_gap search_gap_of(const struct search *s, enum search_question question)
{
	struct search_gap g = {0};

	for (uint32_t i = 0; i < s->count; i++) {
		const struct search_step *step = &s->steps[i];

		if (step->state == SEARCH_OPEN || search_below(s, step, question))
			continue;
		if (!g.above_known || step->value < g.above)
			g.above = step->value;
		g.above_known = true;
	}
	for (uint32_t i = 0; i < s->count; i++) {
		const struct search_step *step = &s->steps[i];

		if (step->state == SEARCH_OPEN || !search_below(s, step, question) ||
		    (g.above_known && step->value >= g.above))
			continue;
		if (!g.below_known || step->value > g.below)
			g.below = step->value;
		g.below_known = true;
	}
	return g;
}

/* The value that is asked for number `index` of the range. */
static uint64_t search_value(const struct search *s, uint64_t index)
{
	return s->ask.low + index * s->ask.by;
}

static uint64_t search_index(const struct search *s, uint64_t value)
{
	return (value - s->ask.low) / s->ask.by;
}

static uint64_t search_last(const struct search *s)
{
	return search_value(s, (s->ask.high - s->ask.low) / s->ask.by);
}

/* The next value of a question. false: its gap is no more than `least` values wide, or it has only
 * one side. */
static bool search_in(const struct search *s, const struct search_gap *g, uint64_t least,
		      uint64_t *value)
{
	uint64_t below, above;

	if (!g->below_known || !g->above_known)
		return false;
	below = search_index(s, g->below);
	above = search_index(s, g->above);
	if (above - below <= max_u64(least, 1))
		return false;
	*value = search_value(s, below + (above - below) / 2);
	return true;
}

/* The next value after `value` while no value has missed the target. */
static uint64_t search_double(const struct search *s, uint64_t value)
{
	if (value > s->ask.high / 2)
		return search_last(s);
	/* Rounded to a value of the range; 0 has no double. */
	return search_value(s, max_u64(search_index(s, 2 * value), search_index(s, value) + 1));
}

/* Where to go on. false: the search has ended, and says how. */
static bool search_go(struct search *s, uint64_t *value)
{
	struct search_gap mean = search_gap_of(s, SEARCH_MEAN), end;
	uint64_t wide;

	*value = s->ask.low;
	if (!s->count)
		return true;
	if (!mean.below_known) {
		s->end = SEARCH_NONE;
		return false;
	}
	if (!mean.above_known) {
		*value = search_double(s, mean.below);
		if (mean.below < search_last(s))
			return true;
		s->end = SEARCH_ALL;
		return false;
	}
	if (search_in(s, &mean, 1, value))
		return true;
	wide = mean.below / s->ask.by / SEARCH_END_SHARE;
	end = search_gap_of(s, SEARCH_SURE_MET);
	if (search_in(s, &end, wide, value))
		return true;
	end = search_gap_of(s, SEARCH_SURE_MISSED);
	if (search_in(s, &end, wide, value))
		return true;
	s->end = SEARCH_FOUND;
	return false;
}

bool search_next(struct search *s, uint64_t *value)
{
	struct search_step *step = s->count ? &s->steps[s->count - 1] : NULL;

	if (s->end)
		return false;
	if (step && step->state == SEARCH_OPEN) {
		*value = step->value;
		return true;
	}
	if (!search_go(s, value))
		return false;
	if (s->count == SEARCH_STEPS_MAX) {
		s->end = SEARCH_FOUND;
		return false;
	}
	s->steps[s->count++] = (struct search_step){.value = *value};
	return true;
}

void search_answer(const struct search *s, struct search_answer *a)
{
	struct search_gap mean = search_gap_of(s, SEARCH_MEAN),
			  met = search_gap_of(s, SEARCH_SURE_MET),
			  missed = search_gap_of(s, SEARCH_SURE_MISSED);

	*a = (struct search_answer){.carries = mean.below,
				    .carries_known = mean.below_known,
				    .misses = mean.above,
				    .misses_known = mean.above_known,
				    .least = met.below_known ? met.below : s->ask.low,
				    .greatest = search_last(s)};
	if (missed.above_known)
		a->greatest = missed.above > s->ask.low ? missed.above - s->ask.by : s->ask.low;
	for (uint32_t i = 0; i < s->count; i++) {
		a->undecided += s->steps[i].state == SEARCH_UNDECIDED;
		if (a->misses_known && s->steps[i].value == a->misses)
			a->missing_step = i;
	}
}

uint32_t search_steps_most(const struct search_ask *ask)
{
	struct search s = {.ask = *ask};
	uint64_t value = ask->low, last = search_last(&s), gap = 1;
	uint32_t steps = 1;

	while (value < last) {
		uint64_t next = search_double(&s, value);

		gap = max_u64(gap, search_index(&s, next) - search_index(&s, value));
		value = next;
		steps++;
	}
	for (; gap > 1; gap -= gap / 2)
		steps++;
	return steps;
}

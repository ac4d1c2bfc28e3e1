/* SPDX-License-Identifier: Apache-2.0 */
/* Search for the greatest load that meets a target: see bisect.h. */
#include "plan/search/bisect.h"

#include <math.h>
#include <string.h>

#include "core/numbers.h"
#include "core/utf8.h"

const char *const bisect_states[BISECT_STATES] = {[BISECT_OPEN] = "open",
						  [BISECT_MET] = "met",
						  [BISECT_MISSED] = "missed",
						  [BISECT_UNDECIDED] = "unknown"};
const char *const bisect_ends[BISECT_ENDS] = {[BISECT_GOES_ON] = "stopped",
					      [BISECT_FOUND] = "found",
					      [BISECT_NONE] = "none",
					      [BISECT_ALL] = "all",
					      [BISECT_UNKNOWN] = "unknown"};

/* The ends of the range of unknown values are searched for until they are known to this share of
 * the answer: an end that is known better is not worth its time. */
enum { BISECT_END_SHARE = 32 };

void bisect_init(struct bisect *s, const struct bisect_ask *ask)
{
	memset(s, 0, sizeof(*s));
	s->ask = *ask;
	if (!s->ask.by)
		s->ask.by = 1;
}

static bool bisect_meets(const struct bisect *s, double value)
{
	return s->ask.most ? value <= s->ask.asked : value >= s->ask.asked;
}

/* Statistics of a step, with the interval by which it is judged. A search looks at many values, each
 * several times, so that 5 of 100 wrong looks would be a wrong answer too often: with this level the
 * range of the answer is right in 95 of 100 searches (test_search counts them). */
static const double bisect_level = 0.99;

static struct stats bisect_stats(const struct bisect *search, const struct bisect_step *step)
{
	struct stats s = stats_of(step->found, step->repeats);
	double half = stats_t(bisect_level, s.n - 1) * s.stdev / sqrt(s.n) +
		      search->ask.blur * fabs(s.mean);

	s.low = s.mean - half;
	s.high = s.mean + half;
	return s;
}

/* Whether the step's interval, or its only repeat where no more are wanted, is on one side. */
static enum bisect_state bisect_judge(const struct bisect *s, const struct bisect_step *step)
{
	const struct stats *of = &step->stats;
	bool met = bisect_meets(s, of->mean);

	if (s->ask.repeats == 1)
		return met ? BISECT_MET : BISECT_MISSED;
	if (step->repeats >= 2 && bisect_meets(s, of->low) == met &&
	    bisect_meets(s, of->high) == met)
		return met ? BISECT_MET : BISECT_MISSED;
	return step->repeats < s->ask.repeats ? BISECT_OPEN : BISECT_UNDECIDED;
}

static void bisect_keep(const struct bisect *s, struct bisect_step *step, double found)
{
	step->found[step->repeats++] = found;
	step->stats = bisect_stats(s, step);
	step->state = bisect_judge(s, step);
}

void bisect_add(struct bisect *s, double found)
{
	if (isnan(found))
		s->end = BISECT_UNKNOWN;
	else
		bisect_keep(s, &s->steps[s->count - 1], found);
}

void bisect_see(struct bisect *s, uint64_t value, double found)
{
	uint32_t i = 0;

	while (i < s->count && s->steps[i].value != value)
		i++;
	if (i == BISECT_STEPS_MAX || s->steps[i].repeats == BISECT_REPEATS_MAX)
		return;
	if (i == s->count)
		s->steps[s->count++] = (struct bisect_step){.value = value};
	bisect_keep(s, &s->steps[i], found);
}

/* Between which two values the answer to a question lies: the greatest that is below, and the least
 * that is above. */
struct bisect_gap {
	uint64_t below, above;
	bool below_known, above_known;
};

enum bisect_question {
	BISECT_MEAN,       /* what is below has a mean that meets the target */
	BISECT_SURE_MET,   /* what is below surely meets it */
	BISECT_SURE_MISSED /* what is above surely misses it */
};

static bool bisect_below(const struct bisect *s, const struct bisect_step *step,
			 enum bisect_question question)
{
	if (question == BISECT_SURE_MET)
		return step->state == BISECT_MET;
	if (question == BISECT_SURE_MISSED)
		return step->state != BISECT_MISSED;
	return bisect_meets(s, step->stats.mean);
}

/* The gap at its lower side: a value above the first one that is above does not count as below, so
 * that noise cannot turn the ends around. */
static struct bisect_gap bisect_gap_of(const struct bisect *s, enum bisect_question question)
{
	struct bisect_gap g = {0};

	for (uint32_t i = 0; i < s->count; i++) {
		const struct bisect_step *step = &s->steps[i];

		if (step->state == BISECT_OPEN || bisect_below(s, step, question))
			continue;
		if (!g.above_known || step->value < g.above)
			g.above = step->value;
		g.above_known = true;
	}
	for (uint32_t i = 0; i < s->count; i++) {
		const struct bisect_step *step = &s->steps[i];

		if (step->state == BISECT_OPEN || !bisect_below(s, step, question) ||
		    (g.above_known && step->value >= g.above))
			continue;
		if (!g.below_known || step->value > g.below)
			g.below = step->value;
		g.below_known = true;
	}
	return g;
}

/* The value that is asked for number `index` of the range. */
static uint64_t bisect_value(const struct bisect *s, uint64_t index)
{
	return s->ask.low + index * s->ask.by;
}

static uint64_t bisect_index(const struct bisect *s, uint64_t value)
{
	return (value - s->ask.low) / s->ask.by;
}

static uint64_t bisect_last(const struct bisect *s)
{
	return bisect_value(s, (s->ask.high - s->ask.low) / s->ask.by);
}

/* The next value of a question. false: its gap is no more than `least` values wide, or it has only
 * one side. */
static bool bisect_in(const struct bisect *s, const struct bisect_gap *g, uint64_t least,
		      uint64_t *value)
{
	uint64_t below, above;

	if (!g->below_known || !g->above_known)
		return false;
	below = bisect_index(s, g->below);
	above = bisect_index(s, g->above);
	if (above - below <= max_u64(least, 1))
		return false;
	*value = bisect_value(s, below + (above - below) / 2);
	return true;
}

/* The next value after `value` while no value has missed the target. */
static uint64_t bisect_double(const struct bisect *s, uint64_t value)
{
	if (value > s->ask.high / 2)
		return bisect_last(s);
	/* Rounded to a value of the range; 0 has no double. */
	return bisect_value(s, max_u64(bisect_index(s, 2 * value), bisect_index(s, value) + 1));
}

/* Where to go on. false: the search has ended, and says how. */
static bool bisect_go(struct bisect *s, uint64_t *value)
{
	struct bisect_gap mean = bisect_gap_of(s, BISECT_MEAN), end;
	uint64_t wide;

	*value = s->ask.low;
	if (!s->count)
		return true;
	if (!mean.below_known) {
		s->end = BISECT_NONE;
		return false;
	}
	if (!mean.above_known) {
		*value = bisect_double(s, mean.below);
		if (mean.below < bisect_last(s))
			return true;
		s->end = BISECT_ALL;
		return false;
	}
	if (bisect_in(s, &mean, 1, value))
		return true;
	wide = mean.below / s->ask.by / BISECT_END_SHARE;
	end = bisect_gap_of(s, BISECT_SURE_MET);
	if (bisect_in(s, &end, wide, value))
		return true;
	end = bisect_gap_of(s, BISECT_SURE_MISSED);
	if (bisect_in(s, &end, wide, value))
		return true;
	s->end = BISECT_FOUND;
	return false;
}

bool bisect_next(struct bisect *s, uint64_t *value)
{
	struct bisect_step *step = s->count ? &s->steps[s->count - 1] : NULL;

	if (s->end)
		return false;
	if (step && step->state == BISECT_OPEN) {
		*value = step->value;
		return true;
	}
	if (!bisect_go(s, value))
		return false;
	if (s->count == BISECT_STEPS_MAX) {
		s->end = BISECT_FOUND;
		return false;
	}
	s->steps[s->count++] = (struct bisect_step){.value = *value};
	return true;
}

static void bisect_row(const struct bisect_step *step, struct find_row *row)
{
	row->value = step->value;
	row->repeats = step->repeats;
	utf8_copy(row->state, sizeof(row->state), bisect_states[step->state]);
	if (!step->repeats)
		return;
	row->mean = step->stats.mean;
	row->low = step->stats.low;
	row->high = step->stats.high;
}

void bisect_answer(const struct bisect *s, struct find_head *head, struct find_row *rows)
{
	struct bisect_gap mean = bisect_gap_of(s, BISECT_MEAN),
			  met = bisect_gap_of(s, BISECT_SURE_MET),
			  missed = bisect_gap_of(s, BISECT_SURE_MISSED);

	utf8_copy(head->end, sizeof(head->end), bisect_ends[s->end]);
	head->low = s->ask.low;
	head->high = s->ask.high;
	head->by = s->ask.by;
	head->most = s->ask.most;
	head->asked = s->ask.asked;
	head->repeats = s->ask.repeats;
	head->undecided = 0;
	head->carries = head->least = head->greatest = head->misses = ANSWER_UNKNOWN;
	if (mean.below_known)
		head->carries = mean.below;
	if (met.below_known)
		head->least = met.below;
	if (missed.above_known && missed.above > s->ask.low)
		head->greatest = missed.above - s->ask.by;
	else if (s->end == BISECT_ALL)
		head->greatest = bisect_last(s);
	if (mean.above_known)
		head->misses = mean.above;
	for (uint32_t i = 0; i < s->count; i++) {
		const struct bisect_step *step = &s->steps[i];

		head->undecided += step->state == BISECT_UNDECIDED;
		if (mean.above_known && step->value == mean.above)
			head->missed_with = step->stats.mean;
		if (rows)
			bisect_row(step, &rows[i]);
	}
}

void bisect_close(struct bisect *s)
{
	struct bisect_gap mean;
	bool all = false;

	for (uint32_t i = 0; i < s->count; i++) {
		struct bisect_step *step = &s->steps[i];

		all |= step->value == bisect_last(s);
		if (step->state != BISECT_OPEN)
			continue;
		step->state = step->repeats > 1                   ? BISECT_UNDECIDED
			      : bisect_meets(s, step->stats.mean) ? BISECT_MET
								  : BISECT_MISSED;
	}
	mean = bisect_gap_of(s, BISECT_MEAN);
	s->end = !mean.below_known && mean.above_known ? BISECT_NONE
		 : mean.above_known                    ? BISECT_FOUND
		 : all                                 ? BISECT_ALL
						       : BISECT_GOES_ON;
}

uint32_t bisect_steps_most(const struct bisect_ask *ask)
{
	struct bisect s = {.ask = *ask};
	uint64_t value = ask->low, last = bisect_last(&s), gap = 1;
	uint32_t steps = 1;

	while (value < last) {
		uint64_t next = bisect_double(&s, value);

		gap = max_u64(gap, bisect_index(&s, next) - bisect_index(&s, value));
		value = next;
		steps++;
	}
	for (; gap > 1; gap -= gap / 2)
		steps++;
	return steps;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Successive halving: see halving.h. */
#include "plan/search/halving.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"

const char *const halving_ends[HALVING_ENDS] = {
	[HALVING_GOES_ON] = "stopped", [HALVING_DONE] = "found", [HALVING_UNKNOWN] = "unknown"};
const char *const halving_states[HALVING_STATES] = {
	[HALVING_BEST] = "best",       [HALVING_TIED] = "tied", [HALVING_WORSE] = "worse",
	[HALVING_DROPPED] = "dropped", [HALVING_OPEN] = "open", [HALVING_LEFT_OUT] = "left out"};

static const double wrong_by_chance = 0.05;

/* How many of a round go on. */
static uint32_t halving_keep(uint32_t racing)
{
	uint32_t half = (racing + 1) / 2;

	return half > HALVING_FINALISTS ? half : HALVING_FINALISTS;
}

/* The part of a whole run in a round of so many candidates: the last round has whole runs, and each
 * before it half as long ones. */
static uint32_t halving_part(uint32_t racing, uint32_t most)
{
	uint32_t part = 1;

	while (part < most && halving_keep(racing) > HALVING_FINALISTS) {
		racing = halving_keep(racing);
		part *= 2;
	}
	return part;
}

static uint32_t halving_possible(const struct halving_ask *ask)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < ask->count; i++)
		n += !(ask->left_out && ask->left_out[i]);
	return n;
}

void halving_init(struct halving *h, const struct halving_ask *ask)
{
	memset(h, 0, sizeof(*h));
	h->ask = *ask;
	h->ask.left_out = NULL; /* need not last */
	h->round = 1;
	h->part_most = ask->parts ? HALVING_PART : 1;
	for (uint32_t i = 0; i <= ask->count; i++) {
		h->candidates[i].found = NAN;
		h->candidates[i].racing = i < ask->count && !(ask->left_out && ask->left_out[i]);
		if (h->candidates[i].racing)
			h->order[h->racing++] = i;
	}
}

static bool halving_before(const struct halving *h, double a, double b)
{
	if (isnan(a) || isnan(b))
		return !isnan(a);
	return h->ask.less ? a < b : a > b;
}

/* Sorts those that race by what they reached, the best first; equals stay in their order. */
static void halving_sort(struct halving *h)
{
	for (uint32_t i = 1; i < h->racing; i++) {
		uint32_t moved = h->order[i], at = i;

		while (at && halving_before(h, h->candidates[moved].found,
					    h->candidates[h->order[at - 1]].found)) {
			h->order[at] = h->order[at - 1];
			at--;
		}
		h->order[at] = moved;
	}
}

static bool halving_found(const struct halving *h, uint32_t at)
{
	return !isnan(h->candidates[h->order[at]].found);
}

/* The end of a round: the better half goes on, and nothing without a figure does. */
static void halving_close(struct halving *h)
{
	uint32_t keep = halving_keep(h->racing), part = halving_part(h->racing, h->part_most);

	h->at = 0;
	halving_sort(h);
	if (!halving_found(h, 0)) {
		h->part_most = part / 2;
		h->end = part > 1 ? HALVING_GOES_ON : HALVING_UNKNOWN;
		return;
	}
	while (h->racing > keep || !halving_found(h, h->racing - 1))
		h->candidates[h->order[--h->racing]].racing = false;
	h->round++;
}

/* The base comes first. */
static void halving_final(struct halving *h)
{
	uint32_t at = h->racing;

	h->at = h->round = 0;
	for (uint32_t i = 0; i < h->racing; i++)
		if (h->order[i] == h->ask.base)
			at = i;
	if (at == h->racing)
		h->racing++;
	memmove(&h->order[1], &h->order[0], at * sizeof(h->order[0]));
	h->order[0] = h->ask.base;
	h->candidates[h->ask.base].racing = true;
}

bool halving_next(struct halving *h, struct halving_look *look)
{
	uint32_t turn, racing;

	if (h->end)
		return false;
	if (h->round && h->at == h->racing)
		halving_close(h);
	if (h->end)
		return false;
	if (h->round && h->racing <= HALVING_FINALISTS)
		halving_final(h);
	if (h->round) {
		*look = (struct halving_look){h->order[h->at], h->round,
					      halving_part(h->racing, h->part_most), 1, false};
		return true;
	}
	racing = h->racing ? h->racing : 1; /* the base at least */
	turn = h->at / racing;
	if (turn == h->ask.warmup + h->ask.repeats) {
		h->end = HALVING_DONE;
		return false;
	}
	*look = (struct halving_look){h->order[h->at % racing], 0, 1,
				      turn < h->ask.warmup ? turn + 1 : turn - h->ask.warmup + 1,
				      turn < h->ask.warmup};
	return true;
}

void halving_add(struct halving *h, double found)
{
	struct halving_candidate *c = &h->candidates[h->order[h->at % h->racing]];
	bool warmup = !h->round && h->at / h->racing < h->ask.warmup;

	h->at++;
	h->runs++;
	if (h->round) {
		c->found = found;
		c->rounds++;
	} else if (!warmup) {
		c->values[c->repeats] = found;
		c->when[c->repeats++] = h->runs;
	}
}

static struct ratio_side halving_side(const struct halving_candidate *c)
{
	return (struct ratio_side){c->values, c->when, c->repeats};
}

static double halving_mean(const struct halving_candidate *c)
{
	double sum = 0;

	for (uint32_t i = 0; i < c->repeats; i++)
		sum += log(c->values[i]);
	return c->repeats ? exp(sum / c->repeats) : c->found;
}

/* Those of the final first, then those that came further. */
static bool halving_ranks(const struct halving *h, const struct halving_row *a,
			  const struct halving_row *b)
{
	const struct halving_candidate *x = &h->candidates[a->candidate],
				       *y = &h->candidates[b->candidate];

	if (!x->repeats != !y->repeats)
		return x->repeats;
	if (!x->repeats && x->rounds != y->rounds)
		return x->rounds > y->rounds;
	return halving_before(h, a->mean, b->mean);
}

static void halving_rows(const struct halving *h, struct halving_answer *a)
{
	/* The job as it is has a row of its own once it has run. */
	uint32_t count = h->ask.count;

	if (h->ask.base == h->ask.count && h->candidates[h->ask.base].repeats)
		count++;
	for (uint32_t i = 0; i < count; i++) {
		const struct halving_candidate *c = &h->candidates[i];
		struct halving_row row = {.candidate = i,
					  .state = c->racing   ? HALVING_OPEN
						   : c->rounds ? HALVING_DROPPED
							       : HALVING_LEFT_OUT,
					  .mean = halving_mean(c),
					  .best = {.ratio = NAN, .low = NAN, .high = NAN}};
		uint32_t at = a->count++;

		for (; at && halving_ranks(h, &row, &a->rows[at - 1]); at--)
			a->rows[at] = a->rows[at - 1];
		a->rows[at] = row;
	}
}

/* The pairs of the final: each with the best. */
static void halving_judge(const struct halving *h, struct halving_answer *a)
{
	const struct ratio_side best = halving_side(&h->candidates[a->rows[0].candidate]);
	uint32_t pairs = h->racing * (h->racing - 1) / 2;

	a->judged = true;
	a->level = 1 - wrong_by_chance / (pairs ? pairs : 1);
	a->rows[0].state = HALVING_BEST;
	for (uint32_t i = 1; i < a->count && h->candidates[a->rows[i].candidate].repeats; i++) {
		struct halving_row *row = &a->rows[i];
		const struct ratio_side other = halving_side(&h->candidates[row->candidate]);

		row->best = ratio_of(&best, &other, a->level);
		row->state =
			row->best.verdict == (h->ask.less ? -1 : 1) ? HALVING_WORSE : HALVING_TIED;
		a->better |= row->candidate == h->ask.base && row->state == HALVING_WORSE;
	}
}

void halving_answer(const struct halving *h, struct halving_answer *a)
{
	memset(a, 0, sizeof(*a));
	a->level = NAN;
	halving_rows(h, a);
	if (h->end == HALVING_DONE && !isnan(a->rows[0].mean))
		halving_judge(h, a);
}

struct halving_times halving_times(const struct ratio *r, bool less)
{
	if (less)
		return (struct halving_times){1 / r->ratio, 1 / r->high, 1 / r->low};
	return (struct halving_times){r->ratio, r->low, r->high};
}

struct halving_cost halving_cost(const struct halving_ask *ask)
{
	uint32_t racing = halving_possible(ask), each = ask->warmup + ask->repeats;
	struct halving_cost c = {0};

	while (racing > HALVING_FINALISTS) {
		c.rounds++;
		c.runs += racing;
		c.whole += (double)racing / halving_part(racing, ask->parts ? HALVING_PART : 1);
		racing = halving_keep(racing);
	}
	c.runs += (racing + 1) * each;
	c.whole += (double)(racing + 1) * each;
	return c;
}

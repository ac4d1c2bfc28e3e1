/* SPDX-License-Identifier: Apache-2.0 */
/* Successive halving: see halving.h. */
#include "plan/search/halving.h"

#include <math.h>
#include <string.h>

#include "core/utf8.h"

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

uint32_t halving_rows(const struct halving *h)
{
	/* The job as it is has a row of its own once it has run. */
	return h->ask.count +
	       (h->ask.base == h->ask.count && h->candidates[h->ask.base].repeats > 0);
}

/* Those of the final first, then those that came further. */
static bool halving_ranks(const struct halving *h, const struct tune_row *a,
			  const struct tune_row *b)
{
	if (!a->repeats != !b->repeats)
		return a->repeats;
	if (!a->repeats && a->rounds != b->rounds)
		return a->rounds > b->rounds;
	return halving_before(h, a->mean, b->mean);
}

static void halving_set(struct tune_row *row, enum halving_state state)
{
	utf8_copy(row->state, sizeof(row->state), halving_states[state]);
}

static void halving_row(const struct halving *h, uint32_t candidate, struct tune_row *row)
{
	const struct halving_candidate *c = &h->candidates[candidate];

	row->combination = candidate + 1;
	row->as_is = candidate == h->ask.base;
	row->rounds = c->rounds;
	row->repeats = c->repeats;
	row->mean = halving_mean(c);
	row->times = row->times_low = row->times_high = NAN;
	halving_set(row, c->racing ? HALVING_OPEN : c->rounds ? HALVING_DROPPED : HALVING_LEFT_OUT);
}

/* By which factor the best is better than the other one of a ratio: of what is better the less there is
 * of it, too. */
static void halving_times(const struct halving *h, const struct ratio *r, struct tune_row *row)
{
	row->times = h->ask.less ? 1 / r->ratio : r->ratio;
	row->times_low = h->ask.less ? 1 / r->high : r->low;
	row->times_high = h->ask.less ? 1 / r->low : r->high;
}

/* The pairs of the final: each with the best. */
static void halving_judge(const struct halving *h, uint32_t count, struct tune_head *head,
			  struct tune_row *rows)
{
	const struct ratio_side best = halving_side(&h->candidates[rows[0].combination - 1]);
	uint32_t pairs = h->racing * (h->racing - 1) / 2;

	head->level = 1 - wrong_by_chance / (pairs ? pairs : 1);
	halving_set(&rows[0], HALVING_BEST);
	for (uint32_t i = 1; i < count && rows[i].repeats; i++) {
		struct tune_row *row = &rows[i];
		const struct ratio_side other = halving_side(&h->candidates[row->combination - 1]);
		const struct ratio r = ratio_of(&best, &other, head->level);
		bool worse = r.verdict == (h->ask.less ? -1 : 1);

		halving_times(h, &r, row);
		halving_set(row, worse ? HALVING_WORSE : HALVING_TIED);
		if (!row->as_is)
			continue;
		head->better = worse;
		head->times = row->times;
		head->times_low = row->times_low;
		head->times_high = row->times_high;
	}
}

void halving_answer(const struct halving *h, struct tune_head *head, struct tune_row *rows)
{
	uint32_t count = halving_rows(h);

	utf8_copy(head->end, sizeof(head->end), halving_ends[h->end]);
	head->less = h->ask.less;
	head->combinations = h->ask.count;
	head->repeats = h->ask.repeats;
	head->better = 0;
	head->level = head->times = head->times_low = head->times_high = NAN;
	for (uint32_t i = 0; i < count; i++) {
		struct tune_row row = {.of = head};
		uint32_t at = i;

		halving_row(h, i, &row);
		for (; at && halving_ranks(h, &row, &rows[at - 1]); at--)
			rows[at] = rows[at - 1];
		rows[at] = row;
	}
	if (h->end == HALVING_DONE && !isnan(rows[0].mean))
		halving_judge(h, count, head, rows);
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

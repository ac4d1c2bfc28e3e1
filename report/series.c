/* SPDX-License-Identifier: Apache-2.0 */
/* Series of runs in a results file: see series.h. */
#include "report/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/measure/quantile.h"
#include "core/numbers.h"
#include "report/phase.h"

const char *const series_keys[SERIES_FIGURES] = {
	[SERIES_AU] = "au",
	[SERIES_BYTES] = "bytes_per_second",
	[SERIES_SAMPLES] = "samples_per_second",
	[SERIES_OPERATIONS] = "operations_per_second",
	[SERIES_WRITE] = "bytes_written_per_second",
	[SERIES_READ] = "bytes_read_per_second",
	[SERIES_P99] = "p99_ns",
};

/* The number of this phase among the phases of its name in its run. */
static uint32_t nth_of(const struct results_file *f, uint32_t i)
{
	const struct results_phase_read *p = &f->phases[i];
	uint32_t nth = 0;

	while (i-- && f->phases[i].record.run == p->record.run)
		nth += strcmp(f->phases[i].record.name, p->record.name) == 0;
	return nth;
}

bool series_counts(const struct results_phase_read *p)
{
	const struct phase_record *r = &p->record;

	return !r->warmup && results_ended_well(r->status);
}

/* What was not done has no rate: deletions have none of bytes. */
static double series_done(double rate)
{
	return rate > 0 ? rate : NAN;
}

static double series_bytes(const struct results_phase_read *p)
{
	/* The phase's own figure knows what time was measured. A kind without one is measured from
	 * its start to its end. */
	return results_role(&p->merged, ROLE_BYTE_RATE) >= 0
		       ? results_role_value(&p->merged, 0, ROLE_BYTE_RATE)
		       : results_rate(phase_bytes(p), p->record.seconds);
}

static double series_items(const struct results_phase_read *p)
{
	return results_role(&p->merged, ROLE_ITEM_RATE) >= 0
		       ? results_role_value(&p->merged, 0, ROLE_ITEM_RATE)
		       : results_rate(results_role_value(&p->merged, 0, ROLE_ITEMS),
				      p->record.seconds);
}

double series_figure_of(const struct results_phase_read *p, enum series_figure figure)
{
	const struct hist *h;

	switch (figure) {
	case SERIES_AU:
		return results_role_value(&p->merged, 0, ROLE_UTILISATION);
	case SERIES_BYTES:
		return series_done(series_bytes(p));
	case SERIES_OPERATIONS:
		return results_role_value(&p->merged, 0, ROLE_OPERATION_RATE);
	case SERIES_WRITE:
		return series_done(results_role_value(&p->merged, 0, ROLE_WRITE_RATE));
	case SERIES_READ:
		return series_done(results_role_value(&p->merged, 0, ROLE_READ_RATE));
	case SERIES_SAMPLES:
		return series_done(series_items(p));
	case SERIES_P99:
		h = results_find_hist(p, p->record.main_hist);
		return h         ? (double)quantile_ns(h, QUANTILE_P99)
		       : p->gone ? p->gone_ns[QUANTILE_P99]
				 : NAN;
	case SERIES_SECONDS:
		return p->record.seconds;
	case SERIES_BEGAN:
		return p->record.started_ns ? (double)p->record.started_ns / 1e9 : NAN;
	case SERIES_VALUES:
		break;
	}
	return NAN;
}

/* The figure of all kinds of phases that is the same as the main one of this kind. */
static enum series_figure series_named(const struct results_phase_read *p)
{
	int column = results_column(&p->merged, p->record.main_figure);
	const struct results_column *c = column < 0 ? NULL : &p->merged.columns[column];

	if (!c)
		return SERIES_VALUES;
	return c->role == ROLE_OPERATION_RATE ? SERIES_OPERATIONS
	       : c->role == ROLE_UTILISATION  ? SERIES_AU
	       : strcmp(c->unit, "B/s") == 0  ? SERIES_BYTES
					      : SERIES_SAMPLES;
}

enum series_figure series_main(const struct results_phase_read *p)
{
	const enum series_figure order[] = {series_named(p), SERIES_BYTES, SERIES_OPERATIONS,
					    SERIES_SAMPLES};

	for (size_t i = 0; i < COUNT(order); i++)
		if (series_figure_of(p, order[i]) > 0)
			return order[i];
	return SERIES_VALUES;
}

bool series_same_phase(const struct series_line *a, const struct series_line *b)
{
	const struct phase_record *x = &a->first->record, *y = &b->first->record;

	return a->nth == b->nth && strcmp(x->name, y->name) == 0 && strcmp(x->kind, y->kind) == 0;
}

struct target_result series_target(const struct series_line *line, const char *name)
{
	struct target_result all = {.asked = NAN, .found = NAN};
	double sum = 0;
	uint64_t voided = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < line->repeats; i++) {
		const struct target_result *t = phase_target(line->phases[i], name);

		if (!t)
			continue;
		voided |= t->voided;
		all = *t;
		sum += t->found;
		n++;
	}
	all.found = n ? sum / n : NAN;
	all.voided = voided;
	return all;
}

enum target_state series_state(const struct series_line *line)
{
	enum target_state state = TARGET_MET;

	for (uint32_t i = 0; i < line->first->target_count && state != TARGET_MISSED; i++) {
		struct target_result t = series_target(line, line->first->targets[i].name);

		if (target_state(&t) != TARGET_MET)
			state = target_state(&t);
	}
	return state;
}

bool series_better(const struct series_line *a, const struct series_line *b)
{
	static const int places[TARGET_STATES] = {
		[TARGET_MET] = 0, [TARGET_UNKNOWN] = 1, [TARGET_MISSED] = 2};
	int x = places[series_state(a)], y = places[series_state(b)];
	enum series_figure main =
		isfinite(a->figures[SERIES_AU].mean) && isfinite(b->figures[SERIES_AU].mean)
			? SERIES_AU
			: series_main(a->first);

	if (x != y)
		return x < y;
	if (main == SERIES_VALUES)
		return a->figures[SERIES_P99].mean < b->figures[SERIES_P99].mean;
	/* What has no figure is better than nothing. */
	return !(a->figures[main].mean <= b->figures[main].mean) && !isnan(a->figures[main].mean);
}

static struct series_line *find_line(struct series_lines *s, const struct results_phase_read *p,
				     uint32_t nth)
{
	struct series_line wanted = {.first = p, .nth = nth};

	for (uint32_t i = 0; i < s->count; i++)
		if (s->lines[i].first->record.combination == p->record.combination &&
		    series_same_phase(&s->lines[i], &wanted))
			return &s->lines[i];
	return NULL;
}

static bool add_phase(struct series_lines *s, const struct results_phase_read *p, uint32_t nth)
{
	struct series_line *line = find_line(s, p, nth);
	const struct results_phase_read **phases;

	if (!line) {
		line = &s->lines[s->count++];
		*line = (struct series_line){.first = p, .nth = nth};
	}
	phases = realloc(line->phases, (line->repeats + 1) * sizeof(const void *));
	if (!phases)
		return false;
	line->phases = phases;
	phases[line->repeats] = p;
	for (int i = 0; i < SERIES_VALUES; i++) {
		double *more = realloc(line->values[i], (line->repeats + 1) * sizeof(*more));

		if (!more)
			return false;
		line->values[i] = more;
		more[line->repeats] = series_figure_of(p, (enum series_figure)i);
	}
	line->repeats++;
	return true;
}

bool series_make(struct series_lines *s, const struct results_file *f)
{
	bool whole;

	*s = (struct series_lines){.lines = calloc(f->phase_count + 1, sizeof(*s->lines))};
	whole = s->lines != NULL;
	for (uint32_t i = 0; whole && i < f->phase_count; i++)
		if (series_counts(&f->phases[i]))
			whole = add_phase(s, &f->phases[i], nth_of(f, i));
	for (uint32_t i = 0; whole && i < s->count; i++)
		for (int k = 0; k < SERIES_FIGURES; k++)
			s->lines[i].figures[k] =
				stats_possible(stats_of(s->lines[i].values[k], s->lines[i].repeats),
					       k == SERIES_AU ? 1 : INFINITY);
	return whole;
}

void series_free_lines(struct series_lines *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		free(s->lines[i].phases);
		for (int k = 0; k < SERIES_VALUES; k++)
			free(s->lines[i].values[k]);
	}
	free(s->lines);
	*s = (struct series_lines){0};
}

unsigned series_target_states(const struct series_lines *s, const struct series_line *of,
			      const char *name, unsigned states[TARGET_STATES])
{
	unsigned all = 0;

	memset(states, 0, TARGET_STATES * sizeof(*states));
	for (uint32_t i = 0; i < s->count; i++) {
		struct target_result t;

		if (!series_same_phase(&s->lines[i], of))
			continue;
		t = series_target(&s->lines[i], name);
		if (isnan(t.asked))
			continue;
		states[target_state(&t)]++;
		all++;
	}
	return all;
}

uint32_t series_place(const struct series_lines *s, const struct series_line *of)
{
	uint32_t place = 1;

	for (uint32_t i = 0; i < s->count; i++)
		place += series_same_phase(&s->lines[i], of) && series_better(&s->lines[i], of);
	return place;
}

const struct series_line *series_found(const struct series_lines *s, uint64_t combination,
				       const char *phase)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->lines[i].first->record.combination == combination &&
		    strcmp(s->lines[i].first->record.name, phase) == 0)
			return &s->lines[i];
	return NULL;
}

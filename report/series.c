#include "report/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/accounts.h"

/* Which of the phases of its name in its run it is. */
static uint32_t nth_of(const struct results_file *f, uint32_t i)
{
	const struct results_phase_read *p = &f->phases[i];
	uint32_t nth = 0;

	while (i-- && f->phases[i].run == p->run)
		nth += strcmp(f->phases[i].name, p->name) == 0;
	return nth;
}

static bool counts(const struct results_phase_read *p)
{
	return !p->warmup && (strcmp(p->status, "done") == 0 || strcmp(p->status, "limit") == 0);
}

static double figure_of(const struct results_phase_read *p, enum series_figure figure)
{
	const struct hist *h;

	switch (figure) {
	case SERIES_AU:
		return spread_of(&p->ranks, "au").mean;
	case SERIES_BYTES:
		if (results_column(&p->merged, "bytes_rate_last_done") >= 0)
			return results_value(&p->merged, 0, "bytes_rate_last_done");
		return (results_value(&p->merged, 0, "bytes_read") +
			results_value(&p->merged, 0, "bytes_written")) /
		       p->seconds;
	case SERIES_OPERATIONS:
		return results_value(&p->merged, 0, "rate_last_done");
	case SERIES_SAMPLES:
		return results_value(&p->merged, 0, "samples") / p->seconds;
	case SERIES_P99:
		h = results_find_hist(p, p->main_hist);
		return h ? (double)hist_quantile_ns(h, 0.99) : NAN;
	case SERIES_FIGURES:
		break;
	}
	return NAN;
}

bool series_same_phase(const struct series_line *a, const struct series_line *b)
{
	return a->nth == b->nth && strcmp(a->first->name, b->first->name) == 0 &&
	       strcmp(a->first->kind, b->first->kind) == 0;
}

static struct series_line *find(struct series_lines *s, const struct results_phase_read *p,
				uint32_t nth)
{
	struct series_line wanted = {.first = p, .nth = nth};

	for (uint32_t i = 0; i < s->count; i++)
		if (s->lines[i].first->combination == p->combination &&
		    series_same_phase(&s->lines[i], &wanted))
			return &s->lines[i];
	return NULL;
}

static bool add_phase(struct series_lines *s, const struct results_phase_read *p, uint32_t nth)
{
	struct series_line *line = find(s, p, nth);

	if (!line) {
		line = &s->lines[s->count++];
		*line = (struct series_line){.first = p, .nth = nth};
	}
	for (int i = 0; i < SERIES_FIGURES; i++) {
		double *more = realloc(line->values[i], (line->repeats + 1) * sizeof(*more));

		if (!more)
			return false;
		line->values[i] = more;
		more[line->repeats] = figure_of(p, (enum series_figure)i);
	}
	line->repeats++;
	return true;
}

/* Student's interval knows nothing of what can be: no rate or time is below 0, no AU above 1. */
static struct stats possible(struct stats s, enum series_figure figure)
{
	if (s.low < 0)
		s.low = 0;
	if (figure == SERIES_AU && s.high > 1)
		s.high = 1;
	return s;
}

bool series_make(struct series_lines *s, const struct results_file *f)
{
	bool whole;

	*s = (struct series_lines){.lines = calloc(f->phase_count + 1, sizeof(*s->lines))};
	whole = s->lines != NULL;
	for (uint32_t i = 0; whole && i < f->phase_count; i++)
		if (counts(&f->phases[i]))
			whole = add_phase(s, &f->phases[i], nth_of(f, i));
	for (uint32_t i = 0; whole && i < s->count; i++)
		for (int k = 0; k < SERIES_FIGURES; k++)
			s->lines[i].figures[k] =
				possible(stats_of(s->lines[i].values[k], s->lines[i].repeats),
					 (enum series_figure)k);
	return whole;
}

void series_free_lines(struct series_lines *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		for (int k = 0; k < SERIES_FIGURES; k++)
			free(s->lines[i].values[k]);
	free(s->lines);
	*s = (struct series_lines){0};
}

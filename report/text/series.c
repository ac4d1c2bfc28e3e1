/* SPDX-License-Identifier: Apache-2.0 */
/* Series of runs as text: its size; for repeats a table of statistics; for a sweep a table with one
 * line per combination. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "facts/text.h"
#include "report/doubt.h"
#include "report/phase.h"
#include "report/say.h"
#include "report/series.h"
#include "report/text/page.h"

enum { SERIES_KEYS_MAX = TABLE_COLUMNS - SERIES_FIGURES - 1 };
/* Columns that the figures leave for the values of the sweeps, with and without intervals. */
enum { SERIES_KEY_COLUMNS = 60, SERIES_KEY_COLUMNS_REPEATED = 32 };

/* How a figure is shown: its values times factor, followed by unit. */
struct shown {
	double factor;
	const char *unit;
};

static struct shown shown_as(enum series_figure figure, double mean)
{
	switch (figure) {
	case SERIES_AU:
		return (struct shown){100, " %"};
	case SERIES_BYTES:
	case SERIES_WRITE:
	case SERIES_READ:
		return (struct shown){1e-9, ""};
	case SERIES_P99:
		return mean < 1e3   ? (struct shown){1, " ns"}
		       : mean < 1e6 ? (struct shown){1e-3, " us"}
		       : mean < 1e9 ? (struct shown){1e-6, " ms"}
				    : (struct shown){1e-9, " s"};
	case SERIES_SAMPLES:
	case SERIES_OPERATIONS:
	case SERIES_SECONDS:
	case SERIES_BEGAN:
	case SERIES_VALUES:
		break;
	}
	return (struct shown){1, ""};
}

static const char *const labels[SERIES_FIGURES] = {"AU",           "GB/s",      "/s", "ops/s",
						   "GB/s written", "GB/s read", "p99"};

/* The number of decimals that shows value with the given number of digits. */
static int series_decimals(double value, int digits)
{
	int n = value == 0 || !isfinite(value) ? 1 : digits - 1 - (int)floor(log10(fabs(value)));

	return n < 0 ? 0 : n > 9 ? 9 : n;
}

static void series_heading(char cell[TABLE_CELL_BYTES], int figure,
			   const struct results_phase_read *p)
{
	const char *before = figure == SERIES_P99       ? p->record.main_hist
			     : figure == SERIES_SAMPLES ? phase_items(p)
							: "";

	snprintf(cell, TABLE_CELL_BYTES, "%.20s%s%s", before,
		 figure == SERIES_P99 && *before ? " " : "", labels[figure]);
}

/* "1.12 ± 0.02": the mean and half of the confidence interval, where there is one. Returns whether
 * the cell is meaningful: an interval that contains both 0 and twice the mean is shown as "±?". */
static bool mean_cell(char cell[TABLE_CELL_BYTES], const struct stats *s, enum series_figure figure)
{
	struct shown as = shown_as(figure, s->mean);
	double mean = s->mean * as.factor,
	       half = fmax(s->mean - s->low, s->high - s->mean) * as.factor;
	bool vague = half >= mean && half > 0;
	int places = series_decimals(mean, 3);

	if (!isfinite(mean))
		strcpy(cell, TABLE_NOTHING);
	else if (vague)
		snprintf(cell, TABLE_CELL_BYTES, "%.*f ±?%s", places, mean, as.unit);
	else if (isfinite(half))
		snprintf(cell, TABLE_CELL_BYTES, "%.*f ± %.*f%s", places, mean, places, half,
			 as.unit);
	else
		snprintf(cell, TABLE_CELL_BYTES, "%.*f%s", places, mean, as.unit);
	return !vague;
}

enum stats_column {
	STATS_NAME,
	STATS_MEAN,
	STATS_DEV,
	STATS_CI,
	STATS_CV,
	STATS_MIN,
	STATS_MAX,
	STATS_COLS
};

static void stats_row(struct table_row *row, const struct series_line *line,
		      enum series_figure figure)
{
	const struct stats *s = &line->figures[figure];
	struct shown as = shown_as(figure, s->mean);
	int places = series_decimals(s->mean * as.factor, 4);
	const double values[STATS_COLS] = {[STATS_MEAN] = s->mean,
					   [STATS_DEV] = s->stdev,
					   [STATS_MIN] = s->min,
					   [STATS_MAX] = s->max};

	series_heading(row->cell[STATS_NAME], (int)figure, line->first);
	for (int c = STATS_MEAN; c < STATS_COLS; c++)
		snprintf(row->cell[c], TABLE_CELL_BYTES, "%.*f%s", places, values[c] * as.factor,
			 as.unit);
	snprintf(row->cell[STATS_CI], TABLE_CELL_BYTES, "%.*f … %.*f%s", places, s->low * as.factor,
		 places, s->high * as.factor, as.unit);
	strcpy(row->cell[STATS_CV], "–"); /* where the mean is 0 */
	if (isfinite(s->cv))
		snprintf(row->cell[STATS_CV], TABLE_CELL_BYTES, "%.2g %%", s->cv * 100);
}

/* The statistics of one phase's repeats, one row per figure. */
static void stats_table(FILE *out, const struct series_line *line)
{
	static const char *const headings[STATS_COLS] = {"",   "mean", "deviation", "95 % interval",
							 "CV", "min",  "max"};
	struct table_row rows[SERIES_FIGURES + 1];
	unsigned count = 1;

	for (int c = 0; c < STATS_COLS; c++)
		strcpy(rows[0].cell[c], headings[c]);
	snprintf(rows[0].cell[STATS_NAME], TABLE_CELL_BYTES, "%.24s, %u repeats",
		 line->first->record.name, line->repeats);
	/* Where objects are deleted, say, no bytes move in any repeat, and their rate is not told. */
	for (int i = 0; i < SERIES_FIGURES; i++)
		if (isfinite(line->figures[i].stdev) &&
		    (i != SERIES_BYTES || line->figures[i].max > 0))
			stats_row(&rows[count++], line, (enum series_figure)i);
	if (count == 1)
		return;
	fputc('\n', out);
	table_print(out, rows, count, STATS_COLS);
}

/* The value, and the last part of the swept path, such as "batch" of "train.batch". */
static void series_key_cells(struct table_row *head, struct table_row *row,
			     const struct results_phase_read *p, unsigned keys, bool repeated)
{
	unsigned share = (repeated ? SERIES_KEY_COLUMNS_REPEATED : SERIES_KEY_COLUMNS) /
			 (keys ? keys : 1),
		 columns = share > 3 ? share - 1 : 2; /* leaves a gap */

	for (unsigned i = 0; i < keys; i++) {
		const char *set = p->sets[i], *equals = strchr(set, '='), *name = set;

		if (!equals)
			equals = set + strlen(set);
		for (const char *c = set; c < equals; c++)
			name = *c == '.' ? c + 1 : name;
		table_cut(head->cell[i], name, (size_t)(equals - name), columns);
		table_cut(row->cell[i], *equals ? equals + 1 : "", *equals ? strlen(equals + 1) : 0,
			  columns);
	}
}

/* Finds which figures a phase has in any combination, in their order. Returns their number. */
static unsigned told_figures(const struct series_lines *s, const struct series_line *of,
			     enum series_figure told[SERIES_FIGURES])
{
	unsigned n = 0;

	for (int k = 0; k < SERIES_FIGURES; k++) {
		bool any = false;

		for (uint32_t i = 0; i < s->count && !any; i++)
			any = series_same_phase(&s->lines[i], of) && s->lines[i].figures[k].n;
		if (any)
			told[n++] = (enum series_figure)k;
	}
	return n;
}

static int sweep_order(const void *a, const void *b)
{
	const struct series_line *const *x = a, *const *y = b;

	return series_better(*x, *y) ? -1 : series_better(*y, *x) ? 1 : 0;
}

/* The combinations of a phase, the best first. Returns their number. */
static uint32_t sweep_ranked(const struct series_lines *s, const struct series_line *of,
			     unsigned keys, const struct series_line **ranked)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->count; i++)
		if (series_same_phase(&s->lines[i], of) && s->lines[i].first->set_count >= keys)
			ranked[n++] = &s->lines[i];
	qsort(ranked, n, sizeof(*ranked), sweep_order);
	return n;
}

/* One line per combination in which the phase has run. */
static void sweep_table(FILE *out, const struct series_lines *s, const struct series_line *of)
{
	const struct series_line **ranked = calloc(s->count + 1, sizeof(*ranked));
	struct table_row *rows = calloc(s->count + 1, sizeof(*rows));
	unsigned keys = of->first->set_count < SERIES_KEYS_MAX ? of->first->set_count
							       : SERIES_KEYS_MAX,
		 count = 1, figures;
	uint32_t combinations = ranked ? sweep_ranked(s, of, keys, ranked) : 0;
	enum series_figure told[SERIES_FIGURES];
	bool repeated = of->repeats > 1, sure = true, missed = false;

	figures = told_figures(s, of, told);
	for (uint32_t i = 0; rows && i < combinations; i++) {
		const struct series_line *line = ranked[i];

		missed |= series_state(line) != TARGET_MET;
		series_key_cells(&rows[0], &rows[count], line->first, keys, repeated);
		for (unsigned k = 0; k < figures; k++)
			sure &= mean_cell(rows[count].cell[keys + k], &line->figures[told[k]],
					  told[k]);
		snprintf(rows[count].cell[keys + figures], TABLE_CELL_BYTES, "%u", line->repeats);
		count++;
	}
	if (rows && count > 2 && figures) {
		for (unsigned k = 0; k < figures; k++)
			series_heading(rows[0].cell[keys + k], (int)told[k], of->first);
		strcpy(rows[0].cell[keys + figures], "repeats");
		fprintf(out, "\n%s, the best first%s%s\n", of->first->record.name,
			missed ? ", those that miss a target last" : "",
			repeated ? "; mean ± half of the 95 % confidence interval" : "");
		table_print(out, rows, count, keys + figures + repeated);
		if (!sure)
			fputs("±?: too few repeats to tell; they may mean 0 as well as twice as much.\n",
			      out);
	}
	free(ranked);
	free(rows);
}

/* Judged as --strict does: by the mean over the repeats. */
static void target_line(FILE *out, const struct results_file *f, const struct series_lines *s,
			const struct series_line *of, const struct target_result *target)
{
	char about[64] = "", sentence[256], line[512 + 3 * DOUBT_BYTES];
	struct doubts doubts;
	unsigned states[TARGET_STATES], asked = series_target_states(s, of, target->name, states);

	if (asked > 1) {
		snprintf(line, sizeof(line), "%s: %u of %u combinations meet the target of %s",
			 of->first->record.name, states[TARGET_MET], asked, target->label);
		if (states[TARGET_UNKNOWN])
			say(line, sizeof(line), ", of %u it cannot be told",
			    states[TARGET_UNKNOWN]);
		say(line, sizeof(line), ".");
	} else {
		struct target_result t = series_target(of, target->name);

		if (of->repeats > 1)
			snprintf(about, sizeof(about), ", on average over %u repeats,",
				 of->repeats);
		target_sentence(sentence, sizeof(sentence), &t, about);
		snprintf(line, sizeof(line), "%s: %s.", of->first->record.name, sentence);
		doubts_of_line(&doubts, f, of);
		doubts_but(line, sizeof(line), &doubts, !isnan(t.found));
	}
	text_wrap(out, line, 0, 2);
}

/* The tables of a phase are printed with its first combination. */
static bool is_first_combination(const struct series_lines *s, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (series_same_phase(&s->lines[k], &s->lines[i]))
			return false;
	return true;
}

/* Those that were left out have a number, too. */
static bool is_new_combination(const struct results_file *f, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (f->phases[k].record.combination == f->phases[i].record.combination)
			return false;
	return true;
}

static void series_print(FILE *out, const struct results_file *f, const struct series_lines *s)
{
	uint64_t combinations = 0, run = 0;

	for (uint32_t i = 0; i < f->phase_count; i++) {
		const struct phase_record *r = &f->phases[i].record;

		run = r->run > run ? r->run : run;
		combinations += is_new_combination(f, i);
	}
	fprintf(out, "%llu of %llu runs", (unsigned long long)run, (unsigned long long)f->runs);
	if (combinations > 1)
		fprintf(out, ", %llu combinations", (unsigned long long)combinations);
	fputs(".\n", out);
	for (uint32_t i = 0; i < s->count; i++) {
		const struct series_line *line = &s->lines[i];

		if (!is_first_combination(s, i))
			continue;
		for (uint32_t k = 0; k < line->first->target_count; k++)
			target_line(out, f, s, line, &line->first->targets[k]);
		if (combinations > 1)
			sweep_table(out, s, line);
		else
			stats_table(out, line);
	}
}

bool text_series(struct page *page)
{
	struct series_lines lines;
	bool whole = series_make(&lines, page->file);

	if (whole)
		series_print(page->out, page->file, &lines);
	series_free_lines(&lines);
	return whole;
}

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/series.h"
#include "report/text/table.h"

enum { PHASES_SHOWN = 40, KEYS_MAX = TABLE_COLUMNS - SERIES_FIGURES - 1 };
/* What the figures leave of a line to the values of the sweeps, with and without intervals. */
enum { KEY_COLUMNS = 60, KEY_COLUMNS_REPEATED = 32 };

/* How a figure is shown: its values by factor, behind them unit. */
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
		return (struct shown){1e-9, ""};
	case SERIES_P99:
		return mean < 1e3   ? (struct shown){1, " ns"}
		       : mean < 1e6 ? (struct shown){1e-3, " us"}
		       : mean < 1e9 ? (struct shown){1e-6, " ms"}
				    : (struct shown){1e-9, " s"};
	case SERIES_SAMPLES:
	case SERIES_OPERATIONS:
	case SERIES_FIGURES:
		break;
	}
	return (struct shown){1, ""};
}

static const char *const labels[SERIES_FIGURES] = {"AU", "GB/s", "samples/s", "ops/s", "p99"};

/* Digits behind the point so that value shows so many in all. */
static int decimals(double value, int digits)
{
	int n = value == 0 || !isfinite(value) ? 1 : digits - 1 - (int)floor(log10(fabs(value)));

	return n < 0 ? 0 : n > 9 ? 9 : n;
}

static void heading(char cell[TABLE_CELL_BYTES], int figure, const struct results_phase_read *p)
{
	snprintf(cell, TABLE_CELL_BYTES, "%.20s%s%s", figure == SERIES_P99 ? p->main_hist : "",
		 figure == SERIES_P99 && *p->main_hist ? " " : "", labels[figure]);
}

/* "1.12 ± 0.02": the mean, and how far the confidence interval reaches from it, where there is one. Whether
 * it tells anything: what may be 0 as well as twice as much is "±?". */
static bool mean_cell(char cell[TABLE_CELL_BYTES], const struct stats *s, enum series_figure figure)
{
	struct shown as = shown_as(figure, s->mean);
	double mean = s->mean * as.factor,
	       half = fmax(s->mean - s->low, s->high - s->mean) * as.factor;
	bool vague = half >= mean && half > 0;
	int places = decimals(mean, 3);

	if (!isfinite(mean))
		strcpy(cell, "–");
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
	int places = decimals(s->mean * as.factor, 4);
	const double values[STATS_COLS] = {[STATS_MEAN] = s->mean,
					   [STATS_DEV] = s->stdev,
					   [STATS_MIN] = s->min,
					   [STATS_MAX] = s->max};

	heading(row->cell[STATS_NAME], (int)figure, line->first);
	for (int c = STATS_MEAN; c < STATS_COLS; c++)
		snprintf(row->cell[c], TABLE_CELL_BYTES, "%.*f%s", places, values[c] * as.factor,
			 as.unit);
	snprintf(row->cell[STATS_CI], TABLE_CELL_BYTES, "%.*f … %.*f%s", places, s->low * as.factor,
		 places, s->high * as.factor, as.unit);
	snprintf(row->cell[STATS_CV], TABLE_CELL_BYTES, "%.2g %%", s->cv * 100);
}

/* The statistics of one phase's repeats, a row a figure. */
static void stats_table(FILE *out, const struct series_line *line)
{
	static const char *const headings[STATS_COLS] = {"",   "mean", "deviation", "95 % interval",
							 "CV", "min",  "max"};
	struct table_row rows[SERIES_FIGURES + 1];
	unsigned count = 1;

	for (int c = 0; c < STATS_COLS; c++)
		strcpy(rows[0].cell[c], headings[c]);
	snprintf(rows[0].cell[STATS_NAME], TABLE_CELL_BYTES, "%.24s, %u repeats", line->first->name,
		 line->repeats);
	for (int i = 0; i < SERIES_FIGURES; i++)
		if (isfinite(line->figures[i].stdev))
			stats_row(&rows[count++], line, (enum series_figure)i);
	if (count == 1)
		return;
	fputc('\n', out);
	table_print(out, rows, count, STATS_COLS);
}

/* Cut to so many columns, with an ellipsis. */
static void cut_cell(char cell[TABLE_CELL_BYTES], const char *text, size_t bytes, unsigned columns)
{
	unsigned seen = 0;
	size_t n = 0;

	while (n < bytes && n < TABLE_CELL_BYTES - 8) {
		bool begins = ((unsigned char)text[n] & 0xc0) != 0x80;

		if (begins && seen == columns)
			break;
		seen += begins;
		n++;
	}
	while (n < bytes && n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	snprintf(cell, TABLE_CELL_BYTES, "%.*s%s", (int)n, text, n < bytes ? "…" : "");
}

/* The last part of a swept path, as "batch" of "train.batch", and the value. */
static void key_cells(struct table_row *head, struct table_row *row,
		      const struct results_phase_read *p, unsigned keys, bool repeated)
{
	unsigned share = (repeated ? KEY_COLUMNS_REPEATED : KEY_COLUMNS) / keys,
		 columns = share > 3 ? share - 2 : 1; /* the ellipsis, a gap */

	for (unsigned i = 0; i < keys; i++) {
		const char *set = p->sets[i], *equals = strchr(set, '='), *name = set;

		if (!equals)
			equals = set + strlen(set);
		for (const char *c = set; c < equals; c++)
			name = *c == '.' ? c + 1 : name;
		cut_cell(head->cell[i], name, (size_t)(equals - name), columns);
		cut_cell(row->cell[i], *equals ? equals + 1 : "", *equals ? strlen(equals + 1) : 0,
			 columns);
	}
}

/* Which figures a phase has in any combination, in their order; how many. */
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

/* A line for each combination in which the phase has run. */
static void sweep_table(FILE *out, const struct series_lines *s, const struct series_line *of)
{
	struct table_row *rows = calloc(s->count + 1, sizeof(*rows));
	unsigned keys = of->first->set_count < KEYS_MAX ? of->first->set_count : KEYS_MAX,
		 count = 1, figures;
	enum series_figure told[SERIES_FIGURES];
	bool repeated = of->repeats > 1, sure = true;

	figures = told_figures(s, of, told);
	for (uint32_t i = 0; rows && i < s->count; i++) {
		const struct series_line *line = &s->lines[i];

		if (!series_same_phase(line, of) || line->first->set_count < keys)
			continue;
		key_cells(&rows[0], &rows[count], line->first, keys, repeated);
		for (unsigned k = 0; k < figures; k++)
			sure &= mean_cell(rows[count].cell[keys + k], &line->figures[told[k]],
					  told[k]);
		snprintf(rows[count].cell[keys + figures], TABLE_CELL_BYTES, "%u", line->repeats);
		count++;
	}
	if (rows && count > 2 && figures) {
		for (unsigned k = 0; k < figures; k++)
			heading(rows[0].cell[keys + k], (int)told[k], of->first);
		strcpy(rows[0].cell[keys + figures], "repeats");
		fprintf(out, "\n%s%s\n", of->first->name,
			repeated ? ", mean ± half of the 95 % confidence interval" : "");
		table_print(out, rows, count, keys + figures + repeated);
		if (!sure)
			fputs("±?: too few repeats to tell; they may mean 0 as well as twice as much.\n",
			      out);
	}
	free(rows);
}

/* As --strict counts it: by the mean over the repeats. */
static void target_line(FILE *out, const struct series_lines *s, const struct series_line *of)
{
	unsigned asked = 0, met = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		const struct series_line *line = &s->lines[i];

		if (!series_same_phase(line, of) || isnan(line->first->target_au))
			continue;
		asked++;
		met += line->figures[SERIES_AU].mean >= line->first->target_au;
	}
	if (asked > 1)
		fprintf(out, "%s: %u of %u combinations meet the target AU.\n", of->first->name,
			met, asked);
	else if (asked)
		fprintf(out, "%s: the target AU of %.4g %% is %s in the mean of %u repeat%s.\n",
			of->first->name, of->first->target_au * 100, met ? "met" : "missed",
			of->repeats, of->repeats == 1 ? "" : "s");
}

bool series_long(const struct results_file *f)
{
	return f->runs > 1 && f->phase_count > PHASES_SHOWN;
}

void series_phase_name(const struct results_file *f, const struct results_phase_read *p, char *name,
		       size_t size)
{
	if (f->runs > 1)
		snprintf(name, size, "%llu %s%s", (unsigned long long)p->run, p->name,
			 p->warmup ? ", warm-up" : "");
	else
		snprintf(name, size, "%s", p->name);
}

void series_text(FILE *out, const struct results_file *f, const struct series_lines *s)
{
	uint64_t combinations = 0, run = 0;

	for (uint32_t i = 0; i < f->phase_count; i++) {
		run = f->phases[i].run > run ? f->phases[i].run : run;
		combinations = f->phases[i].combination > combinations ? f->phases[i].combination
								       : combinations;
	}
	fprintf(out, "%llu of %llu runs", (unsigned long long)run, (unsigned long long)f->runs);
	if (combinations > 1)
		fprintf(out, ", %llu combinations", (unsigned long long)combinations);
	fputs(".\n", out);
	for (uint32_t i = 0; i < s->count; i++) {
		const struct series_line *line = &s->lines[i];
		bool told = false;

		/* A phase's table stands where its first combination does. */
		for (uint32_t k = 0; k < i && !told; k++)
			told = series_same_phase(&s->lines[k], line);
		if (told)
			continue;
		target_line(out, s, line);
		if (combinations > 1)
			sweep_table(out, s, line);
		else
			stats_table(out, line);
	}
}

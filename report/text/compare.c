/* Comparison as text: the sides, what differs between them, and for each phase a table and a verdict. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "core/utf8.h"
#include "report/compare.h"
#include "report/shapes.h"
#include "report/text/table.h"

enum { VALUE_COLUMNS = 30, WHAT_COLUMNS = 36, SIDES_IN_TABLE = 8, COMPARE_SIGNED_BYTES = 10 };

static void compare_sides(FILE *out, const struct compare *c)
{
	for (unsigned i = 0; i < c->side_count; i++) {
		char line[COMPARE_NAME_BYTES + 8];

		snprintf(line, sizeof(line), "%s   %s", c->sides[i].letter, c->sides[i].name);
		text_wrap(out, line, 0, 4);
	}
}

/* "job: train.batch", cut from its left, because the ends of paths differ. */
static void compare_what(char cell[TABLE_CELL_BYTES], const struct difference *row)
{
	char what[DIFFERENCE_WHAT_BYTES + 16];
	const char *from = what;

	snprintf(what, sizeof(what), "%s: %s", difference_abouts[row->about], row->what);
	table_cut(cell, from, strlen(from), WHAT_COLUMNS);
}

static void compare_differing(FILE *out, const struct compare *c)
{
	const struct differences *d = &c->differences;
	unsigned sides = c->side_count < SIDES_IN_TABLE ? c->side_count : SIDES_IN_TABLE;
	unsigned width = (REPORT_COLUMNS - WHAT_COLUMNS) / sides - 3;
	struct table_row *rows = calloc(d->count + 1, sizeof(*rows));

	if (!d->count)
		fputs("\nJob, machine and client are the same on all sides.\n", out);
	if (!rows || !d->count) {
		free(rows);
		return;
	}
	strcpy(rows[0].cell[0], "What differs");
	for (unsigned s = 0; s < sides; s++)
		strcpy(rows[0].cell[s + 1], c->sides[s].letter);
	for (unsigned i = 0; i < d->count; i++) {
		compare_what(rows[i + 1].cell[0], &d->rows[i]);
		for (unsigned s = 0; s < sides; s++) {
			const char *value = d->rows[i].values[s];

			if (value && *value)
				table_cut(rows[i + 1].cell[s + 1], value, strlen(value),
					  width < VALUE_COLUMNS ? width : VALUE_COLUMNS);
			else
				strcpy(rows[i + 1].cell[s + 1], TABLE_NOTHING);
		}
	}
	fputc('\n', out);
	table_print(out, rows, d->count + 1, sides + 1);
	if (sides < c->side_count)
		fprintf(out, "%u more sides are in --json.\n", c->side_count - sides);
	free(rows);
}

static void compare_cell(char cell[TABLE_CELL_BYTES], enum compare_metric metric, double value)
{
	char text[UNITS_TEXT_BYTES];

	if (!isfinite(value))
		strcpy(cell, TABLE_NOTHING);
	else if (metric == COMPARE_AU)
		snprintf(cell, TABLE_CELL_BYTES, "%.1f %%", value * 100);
	else if (metric == COMPARE_P99)
		snprintf(cell, TABLE_CELL_BYTES, "%s", units_time(text, value / 1e9));
	else
		table_figure(cell, metric == COMPARE_BYTES ? value / 1e9 : value);
}

static double compare_percent(double ratio)
{
	return (ratio - 1) * 100;
}

/* A percentage of so many digits would be cut by its cell. */
#define COMPARE_DIGITS_MOST 1e6

/* "+35", "-0.1". What is rounded to nothing has no sign. */
static char *compare_signed(char text[COMPARE_SIGNED_BYTES], double ratio, int places)
{
	double percent = compare_percent(ratio), nothing = places ? 0.05 : 0.5;

	if (fabs(percent) < nothing)
		snprintf(text, COMPARE_SIGNED_BYTES, "%.*f", places, 0.0);
	else if (fabs(percent) >= COMPARE_DIGITS_MOST)
		snprintf(text, COMPARE_SIGNED_BYTES, "%+.0e", percent);
	else
		snprintf(text, COMPARE_SIGNED_BYTES, "%+.*f", places, percent);
	return text;
}

/* Decimals of the whole cell: few where an end of the interval is large, unless that would leave nothing of the difference. */
static int compare_places(double ratio, double high)
{
	double percent = fabs(compare_percent(ratio));
	double most = fmax(percent, isfinite(high) ? fabs(compare_percent(high)) : 0);

	return most < 10 || (percent >= 0.05 && percent < 1) ? 1 : 0;
}

/* "+35 % (+31 to +39)": by how much A is more than the other side. */
static void compare_difference_cell(char cell[TABLE_CELL_BYTES], const struct ratio *r)
{
	bool vague = ratio_is_vague(r);
	double low = vague ? RATIO_VAGUE_LEAST : r->low, high = vague ? RATIO_VAGUE_MOST : r->high;
	int places = compare_places(r->ratio, high);
	char is[COMPARE_SIGNED_BYTES], from[COMPARE_SIGNED_BYTES], to[COMPARE_SIGNED_BYTES];

	if (!isfinite(r->ratio))
		strcpy(cell, TABLE_NOTHING);
	else if (isfinite(r->low))
		snprintf(cell, TABLE_CELL_BYTES, "%s %% (%s to %s%s)",
			 compare_signed(is, r->ratio, places), compare_signed(from, low, places),
			 compare_signed(to, high, places), vague ? " or wider" : "");
	else
		snprintf(cell, TABLE_CELL_BYTES, "%s %%", compare_signed(is, r->ratio, places));
}

static void compare_table(FILE *out, const struct compare *c, const struct compare_pair *pair)
{
	struct table_row rows[COMPARE_METRICS + 1] = {
		{{"Metric", "", "", "Difference"}},
	};
	unsigned count = 1;

	strcpy(rows[0].cell[1], c->sides[0].letter);
	strcpy(rows[0].cell[2], c->sides[pair->side].letter);
	for (int m = 0; m < COMPARE_METRICS; m++) {
		const struct ratio *r = &pair->ratios[m];
		struct table_row *row = &rows[count];

		if (!isfinite(r->ratio))
			continue;
		snprintf(row->cell[0], TABLE_CELL_BYTES, "%.20s%s%s",
			 m == COMPARE_P99 ? pair->line[0]->first->record.main_hist : "",
			 m == COMPARE_P99 ? " " : "", compare_metrics[m].word);
		compare_cell(row->cell[1], (enum compare_metric)m, r->mean[0]);
		compare_cell(row->cell[2], (enum compare_metric)m, r->mean[1]);
		compare_difference_cell(row->cell[3], r);
		count++;
	}
	if (count > 1)
		table_print(out, rows, count, 4);
}

static void compare_lines(FILE *out, char *sentences)
{
	char *rest, *line;

	for (line = strtok_r(sentences, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		text_wrap(out, line, 0, 2);
}

static void compare_pair_text(FILE *out, const struct compare *c, const struct compare_pair *pair)
{
	const struct ratio *r = &pair->ratios[pair->metric == COMPARE_METRICS ? 0 : pair->metric];
	char sentence[COMPARE_SENTENCE_BYTES];
	uint32_t a = pair->line[0]->repeats, b = pair->line[1]->repeats;

	fprintf(out, "\n%s: ", pair->line[0]->first->record.name);
	if (a == b)
		fprintf(out, "%u repeat%s each", a, a == 1 ? "" : "s");
	else
		fprintf(out, "%u repeat%s of %s, %u of %s", a, a == 1 ? "" : "s",
			c->sides[0].letter, b, c->sides[pair->side].letter);
	fprintf(out, "%s%s\n", r->paired ? ", taken in turn" : "",
		a > 1 || b > 1 ? "; geometric means" : "");
	compare_table(out, c, pair);
	compare_sentence(sentence, c, pair);
	compare_lines(out, sentence);
}

static void compare_missing(FILE *out, const struct compare *c, const struct compare_phase *phase)
{
	char letters[4 * COMPARE_SIDES_MAX] = "";
	unsigned sides = 0;

	for (unsigned i = 0; i < c->side_count; i++)
		if (!(phase->missing & 1u << i)) {
			if (sides++)
				strcat(letters, ", ");
			strcat(letters, c->sides[i].letter);
		}
	fprintf(out, "\n%s: only %s %s finished it.\n", phase->line->first->record.name, letters,
		sides > 1 ? "have" : "has");
}

static void compare_print(FILE *out, const struct compare *c)
{
	compare_sides(out, c);
	compare_differing(out, c);
	for (unsigned i = 0; i < c->phase_count; i++) {
		for (unsigned k = 0; k < c->phases[i].pair_count; k++)
			compare_pair_text(out, c, &c->phases[i].pairs[k]);
		if (c->phases[i].missing)
			compare_missing(out, c, &c->phases[i]);
	}
	if (c->verdicts)
		fprintf(out,
			"\nDifference: by how much A is more than the other side, with its "
			"%.3g %% interval.\n",
			c->level * 100);
	if (c->verdicts > 1)
		fprintf(out,
			"All %u verdicts together are wrong by chance in at most 5 of 100 "
			"comparisons.\n",
			c->verdicts);
}

char *report_compare_text(const struct compare *c)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	compare_print(out, c);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

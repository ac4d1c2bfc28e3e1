/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as CSV: see csv.h. Text is quoted by the rules of RFC 4180. Undefined figures are empty. */
#include "facts/csv.h"

#include <math.h>
#include <string.h>

#include "core/stats.h"

static void csv_number(FILE *out, const char *before, double value)
{
	fputs(before, out);
	/* Bytes are whole, and have more digits than a figure needs. */
	if (isfinite(value))
		fprintf(out, value == trunc(value) && fabs(value) < 0x1p53 ? "%.0f" : "%.9g",
			value);
}

static void csv_quoted(FILE *out, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

/* Prints the keys, or with a row its values. Returns what stands before the next value. */
static const char *csv_columns(FILE *out, const char *before, const char *path,
			       const struct column *columns, const void *row)
{
	static const char *const interval[] = {"_ci95_low", "_ci95_high"};

	for (const struct column *c = columns; c->type; c++) {
		if (!c->key || c->type == COLUMN_TEXTS || c->type == COLUMN_VALUES)
			continue;
		fputs(before, out);
		before = ",";
		if (!row)
			fprintf(out, "%s%s", path, c->key);
		else if (column_text(c, row))
			csv_quoted(out, column_text(c, row));
		else
			csv_number(out, "", column_number(c, row));
		for (int i = 0; c->type == COLUMN_STATS && i < 2; i++) {
			if (row)
				csv_number(out, ",",
					   i ? column_stats(c, row)->high
					     : column_stats(c, row)->low);
			else
				fprintf(out, ",%s%s%s", path, c->key, interval[i]);
		}
	}
	return before;
}

static void csv_line(FILE *out, const struct column *outer, const void *outer_row,
		     const struct report_table *t, const void *row)
{
	char path[64] = "";
	const char *before = "";

	if (outer) {
		before = csv_columns(out, before, "", outer, outer_row);
		if (t->key)
			snprintf(path, sizeof(path), "%s.", t->key);
	}
	csv_columns(out, before, path, t->columns, row);
	fputc('\n', out);
}

void csv_table(FILE *out, bool headed, const struct column *outer, const void *outer_row,
	       const struct report_table *t)
{
	if (!headed)
		csv_line(out, outer, NULL, t, NULL);
	for (size_t i = 0; i < t->count; i++)
		csv_line(out, outer, outer_row, t, table_row_at(t, i));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of text: see text.h. */
#include "facts/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats.h"
#include "core/units.h"
#include "core/utf8.h"

enum { NAME_COLUMNS = 24, PARTS_COLUMNS = 44, GAP_MAX = 3, GAP_LEAST = 2 };

static void print_cell(FILE *out, const char *text, unsigned width, bool left)
{
	int pad = (int)(width - utf8_columns(text, UTF8_WHOLE));

	if (left)
		fprintf(out, "%s%*s", text, pad, "");
	else
		fprintf(out, "%*s%s", pad, "", text);
}

/* The width of a column, or 0 where it is left out. */
static unsigned column_width(const struct table_row *rows, unsigned row_count, unsigned column)
{
	unsigned width = 0;
	bool any = column == 0 || row_count < 2;

	for (unsigned r = 0; r < row_count; r++) {
		unsigned w = utf8_columns(rows[r].cell[column], UTF8_WHOLE);

		width = w > width ? w : width;
		any = any || (r && strcmp(rows[r].cell[column], TABLE_NOTHING) != 0);
	}
	return any ? width : 0;
}

/* Spaces between columns. */
static unsigned fitting_gap(unsigned sum, unsigned gaps)
{
	for (unsigned gap = GAP_MAX; gap >= GAP_LEAST; gap--)
		if (sum + gap * gaps <= TABLE_WIDTH)
			return gap;
	for (unsigned gap = GAP_MAX; gap > 1; gap--)
		if (sum + gap * gaps <= REPORT_COLUMNS)
			return gap;
	return 1;
}

void table_print(FILE *out, const struct table_row *rows, unsigned row_count, unsigned columns)
{
	unsigned width[TABLE_COLUMNS] = {0}, sum = 0, gaps = 0, gap;

	for (unsigned c = 0; c < columns; c++) {
		width[c] = column_width(rows, row_count, c);
		sum += width[c];
		gaps += c && width[c];
	}
	gap = fitting_gap(sum, gaps);
	for (unsigned r = 0; r < row_count; r++) {
		for (unsigned c = 0; c < columns; c++) {
			if (c && !width[c])
				continue;
			fprintf(out, "%*s", c ? (int)gap : 0, "");
			print_cell(out, rows[r].cell[c], width[c], c == 0);
		}
		fputc('\n', out);
	}
}

void table_figure(char cell[TABLE_CELL_BYTES], double value)
{
	char count[UNITS_TEXT_BYTES];

	if (!isfinite(value))
		strcpy(cell, TABLE_NOTHING);
	else if (value == 0)
		strcpy(cell, "0");
	else if (value > 0 && value < 0.0001)
		strcpy(cell, "<0.0001");
	else if (value < 0.09995) /* three digits, as below */
		snprintf(cell, TABLE_CELL_BYTES, "%.3g", value);
	else if (value < 0.9995)
		snprintf(cell, TABLE_CELL_BYTES, "%.3f", value);
	else if (value < 99.95)
		snprintf(cell, TABLE_CELL_BYTES, "%.*f", value < 9.995 ? 2 : 1, value);
	else
		snprintf(cell, TABLE_CELL_BYTES, "%s", units_count(count, (uint64_t)(value + 0.5)));
}

void table_number(char cell[TABLE_CELL_BYTES], enum column_format format, double value)
{
	char text[UNITS_TEXT_BYTES] = TABLE_NOTHING;

	switch (format) {
	case FORMAT_FIGURE:
	case FORMAT_GIGA:
		table_figure(cell, format == FORMAT_GIGA ? value / 1e9 : value);
		return;
	case FORMAT_SHARE:
	case FORMAT_WHOLE:
		if (isfinite(value))
			snprintf(text, sizeof(text), "%.*f %%", format == FORMAT_SHARE,
				 value * 100);
		break;
	case FORMAT_SOME:
	case FORMAT_COUNT:
		if (value > 0 || (isfinite(value) && format == FORMAT_COUNT))
			units_count(text, (uint64_t)value);
		break;
	case FORMAT_BYTES:
		if (isfinite(value))
			units_bytes_decimal(text, value);
		break;
	case FORMAT_RATE:
		if (value > 0)
			units_rate(text, value);
		else if (isfinite(value))
			strcpy(text, "0");
		break;
	case FORMAT_NS:
	case FORMAT_TIME:
		if (isfinite(value))
			units_time(text, format == FORMAT_NS ? value / 1e9 : value);
		break;
	}
	strcpy(cell, text);
}

/* "98.1 ± 0.2 %", "1.12 ± 0.02": the mean and half of its interval, where there is one. */
static void table_stats(char cell[TABLE_CELL_BYTES], enum column_format format,
			const struct stats *s)
{
	double half = (s->high - s->low) / 2;

	if (!isfinite(s->mean) || !isfinite(half))
		table_number(cell, format, s->mean);
	else if (format == FORMAT_SHARE)
		snprintf(cell, TABLE_CELL_BYTES, "%.1f ± %.1f %%", s->mean * 100, half * 100);
	else
		snprintf(cell, TABLE_CELL_BYTES, "%.3g ± %.2g", s->mean / 1e9, half / 1e9);
}

static void table_cell(char cell[TABLE_CELL_BYTES], const struct column *c, const void *row,
		       const char *text)
{
	enum column_format format = c->format_of ? c->format_of(row) : c->format;

	strcpy(cell, TABLE_NOTHING);
	if (c->show)
		c->show(cell, row);
	else if (text && *text)
		table_cut(cell, text, strlen(text),
			  c->width                  ? c->width
			  : c->type == COLUMN_PARTS ? PARTS_COLUMNS
						    : NAME_COLUMNS);
	else if (c->type == COLUMN_STATS)
		table_stats(cell, format, column_stats(c, row));
	else
		table_number(cell, format, column_number(c, row));
	for (char *at = strchr(cell, '\t'); at; at = strchr(at, '\t'))
		*at = ' ';
}

/* Fills the cells of a column: its heading, or with a row its values. Returns how many. */
static unsigned table_fill_column(char (*cells)[TABLE_CELL_BYTES], unsigned room,
				  const struct column *c, const void *about, const void *row)
{
	unsigned several = c->heading != NULL || c->head, i;

	if (c->type == COLUMN_TEXTS)
		several = c->count < TABLE_TEXTS_SHOWN ? c->count : TABLE_TEXTS_SHOWN;
	for (i = 0; i < several && i < room; i++) {
		if (row)
			table_cell(cells[i], c, row,
				   c->type == COLUMN_TEXTS ? column_text_at(c, row, i)
							   : column_text(c, row));
		else if (c->head)
			c->head(cells[i], about);
		else
			snprintf(cells[i], TABLE_CELL_BYTES, "%s",
				 c->headings ? c->headings[i] : c->heading);
	}
	return i;
}

/* Fills the heading, or with a row its cells. Returns the number of columns. */
static unsigned table_fill(struct table_row *to, const struct report_table *t, const void *row)
{
	unsigned n = 0, last = 0;

	for (const struct column *c = t->columns; c->type; c++)
		last = c->place > last ? c->place : last;
	for (unsigned place = 0; place <= last; place++)
		for (const struct column *c = t->columns; c->type; c++)
			if (c->place == place)
				n += table_fill_column(to->cell + n, TABLE_COLUMNS - n, c, t->about,
						       row);
	return n;
}

void text_table(FILE *out, const struct report_table *t)
{
	struct table_row *rows = calloc(t->count + 1, sizeof(*rows));
	unsigned count = 1, columns;

	if (!rows)
		return;
	columns = table_fill(&rows[0], t, NULL);
	for (size_t i = 0; i < t->count; i++)
		if (!t->shown || t->shown(table_row_at(t, i)))
			table_fill(&rows[count++], t, table_row_at(t, i));
	if (count > 1)
		table_print(out, rows, count, columns);
	free(rows);
}

void table_cut(char cell[TABLE_CELL_BYTES], const char *text, size_t bytes, unsigned columns)
{
	static const char more[] = "…";
	size_t n = utf8_fit(text, bytes, columns);

	if (n < bytes && text[n])
		n = utf8_fit(text,
			     n < TABLE_CELL_BYTES - sizeof(more) ? n
								 : TABLE_CELL_BYTES - sizeof(more),
			     columns ? columns - 1 : 0);
	else if (n >= TABLE_CELL_BYTES)
		n = utf8_fit(text, TABLE_CELL_BYTES - sizeof(more), columns);
	snprintf(cell, TABLE_CELL_BYTES, "%.*s%s", (int)n, text, n < bytes && text[n] ? more : "");
}

void table_name(char cell[TABLE_CELL_BYTES], const char *name)
{
	table_cut(cell, name, strlen(name), NAME_COLUMNS);
}

void text_wrap(FILE *out, const char *text, unsigned first, unsigned rest)
{
	unsigned column = first;
	bool begun = false;

	fprintf(out, "%*s", (int)first, "");
	while (*text) {
		size_t length = strcspn(text, " \n");
		unsigned width;

		/* A figure and its percent sign are not separated. */
		if (strncmp(text + length, " %", 2) == 0)
			length += 1 + strcspn(text + length + 1, " \n");
		width = utf8_columns(text, length);
		if (begun && column + 1 + width > REPORT_COLUMNS) {
			fprintf(out, "\n%*s", (int)rest, "");
			column = rest;
		} else if (begun) {
			fputc(' ', out);
			column++;
		}
		begun = true;
		fwrite(text, 1, length, out);
		column += width;
		text += length;
		text += strspn(text, " \n");
	}
	fputc('\n', out);
}

static void words_print(FILE *out, const struct column *c, double value)
{
	size_t before = strcspn(c->words, "%");
	char cell[TABLE_CELL_BYTES], counted[UNITS_COUNTED_BYTES];

	if (c->noun)
		units_counted(counted, (uint64_t)value, c->noun);
	else
		table_number(cell, c->format, value);
	fprintf(out, "%.*s%s%s", (int)before, c->words, c->noun ? counted : cell,
		c->words + before + 1);
}

void text_words(FILE *out, const char *line, const struct column *columns, const void *row)
{
	const char *between = "";
	unsigned last = 0;

	for (const struct column *c = columns; c->type; c++)
		last = c->place > last ? c->place : last;
	for (unsigned place = 0; place <= last; place++)
		for (const struct column *c = columns; c->type; c++) {
			if (!c->line || strcmp(c->line, line) != 0 || c->place != place ||
			    isnan(column_number(c, row)))
				continue;
			fputs(between, out);
			words_print(out, c, column_number(c, row));
			between = " · ";
		}
}

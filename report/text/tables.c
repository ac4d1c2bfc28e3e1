/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a phase that this program knows only from the file: as many columns as fit, and the
 * first rows. Epochs and endpoints, of which every large run has many, are only in JSON. */
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/units.h"
#include "core/utf8.h"
#include "facts/text.h"
#include "report/text/page.h"

enum { ROWS_SHOWN = 16 };

static bool stands_elsewhere(const char *name)
{
	static const char *const names[] = {"epochs", "endpoints"};

	for (size_t i = 0; i < COUNT(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static const struct {
	const char *unit;
	enum column_format format;
} units[] = {{"ns", FORMAT_NS},
	     {"bytes", FORMAT_BYTES},
	     {"B/s", FORMAT_RATE},
	     {"fraction", FORMAT_SHARE}};

/* What was not done took no time, such as the reading of a checkpoint that was only written. */
static void value_cell(char cell[TABLE_CELL_BYTES], const struct results_table *t, uint64_t row,
		       uint32_t column)
{
	const struct results_column *c = &t->columns[column];
	const union results_cell *value = &t->cells[row * t->column_count + column];
	enum column_format format = c->real ? FORMAT_FIGURE : FORMAT_COUNT;

	for (size_t i = 0; i < COUNT(units); i++)
		if (strcmp(c->unit, units[i].unit) == 0)
			format = units[i].format;
	if (results_undone(t, row, column))
		strcpy(cell, TABLE_NOTHING);
	else if (strcmp(c->unit, "id") == 0)
		snprintf(cell, TABLE_CELL_BYTES, "%llu", (unsigned long long)value->count);
	else
		table_number(cell, format, c->real ? value->real : (double)value->count);
}

/* The unit is shown in the cells: "load_ns" has the heading "load". */
static void tables_heading(char cell[TABLE_CELL_BYTES], const struct results_column *c)
{
	static const char *const ends[] = {"_ns", "_bytes"};
	size_t n;

	table_name(cell, c->name);
	n = strlen(cell);
	for (size_t i = 0; i < COUNT(ends); i++)
		if (n > strlen(ends[i]) && strcmp(cell + n - strlen(ends[i]), ends[i]) == 0)
			cell[n - strlen(ends[i])] = '\0';
	for (char *at = cell; *at; at++)
		*at = *at == '_' ? ' ' : *at;
}

/* Whether all rows have 0 there: the key, which comes first, never is. */
static bool column_empty(const struct results_table *table, uint32_t column, uint64_t shown)
{
	for (uint64_t r = 0; r < shown; r++) {
		const union results_cell *value = &table->cells[r * table->column_count + column];

		if (table->columns[column].real ? value->real != 0 : value->count != 0)
			return false;
	}
	return column > 0;
}

/* The key of the rows comes first: their text, or the first column. *cut: not all columns fit. With
 * some, those that are 0 in all rows are left out. */
static unsigned tables_fill(struct table_row *rows, const struct results_rows *t, uint64_t shown,
			    bool some, bool *cut)
{
	const struct results_table *table = &t->table;
	unsigned columns = 0, width = 0;

	*cut = false;
	for (uint32_t c = 0; c < table->column_count; c++) {
		unsigned widest;

		if (some && column_empty(table, c, shown))
			continue;
		*cut = columns == TABLE_COLUMNS;
		if (*cut)
			break;
		tables_heading(rows[0].cell[columns], &table->columns[c]);
		widest = utf8_columns(rows[0].cell[columns], UTF8_WHOLE);
		for (uint64_t r = 0; r < shown; r++) {
			char *cell = rows[r + 1].cell[columns];

			if (c == 0 && t->names)
				table_name(cell, t->names[r]);
			else
				value_cell(cell, table, r, c);
			if (utf8_columns(cell, UTF8_WHOLE) > widest)
				widest = utf8_columns(cell, UTF8_WHOLE);
		}
		width += widest + (columns ? 2 : 0);
		*cut = width > TABLE_WIDTH;
		if (*cut)
			break;
		columns++;
	}
	return columns;
}

static void print_table(struct page *page, const struct results_phase_read *p,
			const struct results_rows *t)
{
	uint64_t shown = t->table.row_count < ROWS_SHOWN ? t->table.row_count : ROWS_SHOWN;
	struct table_row *rows = calloc(shown + 1, sizeof(*rows));
	char name[PHASE_NAME_BYTES], count[UNITS_COUNTED_BYTES];
	unsigned columns;
	bool cut;

	if (!rows)
		return;
	columns = tables_fill(rows, t, shown, false, &cut);
	/* What was done is told before what was not. */
	if (cut)
		columns = tables_fill(rows, t, shown, true, &cut);
	phase_name(page->file, p, name);
	fprintf(page->out, "\n%s, %s\n", name, t->name);
	if (columns)
		table_print(page->out, rows, (unsigned)shown + 1, columns);
	if (shown < t->table.row_count)
		fprintf(page->out, "… %s in all: haul report --json %s has them.\n",
			units_counted(count, t->table.row_count, "row"), page->file->path);
	if (t->left_out)
		fprintf(page->out, "%s more found no room.\n",
			units_counted(count, t->left_out, "row"));
	free(rows);
}

void text_tables(struct page *page)
{
	for (uint32_t i = 0; i < page->file->phase_count; i++) {
		const struct results_phase_read *p = &page->file->phases[i];
		const struct results_phase_read *whole = results_whole(p);

		for (uint32_t k = 0; k < whole->table_count; k++) {
			const struct results_rows *t = &whole->tables[k];

			if (t->table.row_count && !stands_elsewhere(t->name))
				print_table(page, p, t);
		}
	}
}

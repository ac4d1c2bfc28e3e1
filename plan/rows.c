/* SPDX-License-Identifier: Apache-2.0 */
/* Totals and tables of workloads in a plan: see rows.h. */
#include "plan/rows.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"

/* Columns: of a line, of the label before its figures, of what sets a total off from the one before
 * it. */
enum { ROWS_LINE = 100, ROWS_LABEL = 10, ROWS_BETWEEN = 4 };

static char *rows_value_text(char text[UNITS_TEXT_BYTES], double value, const char *unit)
{
	if (strcmp(unit, "bytes") == 0)
		return units_bytes_decimal(text, value);
	if (strcmp(unit, "bytes/s") == 0)
		return units_rate(text, value);
	if (strcmp(unit, "s") == 0)
		return units_time(text, value);
	if (strcmp(unit, "ns") == 0)
		return units_time(text, value / 1e9);
	if (strcmp(unit, "fraction") == 0) {
		snprintf(text, UNITS_TEXT_BYTES, "%.3g %%", 100 * value);
		return text;
	}
	return units_count(text, (uint64_t)value);
}

static void put_totals(FILE *out, const struct plan_phase *p)
{
	const struct plan_told *t = &p->told;
	size_t column = ROWS_LINE;
	char text[UNITS_TEXT_BYTES];

	for (uint32_t i = 0; i < t->total_count; i++) {
		const char *value = rows_value_text(text, t->totals[i].value, t->totals[i].unit);
		size_t length = strlen(t->totals[i].name) + strlen(value) + ROWS_BETWEEN;

		if (column + length > ROWS_LINE) {
			fprintf(out, "%s%-10.10s", i ? "\n" : "", i ? "" : p->phase->name);
			column = ROWS_LABEL;
		} else {
			fputs(" ·", out);
		}
		fprintf(out, " %s %s", t->totals[i].name, value);
		column += length;
	}
	if (t->total_count)
		fputc('\n', out);
}

/* Equal rows are found by sorting their numbers. */
struct row_order {
	const struct plan_rows *rows;
	uint64_t number;
};

static const uint64_t *row_cells(const struct row_order *r)
{
	return r->rows->cells + r->number * r->rows->column_count;
}

static int row_compare(const void *a, const void *b)
{
	const struct row_order *x = a, *y = b;

	for (uint32_t c = 0; c < x->rows->column_count; c++)
		if (row_cells(x)[c] != row_cells(y)[c])
			return row_cells(x)[c] < row_cells(y)[c] ? 1 : -1;
	return 0;
}

static void put_heading(FILE *out, const struct plan_rows *rows)
{
	fprintf(out, "%-10.10s %9s", rows->name, "count");
	for (uint32_t c = 0; c < rows->column_count; c++)
		fprintf(out, "  %12s", rows->columns[c].name);
	fputc('\n', out);
}

static void put_table(FILE *out, const struct plan_rows *rows)
{
	struct row_order *order = calloc(rows->row_count + 1, sizeof(*order));
	uint64_t same, shown = 0;
	char text[UNITS_TEXT_BYTES];

	if (!order || !rows->row_count) {
		free(order);
		return;
	}
	for (uint64_t i = 0; i < rows->row_count; i++)
		order[i] = (struct row_order){rows, i};
	qsort(order, rows->row_count, sizeof(*order), row_compare);
	put_heading(out, rows);
	for (uint64_t i = 0; i < rows->row_count; i += same) {
		for (same = 1;
		     i + same < rows->row_count && row_compare(&order[i], &order[i + same]) == 0;
		     same++)
			;
		if (shown++ >= PLAN_ROWS_SHOWN)
			continue;
		fprintf(out, "%-10s %9s", "", units_count(text, same));
		for (uint32_t c = 0; c < rows->column_count; c++)
			fprintf(out, "  %12s",
				rows_value_text(text, (double)row_cells(&order[i])[c],
						rows->columns[c].unit));
		fputc('\n', out);
	}
	if (shown > PLAN_ROWS_SHOWN)
		fprintf(out, "%-10s %9s more kinds of %s in --json\n", "",
			units_count(text, shown - PLAN_ROWS_SHOWN), rows->name);
	free(order);
}

void plan_rows_text(FILE *out, const struct plan_phase *p)
{
	put_totals(out, p);
	for (uint32_t i = 0; i < p->told.table_count; i++)
		put_table(out, &p->told.tables[i]);
}

static cJSON *table_json(const struct plan_rows *rows)
{
	cJSON *json = cJSON_CreateObject();
	cJSON *names = cJSON_AddArrayToObject(json, "columns");
	cJSON *units = cJSON_AddArrayToObject(json, "units");
	cJSON *all = cJSON_AddArrayToObject(json, "rows");

	for (uint32_t c = 0; c < rows->column_count; c++) {
		cJSON_AddItemToArray(names, cJSON_CreateString(rows->columns[c].name));
		cJSON_AddItemToArray(units, cJSON_CreateString(rows->columns[c].unit));
	}
	for (uint64_t i = 0; i < rows->row_count; i++) {
		cJSON *row = cJSON_CreateArray();

		for (uint32_t c = 0; c < rows->column_count; c++)
			cJSON_AddItemToArray(
				row, cJSON_CreateNumber(
					     (double)rows->cells[i * rows->column_count + c]));
		cJSON_AddItemToArray(all, row);
	}
	return json;
}

void plan_rows_json(cJSON *to, const struct plan_phase *p)
{
	const struct plan_told *t = &p->told;
	cJSON *totals, *tables;

	if (t->total_count) {
		totals = cJSON_AddObjectToObject(to, "totals");
		for (uint32_t i = 0; i < t->total_count; i++)
			cJSON_AddNumberToObject(totals, t->totals[i].name, t->totals[i].value);
	}
	if (!t->table_count)
		return;
	tables = cJSON_AddObjectToObject(to, "tables");
	for (uint32_t i = 0; i < t->table_count; i++)
		cJSON_AddItemToObject(tables, t->tables[i].name, table_json(&t->tables[i]));
}

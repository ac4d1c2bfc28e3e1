/* Scaling table as text: a row for each number of nodes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "report/scaling.h"
#include "report/shapes.h"
#include "report/text/table.h"

enum scaling_column {
	SCALING_NODES,
	SCALING_RANKS,
	SCALING_BATCH,
	SCALING_FILES,
	SCALING_SIZE,
	SCALING_AU,
	SCALING_RATE,
	SCALING_NODE,
	SCALING_EFFICIENCY,
	SCALING_CACHED,
	SCALING_SWEEP,
	SCALING_COLUMNS
};

static void scaling_share(char cell[TABLE_CELL_BYTES], const struct stats *s)
{
	double half = (s->high - s->low) / 2;

	if (isfinite(s->mean) && isfinite(half))
		snprintf(cell, TABLE_CELL_BYTES, "%.1f ± %.1f %%", s->mean * 100, half * 100);
	else if (isfinite(s->mean))
		snprintf(cell, TABLE_CELL_BYTES, "%.1f %%", s->mean * 100);
}

static void scaling_count(char cell[TABLE_CELL_BYTES], uint64_t value)
{
	char text[UNITS_TEXT_BYTES];

	if (value)
		snprintf(cell, TABLE_CELL_BYTES, "%s", units_count(text, value));
}

static void scaling_cells(struct table_row *row, const struct report_scaling_row *r)
{
	double half = (r->bytes.high - r->bytes.low) / 2;
	char text[UNITS_TEXT_BYTES];

	for (unsigned c = 0; c < SCALING_COLUMNS; c++)
		strcpy(row->cell[c], TABLE_NOTHING);
	scaling_count(row->cell[SCALING_NODES], r->nodes);
	scaling_count(row->cell[SCALING_RANKS], r->ranks);
	scaling_count(row->cell[SCALING_BATCH], r->global_batch);
	scaling_count(row->cell[SCALING_FILES], r->files);
	if (isfinite(r->data_bytes))
		snprintf(row->cell[SCALING_SIZE], TABLE_CELL_BYTES, "%s",
			 units_bytes_decimal(text, r->data_bytes));
	scaling_share(row->cell[SCALING_AU], &r->au);
	table_figure(row->cell[SCALING_RATE], r->bytes.mean / 1e9);
	if (isfinite(half) && isfinite(r->bytes.mean))
		snprintf(row->cell[SCALING_RATE], TABLE_CELL_BYTES, "%.3g ± %.2g",
			 r->bytes.mean / 1e9, half / 1e9);
	table_figure(row->cell[SCALING_NODE], r->bytes.mean / 1e9 / (double)r->nodes);
	scaling_share(row->cell[SCALING_EFFICIENCY], &r->efficiency);
	if (isfinite(r->cached_share))
		snprintf(row->cell[SCALING_CACHED], TABLE_CELL_BYTES, "%.1f %%",
			 r->cached_share * 100);
	if (r->sweep[0])
		table_cut(row->cell[SCALING_SWEEP], r->sweep, strlen(r->sweep), 24);
}

char *report_scaling_text(const struct results_file *const *files, unsigned count)
{
	static const char *const headings[SCALING_COLUMNS] = {
		"nodes", "ranks",    "batch",      "files",  "data set", "AU",
		"GB/s",  "per node", "efficiency", "cached", "sweep"};
	struct report_scaling s;
	struct table_row *rows = NULL;
	char *text = NULL;
	size_t length;
	FILE *out = NULL;

	if (report_scaling_make(&s, files, count))
		rows = calloc(s.count + 1, sizeof(*rows));
	if (rows)
		out = open_memstream(&text, &length);
	if (out) {
		for (unsigned c = 0; c < SCALING_COLUMNS; c++)
			strcpy(rows[0].cell[c], headings[c]);
		for (uint32_t i = 0; i < s.count; i++)
			scaling_cells(&rows[i + 1], &s.rows[i]);
		if (s.count)
			table_print(out, rows, s.count + 1, SCALING_COLUMNS);
		else
			fputs("no finished phase has a rate of bytes\n", out);
		if (fclose(out) != 0) {
			free(text);
			text = NULL;
		}
	}
	free(rows);
	report_scaling_free(&s);
	return text;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Table of all phases, one row each. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/measure/quantile.h"
#include "core/units.h"
#include "facts/text.h"
#include "report/series.h"
#include "report/shapes.h"
#include "report/text/parts.h"

struct phases_row {
	struct phase_row of;
	char name[PHASE_NAME_BYTES + 32]; /* indented */
	const char *latency; /* of which histogram the percentiles are; "": the heading tells it */
	double gb, items, errors, memory;
};

static void phases_seconds(char cell[TABLE_CELL_BYTES], const void *row)
{
	double seconds = ((const struct phases_row *)row)->of.phase->record.seconds;

	snprintf(cell, TABLE_CELL_BYTES, seconds < 0.95 ? "%.2f" : "%.1f", seconds);
}

static void phases_memory(char cell[TABLE_CELL_BYTES], const void *row)
{
	double memory = ((const struct phases_row *)row)->memory;
	char text[UNITS_TEXT_BYTES];

	if (memory > 0)
		snprintf(cell, TABLE_CELL_BYTES, "%s", units_bytes_binary(text, memory));
}

static struct phases_row phases_row_of(const struct results_file *f,
				       const struct results_phase_read *p, const char *latency)
{
	struct phases_row row = {
		.of = phase_row_of(f, p),
		.latency = *latency ? "" : p->record.main_hist,
		.gb = series_figure_of(p, SERIES_BYTES),
		.items = series_figure_of(p, SERIES_SAMPLES),
		.errors = phase_common(p, TALLY_ERRORS),
		.memory = results_role_value(&p->merged, 0, ROLE_MEMORY),
	};

	snprintf(row.name, sizeof(row.name), "%*s%s", 2 * (int)phase_depth(f, p), "", row.of.name);
	return row;
}

/* The main histogram of all phases that have one, if it is the same for all; else "". */
static const char *phases_latency(const struct results_file *f)
{
	const char *all = "";

	for (uint32_t i = 0; i < f->phase_count; i++) {
		const char *own = f->phases[i].record.main_hist;

		if (*own && *all && strcmp(own, all) != 0)
			return "";
		all = *own ? own : all;
	}
	return all;
}

/* "samples/s", "requests/s"; "items/s" where phases count different things. */
static void table_items(char heading[TABLE_CELL_BYTES], const struct results_file *f)
{
	const char *items = "";

	for (uint32_t i = 0; i < f->phase_count; i++) {
		const char *own = phase_items(&f->phases[i]);

		if (*own && *items && strcmp(own, items) != 0) {
			items = "items";
			break;
		}
		items = *own ? own : items;
	}
	snprintf(heading, TABLE_CELL_BYTES, "%.20s/s", items);
}

static void phases_print(struct page *page, struct phases_row *rows, const char *latency)
{
	const struct results_file *f = page->file;
	char items[TABLE_CELL_BYTES], median[TABLE_CELL_BYTES];
	const struct column columns[] = {
		COLUMN(NAME, struct phases_row, name, NULL, f->runs > 1 ? "run, phase" : "phase"),
		SHOWN("seconds", phases_seconds),
		PHASE_ROLE("AU", UTILISATION, SHARE),
		COLUMN(REAL, struct phases_row, gb, NULL, "GB/s", .format = FORMAT_GIGA),
		COLUMN(REAL, struct phases_row, items, NULL, items),
		COLUMN(TEXT, struct phases_row, latency, NULL, "latency", .width = 12),
		PHASE_MAIN(median, QUANTILE_P50),
		PHASE_MAIN("p99", QUANTILE_P99),
		PHASE_MAIN("p99.9", QUANTILE_P999),
		PHASE_MAIN("max", QUANTILES),
		SHOWN("memory", phases_memory),
		COLUMN(REAL, struct phases_row, errors, NULL, "errors", .format = FORMAT_COUNT),
		COLUMNS_END};
	const struct report_table table = {.columns = columns, TABLE_ROWS(rows, f->phase_count)};
	bool failed = false;

	table_items(items, f);
	snprintf(median, sizeof(median), "%.20s%sp50", latency, *latency ? " " : "");
	/* Where no phase has an error, the column is empty and therefore left out. */
	for (uint32_t i = 0; i < f->phase_count; i++)
		failed = failed || rows[i].errors > 0;
	for (uint32_t i = 0; !failed && i < f->phase_count; i++)
		rows[i].errors = NAN;
	fputc('\n', page->out);
	text_table(page->out, &table);
}

void text_phases(struct page *page)
{
	const struct results_file *f = page->file;
	const char *latency = phases_latency(f);
	struct phases_row *rows;

	if (page_is_long(f)) {
		fprintf(page->out,
			"\nhaul report --csv %s has one row for each of the %u phases.\n", f->path,
			f->phase_count);
		return;
	}
	rows = calloc(f->phase_count + 1, sizeof(*rows));
	if (!rows)
		return;
	for (uint32_t i = 0; i < f->phase_count; i++)
		rows[i] = phases_row_of(f, &f->phases[i], latency);
	phases_print(page, rows, latency);
	free(rows);
}

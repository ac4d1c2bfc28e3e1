/* Table of all phases, one row each. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "report/text/page.h"
#include "report/text/table.h"

enum table_column {
	COL_PHASE,
	COL_SECONDS,
	COL_AU,
	COL_GB,
	COL_ITEMS,
	COL_P50,
	COL_P99,
	COL_P999,
	COL_MAX,
	COL_MEMORY,
	COL_ERRORS,
	COLS
};

static void phases_row(struct table_row *row, const struct results_file *f,
		       const struct results_phase_read *p, const char *latency)
{
	const struct hist *h = results_find_hist(p, latency);
	double au = results_role_value(&p->merged, 0, ROLE_UTILISATION);
	double errors = phase_common(p, TALLY_ERRORS), seconds = p->record.seconds;
	double memory = results_role_value(&p->merged, 0, ROLE_MEMORY);
	char name[PHASE_NAME_BYTES], indented[PHASE_NAME_BYTES + 32], count[UNITS_TEXT_BYTES];

	for (int c = 0; c < COLS; c++)
		strcpy(row->cell[c], TABLE_NOTHING);
	phase_name(f, p, name);
	snprintf(indented, sizeof(indented), "%*s%s", 2 * (int)phase_depth(f, p), "", name);
	table_name(row->cell[COL_PHASE], indented);
	snprintf(row->cell[COL_SECONDS], TABLE_CELL_BYTES, seconds < 0.95 ? "%.2f" : "%.1f",
		 seconds);
	if (!isnan(au))
		snprintf(row->cell[COL_AU], TABLE_CELL_BYTES, "%.1f %%", au * 100);
	table_figure(row->cell[COL_GB], phase_bytes(p) / seconds / 1e9);
	table_figure(row->cell[COL_ITEMS], results_role_value(&p->merged, 0, ROLE_ITEMS) / seconds);
	if (h)
		table_latencies(row, COL_P50, h);
	if (memory > 0)
		snprintf(row->cell[COL_MEMORY], TABLE_CELL_BYTES, "%s",
			 units_bytes_binary(count, memory));
	if (errors > 0)
		snprintf(row->cell[COL_ERRORS], TABLE_CELL_BYTES, "%s",
			 units_count(count, (uint64_t)errors));
}

/* The table shows one kind of latency: that of reads where anything was read, else that of the
 * first phase. */
static void table_latency(const struct results_file *f, char latency[RESULTS_NAME_BYTES])
{
	*latency = '\0';
	for (uint32_t i = 0; i < f->phase_count; i++) {
		const struct results_hist *read =
			results_role_hist(&f->phases[i], ROLE_READ_LATENCY);

		if (read) {
			snprintf(latency, RESULTS_NAME_BYTES, "%s", read->name);
			return;
		}
		if (!*latency)
			snprintf(latency, RESULTS_NAME_BYTES, "%s", f->phases[i].record.main_hist);
	}
}

/* "samples/s", "requests/s"; "items/s" where phases count different things. */
static void table_items(char cell[TABLE_CELL_BYTES], const struct results_file *f)
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
	snprintf(cell, TABLE_CELL_BYTES, "%.20s/s", items);
}

/* Where no phase has an error, the column is empty and therefore left out. */
static void count_no_errors(struct table_row *rows, uint32_t count)
{
	bool any = false;

	for (uint32_t i = 1; i < count; i++)
		any = any || strcmp(rows[i].cell[COL_ERRORS], TABLE_NOTHING) != 0;
	for (uint32_t i = 1; any && i < count; i++)
		if (strcmp(rows[i].cell[COL_ERRORS], TABLE_NOTHING) == 0)
			strcpy(rows[i].cell[COL_ERRORS], "0");
}

void text_phases(const struct page *page)
{
	static const char *const headings[COLS] = {"phase", "seconds", "AU",    "GB/s",
						   "",      "p50",     "p99",   "p99.9",
						   "max",   "memory",  "errors"};
	const struct results_file *f = page->file;
	char latency[RESULTS_NAME_BYTES];
	struct table_row *rows;

	if (text_is_long(f)) {
		fprintf(page->out,
			"\nhaul report --csv %s has one row for each of the %u phases.\n", f->path,
			f->phase_count);
		return;
	}
	rows = calloc(f->phase_count + 1, sizeof(*rows));
	if (!rows)
		return;
	table_latency(f, latency);
	for (int c = 0; c < COLS; c++)
		strcpy(rows[0].cell[c], headings[c]);
	table_items(rows[0].cell[COL_ITEMS], f);
	if (f->runs > 1)
		strcpy(rows[0].cell[COL_PHASE], "run, phase");
	snprintf(rows[0].cell[COL_P50], TABLE_CELL_BYTES, "%.20s%sp50", latency,
		 *latency ? " " : "");
	for (uint32_t i = 0; i < f->phase_count; i++)
		phases_row(&rows[i + 1], f, &f->phases[i], latency);
	count_no_errors(rows, f->phase_count + 1);
	fputc('\n', page->out);
	table_print(page->out, rows, f->phase_count + 1, COLS);
	free(rows);
}

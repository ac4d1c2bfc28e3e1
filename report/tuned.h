/* SPDX-License-Identifier: Apache-2.0 */
/* Which settings a search has found to be the best (haul run --tune): the answer as a sentence, and
 * all settings as a table, the best first, which text, JSON and the page print. For files whose tuned
 * is not NULL. */
#ifndef HAUL_REPORT_TUNED_H
#define HAUL_REPORT_TUNED_H

#include "facts/table.h"
#include "report/series.h"

/* "read: read.threads=16 is the best of 12 settings with 1.05 GB/s, 1.35 times as fast as the job as
 * it is (1.31 to 1.39)", without the full stop. Adds it to text, which has size bytes. */
void tuned_say(char *text, size_t size, const struct results_file *f);

/* The repeats of the best; NULL: there are none. */
const struct series_line *tuned_line(const struct results_file *f, const struct series_lines *s);

/* The facts, for programs; and the settings. The rows are made by tuned_rows, which the caller frees;
 * NULL: no memory. */
extern const struct column tuned_columns[], tuned_setting_columns[];
struct tuned_row {
	const struct tuned *tuned;
	const struct tuned_setting *setting;
};
struct tuned_row *tuned_rows(const struct results_file *f);

/* Cells of a table of these rows: what became of the setting, its figure, and how many times as good
 * the best is. */
void tuned_show_state(char cell[TABLE_CELL_BYTES], const void *row);
void tuned_show_mean(char cell[TABLE_CELL_BYTES], const void *row);
void tuned_show_times(char cell[TABLE_CELL_BYTES], const void *row);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a search has found (haul run --find): the answer as a sentence, and the values that were
 * measured as a table, which text, JSON and the page print. For files whose found is not NULL. */
#ifndef HAUL_REPORT_FOUND_H
#define HAUL_REPORT_FOUND_H

#include "facts/table.h"
#include "report/series.h"

/* "train carries 46 users, 41 to 50, with AU ≥ 90 %; 47 miss it (AU 87.2 %)", without the full
 * stop. Adds it to text, which has size bytes. */
void found_say(char *text, size_t size, const struct results_file *f);

/* The repeats of the value that is the answer, or of the first value where none meets the target;
 * NULL: there are none. */
const struct series_line *found_line(const struct results_file *f, const struct series_lines *s);

/* The facts, for programs; and the curve, by value. The rows of the curve are made by found_rows,
 * which the caller frees; NULL: no memory. */
extern const struct column found_columns[], found_curve_columns[];
struct found_row {
	const struct found *found;
	const struct found_step *step;
};
struct found_row *found_rows(const struct results_file *f);

#endif

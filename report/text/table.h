/* Tables of text: columns line up by the width of what is seen (UTF-8), the first to the left, figures to the right. */
#ifndef HAUL_REPORT_TEXT_TABLE_H
#define HAUL_REPORT_TEXT_TABLE_H

#include <stdint.h>
#include <stdio.h>

#include "core/measure/hist.h"

/* Tables are as wide as a terminal's usual 80 columns where they can be, and never wider than a page's 100. */
enum { TABLE_COLUMNS = 24, TABLE_CELL_BYTES = 48, TABLE_WIDTH = 80, REPORT_COLUMNS = 100 };

#define TABLE_NOTHING "–"

struct table_row {
	char cell[TABLE_COLUMNS][TABLE_CELL_BYTES];
};

/* The rows, the first being the heading. Columns but the first that hold nothing (TABLE_NOTHING) in every row are left
 * out. Three or two spaces stand between columns where that fits 80 columns, else up to three that fit 100. */
void table_print(FILE *out, const struct table_row *rows, unsigned row_count, unsigned columns);

/* Three figures or so, and no unit; TABLE_NOTHING for what is not a number. */
void table_figure(char cell[TABLE_CELL_BYTES], double value);

void table_time(char cell[TABLE_CELL_BYTES], uint64_t ns);

/* Four cells from the first on: p50, p99, p99.9 and the largest. */
void table_latencies(struct table_row *row, unsigned first, const struct hist *h);

/* Cut to 24 columns, or to so many, with an ellipsis. */
void table_name(char cell[TABLE_CELL_BYTES], const char *name);
void table_cut(char cell[TABLE_CELL_BYTES], const char *text, size_t bytes, unsigned columns);

/* Text broken between words, so that no line is wider than REPORT_COLUMNS, indented by first spaces, then
 * by rest. Ends with a newline. */
void text_wrap(FILE *out, const char *text, unsigned first, unsigned rest);

#endif

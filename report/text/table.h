/* Tables of text: columns line up by the width of what is seen (UTF-8), the first to the left, figures
 * to the right. */
#ifndef HAUL_REPORT_TEXT_TABLE_H
#define HAUL_REPORT_TEXT_TABLE_H

#include <stdint.h>
#include <stdio.h>

enum { TABLE_COLUMNS = 16, TABLE_CELL_BYTES = 48, REPORT_COLUMNS = 100 };

struct table_row {
	char cell[TABLE_COLUMNS][TABLE_CELL_BYTES];
};

/* The rows, the first being the heading, with as much space between columns, up to three, as fits
 * REPORT_COLUMNS. */
void table_print(FILE *out, const struct table_row *rows, unsigned row_count, unsigned columns);

/* Three figures or so, and no unit; a dash for what is no number. */
void table_figure(char cell[TABLE_CELL_BYTES], double value);

void table_time(char cell[TABLE_CELL_BYTES], uint64_t ns);

/* Cut to 24 columns, with an ellipsis. */
void table_name(char cell[TABLE_CELL_BYTES], const char *name);

/* How many columns of a terminal UTF-8 text takes. */
unsigned text_width(const char *text);

/* Text broken between words, so that no line is wider than REPORT_COLUMNS, indented by first spaces, then
 * by rest. Ends with a newline. */
void text_wrap(FILE *out, const char *text, unsigned first, unsigned rest);

#endif

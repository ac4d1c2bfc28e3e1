/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of text: columns are aligned by their visible width (UTF-8), the first to the left,
 * figures to the right. */
#ifndef HAUL_FACTS_TEXT_H
#define HAUL_FACTS_TEXT_H

#include <stdio.h>

#include "facts/table.h"

/* Tables are as wide as a terminal's usual 80 columns where that is possible, and never wider than
 * a page's 100. */
enum { TABLE_WIDTH = 80, REPORT_COLUMNS = 100 };

#define TABLE_NOTHING "–"

struct table_row {
	char cell[TABLE_COLUMNS][TABLE_CELL_BYTES];
};

/* A table with aligned columns, of which those that have nothing are left out. */
void text_table(FILE *out, const struct report_table *t);

/* A text that is broken between words so that no line is wider than a page, with its first line
 * indented by first spaces, the others by rest. */
void text_wrap(FILE *out, const char *text, unsigned first, unsigned rest);

/* Prints what the columns of a line tell of the row, with " · " between them. What is not a number
 * is left out. */
void text_words(FILE *out, const char *line, const struct column *columns, const void *row);

/* Prints rows, of which the first is the heading. Columns other than the first that hold nothing
 * (TABLE_NOTHING) in every row are left out. Columns are separated by three or two spaces where
 * that fits 80 columns, else by up to three that fit 100. */
void table_print(FILE *out, const struct table_row *rows, unsigned row_count, unsigned columns);

/* About three digits without a unit; TABLE_NOTHING for what is not a number. */
void table_figure(char cell[TABLE_CELL_BYTES], double value);

/* The value as its format shows it. */
void table_number(char cell[TABLE_CELL_BYTES], enum column_format format, double value);

/* Cuts the name to 24 columns, or to the given number, with an ellipsis. */
void table_name(char cell[TABLE_CELL_BYTES], const char *name);
void table_cut(char cell[TABLE_CELL_BYTES], const char *text, size_t bytes, unsigned columns);

#endif

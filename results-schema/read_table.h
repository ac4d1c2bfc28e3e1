/* SPDX-License-Identifier: Apache-2.0 */
/* Reading tables: compound data sets of whole numbers and reals, with units and roles. */
#ifndef HAUL_RESULTS_SCHEMA_READ_TABLE_H
#define HAUL_RESULTS_SCHEMA_READ_TABLE_H

#include "results-schema/h5_reader.h"
#include "results-schema/results_read.h"

/* Reads the columns that are chosen; NULL: all. Refuses more rows. */
typedef bool (*column_choice)(const struct results_column *column);
void read_table(struct h5_reader *r, const char *name, uint64_t rows_max, column_choice choice,
		struct results_table *table);

/* Reads the attributes that the group's attribute "columns" names, as a table of one row. */
void read_headline_row(struct h5_reader *r, struct results_table *table);

void read_table_free(struct results_table *table);
uint64_t read_table_bytes(const struct results_table *table);

#endif

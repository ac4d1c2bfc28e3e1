/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a phase, as the file has them. */
#ifndef HAUL_RESULTS_SCHEMA_PHASE_TABLES_H
#define HAUL_RESULTS_SCHEMA_PHASE_TABLES_H

#include <stdbool.h>

#include "results-schema/merge.h"
#include "results-schema/rows.h"

/* Rank 0: those that have rows, with what is merged over ranks. */
void phase_write_tables(struct h5_writer *w, const struct merged *m);

/* A table of numbered rows alone is a data set of its name; any other is a group of that name, with
 * the data set "rows" and others. */
bool phase_table_is_group(const struct table_kind *kind);
void phase_table_shape(const struct table_kind *kind, struct row_shape *shape);
/* The table's rows as the file has them, from words as struct merged_table holds them. The caller
 * frees. NULL: no memory. */
uint64_t *phase_table_rows(const struct merged_table *t, const uint64_t *words);

#endif

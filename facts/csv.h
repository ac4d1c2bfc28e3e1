/* SPDX-License-Identifier: Apache-2.0 */
/* Printer of tables as CSV. Any thread. */
#ifndef HAUL_FACTS_CSV_H
#define HAUL_FACTS_CSV_H

#include <stdio.h>

#include "facts/table.h"

/* A line per row, which begins with the columns of an outer row, if there is one; before them
 * their keys, unless they have been printed. Lists of values have no column. */
void csv_table(FILE *out, bool headed, const struct column *outer, const void *outer_row,
	       const struct report_table *t);

#endif

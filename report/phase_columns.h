/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of a phase: each figure that a table of phases shows is a row of one list, and all
 * outputs read it: the text's table of phases, an object of JSON, a line of CSV, and the page's
 * table. Their order is that of CSV, to whose end columns are added. Constants only. */
#ifndef HAUL_REPORT_PHASE_COLUMNS_H
#define HAUL_REPORT_PHASE_COLUMNS_H

#include "facts/table.h"

/* Of struct results_file: what stands before the columns of its phases, or of its answer. */
extern const struct column report_file_columns[];

/* Of struct phase_row. The tables are about the file. */
extern const struct column phase_columns[];

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Totals and tables that workloads report for a plan, as text and as JSON. */
#ifndef HAUL_PLAN_ROWS_H
#define HAUL_PLAN_ROWS_H

#include <stdio.h>

#include "facts/table.h"
#include "plan/plan.h"

struct cJSON;

/* Figures of a phase in a plan, columns of struct plan_phase: JSON has those with a key, and a line
 * of text those with words. What a phase asks of storage is in a list of its own. */
extern const struct column plan_phase_columns[], plan_demand_columns[];

/* Prints a line with the totals; then, for each table, a heading and the first PLAN_ROWS_SHOWN of
 * its distinct rows, each with its number of occurrences. Prints nothing where the phase reports
 * nothing. */
enum { PLAN_ROWS_SHOWN = 12 };
void plan_rows_text(FILE *out, const struct plan_phase *p);

/* Adds "totals": {name: value} and "tables": {name: {"columns": [...], "units": [...], "rows":
 * [[...]]}}. */
void plan_rows_json(struct cJSON *to, const struct plan_phase *p);

#endif

/* What workloads tell in a plan, as text and as JSON. */
#ifndef HAUL_PLAN_ROWS_H
#define HAUL_PLAN_ROWS_H

#include <stdio.h>

#include "plan/plan.h"

struct cJSON;

/* A line of the totals; of each table a heading and its distinct rows, each with how often it occurs, the first
 * PLAN_ROWS_SHOWN of them. Nothing where the phase tells nothing. */
enum { PLAN_ROWS_SHOWN = 12 };
void plan_rows_text(FILE *out, const struct plan_phase *p);

/* Adds "totals": {name: value} and "tables": {name: {"columns": [...], "units": [...], "rows": [[...]]}}. */
void plan_rows_json(struct cJSON *to, const struct plan_phase *p);

#endif

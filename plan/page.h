/* SPDX-License-Identifier: Apache-2.0 */
/* Data of the page of haul plan --html: what a job asks for on several numbers of nodes, in one
 * object of JSON. Its figures are those of haul plan --json for each of these numbers, and for all
 * of them; docs/internals/page.md has the keys.
 *
 * Begin a page, then a part for each combination of the sweeps' values. A part takes the plan of
 * each number of nodes, or the sentence with which the job refuses that number, and at last the
 * table. Where there is no memory, an object is NULL, and adding to it does nothing. Plain data,
 * any thread. */
#ifndef HAUL_PLAN_PAGE_H
#define HAUL_PLAN_PAGE_H

#include "plan/scaling.h"

/* A page of more combinations would have no room for them, and their plans take memory until it is
 * written. */
enum { PLAN_PAGE_COMBINATIONS_MAX = 64 };

struct cJSON;

/* The caller owns the page, and the page its parts. */
struct cJSON *plan_page_begin(const struct scaling_limits *limits);

/* sweep: what the sweeps set, "" if there are none. */
struct cJSON *plan_page_part(struct cJSON *page, const char *sweep);

/* Plans come in the order of their numbers of nodes. */
void plan_page_add(struct cJSON *part, const struct plan *plan, const struct job *job);
void plan_page_refuse(struct cJSON *part, uint32_t nodes, const char *why);

/* rows: of all plans of the part, in their order. */
void plan_page_table(struct cJSON *part, const struct scaling_row *rows, uint32_t count,
		     const struct scaling_limits *limits, double target);

#endif

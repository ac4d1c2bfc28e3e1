/* Data of the page of a plan: what haul plan has gathered, cut to what a page has room for. */
#ifndef HAUL_REPORT_HTML_PLAN_H
#define HAUL_REPORT_HTML_PLAN_H

struct cJSON;

/* Room for all combinations, in bytes of JSON, and the most rows of a list in a phase. */
enum { PLAN_DATA_BYTES = 2 << 20, PLAN_DATA_ROWS = 64 };

/* An object whose key "plan" has the given one, which belongs to it. Once the room is used up, combinations keep only their
 * tables ("brief"), or are left out and counted ("combinations_left_out"). NULL: no memory. */
struct cJSON *page_plan(struct cJSON *plan);

#endif

/* Shapes of a report: text for people, JSON and CSV for programs. Each is written by a folder or
 * file of its own; report.c chooses. */
#ifndef HAUL_REPORT_SHAPES_H
#define HAUL_REPORT_SHAPES_H

#include <stdbool.h>
#include <stdint.h>

#include "results-schema/results_read.h"

struct report_options {
	bool color; /* terminal colours, in text */
	/* In JSON, the most rows of single steps, of ranks or nodes, and over time; 0: REPORT_ROWS. */
	uint32_t steps_rows, unit_rows, time_rows;
};
enum { REPORT_ROWS = 256 };

/* The report of one loaded file, or of several. The caller frees the text. NULL: no memory. The
 * CSV's heading is a line of its own. */
char *report_text(const struct results_file *file, const struct report_options *o);
char *report_json(const struct results_file *const *files, unsigned count,
		  const struct report_options *o);
char *report_csv(const struct results_file *file);
const char *report_csv_heading(void);
/* One page of HTML with all of it, for a browser; compare: there is room for the comparison in any case. The caller frees the
 * text. NULL: no memory. */
char *report_html(const struct results_file *const *files, unsigned count, bool compare);
/* The page of a plan: plan is what haul plan has gathered for it (docs/internals/page.md), and belongs to the page from then on.
 * The caller frees the text. NULL: no memory. */
struct cJSON;
char *report_html_plan(struct cJSON *plan);
/* The scaling table of several files (scaling.h). The caller frees the text. NULL: no memory. */
char *report_scaling_text(const struct results_file *const *files, unsigned count);
char *report_scaling_json(const struct results_file *const *files, unsigned count);
/* A comparison (compare.h). The caller frees the text. NULL: no memory. */
struct compare;
char *report_compare_text(const struct compare *c);
char *report_compare_json(const struct compare *c);
/* The listing of a folder (listing.h). The caller frees the text. NULL: no memory. */
struct listing;
char *report_listing_text(const struct listing *l);
char *report_listing_json(const struct listing *l);
/* The outcome of an acceptance (accept.h). The caller frees the text. NULL: no memory. */
struct accept;
char *report_accept_text(const struct accept *a);
char *report_accept_json(const struct accept *a);

#endif

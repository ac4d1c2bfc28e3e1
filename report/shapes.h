/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of a report: text for people, JSON and CSV for programs. Each is written by a folder or
 * file of its own; report.c chooses. */
#ifndef HAUL_REPORT_SHAPES_H
#define HAUL_REPORT_SHAPES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/rule/class.h"
#include "facts/document.h"
#include "results-schema/results_read.h"

struct report_options {
	bool color; /* terminal colours, in text */
	/* In JSON, the most rows of single steps, of ranks or nodes, and over time; 0:
	 * REPORT_ROWS. */
	uint32_t steps_rows, unit_rows, time_rows;
	/* The classes of the job that a file keeps (core/rule/class.h); returns how many. NULL:
	 * they are not told. */
	uint32_t (*classes)(struct workload_class out[CLASSES_MAX], const struct results_file *f);
};
enum { REPORT_ROWS = 256 };

/* The report of one loaded file, or of several. The caller frees the text. NULL: no memory. */
char *report_text(const struct results_file *file, const struct report_options *o);
char *report_json(const struct results_file *const *files, unsigned count,
		  const struct report_options *o);
char *report_csv(const struct results_file *const *files, unsigned count);
/* One page of HTML with all of it, for a browser; compare: there is room for the comparison in any
 * case. The caller frees the text. NULL: no memory. */
char *report_html(const struct results_file *const *files, unsigned count, bool compare);
/* The page of a plan: plan is what haul plan has gathered for it (docs/internals/page.md), and
 * belongs to the page from then on. The caller frees the text. NULL: no memory. */
struct cJSON;
char *report_html_plan(struct cJSON *plan);

#endif

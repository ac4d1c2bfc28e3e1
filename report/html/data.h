/* SPDX-License-Identifier: Apache-2.0 */
/* Data of a page: what haul report --json, --scaling --json and haul compare --json print of these
 * files, in one object, and no figure beside those. docs/internals/page.md has its keys.
 *
 * A page is bounded, whatever the files hold: once its room is used up, phases are brief or left
 * out, and long lists are cut. The data tell what was left out. */
#ifndef HAUL_REPORT_HTML_DATA_H
#define HAUL_REPORT_HTML_DATA_H

#include <stdbool.h>
#include <stddef.h>

#include "results-schema/results_read.h"

/* What stands before and after the data in a page: template, styles, scripts and the library that
 * draws. The build makes both from the files of this folder (cmake/EmbedPage.cmake). They have no
 * zero byte at their end. */

extern const unsigned char page_before[], page_after[];
extern const size_t page_before_bytes, page_after_bytes;

struct cJSON;

/* Room for the parts of the data, in bytes of JSON; and the most rows of lists in a phase, and of
 * lists of a file. */
enum {
	DATA_WHOLE_BYTES = 900 << 10,  /* of phases with all details */
	DATA_BRIEF_BYTES = 1000 << 10, /* of the others */
	DATA_FILES_BYTES = 300 << 10,  /* of jobs, hosts, stores and series */
	DATA_SIDES_BYTES = 300 << 10,  /* of a comparison */
	DATA_ROWS = 64,
	DATA_FILE_ROWS = 256
};

/* compare: the page is about the comparison, for which there is room in any case. The caller owns
 * the data. NULL: no memory. */
struct cJSON *page_data(const struct results_file *const *files, unsigned count, bool compare);

/* Room for all combinations, in bytes of JSON, and the most rows of a list in a phase. */
enum { PLAN_DATA_BYTES = 2 << 20, PLAN_DATA_ROWS = 64 };

/* An object whose key "plan" has the given one, which belongs to it. Once the room is used up,
 * combinations keep only their tables ("brief"), or are left out and counted
 * ("combinations_left_out"). NULL: no memory. */
struct cJSON *page_plan(struct cJSON *plan);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a storage is good for (haul assess): the answer as a sentence, and its ceilings and workloads as
 * tables, which text, JSON and the page print. For files whose assessed is not NULL. */
#ifndef HAUL_REPORT_ASSESSED_H
#define HAUL_REPORT_ASSESSED_H

#include "facts/table.h"
#include "report/series.h"

/* "sim://x reads 9.63 GB/s and writes 9.79 GB/s; it carries 3 accelerators of unet3d_h100, …", of
 * the first trainings of which it carries any, without the full stop. Adds it to text, which has size bytes. */
void assessed_say(char *text, size_t size, const struct results_file *f);

/* The phase that measured streams; NULL: there is none. */
const struct series_line *assessed_line(const struct results_file *f, const struct series_lines *s);

/* The ceilings as people read them. */
struct assessed_ceiling {
	const char *name, *label, *unit; /* name: for programs */
	double value;
	const char *settings; /* that were searched for; "": none were */
};
enum { ASSESSED_CEILINGS_MAX = 16 };
unsigned assessed_ceilings(const struct assessed *a,
			   struct assessed_ceiling out[ASSESSED_CEILINGS_MAX]);
extern const struct column assessed_ceiling_columns[];

/* Users whose number is not known, but a bound of it. */
bool assessed_bounded(const struct assessed_workload *w);

/* What would raise the limit of a workload; NULL: it is not known. */
const char *assessed_remedy(const void *row);

/* The facts, for programs; and the workloads, whose rows are those of the file. */
extern const struct column assessed_columns[], assessed_workload_columns[];

#endif

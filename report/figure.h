/* SPDX-License-Identifier: Apache-2.0 */
/* The figures that outputs show of a phase: what each is called where, what it counts, over which
 * time, and of which ranks. Text, page, CSV, JSON and /summary take them from one place (series.h,
 * and the merged row of results.h5); docs/figures.md is made from this table, and the test
 * system_figures compares all outputs by it. Constants only. */
#ifndef HAUL_REPORT_FIGURE_H
#define HAUL_REPORT_FIGURE_H

struct shown_figure {
	const char *name;
	const char *text;    /* its heading in the text; "": it is not there */
	const char *json;    /* its key in a phase, with its object before a point */
	const char *csv;     /* its column */
	const char *summary; /* its member in /summary */
	const char *counts, *time, *ranks;
};
/* Ends with a row without a name. */
extern const struct shown_figure shown_figures[];

#endif

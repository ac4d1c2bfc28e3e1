/* SPDX-License-Identifier: Apache-2.0 */
/* What MLPerf's key-value cache benchmark would report of a phase, beside what all entries of all
 * ranks say; and its criteria, which are no part of its score. */
#ifndef HAUL_REPORT_CACHE_H
#define HAUL_REPORT_CACHE_H

#include <stdbool.h>

#include "results-schema/results_read.h"

/* A figure under the name that it has there. */
struct cache_figure {
	const char *name, *unit; /* the unit of both values */
	double mlperf;           /* counted as MLPerf does */
	double haul;             /* the same of all ranks together; NaN: that has no meaning */
	const char *note;        /* what the difference is */
};

/* One of its criteria. */
struct cache_criterion {
	const char *name, *unit; /* "ns" or "fraction" */
	double asked, found;
	bool most;   /* found must be below what is asked, else above */
	bool device; /* the part of an entry's time was judged that is the store's */
	bool met;
};

enum { CACHE_FIGURES = 8, CACHE_CRITERIA = 4 };

bool cache_is(const struct results_phase_read *p);
/* Both return how many there are; what is not known is left out. Without I/O, as in a trace,
 * nothing is judged. */
unsigned cache_figures(const struct results_phase_read *p, struct cache_figure out[CACHE_FIGURES]);
unsigned cache_criteria(const struct results_phase_read *p,
			struct cache_criterion out[CACHE_CRITERIA]);

#endif

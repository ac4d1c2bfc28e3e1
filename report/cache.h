/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of caches: of servers (profile serving), their first tokens; of the other ones, what MLPerf's key-value cache benchmark would report of a phase, beside what all entries of all
 * ranks say; and its criteria, which are no part of its score. */
#ifndef HAUL_REPORT_CACHE_H
#define HAUL_REPORT_CACHE_H

#include <stdbool.h>

#include "core/claim.h"
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
	bool most;         /* found must be below what is asked, else above */
	bool device;       /* the part of an entry's time was judged that is the store's */
	bool reached, met; /* by figures that are void, it is reached and not met */
	enum claim_state state;
};

enum { CACHE_FIGURES = 8, CACHE_CRITERIA = 4 };

bool cache_is(const struct results_phase_read *p);
/* It serves prompts block by block, and has first tokens. MLPerf's benchmark has none of that. */
bool cache_serves(const struct results_phase_read *p);

/* A part of the time to the first token, over the requests that have it. */
struct cache_part {
	const char *name, *label; /* of its histogram, and for people */
	uint64_t count;
	double p50_ns, p95_ns, p99_ns;
};
/* What a server found and saved. */
struct cache_fact {
	const char *name, *label, *unit;
	double value; /* NaN: it is not known */
};
enum { CACHE_PARTS = 6, CACHE_FACTS = 10 };
unsigned cache_parts(const struct results_phase_read *p, struct cache_part out[CACHE_PARTS]);
unsigned cache_facts(const struct results_phase_read *p, struct cache_fact out[CACHE_FACTS]);

/* Both return how many there are; what is not known is left out. Without I/O, as in a trace,
 * nothing is judged. */
unsigned cache_figures(const struct results_phase_read *p, struct cache_figure out[CACHE_FIGURES]);
unsigned cache_criteria(const struct results_phase_read *p, bool voided,
			struct cache_criterion out[CACHE_CRITERIA]);

#endif

/* What phases that run at the same time cost each other: each against the same phase by itself, on
 * the same ranks, where the job asked for that ("alone"). */
#ifndef HAUL_REPORT_TOGETHER_H
#define HAUL_REPORT_TOGETHER_H

#include <stdbool.h>

#include "results-schema/results_read.h"

/* A figure of the phase, and of the phase by itself. NaN where there is none. */
struct together_figure {
	double beside, alone;
};
struct together_price {
	const struct results_phase_read *alone;
	struct together_figure bytes_per_second, au;
};

/* Whether the phase ran at the same time as others. */
bool together_is(const struct results_phase_read *p);

/* Returns false where the phase did not run beside others, or not by itself, too. */
bool together_price_of(const struct results_file *f, const struct results_phase_read *p,
		       struct together_price *price);

#endif

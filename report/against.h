/* SPDX-License-Identifier: Apache-2.0 */
/* A phase against others of its file: a training against plain reads from its store; phases that
 * run at the same time each against the same phase by itself, on the same ranks, where the job
 * asked for that ("alone"). */
#ifndef HAUL_REPORT_AGAINST_H
#define HAUL_REPORT_AGAINST_H

#include <stdbool.h>

#include "results-schema/results_read.h"

/* Whether it is a phase of plain I/O: one with two rates, until the first and until the last thread
 * was done. */
bool plain_io(const struct results_phase_read *p);

/* The highest rate of plain reads from a phase's store in the same run of this file, and the share
 * of it that the phase reached. */
struct ceiling {
	const struct results_phase_read *phase; /* the phase that shows it */
	double bytes_per_second, share;
};

/* Returns false where the phase has no AU, or no phase of plain reads exists. */
bool plain_io_ceiling(const struct results_file *file, const struct results_phase_read *p,
		      struct ceiling *c);

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

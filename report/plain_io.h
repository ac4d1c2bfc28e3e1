/* Phases of plain I/O: those with two rates, until the first and until the last thread was done;
 * and what they show about a training on the same store. */
#ifndef HAUL_REPORT_PLAIN_IO_H
#define HAUL_REPORT_PLAIN_IO_H

#include <stdbool.h>

#include "results-schema/results_read.h"

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

#endif

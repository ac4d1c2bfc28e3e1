/* Phases of plain I/O in the report: a table of their own, since they have two rates, and what they say
 * beside a training on the same store. */
#ifndef HAUL_REPORT_TEXT_PLAIN_IO_H
#define HAUL_REPORT_TEXT_PLAIN_IO_H

#include <stdio.h>

#include "results-schema/results_read.h"

/* The most that plain reads took from a phase's store in the same run of this file, and the share of
 * it that the phase took. */
struct ceiling {
	const struct results_phase_read *phase; /* that tells */
	double bytes_per_second, share;
};

/* False where the phase has no AU, or no phase tells. */
bool plain_io_ceiling(const struct results_file *file, const struct results_phase_read *p,
		      struct ceiling *c);

/* That as a sentence; nothing where there is none. */
void plain_io_sentence(const struct results_file *file, const struct results_phase_read *p,
		       char *text, size_t size);

/* A row a phase of plain I/O; nothing where there is none. */
void plain_io_print(FILE *out, const struct results_file *file);

#endif

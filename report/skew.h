/* SPDX-License-Identifier: Apache-2.0 */
/* Skew over ranks: the ranks that hold the others up, which are one rank or the ranks of one node
 * that stand out. */
#ifndef HAUL_REPORT_SKEW_H
#define HAUL_REPORT_SKEW_H

#include <stdbool.h>

#include "results-schema/results_read.h"

enum { SKEW_TEXT_BYTES = 128 };

/* In a phase whose ranks wait for each other: the ranks that wait far less than the others. In a
 * phase whose ranks work independently: those that are done far later. "rank 3 on node7", "4 ranks
 * on node7". Returns false where no rank stands out. */
bool skew_of(const struct results_file *f, const struct results_phase_read *p,
	     char who[SKEW_TEXT_BYTES]);

/* For a phase whose ranks work independently: when half of the ranks were done, and when the last
 * one was. */
bool skew_done(const struct results_phase_read *p, double *median_ns, double *last_ns);

#endif

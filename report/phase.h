/* Common facts of a phase, whatever its kind. */
#ifndef HAUL_REPORT_PHASE_H
#define HAUL_REPORT_PHASE_H

#include <stdbool.h>

#include "results-schema/results_read.h"

/* One of the measures that every workload begins with; NaN where the file has none. */
double phase_common(const struct results_phase_read *p, enum tally_common measure);

/* Bytes read and written together. */
double phase_bytes(const struct results_phase_read *p);

/* What a phase counts ("samples", "requests"), or "" where it counts nothing of the kind. */
const char *phase_items(const struct results_phase_read *p);

/* The number of phases around this one: 0, 1 … */
unsigned phase_depth(const struct results_file *f, const struct results_phase_read *p);

/* The name of a phase. In a series the number of its run precedes it: "3 train", "1 train,
 * warm-up". "train, alone" ran by itself, to compare. */
enum { PHASE_NAME_BYTES = RESULTS_NAME_BYTES + 40 };
void phase_name(const struct results_file *f, const struct results_phase_read *p,
		char name[PHASE_NAME_BYTES]);

#endif

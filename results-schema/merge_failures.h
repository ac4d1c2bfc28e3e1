/* The first failures of a phase, from the ranks that met them to rank 0. */
#ifndef HAUL_RESULTS_SCHEMA_MERGE_FAILURES_H
#define HAUL_RESULTS_SCHEMA_MERGE_FAILURES_H

#include "results-schema/merge.h"

enum { MERGED_FAILURES_MAX = 1024 };

/* Collective. Fills m's failure_count and failure_rows everywhere, failures on rank 0. Of more than
 * MERGED_FAILURES_MAX each rank gives an equal part, the first it met. */
int merge_failures(struct merged *m, const struct tally *t, struct group *group, struct err *err);

#endif

/* The endpoints of a phase's stores, merged over all ranks. */
#ifndef HAUL_RESULTS_SCHEMA_MERGE_ENDPOINTS_H
#define HAUL_RESULTS_SCHEMA_MERGE_ENDPOINTS_H

#include "results-schema/merge.h"

/* Collective. Fills endpoint_count and endpoints. Rows are those of rank 0, which uses every store that
 * a phase has; the same outcome on every rank. */
int merge_endpoints(struct merged *m, const struct tally *t, struct group *group, struct err *err);

#endif

/* `haul clean` for the objects of io phases: removes exactly what the description in a phase's folder says that haul
 * made there, whatever run and number of ranks left it. Objects of another size than they were given stay and are
 * counted; while there are any, so does the description. Without a description nothing is touched. */
#ifndef HAUL_WORKLOADS_IO_CLEAN_H
#define HAUL_WORKLOADS_IO_CLEAN_H

#include "workloads/workload.h"

/* The folders of all io phases of the job. 0 also where there is no description, or the store keeps nothing. */
int io_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err);

#endif

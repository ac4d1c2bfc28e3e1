/* The phase "generate": makes a data set, in parallel, resumable, the same bytes for any number of
 * ranks and threads. */
#ifndef HAUL_WORKLOADS_GENERATE_GENERATE_H
#define HAUL_WORKLOADS_GENERATE_GENERATE_H

#include "workloads/workload.h"

struct generate_options {
	char dataset[JOB_NAME_BYTES]; /* "": the job's one */
	uint64_t threads, fillers;    /* of a rank */
};

extern const struct workload generate_workload;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Output: the results of a simulation in a file as a run's, which says that it was simulated. */
#ifndef HAUL_SIMULATE_OUTPUT_H
#define HAUL_SIMULATE_OUTPUT_H

#include "simulate/job.h"

struct simulate_output {
	const char *path, *version, *build, *command_line;
	const char *storage; /* what the storage was taken to be */
	const char *cores;   /* said of phases that read, where cores may be the limit; "" */
	bool force;
};

/* Writes all seeds of the case: a seed is a repeat of the job. */
int simulate_write(const struct simulate_output *o, const struct simulate_case *c, struct err *err);

#endif

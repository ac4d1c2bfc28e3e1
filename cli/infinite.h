/* SPDX-License-Identifier: Apache-2.0 */
/* AU on infinite storage: the part of the verb "validate" that runs, under mpiexec. */
#ifndef HAUL_CLI_INFINITE_H
#define HAUL_CLI_INFINITE_H

#include "cli/cli.h"
#include "report/shapes.h"

struct infinite_args {
	const char *results; /* NULL: they are removed */
	double seconds;      /* of each workload */
	enum report_shape shape;
};

/* Trains on null:// with the workloads of all ready jobs "mlperf_…" that train, one after the other,
 * and prints the AU of each. Returns the exit status: EXIT_TARGET_MISSED where one misses it. */
int infinite_measure(const struct call *call, const struct infinite_args *args);

#endif

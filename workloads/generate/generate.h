/* SPDX-License-Identifier: Apache-2.0 */
/* The phase "generate": makes a data set, in parallel, resumable, the same bytes for any number of
 * ranks and threads. */
#ifndef HAUL_WORKLOADS_GENERATE_GENERATE_H
#define HAUL_WORKLOADS_GENERATE_GENERATE_H

#include "workloads/workload.h"

extern const struct workload generate_workload;

#endif

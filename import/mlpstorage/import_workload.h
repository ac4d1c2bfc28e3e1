/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads of an edition (mlperf/editions.h) as haul jobs: what import mlpstorage changes, and what
 * a job that is checked is compared with. */
#ifndef HAUL_IMPORT_MLPSTORAGE_IMPORT_WORKLOAD_H
#define HAUL_IMPORT_MLPSTORAGE_IMPORT_WORKLOAD_H

#include "import/import.h"
#include "mlperf/editions.h"

/* A training or a checkpointing, with overrides of DLIO's keys. accelerator: NULL: the workload has
 * none. generates: the job makes the data set. The caller calls import_free, whatever is
 * returned. */
struct import_changes {
	const char *accelerator;
	bool generates;
	const char *const *overrides;
	unsigned count;
};
int import_workload(struct import *out, const struct edition_workload *w,
		    const struct import_changes *changes, struct err *err);

/* The options of a benchmark of caches, in one job. folder: NULL: the benchmark's own. */
int import_cache_options(struct import *out, const struct edition_workload *benchmark,
			 const char *folder, struct err *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Size of data set that MLPerf Storage requires for a number of nodes, their memory and
 * accelerators. This is what `mlpstorage datasize` answers, but rounded up to whole files where
 * that rounds down. Pure functions, any thread. */
#ifndef HAUL_PLAN_DATASIZE_H
#define HAUL_PLAN_DATASIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

enum { DATASIZE_FOLDER_FILES = 10000 /* per folder, as mlpstorage advises */ };

struct datasize {
	uint64_t files; /* required: the larger of the two below */
	uint64_t files_steps,
		files_memory; /* for the steps; for the memory, 0 where it is unknown */
	double bytes;         /* of that many files */
	uint64_t inodes;
	uint64_t has;                       /* files that the data set has */
	uint64_t folders, files_per_folder; /* of the data set as it is; 0: its names decide */
	uint64_t advised_folders;           /* for the required files; 0: one folder is enough */
	const struct job_dataset *dataset;
	const struct job_store *store;
};

/* Computes the size that plan->sizes ask for, of a phase that trains on files which may be cached;
 * returns false for other phases, and where no rules were told. */
bool datasize_of(const struct plan *plan, const struct job *job, const struct plan_phase *phase,
		 struct datasize *out);

#endif

/* How large a data set MLPerf Storage wants for so many nodes, their memory and accelerators: what
 * `mlpstorage datasize` answers, but rounded up to whole files where that rounds down. Pure functions, any
 * thread. */
#ifndef HAUL_PLAN_DATASIZE_H
#define HAUL_PLAN_DATASIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

enum {
	DATASIZE_STEPS = 500,         /* an epoch, at least */
	DATASIZE_MEMORY = 5,          /* times the memory of all nodes */
	DATASIZE_FOLDER_FILES = 10000 /* a folder, as mlpstorage advises */
};

struct datasize {
	uint64_t files; /* needed: the more of the two */
	uint64_t files_steps,
		files_memory; /* for the steps; for the memory, 0 where it is not known */
	double bytes;         /* of so many files */
	uint64_t inodes;
	uint64_t has;                       /* files of the data set */
	uint64_t folders, files_per_folder; /* as the data set is; 0: its names say it */
	uint64_t advised_folders;           /* for the files needed; 0: one will do */
	const struct job_dataset *dataset;
	const struct job_store *store;
};

/* Of a phase that trains on files which may be cached; false for others. memory: bytes of a node, 0: not
 * known. */
bool datasize_of(const struct plan *plan, const struct job *job, const struct plan_phase *phase,
		 struct datasize *out);

#endif

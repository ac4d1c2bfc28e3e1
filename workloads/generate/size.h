/* SPDX-License-Identifier: Apache-2.0 */
/* What making a data set needs of the machine, for the plan and for the phase itself. */
#ifndef HAUL_WORKLOADS_GENERATE_SIZE_H
#define HAUL_WORKLOADS_GENERATE_SIZE_H

#include "workloads/common/meter.h"
#include "workloads/dataset/dataset.h"
#include "workloads/generate/columns.h"
#include "workloads/workload.h"

struct generate_options {
	char dataset[JOB_NAME_BYTES]; /* "": the job's one */
	uint64_t threads, fillers;    /* of a rank */
};

/* Hooks of the workload. */
int generate_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		   struct err *err);
int generate_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		  uint32_t ranks_per_node, struct demand *out, struct err *err);
int generate_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		    struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err);

/* The data set of the phase, and its store. Refuses one that exists without haul. */
int generate_dataset(const struct job *job, const struct job_phase *phase,
		     const struct job_store **store, struct dataset *d, struct err *err);

/* What a thread writes with. */
struct generate_buffers {
	uint64_t bytes; /* of each buffer */
	uint32_t count, depth;
	bool filled; /* files are so large that fillers can make their bytes ahead */
};

/* part: of an object of unknown length. */
struct generate_buffers generate_buffers(const struct generate_options *o, const struct dataset *d,
					 const struct backend_ops *ops, uint64_t part,
					 uint32_t depth);

/* Bytes of a write, where the store wants parts of that size. */
uint64_t generate_piece(const struct backend_ops *ops, uint64_t part);

/* Where the phase counts its requests. */
extern const struct meter_layout generate_meter;

#endif

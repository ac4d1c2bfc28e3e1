/* SPDX-License-Identifier: Apache-2.0 */
/* The data set and the store that a phase names. Plain look-ups in the job; any thread. */
#ifndef HAUL_WORKLOADS_DATASET_FIND_H
#define HAUL_WORKLOADS_DATASET_FIND_H

#include "core/job/job.h"
#include "workloads/dataset/dataset.h"

/* dataset: a name, or "" for the job's only data set. *s is the phase's store, else the data set's,
 * else the job's only one. -EINVAL with the phase's path. */
int dataset_find(const struct job *job, const struct job_phase *phase, const char *dataset,
		 const struct job_dataset **d, const struct job_store **s, struct err *err);

/* The same, and the data set made ready (dataset_init). path: filled in with the data set's JSON
 * path. */
enum { DATASET_PATH_BYTES = JOB_NAME_BYTES + 16 };
int dataset_find_init(const struct job *job, const struct job_phase *phase, const char *dataset,
		      struct dataset *d, const struct job_store **s, char path[DATASET_PATH_BYTES],
		      struct err *err);

/* Where the job describes the data set: "/dataset" or "/datasets/NAME", for messages. */
void dataset_path(const struct job_dataset *d, char path[DATASET_PATH_BYTES]);

#endif

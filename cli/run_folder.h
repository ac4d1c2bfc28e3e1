/* SPDX-License-Identifier: Apache-2.0 */
/* Folders that runs of mlpstorage or DLIO leave, and trees of them as they are published: where the
 * configuration of each run is, and on how many ranks it ran. */
#ifndef HAUL_CLI_RUN_FOLDER_H
#define HAUL_CLI_RUN_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/job/job.h"
#include "mlperf/editions.h"

enum { RUN_FOLDERS_MAX = 256, RUN_FOLDER_BYTES = 1024 };

struct run_folder {
	char config[RUN_FOLDER_BYTES]; /* RUN/dlio_config/config.yaml */
	uint32_t ranks, nodes;         /* of its summary.json; 0: it tells none */
	double memory;                 /* of a node, bytes; 0: unknown */
};

struct run_folders {
	uint32_t count;
	struct run_folder list[RUN_FOLDERS_MAX];
};

/* Whether a path is one of these: a folder, or the YAML of a run. */
bool run_folder_is(const char *path);
bool run_folder_is_folder(const char *path);

/* The runs below a path, in the order of their names; those that made data sets are left out where
 * there are others. -ENOENT where there is none, with a sentence. The caller frees *out. */
int run_folders_find(struct run_folders **out, const char *path, struct err *err);

/* The job of a run. sets: as of job_load. */
int run_folder_job(struct job *job, const struct run_folder *r, const struct editions *editions,
		   const char *const *sets, unsigned set_count, struct err *err);

#endif

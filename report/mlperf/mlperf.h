/* SPDX-License-Identifier: Apache-2.0 */
/* Results as a tree of files in the layout of an edition of MLPerf Storage: what its programs read,
 * with haul's figures. Each file says that haul made it and that it is no MLPerf result; what haul
 * does not keep is in the README of the tree. One thread. */
#ifndef HAUL_REPORT_MLPERF_MLPERF_H
#define HAUL_REPORT_MLPERF_MLPERF_H

#include <stdbool.h>

#include "core/err.h"
#include "results-schema/results_read.h"

struct cJSON;

/* A phase that ran. tree: the facts of rules (docs/checking.md), with "result", and "dlio" where
 * the phase is one of mlpstorage's workloads: {"model", "keys", "parameters"}, "accelerator" and
 * "class". */
struct mlperf_phase {
	const struct results_file *file;
	const struct results_phase_read *phase;
	const struct cJSON *tree;
};

struct mlperf_export {
	const char *root;    /* a folder that is not there, or is empty */
	const char *edition; /* "3.0" */
	const char *division, *system;
	const struct mlperf_phase *phases; /* [count], in the order in which they ran */
	uint32_t count;
};

/* Writes the tree. -EEXIST where the folder has something in it; -EINVAL where no phase has a place
 * in the layout; another errno of writing. With a sentence. */
int mlperf_export(const struct mlperf_export *e, struct err *err);

/* Whether this build has workbooks. */
bool mlperf_workbook_built(void);

/* Writes the key-value caches among the phases as a workbook with the sheets of their benchmark.
 * -EEXIST where the file is there, -EINVAL where there are none; -ENOTSUP without libxlsxwriter. */
int mlperf_workbook(const char *path, const struct mlperf_phase *phases, uint32_t count,
		    struct err *err);

#endif

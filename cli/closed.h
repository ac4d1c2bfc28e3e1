/* SPDX-License-Identifier: Apache-2.0 */
/* Phases of a job beside the workloads of an edition: which workload a phase is, and by what it
 * differs from the edition's own job of it (mlperf/compare.h). */
#ifndef HAUL_CLI_CLOSED_H
#define HAUL_CLI_CLOSED_H

#include "cli/check_job.h"
#include "mlperf/compare.h"

struct closed_phase {
	const struct edition_workload
		*workload;                    /* NULL: the edition has none of the phase's kind */
	char accelerator[EDITION_NAME_BYTES]; /* "": the workload has none */
	int option;                           /* of a benchmark of caches, from 0 on; else -1 */
	bool whatif;                          /* the edition takes no submission of it */
	struct edition_differences differences;
};

/* The workload of the edition that phase i differs least from. */
int closed_find(struct closed_phase *out, const struct editions *editions, const char *edition,
		const struct check_job *j, uint32_t i, struct err *err);

/* "unet3d on b200". */
void closed_name(char *text, size_t bytes, const struct closed_phase *p);

/* The edition whose files say what its workloads are: the edition itself, or, of one that has none,
 * such as a draft, the latest that has. NULL: there are no files. */
const char *closed_edition(const struct editions *editions, const char *edition);

/* Whether the phase is one of a benchmark, as its purpose tells. */
bool closed_is_benchmark(const struct job_phase *phase);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* AU on infinite storage: what accelerators reach on null://, where only haul and the machine that
 * it runs on can make them wait, by workload; and of those that miss it, why. */
#ifndef HAUL_REPORT_INFINITE_H
#define HAUL_REPORT_INFINITE_H

#include <stdio.h>

#include "core/err.h"
#include "report/shapes.h"

#define INFINITE_AU 0.99 /* that a workload is to reach */
enum { INFINITE_NAME_BYTES = 64, INFINITE_WHY_BYTES = 256 };

struct infinite_row {
	char workload[INFINITE_NAME_BYTES];
	double batch, compute_s, steps; /* of a rank */
	double au, au_mlperf;
	double median_au;             /* of the median step */
	double cpu_per_sample_s;      /* of all ranks, divided by their samples */
	double cpu_per_step_s;        /* of all ranks: what a step of all of them takes */
	double waited_per_step_s;     /* threads of all ranks were ready, and had no core */
	char why[INFINITE_WHY_BYTES]; /* "" where the AU is reached */
	const char *text;             /* why, or NULL */
};

struct infinite {
	struct infinite_row *rows;
	uint32_t count, ranks, nodes, cores; /* cores: of all nodes */
};

/* Whether the workload reaches the AU. */
bool infinite_held(const struct infinite_row *row);
/* Fills in why those do not that miss it. */
void infinite_explain(struct infinite *t);

int infinite_print(FILE *out, enum report_shape shape, const struct infinite *t, struct err *err);

#endif

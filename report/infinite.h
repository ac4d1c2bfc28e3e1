/* SPDX-License-Identifier: Apache-2.0 */
/* AU on infinite storage: what accelerators reach on null://, where only haul and the machine that
 * it runs on can make them wait, by workload; and of those that miss it, why. */
#ifndef HAUL_REPORT_INFINITE_H
#define HAUL_REPORT_INFINITE_H

#include <stdio.h>

#include "core/err.h"
#include "report/shapes.h"

/* Writes the table of a run on null://, with a row for each workload. cores: of a node. *missed:
 * one is below the AU that all are to reach. */
int infinite_print(FILE *out, enum report_shape shape, const struct results_file *f, uint32_t cores,
		   bool *missed, struct err *err);

#endif

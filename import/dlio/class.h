/* SPDX-License-Identifier: Apache-2.0 */
/* MLPerf Storage's class of a workload: its results are compared within one. Published as
 * core-config-v1. */
#ifndef HAUL_IMPORT_DLIO_CLASS_H
#define HAUL_IMPORT_DLIO_CLASS_H

#include <stdbool.h>

#include "import/import.h"

/* Sets out->class to the class of a tree of DLIO's keys, as its file and its overrides give them,
 * and the published workload that has it. trains: it is a training; otherwise it is a
 * checkpointing. */
void dlio_add_class(struct import *out, const struct cJSON *tree, bool trains);

#endif

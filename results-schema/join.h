/* SPDX-License-Identifier: Apache-2.0 */
/* Joining a series: the phases of all side files copied into the results file, at its end. */
#ifndef HAUL_RESULTS_SCHEMA_JOIN_H
#define HAUL_RESULTS_SCHEMA_JOIN_H

#include "results-schema/h5_writer.h"

/* Replaces the links in the file by what they lead to. path: of the results file, beside which the
 * side files are. Only rank 0 calls it. */
void join_side_files(struct h5_writer *w, const char *path);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The way to the storage that a phase went: files of a mount, dfuse with a library that carries out
 * its calls, DAOS, objects. It names the lines of a scaling table. */
#ifndef HAUL_REPORT_WAY_H
#define HAUL_REPORT_WAY_H

#include "results-schema/results_read.h"

enum { WAY_BYTES = 64 };

/* As the job calls it ("way"); else what the store of the phase is: "dfs", "dfuse", "pil4dfs",
 * "ioil", "lustre", "s3"; "" where the file does not tell. */
void way_of(const struct results_file *f, const struct phase_record *r, char way[WAY_BYTES]);

#endif

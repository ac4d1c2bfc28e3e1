/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a phase into an open results file, by rank 0 alone: groups, attributes and what is merged
 * over ranks. blocks.h has the rows that each rank writes itself. */
#ifndef HAUL_RESULTS_SCHEMA_PHASE_H
#define HAUL_RESULTS_SCHEMA_PHASE_H

#include "results-schema/blocks.h"
#include "results-schema/merge.h"

enum { PHASE_PATH_BYTES = 96 };

/* "/phases/3_train". */
void phase_path(char path[PHASE_PATH_BYTES], const struct phase_record *record);

/* Links path to the group of that path in the side file `target`. */
void phase_link(struct h5_writer *w, const char *path, const char *target);

/* Creates the phase's group with its contents; of blocks the data sets without rows. */
void phase_write(struct h5_writer *w, const struct merged *m, const struct phase_writer *writer,
		 const struct blocks *blocks);

/* Adds the phase's row of /summary. */
void phase_write_summary(struct h5_writer *w, const struct merged *m);

#endif

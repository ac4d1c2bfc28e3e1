/* Writing a phase into an open results file, by rank 0 alone: groups, attributes and what is merged
 * over ranks. blocks.h has the rows that each rank writes itself. */
#ifndef HAUL_RESULTS_SCHEMA_PHASE_H
#define HAUL_RESULTS_SCHEMA_PHASE_H

#include <hdf5.h>
#include <stdbool.h>

#include "results-schema/blocks.h"
#include "results-schema/merge.h"

enum { PHASE_PATH_BYTES = 96 };

/* "/phases/3_train". */
void phase_path(char path[PHASE_PATH_BYTES], const struct phase_record *record);

/* Links path to the group of that path in the side file `target`. */
int phase_link(hid_t file, const char *path, const char *target, struct err *err);

/* Creates the phase's group with its contents; of blocks the data sets without rows. */
int phase_write(hid_t file, const struct merged *m, const struct phase_writer *w,
		const struct blocks *blocks, struct err *err);

/* Adds the phase's row of /summary. */
int phase_write_summary(hid_t file, const struct merged *m, struct err *err);

/* The parts of phase_write, each in a file of its own. */
int phase_write_hists(hid_t phase, const struct merged *m, struct err *err);
int phase_write_timeline(hid_t phase, const struct merged *m, struct err *err);
int phase_write_steps(hid_t phase, const struct merged *m, struct err *err);
int phase_write_client(hid_t phase, const struct merged *m, const struct phase_writer *w,
		       struct err *err);

#endif

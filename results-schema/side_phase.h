/* SPDX-License-Identifier: Apache-2.0 */
/* Group of a phase in a results file that is read, whether it is in the file itself or in a side
 * file of a series. */
#ifndef HAUL_RESULTS_SCHEMA_SIDE_PHASE_H
#define HAUL_RESULTS_SCHEMA_SIDE_PHASE_H

#include "results-schema/h5_reader.h"

/* Whether that phase is in a side file beside the results file, and it is not there: moved, or left
 * behind. */
bool side_phase_gone(struct h5_reader *r, const char *name, const char *path);

/* The reader stands in /phases of the results file at path. Enters the phase of that name. A link
 * is followed only into a folder beside that file. Returns the size of the side file; 0: the phase
 * is in the results file. */
uint64_t side_phase_enter(struct h5_reader *r, const char *name, const char *path);

#endif

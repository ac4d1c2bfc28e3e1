/* Joining a series: the phases of all side files copied into the results file, at its end. */
#ifndef HAUL_RESULTS_SCHEMA_JOIN_H
#define HAUL_RESULTS_SCHEMA_JOIN_H

#include <hdf5.h>
#include <stdint.h>

#include "core/err.h"

/* Replaces the links in file by what they lead to. path: of the results file, beside which the side
 * files are. Only rank 0 calls it. */
int join_side_files(hid_t file, const char *path, struct err *err);

#endif

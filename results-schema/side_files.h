/* SPDX-License-Identifier: Apache-2.0 */
/* Side files of a series, or of a job of many phases: the results file has external links to them. So
 * publishing a phase copies neither the runs before it nor most of the phases before it.
 *
 *	results.h5                            what all runs share, /summary, a link per phase
 *	results.h5.runs/17c8d1e0f3a2b4c5-1.h5 the first phases of run 1, until they are large
 *	results.h5.runs/17c8d1e0f3a2b4c5-2.h5 the next ones, or those of run 2 ...
 *
 * The first part of a name is the key of the series, which the results file has as an attribute. No
 * two series have the same, so a series never writes into the files of another one, and --force
 * removes exactly those of the series that it replaces. Only rank 0 changes files here. No HDF5, no
 * MPI. */
#ifndef HAUL_RESULTS_SCHEMA_SIDE_FILES_H
#define HAUL_RESULTS_SCHEMA_SIDE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

enum { SERIES_KEY_BYTES = 17 }; /* 16 hexadecimal digits */

void series_key(char key[SERIES_KEY_BYTES], uint64_t started_utc_ns);
bool series_key_valid(const char *key);

/* The side file of a number: its path, and its name as the results file at path links to it. The
 * caller frees them; NULL: no memory. */
char *side_file_path(const char *path, const char *key, uint32_t number);
char *side_file_link(const char *path, const char *key, uint32_t number);

/* The path of a side file to which the results file at path links, or NULL (also without memory)
 * where the link leads anywhere else than into a folder beside that file. The caller frees it. */
char *side_file_linked(const char *path, const char *link);

/* Makes the folder of the side files. Refuses one that is a link to elsewhere or no folder. */
int side_files_make_folder(const char *path, struct err *err);

/* The size of all side files of a series. */
uint64_t side_files_bytes(const char *path, const char *key);

/* Removes the side files of a series, unfinished ones too, and the folder once it is empty. */
void side_files_remove(const char *path, const char *key);

#endif

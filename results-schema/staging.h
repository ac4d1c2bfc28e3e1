/* Staging file: results.h5.part, in which a publication is made before it is renamed. Only rank 0
 * calls these functions. No HDF5, no MPI. */
#ifndef HAUL_RESULTS_SCHEMA_STAGING_H
#define HAUL_RESULTS_SCHEMA_STAGING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

/* "PATH.part". The caller frees it. */
char *staging_path(const char *path);

/* Copies path to part. Where the file system can, unchanged blocks are not copied. Fails with
 * -ENOSPC and the like and a sentence; part is then removed. */
int staging_copy(const char *path, const char *part, struct err *err);

/* Reserves room on disk for every byte of part, so that writing into it cannot meet a full disk. */
int staging_reserve(const char *part, struct err *err);

/* Puts part on disk, renames it to path, and puts that on disk, too. exclusive: returns -EEXIST
 * where path has been created meanwhile. Removes part where it fails. */
int staging_publish(const char *part, const char *path, bool exclusive, struct err *err);

#endif

/* The file beside the file: results.h5.part, in which a publication is made before it is renamed.
 * Only rank 0 calls these; no HDF5, no MPI. */
#ifndef HAUL_RESULTS_SCHEMA_STAGING_H
#define HAUL_RESULTS_SCHEMA_STAGING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

/* "PATH.part". The caller frees. */
char *staging_path(const char *path);

/* Copies path to part; where the file system can, without copying what does not change. -ENOSPC and the like with a
 * sentence; part is then removed. */
int staging_copy(const char *path, const char *part, struct err *err);

/* Room on disk for every byte of part, so that whoever writes into it cannot meet a full disk. */
int staging_reserve(const char *part, struct err *err);

/* part is on disk, then becomes path, and that is on disk too. exclusive: -EEXIST where path has come
 * into being meanwhile. part is removed where it fails. */
int staging_publish(const char *part, const char *path, bool exclusive, struct err *err);

#endif

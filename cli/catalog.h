/* The ready jobs: workloads/catalog, found beside the program, in the source tree it was built from, or
 * where it was installed; HAUL_CATALOG names another folder. Main thread. */
#ifndef HAUL_CLI_CATALOG_H
#define HAUL_CLI_CATALOG_H

#include "core/err.h"

/* The folder, or NULL when there is none. */
const char *catalog_folder(char *path, unsigned bytes);

/* Calls found for each name, sorted, until it returns non-zero. Returns that, or 0, or a negative errno
 * when the folder cannot be read. */
int catalog_each(int (*found)(void *argument, const char *name), void *argument);

/* A JOB as people give it: a file, else a ready job's name. Copies the path to open into path. -ENOENT
 * with the nearest name. */
int catalog_resolve(const char *job, char *path, unsigned bytes, struct err *err);

#endif

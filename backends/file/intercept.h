/* Interception libraries of DAOS, which are preloaded and carry out calls on files of a dfuse mount by themselves.
 *
 * What does not go through the C library goes around them: io_uring, and what asks the kernel about an open file
 * (cachestat, statx by descriptor). libpil4dfs even hands out descriptors that the kernel does not know. */
#ifndef HAUL_BACKENDS_FILE_INTERCEPT_H
#define HAUL_BACKENDS_FILE_INTERCEPT_H

#include "backends/file/system.h"

/* The interception library that carries out this process's calls on files below root, or NULL. */
const char *file_interception(const char *root, const struct file_system *fs);

#endif

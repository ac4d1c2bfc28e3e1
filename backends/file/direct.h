/* SPDX-License-Identifier: Apache-2.0 */
/* Finding out what a file system can, by doing: direct I/O, and a file to try an engine on. */
#ifndef HAUL_BACKENDS_FILE_DIRECT_H
#define HAUL_BACKENDS_FILE_DIRECT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/uri.h"

/* The block that direct I/O below root works in, for offsets, lengths and memory: as the kernel
 * tells, where it tells and root can be written; else 4096. Where root (or the folder above that
 * stands already) can be written, one block is written and read directly. -EINVAL with a sentence
 * where the file system refuses. */
int file_direct_block(const char *root, uint32_t *block, struct err *err);

/* The deepest folder of path that stands. */
void file_standing_folder(const char *path, char folder[URI_BYTES]);

/* A file without a name below root (or in the folder above that stands already), open for reading
 * and writing with flags (0 or O_DIRECT); else a negative errno. */
int file_nameless(const char *root, int flags);

/* A file to try an engine on: the same, or, where nothing may be written, one in memory. */
int file_trial(const char *root, int flags);

/* Whether the kernel knows an open descriptor: an interception library may have made it up. */
bool file_kernel_knows(int fd);

#endif

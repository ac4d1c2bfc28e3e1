/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a whole file into memory: regular files, pipes and process substitutions. */
#ifndef HAUL_CORE_FILE_READ_H
#define HAUL_CORE_FILE_READ_H

#include <stddef.h>

#include "core/err.h"

/* Reads at most max + 1 bytes, so that a caller sees by length > max that a file is too large.
 * *text ends with a zero byte, which length does not count; the caller frees it. Returns the errno
 * of open or read, or -ENOMEM, with a sentence that does not name the path. */
int file_read(const char *path, size_t max, char **text, size_t *length, struct err *err);

/* Opens a file of others, to be read. Never waits for somebody to write into a FIFO: where nobody does,
 * it reads as empty. Returns the descriptor, which the caller closes, or a negative errno. */
int file_open(const char *path);

/* Refuses a pipe, for a file that is read more than once: by each rank, or again from its beginning. One
 * reader takes from a pipe what the others lack. What is not there is not refused. Returns 0, or -ESPIPE
 * with a sentence that does not name the path. */
int file_refuse_pipe(const char *path, struct err *err);

#endif

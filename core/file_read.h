/* Reading a whole file into memory: regular files, pipes, process substitutions. */
#ifndef HAUL_CORE_FILE_READ_H
#define HAUL_CORE_FILE_READ_H

#include <stddef.h>

#include "core/err.h"

/* At most max bytes and one more, so that a caller sees a file that is too large by length > max. *text ends
 * with a zero byte that length does not count; the caller frees it. The errno of open and read, or -ENOMEM,
 * with a sentence that does not name the path. */
int file_read(const char *path, size_t max, char **text, size_t *length, struct err *err);

#endif

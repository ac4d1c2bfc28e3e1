/* Options of a dfuse mount: those of its process, which decide what it caches, and those of the mount. */
#ifndef HAUL_BACKENDS_FILE_DFUSE_H
#define HAUL_BACKENDS_FILE_DFUSE_H

#include "backends/file/system.h"

enum { FILE_DFUSE_BYTES = 256 };

/* Of the mount that fs names, as text; "" where it is not dfuse. proc: "/proc", or a folder like it. */
void file_dfuse_find(const char *proc, const struct file_system *fs, char text[FILE_DFUSE_BYTES]);

#endif

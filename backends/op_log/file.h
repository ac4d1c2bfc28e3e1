/* File that zstd compresses while it is written. Private to the operation log; one thread. */
#ifndef HAUL_BACKENDS_OP_LOG_FILE_H
#define HAUL_BACKENDS_OP_LOG_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"

struct op_log_file;

int op_log_file_open(struct op_log_file **out, const char *path, bool force, struct err *err);
/* Returns 0 or a negative errno. Data may stay in memory until the flush. */
int op_log_file_write(struct op_log_file *f, const void *data, size_t bytes);
/* Writes all data so far, so that a reader gets it even if this process dies. */
int op_log_file_flush(struct op_log_file *f);
int op_log_file_close(struct op_log_file *f);

#endif

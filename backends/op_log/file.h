/* SPDX-License-Identifier: Apache-2.0 */
/* File that zstd compresses while it is written. Private to the operation log; one thread. The
 * ranks of a node may share a file: each then appends blocks of whole rows, one call of write per
 * block. */
#ifndef HAUL_BACKENDS_OP_LOG_FILE_H
#define HAUL_BACKENDS_OP_LOG_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"

struct op_log_file;

struct op_log_file_way {
	bool compressed;
	bool force;  /* replaces an existing file */
	bool shared; /* other ranks of the node append, too */
	bool joins;  /* another rank has created it */
};

int op_log_file_open(struct op_log_file **out, const char *path, const struct op_log_file_way *way,
		     struct err *err);
/* Takes whole rows, of at most 64 KiB. Returns 0 or a negative errno. Data may stay in memory until
 * the flush. */
int op_log_file_write(struct op_log_file *f, const void *data, size_t bytes);
/* Writes all data so far, so that a reader gets it even if this process dies. */
int op_log_file_flush(struct op_log_file *f);
int op_log_file_close(struct op_log_file *f);

#endif

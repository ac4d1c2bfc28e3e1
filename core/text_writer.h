/* SPDX-License-Identifier: Apache-2.0 */
/* Text writer: a file that is written through a buffer, compressed by zstd where its name ends in
 * ".zst". One thread. */
#ifndef HAUL_CORE_TEXT_WRITER_H
#define HAUL_CORE_TEXT_WRITER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"

enum { TEXT_WRITER_PIECE = 64 << 10 }; /* bytes of a piece at most */

struct text_writer;

/* force: replaces an existing file, which must be a regular one. Returns -EEXIST or another errno,
 * with a sentence that names the path. */
int text_writer_open(struct text_writer **out, const char *path, bool force, struct err *err);

/* Adds a piece. An error is kept until the file is closed, and what comes after it is dropped. */
void text_writer_add(struct text_writer *w, const void *text, size_t bytes);

/* Writes what is left and closes the file. Returns the first error, with a sentence that names the
 * path. */
int text_writer_close(struct text_writer *w, const char *path, struct err *err);

#endif

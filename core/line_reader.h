/* SPDX-License-Identifier: Apache-2.0 */
/* Line reader: a text line by line, from a file or from memory, plain or compressed by zstd or
 * gzip (by its first bytes, not by its name). A byte order mark of UTF-8 before the first line is no part of it.
 * What is compressed by another program, or is no text at all, is refused with what it is. Memory
 * does not grow with the text. One thread. */
#ifndef HAUL_CORE_LINE_READER_H
#define HAUL_CORE_LINE_READER_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

enum { LINE_MAX_BYTES = 256 << 10 };

struct line_reader;

/* Errors of open with a sentence that does not name the path. */
int line_reader_open(struct line_reader **out, const char *path, struct err *err);
/* Reads from memory, which must stay there. */
int line_reader_open_memory(struct line_reader **out, const void *data, size_t bytes,
			    struct err *err);
void line_reader_close(struct line_reader *r); /* NULL is allowed */

/* The next line without its end ("\n" or "\r\n"), with a zero byte behind it; valid until the next
 * call. Returns 1, or 0 at the end of the text. Else a negative errno with a sentence: -EMSGSIZE
 * (the line is longer than LINE_MAX_BYTES; the next call goes on behind it), -EBADMSG (the
 * compressed data are broken or end too early; there are no more lines), or an error of read. */
int line_reader_next(struct line_reader *r, char **line, size_t *length, struct err *err);

/* The next call hands out the line of the last one again, which must not have been changed. */
void line_reader_again(struct line_reader *r);

/* For texts that are not lines, in place of line_reader_next: the next piece of the text as it is,
 * of at least one byte, valid until the next call. Returns 1, or 0 at the end of the text, or a
 * negative errno as above. */
int line_reader_piece(struct line_reader *r, const char **piece, size_t *bytes, struct err *err);

/* The number of the line that the last call was about, from 1 on. */
uint64_t line_reader_number(const struct line_reader *r);

#endif

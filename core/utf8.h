/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 text as a terminal shows it: how many columns it takes, and where it may be cut so that it
 * stays UTF-8. One character counts as one column. Each invalid byte counts as a character.
 *
 * No state; any thread. */
#ifndef HAUL_CORE_UTF8_H
#define HAUL_CORE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* The columns of the first bytes of text, or of the whole text with UTF8_WHOLE. */
#define UTF8_WHOLE ((size_t)-1)
unsigned utf8_columns(const char *text, size_t bytes);

/* The greatest number of bytes, at most `bytes`, that ends between two characters and takes at most
 * `columns` columns. */
size_t utf8_fit(const char *text, size_t bytes, unsigned columns);

/* Copies text into a buffer of size bytes (1 or more), cut between two characters where it is too
 * long. NULL counts as "". Returns whether the copy is complete. */
bool utf8_copy(char *to, size_t size, const char *text);

#endif

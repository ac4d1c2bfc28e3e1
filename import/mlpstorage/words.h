/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a command line that is given as one text. */
#ifndef HAUL_IMPORT_MLPSTORAGE_WORDS_H
#define HAUL_IMPORT_MLPSTORAGE_WORDS_H

#include "core/err.h"

enum { WORDS_MAX = 2048 };

struct words {
	char *text; /* what list points into; NULL where the words are the caller's */
	const char *list[WORDS_MAX];
	unsigned count;
};

/* One word is split at its blanks, with quotes and backslashes as in a shell; several are taken as
 * they are. -EINVAL where a quote is open or there are too many. The caller calls words_free,
 * whatever is returned. */
int words_read(struct words *out, const char *const *given, unsigned count, struct err *err);
void words_free(struct words *w);

#endif

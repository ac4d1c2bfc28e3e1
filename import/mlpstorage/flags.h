/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of mlpstorage, of its versions of April 2026 and of edition 3.0, and what each of them
 * becomes. */
#ifndef HAUL_IMPORT_MLPSTORAGE_FLAGS_H
#define HAUL_IMPORT_MLPSTORAGE_FLAGS_H

#include <stdbool.h>
#include <stddef.h>

#include "import/keys.h"

/* The benchmarks, as bits. */
enum {
	FLAGS_TRAINING = 1,
	FLAGS_CHECKPOINTING = 2,
	FLAGS_KVCACHE = 4,
	FLAGS_VECTORDB = 8,
	FLAGS_ALL = 15
};

/* Their names and letters ("" where there is none); with why where import_mlpstorage.c does it, too. */
extern const struct import_key flags_table[];

/* The flag of a benchmark by its name, the only one that begins with it, or its letters; NULL:
 * there is none. */
const struct import_key *flags_find(unsigned of, const char *name, size_t length);

/* The name of the benchmark's flag that is nearest to a word, or NULL. */
const char *flags_nearest(unsigned of, const char *word);

/* Whether a word is a flag: "-5" is a number. */
bool flags_is(const char *word);

/* The table, one flag a line. The caller frees it. NULL: no memory. */
char *flags_print(void);

#endif

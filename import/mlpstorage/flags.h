/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of mlpstorage, of its versions of April 2026 and of edition 3.0, and what each of them
 * becomes. */
#ifndef HAUL_IMPORT_MLPSTORAGE_FLAGS_H
#define HAUL_IMPORT_MLPSTORAGE_FLAGS_H

#include <stdbool.h>
#include <stddef.h>

/* The benchmarks, as bits. */
enum {
	FLAGS_TRAINING = 1,
	FLAGS_CHECKPOINTING = 2,
	FLAGS_KVCACHE = 4,
	FLAGS_VECTORDB = 8,
	FLAGS_ALL = 15
};

/* FLAGS_MAYBE: a value may follow, the only one that there is: "s3". */
enum flags_kind { FLAGS_NONE, FLAGS_MAYBE, FLAGS_WHOLE, FLAGS_NUMBER, FLAGS_TEXT, FLAGS_LIST };

enum flags_way {
	FLAGS_KEY, /* a key of DLIO: to, "key", or "key=value" where the flag has none */
	FLAGS_OTHERS, /* a flag of the benchmark of caches or of vector databases: to, or its own name */
	FLAGS_SPECIAL, /* import_mlpstorage.c does it; why says what */
	FLAGS_LEFT     /* it has no meaning in a job; why says what stands for it */
};

struct flag {
	const char *name;   /* "--model" */
	const char *letter; /* "-m", or "" */
	unsigned of;        /* FLAGS_TRAINING | … */
	enum flags_kind kind;
	enum flags_way way;
	const char *to, *why;
};

/* The last one has no name. */
extern const struct flag flags_table[];

/* The flag of a benchmark by its name, the only one that begins with it, or its letters; NULL:
 * there is none. */
const struct flag *flags_find(unsigned of, const char *name, size_t length);

/* The name of the benchmark's flag that is nearest to a word, or NULL. */
const char *flags_nearest(unsigned of, const char *word);

/* Whether a word is a flag: "-5" is a number. */
bool flags_is(const char *word);

/* The table, one flag a line. The caller frees it. NULL: no memory. */
char *flags_print(void);

#endif

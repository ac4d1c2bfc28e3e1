/* Keys of DLIO's workload files: which are known, of which kind their values are, and where in a
 * haul job each of them goes.
 *
 * A const table; any thread. */
#ifndef HAUL_IMPORT_DLIO_KEYS_H
#define HAUL_IMPORT_DLIO_KEYS_H

#include <stdbool.h>

enum dlio_kind {
	DLIO_WHOLE, /* a whole number of 0 or more */
	DLIO_NUMBER,
	DLIO_BOOL,
	DLIO_TEXT,
	DLIO_SWITCH, /* a text, or false for "off" */
	DLIO_TEXTS,  /* a text or a list of texts */
	DLIO_DRAW,   /* a number, or an object that describes a distribution */
	DLIO_LIST,
	DLIO_ANY,
	DLIO_SECRET /* anything; never printed */
};

struct dlio_key {
	const char *path; /* "reader.batch_size"; NULL ends the table */
	enum dlio_kind kind;
	const char *to; /* the place in the job; NULL: the key is not mapped */
	double def;     /* DLIO's own default */
	const char *def_text;
	const char *why; /* the reason why the key is not mapped */
};

enum { DLIO_KEYS_MAX = 256 };

extern const struct dlio_key dlio_keys[];

/* NULL where the table has no such key. */
const struct dlio_key *dlio_key(const char *path);

/* Whether the table has keys below this path, such as "reader". */
bool dlio_key_section(const char *path);

/* The table as text, one line per key. The caller frees it. NULL: no memory. */
char *dlio_keys_print(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and flags of another tool as a table, and all that its importers do alike: they read a file and flags,
 * tell whether the file is the tool's, count its keys, check their values, and list what is unknown or left
 * out. What a key becomes in the job is the importer's, row by row.
 *
 * Const tables; any thread. */
#ifndef HAUL_IMPORT_KEYS_H
#define HAUL_IMPORT_KEYS_H

#include <stddef.h>

#include "import/import.h"

/* X(enum, what a value must be). */
/* clang-format off */
#define KEY_KINDS(X) \
	X(NUMBER, "a number") X(WHOLE, "a whole number of 0 or more") X(TEXT, "a text") X(BOOL, "true or false") \
	X(RANGE, "two numbers, the smaller one first") X(FLAG, "true, false or a number") \
	X(SWITCH, "off, seed or random") X(TEXTS, "a text or a list of texts") \
	X(DRAW, "a number of seconds or a distribution") X(LIST, "a list") X(ANY, "anything") \
	/* Never printed; a flag without a value; one that may have the only value that there is. */ \
	X(SECRET, "anything") X(NONE, "nothing") X(MAYBE, "s3, or nothing")
/* clang-format on */
#define KEY_KIND(id, words) KEY_##id,
enum key_kind { KEY_KINDS(KEY_KIND) KEY_KIND_COUNT };
#undef KEY_KIND

/* How a key becomes part of the job. */
enum key_way {
	KEY_SPECIAL, /* the importer does it */
	KEY_COPY,    /* to `to` */
	KEY_CHANGED, /* the same, with a finding */
	KEY_LEFT,    /* a finding */
	KEY_DLIO,    /* a key of DLIO: to, "key", or "key=value" where it is a flag that has none */
	KEY_OTHERS   /* a flag of another benchmark: to, or its own name */
};

struct import_key {
	const char *
		path; /* "decode.batch_size", "--model"; "*": any one part; "**": any parts; NULL ends a table */
	const char *other; /* how else it is written; NULL: no other way */
	unsigned of;       /* benchmarks that have it, as bits; 0: all */
	enum key_kind kind;
	enum key_way way;
	const char *to;  /* its place in the job; NULL: it has none of its own */
	const char *why; /* of a finding */
	double def;      /* the tool's own default */
	const char *def_text;
};

struct import_tool {
	const struct import_key *keys;
	bool by_name; /* a key is known by its last part, whatever section it stands in; "-" is "_" */
	const char *file;    /* "a config.yaml" */
	const char *name;    /* "the benchmark" */
	const char *unknown; /* of keys that it does not have */
	/* What its files are in; NULL: YAML. */
	int (*read)(struct cJSON **out, const char *text, size_t length, struct err *err);
};

/* NULL: the table has none. */
const struct import_key *import_key_find(const struct import_tool *tool, const char *path);

/* What the value must be; NULL: it is that. */
const char *import_kind_wrong(enum key_kind kind, const struct cJSON *value);

/* Reads a file of the tool. -EINVAL: it is none, because it has no keys, or fewer of the tool's than others. */
int import_read(struct cJSON **tree, const struct import_tool *tool, const char *text,
		size_t length, struct err *err);

/* Sets flags in a tree: "--num-users=200" and "num-users=200" are the same, and "--enable-rag" is true. */
int import_flags(struct cJSON *tree, const char *const *flags, unsigned count, struct err *err);

/* Goes through all values of a tree: counts them, checks their kinds, adds findings of those that are unknown or
 * left out, and hands all others to take. */
typedef int import_take(void *importer, const struct import_key *key, const char *path,
			const struct cJSON *value);
int import_walk(const struct import_tool *tool, struct import *out, const struct cJSON *tree,
		import_take *take, void *importer, struct err *err);

/* The name of the job: that of the file, cut; otherwise where it is not plain. */
void import_add_name(struct cJSON *job, const char *name, const char *otherwise);

/* The table, one key a line. The caller frees it. NULL: no memory. */
char *import_keys_print(const struct import_key *keys);

#endif

/* Another tool's job file as a haul job, and what became of each of its keys. A key is mapped, or stands
 * among the findings with the reason: none is dropped in silence. Knows no stores and no phases: the job
 * is JSON, and whoever runs it checks it.
 *
 * No state; any thread. */
#ifndef HAUL_IMPORT_IMPORT_H
#define HAUL_IMPORT_IMPORT_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

struct cJSON;

enum import_fate {
	IMPORT_CHANGED, /* mapped, but not word for word */
	IMPORT_LEFT,    /* not mapped */
	IMPORT_UNKNOWN, /* not a key of that tool */
	IMPORT_FATES
};

enum { IMPORT_KEY_BYTES = 96, IMPORT_VALUE_BYTES = 96, IMPORT_WHY_BYTES = 256 };

struct import_finding {
	enum import_fate fate;
	char key[IMPORT_KEY_BYTES];     /* "reader.batch_size" */
	char value[IMPORT_VALUE_BYTES]; /* as text, cut; "": none was given */
	char why[IMPORT_WHY_BYTES];
};

struct import {
	struct cJSON *job;
	struct import_finding *findings; /* [count], in the order of the text */
	uint32_t count, room;
	uint32_t keys; /* values that the text and the overrides gave */
};

/* What is wanted of keys that DLIO ignores or bends: what they were meant to say, or what DLIO does. */
enum import_as { IMPORT_AS_MEANT, IMPORT_AS_DLIO_BUGS };

/* A DLIO workload file (of the argonne-lcf, russfellows and mlcommons versions) and Hydra's overrides,
 * "++workload.reader.batch_size=4". name is the job's. The caller calls import_free, whatever is
 * returned. -EINVAL with a sentence that names the place. */
int import_dlio(struct import *out, const char *name, const char *text, size_t length,
		const char *const *overrides, unsigned override_count, enum import_as as,
		struct err *err);
void import_free(struct import *i);

/* The keys of DLIO that are known, and what becomes of each, a line a key; the caller frees. NULL: no
 * memory. */
char *import_dlio_keys(void);

/* For the importers. value may be NULL. */
int import_find(struct import *i, enum import_fate fate, const char *key, const struct cJSON *value,
		struct err *err, const char *format, ...) __attribute__((format(printf, 6, 7)));

#endif

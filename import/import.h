/* SPDX-License-Identifier: Apache-2.0 */
/* Import of another tool's job file: the haul job, and what became of each key of the file. A key
 * is either mapped or listed among the findings with the reason; no key is dropped silently. The
 * import knows no stores and no phases: the job is JSON, and whoever runs it checks it.
 *
 * No state; any thread. */
#ifndef HAUL_IMPORT_IMPORT_H
#define HAUL_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

struct cJSON;

enum import_fate {
	IMPORT_CHANGED, /* mapped, with a difference */
	IMPORT_LEFT,    /* not mapped */
	IMPORT_UNKNOWN, /* the tool has no such key */
	IMPORT_FATES
};

enum { IMPORT_KEY_BYTES = 96, IMPORT_VALUE_BYTES = 96, IMPORT_WHY_BYTES = 256 };

struct import_finding {
	enum import_fate fate;
	char key[IMPORT_KEY_BYTES];     /* "reader.batch_size" */
	char value[IMPORT_VALUE_BYTES]; /* as text, cut to fit; "": the file gives none */
	char why[IMPORT_WHY_BYTES];
};

struct import {
	struct cJSON *job;
	struct import_finding *findings; /* [count], in the order in which they were made */
	uint32_t count;
	uint32_t keys; /* values that the text and the overrides give */
	uint64_t room;
	/* MLPerf Storage's class, within which results are compared; "": it has none. */
	char class[IMPORT_VALUE_BYTES];
	/* The command that uses the job as the tool would; "": there is none to say. */
	char then[IMPORT_WHY_BYTES];
	bool failed; /* there was no memory for all of it */
};

/* How the job takes keys that the tool ignores or does not follow: as their authors meant them, or
 * as the tool acts on them. */
enum import_as { IMPORT_AS_MEANT, IMPORT_AS_DLIO_BUGS };

void import_free(struct import *i);

/* Importers: adds a finding about a key; value may be NULL. Without memory, the import has
 * failed. */
void import_found(struct import *i, enum import_fate fate, const char *key,
		  const struct cJSON *value, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

#endif

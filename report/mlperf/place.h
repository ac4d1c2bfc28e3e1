/* SPDX-License-Identifier: Apache-2.0 */
/* Folders and files of an exported tree, each of which bears a mark. After the first error nothing
 * more is written. */
#ifndef HAUL_REPORT_MLPERF_PLACE_H
#define HAUL_REPORT_MLPERF_PLACE_H

#include "core/err.h"

struct cJSON;

enum { PLACE_BYTES = 4096, PLACE_MARK_BYTES = 160 };

struct tree_folder {
	char path[PLACE_BYTES];
	const char *mark; /* the sentence that each file has */
	int *rc;          /* shared by all places of a tree */
	struct err *err;
};

/* The folder below another, "a/b", which is made. */
struct tree_folder place_below(const struct tree_folder *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Writes a file. The JSON gets the key "haul" with the mark, unless it has one of its own for it,
 * and is freed; a text begins with the mark, as a comment. NULL: no memory. */
void place_json(const struct tree_folder *p, const char *name, struct cJSON *json);
void place_marked_json(const struct tree_folder *p, const char *name, struct cJSON *json);
void place_text(const struct tree_folder *p, const char *name, const char *text);

#endif

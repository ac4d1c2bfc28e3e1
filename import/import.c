/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of an import: see import.h. */
#include "import/import.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/grow.h"
#include "core/json.h"

enum { FINDINGS_FIRST = 16 };

void import_found(struct import *i, enum import_fate fate, const char *key,
		  const struct cJSON *value, const char *format, ...)
{
	char described[JSON_QUOTE_BYTES] = "";
	struct import_finding *f;
	va_list list;

	if (!grow(&i->findings, i->count, &i->room, FINDINGS_FIRST, sizeof(*i->findings))) {
		i->failed = true;
		return;
	}
	f = &i->findings[i->count++];
	f->fate = fate;
	if (value)
		json_describe(described, value);
	snprintf(f->key, sizeof(f->key), "%s", key);
	snprintf(f->value, sizeof(f->value), "%s", described);
	va_start(list, format);
	vsnprintf(f->why, sizeof(f->why), format, list);
	va_end(list);
}

void import_free(struct import *i)
{
	cJSON_Delete(i->job);
	free(i->findings);
	*i = (struct import){0};
}

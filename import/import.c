/* Findings of an import: see import.h. */
#include "import/import.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/json.h"

int import_find(struct import *i, enum import_fate fate, const char *key, const struct cJSON *value,
		struct err *err, const char *format, ...)
{
	char described[JSON_QUOTE_BYTES] = "";
	struct import_finding *f;
	va_list list;

	if (i->count == i->room) {
		uint32_t room = i->room ? 2 * i->room : 16;
		struct import_finding *more = realloc(i->findings, room * sizeof(*more));

		if (!more)
			return err_set(err, -ENOMEM, "no memory for the findings");
		i->findings = more;
		i->room = room;
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
	return 0;
}

void import_free(struct import *i)
{
	cJSON_Delete(i->job);
	free(i->findings);
	*i = (struct import){0};
}

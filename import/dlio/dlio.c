/* Look-up of a DLIO workload's values: see dlio.h. */
#include "import/dlio/dlio.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DLIO_PART_BYTES = 256 };

const struct cJSON *dlio_peek(const struct dlio *d, const char *path)
{
	const cJSON *at = d->tree;
	char part[DLIO_PART_BYTES];

	while (at && *path) {
		size_t n = strcspn(path, ".");

		snprintf(part, sizeof(part), "%.*s", (int)n, path);
		at = cJSON_GetObjectItemCaseSensitive(at, part);
		path += n + (path[n] == '.');
	}
	return cJSON_IsNull(at) ? NULL : at;
}

const struct cJSON *dlio_at(struct dlio *d, const char *path)
{
	const struct dlio_key *k = dlio_key(path);

	if (k)
		d->asked[k - dlio_keys] = true;
	return dlio_peek(d, path);
}

double dlio_number(struct dlio *d, const char *path)
{
	const cJSON *value = dlio_at(d, path);

	return value ? value->valuedouble : dlio_key(path)->def;
}

bool dlio_bool(struct dlio *d, const char *path)
{
	const cJSON *value = dlio_at(d, path);

	return value ? cJSON_IsTrue(value) : dlio_key(path)->def != 0;
}

const char *dlio_text(struct dlio *d, const char *path)
{
	const cJSON *value = dlio_at(d, path);

	return value ? value->valuestring : dlio_key(path)->def_text;
}

const char *dlio_switch(struct dlio *d, const char *path)
{
	const cJSON *value = dlio_at(d, path);

	if (cJSON_IsFalse(value))
		return "off";
	return value ? value->valuestring : dlio_key(path)->def_text;
}

bool dlio_uses_data(const struct dlio *d)
{
	return d->generates || d->trains;
}

int dlio_find(struct dlio *d, enum import_fate fate, const char *path, const char *format, ...)
{
	char why[IMPORT_WHY_BYTES];
	va_list list;

	va_start(list, format);
	vsnprintf(why, sizeof(why), format, list);
	va_end(list);
	return import_find(d->out, fate, path, dlio_at(d, path), d->err, "%s", why);
}

int dlio_no_memory(const struct dlio *d)
{
	return err_set(d->err, -ENOMEM, "no memory for the job");
}

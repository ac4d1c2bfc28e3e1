/* Look-up of a DLIO workload's values: see dlio.h. */
#include "import/dlio/dlio.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct cJSON *dlio_peek(const struct dlio *d, const char *path)
{
	return import_at(d->tree, path);
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

void dlio_found(struct dlio *d, enum import_fate fate, const char *path, const char *format, ...)
{
	char why[IMPORT_WHY_BYTES];
	va_list list;

	va_start(list, format);
	vsnprintf(why, sizeof(why), format, list);
	va_end(list);
	import_found(d->out, fate, path, dlio_at(d, path), "%s", why);
}

void dlio_refuse(struct dlio *d, const char *format, ...)
{
	char text[ERR_TEXT_BYTES];
	va_list list;

	if (d->rc < 0)
		return;
	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	d->rc = err_set(d->err, -EINVAL, "%s", text);
}

void dlio_no_memory(struct dlio *d)
{
	d->out->failed = true;
}

void dlio_add_text(struct dlio *d, struct cJSON *to, const char *name, const char *text)
{
	if (!cJSON_AddStringToObject(to, name, text))
		dlio_no_memory(d);
}

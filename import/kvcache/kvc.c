/* SPDX-License-Identifier: Apache-2.0 */
/* A run of MLPerf's key-value cache benchmark while it is imported: see kvc.h. */
#include "import/kvcache/kvc.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "core/json_path.h"

const cJSON *kvc_at(const struct kvc *k, const char *path)
{
	return json_at(k->tree, path);
}

double kvc_number(const struct kvc *k, const char *path, double otherwise)
{
	return json_number_at(k->tree, path, otherwise);
}

const char *kvc_text(const struct kvc *k, const char *path, const char *otherwise)
{
	return json_text_at(k->tree, path, otherwise);
}

bool kvc_true(const struct kvc *k, const char *path)
{
	return cJSON_IsTrue(kvc_at(k, path));
}

void kvc_put(struct kvc *k, const char *to, cJSON *value)
{
	cJSON *at = k->phase;
	char part[IMPORT_KEY_BYTES];

	for (const char *dot; at && (dot = strchr(to, '.')); to = dot + 1) {
		snprintf(part, sizeof(part), "%.*s", (int)(dot - to), to);
		if (!cJSON_GetObjectItemCaseSensitive(at, part))
			cJSON_AddObjectToObject(at, part);
		at = cJSON_GetObjectItemCaseSensitive(at, part);
	}
	if (!at || !value) {
		cJSON_Delete(value);
		k->out->failed = true;
		return;
	}
	cJSON_DeleteItemFromObjectCaseSensitive(at, to);
	if (!cJSON_AddItemToObject(at, to, value)) {
		cJSON_Delete(value);
		k->out->failed = true;
	}
}

void kvc_put_text(struct kvc *k, const char *to, const char *value)
{
	kvc_put(k, to, cJSON_CreateString(value));
}

void kvc_put_number(struct kvc *k, const char *to, double value)
{
	kvc_put(k, to, cJSON_CreateNumber(value));
}

void kvc_add_number(struct kvc *k, cJSON *object, const char *name, double value)
{
	if (!cJSON_AddNumberToObject(object, name, value))
		k->out->failed = true;
}

void kvc_add_text(struct kvc *k, cJSON *object, const char *name, const char *value)
{
	if (!cJSON_AddStringToObject(object, name, value))
		k->out->failed = true;
}

void kvc_found(struct kvc *k, enum import_fate fate, const char *path, const char *why)
{
	import_found(k->out, fate, path, kvc_at(k, path), "%s", why);
}

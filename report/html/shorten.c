/* Shortening of JSON for a page: see shorten.h. */
#include "report/html/shorten.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "report/json/json.h"

static const char *const brief_keys[] = {"kind",    "name",   "number",      "run",    "repeat",
					 "warmup",  "sweep",  "combination", "status", "started",
					 "seconds", "errors", "rates",       NULL};

size_t shorten_bytes(const cJSON *value)
{
	char *text = json_print_line(value);
	size_t bytes = text ? strlen(text) : SIZE_MAX;

	free(text);
	return bytes;
}

static void shorten_list(cJSON *list, int rows)
{
	for (cJSON *row = cJSON_GetArrayItem(list, rows), *next; row; row = next) {
		next = row->next;
		cJSON_Delete(cJSON_DetachItemViaPointer(list, row));
	}
}

void shorten_lists(cJSON *object, int rows)
{
	cJSON *left_out = NULL, *child;

	cJSON_ArrayForEach(child, object)
	{
		int size = cJSON_IsArray(child) ? cJSON_GetArraySize(child) : 0;
		bool cut = size > rows && !cJSON_IsNumber(child->child) &&
			   !cJSON_IsNull(child->child) && strcmp(child->string, "files") != 0;

		if (cJSON_IsObject(child) && strcmp(child->string, "job") != 0)
			shorten_lists(child, rows);
		if (!cut)
			continue;
		shorten_list(child, rows);
		if (!left_out)
			left_out = cJSON_CreateObject();
		json_add_number(left_out, child->string, size - rows);
	}
	if (left_out)
		cJSON_AddItemToObject(object, "left_out", left_out);
}

void shorten_drop(cJSON *object, const char *const *keys)
{
	for (; *keys; keys++)
		cJSON_DeleteItemFromObjectCaseSensitive(object, *keys);
}

static bool shorten_has(const char *const *keys, const char *key)
{
	for (; *keys; keys++)
		if (strcmp(*keys, key) == 0)
			return true;
	return false;
}

static void shorten_keep(cJSON *object, const char *const *keys)
{
	for (cJSON *child = object->child, *next; child; child = next) {
		next = child->next;
		if (!shorten_has(keys, child->string))
			cJSON_Delete(cJSON_DetachItemViaPointer(object, child));
	}
}

void shorten_brief(cJSON *phase)
{
	shorten_keep(phase, brief_keys);
	cJSON_AddBoolToObject(phase, "brief", true);
}

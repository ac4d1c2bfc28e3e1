/* Lists of objects: an array of structs, each entry read, printed and described by one table. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>

#include "core/json.h"
#include "core/option/internal.h"

static const char *option_entries(uint64_t count)
{
	return count == 1 ? "entry" : "entries";
}

int option_list_parse(const struct option *o, void *into, const struct cJSON *value,
		      const char *where, struct arena *arena, struct err *err)
{
	const struct option *const tables[] = {o->table, NULL};
	const struct option entry = {.name = o->name, .kind = OPTION_TABLE, .table = o->table};
	uint32_t count = 0, *counter = option_list_count(into, o);
	char *items = option_member(into, o), at[OPTION_PATH_BYTES + 16];
	const cJSON *child;
	int rc = 0;

	if (!cJSON_IsArray(value))
		return option_refuse(where, "a list", value, err);
	*counter = 0;
	cJSON_ArrayForEach(child, value)
	{
		if (count == o->max)
			return err_set(err, -EINVAL, "%s: must hold at most %llu %s", where,
				       (unsigned long long)o->max, option_entries(o->max));
		snprintf(at, sizeof(at), "%s/%u", where, count);
		rc = options_parse(tables, items, NULL, at, arena, err);
		if (rc == 0)
			rc = option_parse_one(&entry, items, child, at, arena, err);
		if (rc < 0)
			return rc;
		items += o->size;
		count++;
	}
	if (count < o->min)
		return err_set(err, -EINVAL, "%s: must hold at least %llu %s, holds %u", where,
			       (unsigned long long)o->min, option_entries(o->min), count);
	*counter = count;
	return 0;
}

struct cJSON *option_list_to_json(const struct option *o, const void *from)
{
	const struct option *const tables[] = {o->table, NULL};
	const char *items = option_member_of(from, o);
	uint32_t count = *(const uint32_t *)(const void *)((const char *)from + o->count_offset);
	cJSON *list = cJSON_CreateArray();

	for (uint32_t i = 0; list && i < count; i++, items += o->size) {
		if (!option_append(list, options_to_json(tables, items))) {
			cJSON_Delete(list);
			return NULL;
		}
	}
	return list;
}

bool option_list_schema(struct cJSON *schema, const struct option *o)
{
	return option_add(schema, "type", cJSON_CreateString("array")) &&
	       option_table_schema(cJSON_AddObjectToObject(schema, "items"), o->table) &&
	       (!o->min || option_add(schema, "minItems", cJSON_CreateNumber((double)o->min))) &&
	       option_add(schema, "maxItems", cJSON_CreateNumber((double)o->max));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Options with options of their own: a table fills a struct within the struct, and a list an array
 * of structs, each entry by one table. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/option/internal.h"

static int table_start(const struct option *o, void *member, struct arena *arena, struct err *err)
{
	const struct option *const tables[] = {o->table, NULL};

	return options_parse(tables, member, NULL, "", arena, err);
}

/* The struct already has the defaults of the outer table, or the values of a preset. */
static int table_parse(const struct option *o, void *member, const struct cJSON *value,
		       const char *where, struct arena *arena, struct err *err)
{
	const struct option *const tables[] = {o->table, NULL};
	int rc;

	if (cJSON_IsObject(value))
		return options_fill(tables, member, value, where, arena, err);
	if (cJSON_IsArray(value) || cJSON_IsNull(value))
		return option_refuse(where, "an object", value, err);
	rc = option_parse_one(o->table, member, value, where, arena, err);
	if (rc == 0 && o->table->preset)
		o->table->preset(member);
	return rc;
}

static cJSON *table_print(const struct option *o, const void *member)
{
	const struct option *const tables[] = {o->table, NULL};

	return options_to_json(tables, member);
}

/* The object, or the bare value of its first option. */
static bool table_schema(struct cJSON *schema, const struct option *o)
{
	const struct option *const tables[] = {o->table, NULL};
	cJSON *any;

	if (o->table->kind == OPTION_TABLE || !o->table->name)
		return option_add(schema, "type", cJSON_CreateString("object"));
	any = cJSON_AddArrayToObject(schema, "anyOf");
	return option_append(any, options_schema(tables)) &&
	       option_append(any, option_schema(o->table));
}

const struct option_rules option_table = {.words = "",
					  .joint = ".",
					  .start = table_start,
					  .parse = table_parse,
					  .print = table_print,
					  .schema = table_schema};

/* The member that counts a list's entries: it stands in the same struct as the array. */
static uint32_t *list_counter(void *member, const struct option *o)
{
	return (uint32_t *)(void *)((char *)member - o->offset + o->count_offset);
}

static int list_start(const struct option *o, void *member, struct arena *arena, struct err *err)
{
	(void)arena;
	(void)err;
	*list_counter(member, o) = 0;
	memset(member, 0, o->size * o->max);
	return 0;
}

static const char *list_entries(uint64_t count)
{
	return count == 1 ? "entry" : "entries";
}

static int list_parse(const struct option *o, void *member, const struct cJSON *value,
		      const char *where, struct arena *arena, struct err *err)
{
	const struct option *const tables[] = {o->table, NULL};
	const struct option entry = {.name = o->name, .kind = OPTION_TABLE, .table = o->table};
	uint32_t count = 0, *counter = list_counter(member, o);
	char *items = member, at[OPTION_PATH_BYTES + 16];
	const cJSON *child;
	int rc = 0;

	if (!cJSON_IsArray(value))
		return option_refuse(where, "a list", value, err);
	*counter = 0;
	cJSON_ArrayForEach(child, value)
	{
		if (count == o->max)
			return err_set(err, -EINVAL, "%s: must hold at most %llu %s", where,
				       (unsigned long long)o->max, list_entries(o->max));
		snprintf(at, sizeof(at), "%s/%u", where, count);
		rc = options_parse(tables, items, NULL, at, arena, err);
		if (rc == 0)
			rc = table_parse(&entry, items, child, at, arena, err);
		if (rc < 0)
			return rc;
		items += o->size;
		count++;
	}
	if (count < o->min)
		return err_set(err, -EINVAL, "%s: must hold at least %llu %s, holds %u", where,
			       (unsigned long long)o->min, list_entries(o->min), count);
	*counter = count;
	return 0;
}

static cJSON *list_print(const struct option *o, const void *member)
{
	const struct option *const tables[] = {o->table, NULL};
	const char *items = member;
	uint32_t count = *list_counter((void *)(uintptr_t)member, o);
	cJSON *list = cJSON_CreateArray();

	for (uint32_t i = 0; list && i < count; i++, items += o->size) {
		if (!option_append(list, options_to_json(tables, items))) {
			cJSON_Delete(list);
			return NULL;
		}
	}
	return list;
}

static bool list_schema(struct cJSON *schema, const struct option *o)
{
	return option_add(schema, "type", cJSON_CreateString("array")) &&
	       table_schema(cJSON_AddObjectToObject(schema, "items"), o) &&
	       (!o->min || option_add(schema, "minItems", cJSON_CreateNumber((double)o->min))) &&
	       option_add(schema, "maxItems", cJSON_CreateNumber((double)o->max));
}

static void list_range(char *out, size_t size, const struct option *o)
{
	if (o->min)
		snprintf(out, size, " of %llu … %llu", (unsigned long long)o->min,
			 (unsigned long long)o->max);
	else
		snprintf(out, size, " of at most %llu", (unsigned long long)o->max);
}

const struct option_rules option_list = {.words = "list",
					 .joint = ".N.",
					 .start = list_start,
					 .parse = list_parse,
					 .print = list_print,
					 .schema = list_schema,
					 .range = list_range};

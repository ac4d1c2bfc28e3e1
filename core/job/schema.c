/* SPDX-License-Identifier: Apache-2.0 */
/* Job reference: what a job may contain, for programs (JSON Schema) and for people (text). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/internal.h"
#include "core/json.h"

static bool schema_add(cJSON *object, const char *key, cJSON *item)
{
	if (object && item && cJSON_AddItemToObject(object, key, item))
		return true;
	cJSON_Delete(item);
	return false;
}

/* An object of at most max members whose names are valid for stores and data sets. */
static bool schema_add_named(cJSON *object, unsigned max)
{
	return schema_add(object, "type", cJSON_CreateString("object")) &&
	       schema_add(cJSON_AddObjectToObject(object, "propertyNames"), "pattern",
			  cJSON_CreateString(JOB_NAME_PATTERN)) &&
	       schema_add(object, "maxProperties", cJSON_CreateNumber(max));
}

static bool schema_append(cJSON *list, cJSON *item)
{
	if (list && item && cJSON_AddItemToArray(list, item))
		return true;
	cJSON_Delete(item);
	return false;
}

/* The scheme of the URI tells the kinds of stores apart. */
static cJSON *store_schema(const struct section *section)
{
	cJSON *store = options_schema(section->tables), *uri = cJSON_CreateObject(), *any, *list;
	cJSON *text = cJSON_CreateObject(), *items = cJSON_CreateObject(), *properties;
	char pattern[64];
	bool ok;

	snprintf(pattern, sizeof(pattern), "^%s://", section->name);
	any = cJSON_AddArrayToObject(uri, "oneOf");
	list = cJSON_CreateObject();
	ok = schema_add(text, "type", cJSON_CreateString("string")) &&
	     schema_add(text, "pattern", cJSON_CreateString(pattern)) &&
	     schema_add(items, "type", cJSON_CreateString("string")) &&
	     schema_add(items, "pattern", cJSON_CreateString(pattern)) &&
	     schema_add(list, "type", cJSON_CreateString("array")) &&
	     schema_add(list, "minItems", cJSON_CreateNumber(1));
	ok = schema_add(list, "items", items) && ok;
	ok = schema_append(any, text) && ok;
	ok = schema_append(any, list) && ok;
	properties = cJSON_GetObjectItemCaseSensitive(store, "properties");
	if (cJSON_GetObjectItemCaseSensitive(properties, "uri"))
		ok = cJSON_ReplaceItemInObjectCaseSensitive(properties, "uri", uri) && ok;
	else
		ok = schema_add(properties, "uri", uri) && ok;
	if (ok && section->help)
		ok = schema_add(store, "description", cJSON_CreateString(section->help));
	if (ok)
		return store;
	cJSON_Delete(store);
	return NULL;
}

static bool add_stores_schema(cJSON *properties, const struct job_schema *schema)
{
	cJSON *stores = cJSON_AddObjectToObject(properties, "stores"), *any;
	const struct section *const *s;

	if (!stores || !schema_add_named(stores, JOB_STORES_MAX))
		return false;
	any = cJSON_AddArrayToObject(cJSON_AddObjectToObject(stores, "additionalProperties"),
				     "oneOf");
	for (s = schema->stores; *s; s++)
		if (!schema_append(any, store_schema(*s)))
			return false;
	return any != NULL;
}

/* {"base": "other.json", "set": ["train.batch=4"]} */
static bool add_base_schema(cJSON *properties)
{
	cJSON *base = cJSON_AddObjectToObject(properties, "base");
	cJSON *set = cJSON_AddObjectToObject(properties, "set");

	return schema_add(base, "type", cJSON_CreateString("string")) &&
	       schema_add(base, "description",
			  cJSON_CreateString("a job in the same folder that has all other keys")) &&
	       schema_add(set, "type", cJSON_CreateString("array")) &&
	       schema_add(set, "description",
			  cJSON_CreateString("changes to the base, as in --set")) &&
	       schema_add(cJSON_AddObjectToObject(set, "items"), "type",
			  cJSON_CreateString("string"));
}

/* A job has phases, or a base that has them. */
static bool add_required(cJSON *root)
{
	static const char *const one[] = {"phases", "base"};
	cJSON *any = cJSON_AddArrayToObject(root, "anyOf");
	bool ok = any != NULL;

	for (unsigned i = 0; ok && i < sizeof(one) / sizeof(*one); i++) {
		cJSON *either = cJSON_CreateObject();

		ok = schema_append(any, either) &&
		     schema_append(cJSON_AddArrayToObject(either, "required"),
				   cJSON_CreateString(one[i]));
	}
	return ok;
}

/* {"name": {"stores": {…}, "env": {"NAME": "value"}}} */
static bool add_ways_schema(cJSON *properties, const struct job_schema *schema)
{
	cJSON *ways = cJSON_AddObjectToObject(properties, "ways"), *way, *parts, *env;

	if (!ways || !schema_add_named(ways, JOB_WAYS_MAX))
		return false;
	way = cJSON_AddObjectToObject(ways, "additionalProperties");
	if (!schema_add(way, "type", cJSON_CreateString("object")) ||
	    !schema_add(way, "additionalProperties", cJSON_CreateFalse()))
		return false;
	parts = cJSON_AddObjectToObject(way, "properties");
	env = cJSON_AddObjectToObject(parts, "env");
	return add_stores_schema(parts, schema) &&
	       schema_add(env, "type", cJSON_CreateString("object")) &&
	       cJSON_AddStringToObject(cJSON_AddObjectToObject(env, "additionalProperties"), "type",
				       "string");
}

static bool add_datasets_schema(cJSON *properties, const struct job_schema *schema)
{
	cJSON *several;

	if (!schema_add(properties, "dataset", options_schema(schema->dataset->tables)))
		return false;
	several = cJSON_AddObjectToObject(properties, "datasets");
	return several && schema_add_named(several, JOB_DATASETS_MAX) &&
	       schema_add(several, "additionalProperties", options_schema(schema->dataset->tables));
}

/* {"kind": {options of the kind, and those of every phase}}, and nothing else. */
static cJSON *phase_schema(const struct section *section, const struct option *const *common)
{
	const struct option *tables[SECTION_TABLES + 4] = {NULL};
	struct job_target_options targets;
	cJSON *phase = cJSON_CreateObject(), *properties, *required, *options;
	unsigned n = 0, i;
	bool ok;

	for (i = 0; common[i]; i++)
		tables[n++] = common[i];
	for (i = 0; section->tables[i]; i++)
		tables[n++] = section->tables[i];
	job_target_options(&targets, section);
	tables[n] = targets.list;
	ok = schema_add(phase, "type", cJSON_CreateString("object"));
	properties = cJSON_AddObjectToObject(phase, "properties");
	options = options_schema(tables);
	if (options && section->help)
		ok = schema_add(options, "description", cJSON_CreateString(section->help)) && ok;
	ok = schema_add(properties, section->name, options) && ok;
	required = cJSON_AddArrayToObject(phase, "required");
	ok = schema_append(required, cJSON_CreateString(section->name)) && ok;
	ok = schema_add(phase, "additionalProperties", cJSON_CreateFalse()) && ok;
	if (ok)
		return phase;
	cJSON_Delete(phase);
	return NULL;
}

/* {"together": [phases with "ranks" or "nodes"]}, and what stands beside the list. */
static cJSON *together_schema(const struct job_schema *schema)
{
	cJSON *together = options_schema(job_together_tables), *list = cJSON_CreateObject(), *any;
	cJSON *properties = cJSON_GetObjectItemCaseSensitive(together, "properties"), *required;
	bool ok = schema_add(list, "type", cJSON_CreateString("array")) &&
		  schema_add(list, "minItems", cJSON_CreateNumber(1)) &&
		  schema_add(list, "maxItems", cJSON_CreateNumber(JOB_TOGETHER_MAX));

	any = cJSON_AddArrayToObject(cJSON_AddObjectToObject(list, "items"), "oneOf");
	for (const struct section *const *s = schema->phases; *s && ok; s++)
		ok = schema_append(any, phase_schema(*s, job_member_tables));
	ok = schema_add(properties, JOB_TOGETHER, list) && ok;
	required = cJSON_AddArrayToObject(together, "required");
	ok = schema_append(required, cJSON_CreateString(JOB_TOGETHER)) && ok;
	if (ok)
		return together;
	cJSON_Delete(together);
	return NULL;
}

static bool add_phases_schema(cJSON *properties, const struct job_schema *schema)
{
	cJSON *phases = cJSON_AddObjectToObject(properties, "phases"), *any;
	const struct section *const *s;
	bool ok;

	ok = schema_add(phases, "type", cJSON_CreateString("array")) &&
	     schema_add(phases, "maxItems", cJSON_CreateNumber(JOB_PHASES_MAX));
	any = cJSON_AddArrayToObject(cJSON_AddObjectToObject(phases, "items"), "oneOf");
	for (s = schema->phases; *s && ok; s++)
		ok = schema_append(any, phase_schema(*s, job_phase_tables));
	return ok && schema_append(any, together_schema(schema));
}

char *job_json_schema(const struct job_schema *schema)
{
	cJSON *root = cJSON_CreateObject(), *body = options_schema(job_tables), *properties, *item;
	bool ok = root && body &&
		  schema_add(root, "$schema",
			     cJSON_CreateString("https://json-schema.org/draft/2020-12/schema")) &&
		  schema_add(root, "title", cJSON_CreateString("haul job"));
	char *text = NULL;

	while (ok && body->child) {
		item = cJSON_DetachItemViaPointer(body, body->child);
		ok = schema_add(root, item->string, item);
	}
	properties = cJSON_GetObjectItemCaseSensitive(root, "properties");
	ok = ok && schema_add(properties, "cluster", options_schema(job_cluster_tables)) &&
	     add_stores_schema(properties, schema) && add_ways_schema(properties, schema) &&
	     add_base_schema(properties) && add_datasets_schema(properties, schema) &&
	     add_phases_schema(properties, schema);
	if (ok && add_required(root))
		text = json_print(root);
	cJSON_Delete(body);
	cJSON_Delete(root);
	return text;
}

static bool write_section(FILE *f, const char *title, const char *help,
			  const struct option *const *tables)
{
	char *text = options_reference(tables);

	fprintf(f, "\n%s%s%s\n%s", title, help ? ": " : "", help ? help : "",
		!text || *text ? "" : "  (no options)\n");
	if (!text)
		return false;
	fputs(text, f);
	free(text);
	return true;
}

/* The kind's own options come first, then its targets. */
static bool write_phase(FILE *f, const struct section *section)
{
	const struct option *tables[SECTION_TABLES + 1] = {NULL};
	struct job_target_options targets;
	char title[80];
	unsigned i;

	for (i = 0; section->tables[i]; i++)
		tables[i] = section->tables[i];
	job_target_options(&targets, section);
	tables[i] = targets.list;
	snprintf(title, sizeof(title), "/phases/N/%.40s", section->name);
	return write_section(f, title, section->help, tables);
}

char *job_reference(const struct job_schema *schema)
{
	const struct section *const *s;
	char title[80], *text = NULL;
	size_t length;
	FILE *f = open_memstream(&text, &length);
	bool ok;

	if (!f)
		return NULL;
	fputs("A job is one JSON object. Sizes and times are numbers (bytes, seconds) or strings with a unit\n"
	      "(\"140 MiB\", \"323 ms\"); whole numbers of 2^53 and more are strings. A drawn time is a time or\n"
	      "{\"type\": \"normal\", \"mean\": \"5 ms\", \"stdev\": \"1 ms\"}; other types are uniform (min, max),\n"
	      "gamma (shape, scale), exponential (mean) and poisson (mean, unit). A key written here as a.b is b\n"
	      "inside the object a; a value in place of the object a stands for its first key. --set names a\n"
	      "key by its path: stores.data.uri=…, phases.1.train.batch=4, or train.batch=4.\n",
	      f);
	ok = write_section(f, "/", "the job", job_tables) &&
	     write_section(f, "/cluster", "the machine that it runs on or stands for",
			   job_cluster_tables);
	for (s = schema->stores; *s && ok; s++) {
		snprintf(title, sizeof(title), "/stores/NAME with a URI %.20s://", (*s)->name);
		ok = write_section(f, title, (*s)->help, (*s)->tables);
	}
	ok = ok &&
	     write_section(f, "/dataset, or /datasets/NAME", schema->dataset->help,
			   schema->dataset->tables) &&
	     write_section(f, "/phases/N/KIND", "the keys that every phase may have",
			   job_phase_tables) &&
	     write_section(f, "/phases/N",
			   "beside \"together\", a list of phases that run at the same time",
			   job_together_tables) &&
	     write_section(f, "/phases/N/together/K/KIND",
			   "the keys that every phase may have there", job_member_tables);
	for (s = schema->phases; *s && ok; s++)
		ok = write_phase(f, *s);
	if (fclose(f) || !ok) {
		free(text);
		return NULL;
	}
	return text;
}

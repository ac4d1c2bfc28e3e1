/* JSON Schema of options, for programs. */
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "core/json.h"
#include "core/option/internal.h"

#define NUMBER_PATTERN "^[0-9]+(\\.[0-9]+)? *"
#define SIZE_PATTERN   NUMBER_PATTERN "((k|K|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?B"

static bool add_value_schema(struct cJSON *schema, const struct option *o);
static bool add_default(struct cJSON *schema, const struct option *o);

struct cJSON *options_schema(const struct option *const *tables)
{
	cJSON *schema = cJSON_CreateObject(), *properties, *required = cJSON_CreateArray();
	const struct option *o;
	bool ok;

	ok = option_add(schema, "type", cJSON_CreateString("object"));
	properties = cJSON_AddObjectToObject(schema, "properties");
	for (; *tables; tables++) {
		for (o = *tables; o->name && ok; o++) {
			ok = option_add(properties, o->name, option_schema(o));
			if (ok && o->required)
				ok = option_append(required, cJSON_CreateString(o->name));
		}
	}
	if (ok && required && required->child) {
		ok = option_add(schema, "required", required);
		required = NULL;
	}
	ok = ok && option_add(schema, "additionalProperties", cJSON_CreateFalse());
	cJSON_Delete(required);
	if (ok)
		return schema;
	cJSON_Delete(schema);
	return NULL;
}

struct cJSON *option_schema(const struct option *o)
{
	cJSON *schema = o->kind == OPTION_DRAW ? option_draw_schema(o) : cJSON_CreateObject();
	bool ok = schema != NULL;

	if (ok && o->kind == OPTION_TABLE)
		ok = option_table_schema(schema, o->table);
	else if (ok && o->kind == OPTION_LIST)
		ok = option_list_schema(schema, o);
	else if (ok && o->kind != OPTION_DRAW)
		ok = add_value_schema(schema, o);
	if (ok && o->help)
		ok = option_add(schema, "description", cJSON_CreateString(o->help));
	if (ok && !o->required && option_default_valid(o))
		ok = add_default(schema, o);
	if (ok)
		return schema;
	cJSON_Delete(schema);
	return NULL;
}

/* {"type": type} with a pattern, appended to a oneOf. */
static cJSON *add_alternative(struct cJSON *any, const char *type, const char *pattern)
{
	cJSON *alternative = cJSON_CreateObject();
	bool ok = option_add(alternative, "type", cJSON_CreateString(type)) &&
		  (!pattern || option_add(alternative, "pattern", cJSON_CreateString(pattern)));

	if (ok && option_append(any, alternative))
		return alternative;
	if (!ok)
		cJSON_Delete(alternative);
	return NULL;
}

/* A number within the option's bounds, or a string. */
static bool add_whole_schema(struct cJSON *schema, const struct option *o)
{
	static const char *const patterns[] = {
		[OPTION_U64] = "^[0-9]+$",
		[OPTION_BYTES] = SIZE_PATTERN ")?$",
		[OPTION_TIME] = NUMBER_PATTERN "(ns|us|\xc2\xb5s|\xce\xbcs|ms|s|min|h|d)?$",
		[OPTION_RATE] = SIZE_PATTERN "/s)?$",
	};
	double unit = o->kind == OPTION_TIME ? 1e9 : 1;
	double max = o->kind == OPTION_TIME ? 0x1p64 : JSON_WHOLE_MAX;
	cJSON *any = cJSON_AddArrayToObject(schema, "oneOf");
	cJSON *number = add_alternative(any, o->kind == OPTION_TIME ? "number" : "integer", NULL);

	if (o->max && (double)o->max < max)
		max = (double)o->max;
	return number && option_add(number, "minimum", cJSON_CreateNumber((double)o->min / unit)) &&
	       option_add(number, "maximum", cJSON_CreateNumber(max / unit)) &&
	       add_alternative(any, "string", patterns[o->kind]);
}

static bool add_real_schema(struct cJSON *schema, const struct option *o)
{
	double min = option_min_real(o), max = option_max_real(o);

	return option_add(schema, "type", cJSON_CreateString("number")) &&
	       (!isfinite(min) || option_add(schema, "minimum", cJSON_CreateNumber(min))) &&
	       (!isfinite(max) || option_add(schema, "maximum", cJSON_CreateNumber(max)));
}

static bool add_texts_schema(struct cJSON *schema)
{
	cJSON *any = cJSON_AddArrayToObject(schema, "oneOf"), *list;

	if (!add_alternative(any, "string", NULL))
		return false;
	list = add_alternative(any, "array", NULL);
	return list && option_add(cJSON_AddObjectToObject(list, "items"), "type",
				  cJSON_CreateString("string"));
}

static bool add_choice_schema(struct cJSON *schema, const struct option *o)
{
	cJSON *list = cJSON_AddArrayToObject(schema, "enum");
	const char *const *name;

	for (name = o->choices; *name; name++)
		if (!option_append(list, cJSON_CreateString(*name)))
			return false;
	return list != NULL;
}

static bool add_factors_schema(struct cJSON *schema, const struct option *o)
{
	cJSON *patterns;
	bool ok;

	ok = option_add(schema, "type", cJSON_CreateString("object"));
	patterns = cJSON_AddObjectToObject(schema, "patternProperties");
	return ok && patterns &&
	       add_real_schema(cJSON_AddObjectToObject(patterns, "^(0|[1-9][0-9]*)$"), o) &&
	       option_add(schema, "maxProperties", cJSON_CreateNumber(FACTORS_MAX)) &&
	       option_add(schema, "additionalProperties", cJSON_CreateFalse());
}

static bool add_value_schema(struct cJSON *schema, const struct option *o)
{
	switch (o->kind) {
	case OPTION_REAL:
		return add_real_schema(schema, o);
	case OPTION_BOOL:
		return option_add(schema, "type", cJSON_CreateString("boolean"));
	case OPTION_TEXT:
		return option_add(schema, "type", cJSON_CreateString("string")) &&
		       option_add(schema, "maxLength", cJSON_CreateNumber(o->size - 1));
	case OPTION_TEXTS:
		return add_texts_schema(schema);
	case OPTION_CHOICE:
		return add_choice_schema(schema, o);
	case OPTION_FACTORS:
		return add_factors_schema(schema, o);
	default:
		return add_whole_schema(schema, o);
	}
}

bool option_table_schema(struct cJSON *schema, const struct option *table)
{
	const struct option *const tables[] = {table, NULL};
	cJSON *any;

	if (table->kind == OPTION_TABLE || !table->name)
		return option_add(schema, "type", cJSON_CreateString("object"));
	any = cJSON_AddArrayToObject(schema, "anyOf");
	return option_append(any, options_schema(tables)) &&
	       option_append(any, option_schema(table));
}

static bool add_default(struct cJSON *schema, const struct option *o)
{
	union {
		uint64_t whole;
		double real;
		uint32_t choice;
		bool yes;
		struct draw draw;
	} value;
	struct option at_zero = *o;

	at_zero.offset = 0;
	memset(&value, 0, sizeof(value));
	switch (o->kind) {
	case OPTION_U64:
	case OPTION_BYTES:
	case OPTION_TIME:
	case OPTION_RATE:
		value.whole = o->def;
		break;
	case OPTION_REAL:
		value.real = o->def_real;
		break;
	case OPTION_CHOICE:
		value.choice = (uint32_t)o->def;
		break;
	case OPTION_BOOL:
		value.yes = o->def != 0;
		break;
	case OPTION_DRAW:
		value.draw.a = o->def_real;
		break;
	case OPTION_TEXT:
	case OPTION_TEXTS:
		return !o->def_text ||
		       option_add(schema, "default", cJSON_CreateString(o->def_text));
	default:
		return true;
	}
	return option_add(schema, "default", option_to_json(&at_zero, &value));
}

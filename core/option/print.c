/* Option printer: from structs to JSON. The output reads back as the same values: whole numbers
 * that a double cannot hold become strings; times are seconds with at most 15 digits, else strings
 * of ns. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/option/internal.h"

/* Seconds with 15 significant digits are exact to the nanosecond below this. */
#define SECONDS_EXACT_NS 1000000000000000ull

static bool print_table(struct cJSON *object, const struct option *table, const void *from);
static bool lacks_required(const struct option *table, const struct cJSON *object);

struct cJSON *options_to_json(const struct option *const *tables, const void *from)
{
	cJSON *object = cJSON_CreateObject();

	for (; object && *tables; tables++) {
		if (!print_table(object, *tables, from)) {
			cJSON_Delete(object);
			return NULL;
		}
	}
	return object;
}

static bool print_table(struct cJSON *object, const struct option *table, const void *from)
{
	const struct option *o;
	cJSON *item;

	for (o = table; o->name; o++) {
		if ((!option_default_valid(o) && option_is_default(o, from)) ||
		    !option_chosen(o, table, from))
			continue;
		item = option_to_json(o, from);
		if (!item)
			return false;
		if (o->kind == OPTION_TABLE && lacks_required(o->table, item)) {
			cJSON_Delete(
				/* was never given and stays absent; an object without its keys
				 * would not parse */
				item);
			continue;
		}
		if (!option_add(object, o->name, item))
			return false;
	}
	return true;
}

static bool lacks_required(const struct option *table, const struct cJSON *object)
{
	for (; table->name; table++)
		if (table->required && !cJSON_GetObjectItemCaseSensitive(object, table->name))
			return true;
	return false;
}

static cJSON *whole_to_json(uint64_t v)
{
	char text[24];

	if (v <= (uint64_t)JSON_WHOLE_MAX)
		return cJSON_CreateNumber((double)v);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	return cJSON_CreateString(text);
}

static cJSON *time_to_json(uint64_t ns)
{
	char text[32];

	if (ns < SECONDS_EXACT_NS)
		return cJSON_CreateNumber((double)ns / 1e9);
	snprintf(text, sizeof(text), "%llu ns", (unsigned long long)ns);
	return cJSON_CreateString(text);
}

static cJSON *texts_to_json(const struct texts *texts)
{
	cJSON *list;
	uint32_t i;

	if (texts->count == 1)
		return cJSON_CreateString(texts->items[0]);
	list = cJSON_CreateArray();
	for (i = 0; list && i < texts->count; i++) {
		if (!option_append(list, cJSON_CreateString(texts->items[i]))) {
			cJSON_Delete(list);
			return NULL;
		}
	}
	return list;
}

static cJSON *factors_to_json(const struct factors *factors)
{
	cJSON *object = cJSON_CreateObject();
	char key[16];
	uint32_t i;

	for (i = 0; object && i < factors->count; i++) {
		snprintf(key, sizeof(key), "%u", factors->index[i]);
		if (!option_add(object, key, cJSON_CreateNumber(factors->factor[i]))) {
			cJSON_Delete(object);
			return NULL;
		}
	}
	return object;
}

struct cJSON *option_to_json(const struct option *o, const void *from)
{
	const void *member = option_member_of(from, o);
	const struct option *const tables[] = {o->table, NULL};

	switch (o->kind) {
	case OPTION_REAL:
		return cJSON_CreateNumber(*(const double *)member);
	case OPTION_BOOL:
		return cJSON_CreateBool(*(const bool *)member);
	case OPTION_TEXT:
		return cJSON_CreateString(member);
	case OPTION_TEXTS:
		return texts_to_json(member);
	case OPTION_CHOICE:
		return cJSON_CreateString(o->choices[*(const uint32_t *)member]);
	case OPTION_DRAW:
		return option_draw_to_json(member);
	case OPTION_FACTORS:
		return factors_to_json(member);
	case OPTION_TABLE:
		return options_to_json(tables, member);
	case OPTION_LIST:
		return option_list_to_json(o, from);
	case OPTION_TIME:
		return time_to_json(*(const uint64_t *)member);
	default:
		return whole_to_json(*(const uint64_t *)member);
	}
}

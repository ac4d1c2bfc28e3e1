/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the files of core/option/ only. What holds for each kind of option stands
 * in a table of rules: numbers.c, texts.c, draw.c and nested.c fill it, and options.c and
 * reference.c ask it. */
#ifndef HAUL_CORE_OPTION_INTERNAL_H
#define HAUL_CORE_OPTION_INTERNAL_H

#include <cjson/cJSON.h>

#include "core/option/option.h"

enum { OPTION_PATH_BYTES = 320 };

/* What a kind of option does; those of command lines are neither printed nor have a schema. member is where the option's value stands in its struct. */
struct option_rules {
	const char *words; /* what the reference calls its values */
	const char *joint; /* tables, lists: stands between the option's name and those within it */
	/* Sets the default, of which texts need the arena. */
	int (*start)(const struct option *o, void *member, struct arena *arena, struct err *err);
	int (*parse)(const struct option *o, void *member, const struct cJSON *value,
		     const char *where, struct arena *arena, struct err *err);
	struct cJSON *(*print)(const struct option *o, const void *member);
	/* Adds the kind and its bounds, and the default. */
	bool (*schema)(struct cJSON *schema, const struct option *o);
	bool (*schema_default)(struct cJSON *schema, const struct option *o); /* NULL: has none */
	/* Whether the default lies within the option's own bounds. NULL: it always does. */
	bool (*default_valid)(const struct option *o);
	/* Reference: the bounds, or the choices, and the default. NULL: nothing is said of them. */
	void (*range)(char *out, size_t size, const struct option *o);
	void (*shown_default)(char *out, size_t size, const struct option *o);
};

/* numbers.c, texts.c, draw.c, nested.c */
extern const struct option_rules option_u64, option_bytes, option_time, option_rate, option_real,
	option_bool, option_factors, option_text, option_texts, option_choice, option_word,
	option_words, option_draw, option_table, option_list;
const struct option_rules *option_rules(const struct option *o);

static inline void *option_member(void *into, const struct option *o)
{
	return (char *)into + o->offset;
}

/* Adds item under key. Frees it and returns false where there is no memory for it. */
static inline bool option_add(struct cJSON *object, const char *key, struct cJSON *item)
{
	if (item && cJSON_AddItemToObject(object, key, item))
		return true;
	cJSON_Delete(item);
	return false;
}

static inline bool option_append(struct cJSON *list, struct cJSON *item)
{
	if (item && cJSON_AddItemToArray(list, item))
		return true;
	cJSON_Delete(item);
	return false;
}

/* {"type": type} with a pattern, appended to a oneOf; NULL: no memory. */
struct cJSON *option_alternative(struct cJSON *any, const char *type, const char *pattern);

/* path/key with the key escaped and shortened for a message. */
void option_path(char where[OPTION_PATH_BYTES], const char *path, const char *key);
/* "where: must be <wanted>, is <value>" */
int option_refuse(const char *where, const char *wanted, const struct cJSON *value,
		  struct err *err);

/* A default that is not valid means "not given" and is not printed. */
bool option_default_valid(const struct option *o);
/* The schema_default of kinds whose value holds no text: what start sets, printed. */
bool option_value_default(struct cJSON *schema, const struct option *o);

/* Gives the struct at into, which already holds values, what object says. */
int options_fill(const struct option *const *tables, void *into, const struct cJSON *object,
		 const char *path, struct arena *arena, struct err *err);

/* Value of one option, from JSON and as a schema. */
int option_parse_one(const struct option *o, void *into, const struct cJSON *value,
		     const char *where, struct arena *arena, struct err *err);
struct cJSON *option_schema(const struct option *o);

#endif

/* Declarations shared by the files of core/option/ only. */
#ifndef HAUL_CORE_OPTION_INTERNAL_H
#define HAUL_CORE_OPTION_INTERNAL_H

#include <cjson/cJSON.h>

#include "core/option/option.h"

enum { OPTION_PATH_BYTES = 320, OPTION_EXACT_BYTES = 48 };

static inline void *option_member(void *into, const struct option *o)
{
	return (char *)into + o->offset;
}

static inline const void *option_member_of(const void *from, const struct option *o)
{
	return (const char *)from + o->offset;
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

/* path/key with the key escaped and shortened for a message. */
void option_path(char where[OPTION_PATH_BYTES], const char *path, const char *key);

/* A whole number in the largest unit that shows it exactly: "4 KiB", "1500 us", "7". */
char *option_exact(char buf[OPTION_EXACT_BYTES], enum option_kind kind, uint64_t value);

/* Whether the default lies within the option's own bounds. A default that does not means "not
 * given" and is not printed. */
bool option_default_valid(const struct option *o);
bool option_is_default(const struct option *o, const void *from);

/* The value of the choice called name in a table, for the struct at from. */
const char *option_choice(const char *name, const struct option *table, const void *from);
/* Whether o, of that table, may be given: it belongs to no choice, or to the chosen value. */
bool option_chosen(const struct option *o, const struct option *table, const void *from);

/* Bounds of a real, with "both 0: unbounded" resolved. */
double option_min_real(const struct option *o);
double option_max_real(const struct option *o);

/* Drawn times: draw.c. */
int option_draw_parse(const struct option *o, struct draw *d, const struct cJSON *value,
		      const char *where, struct arena *arena, struct err *err);
struct cJSON *option_draw_to_json(const struct draw *d);
struct cJSON *option_draw_schema(const struct option *o);

/* Lists: list.c. */
static inline uint32_t *option_list_count(void *into, const struct option *o)
{
	return (uint32_t *)(void *)((char *)into + o->count_offset);
}
int option_list_parse(const struct option *o, void *into, const struct cJSON *value,
		      const char *where, struct arena *arena, struct err *err);
struct cJSON *option_list_to_json(const struct option *o, const void *from);
bool option_list_schema(struct cJSON *schema, const struct option *o);

/* "where: must be <wanted>, is <value>" */
int option_refuse(const char *where, const char *wanted, const struct cJSON *value,
		  struct err *err);
/* Schema of an entry of a table: the object, or the bare value of its first option. */
bool option_table_schema(struct cJSON *schema, const struct option *table);

/* Value of one option, from JSON and to JSON. */
int option_parse_one(const struct option *o, void *into, const struct cJSON *value,
		     const char *where, struct arena *arena, struct err *err);
struct cJSON *option_to_json(const struct option *o, const void *from);
struct cJSON *option_schema(const struct option *o);

#endif

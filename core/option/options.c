/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of options: read from JSON, printed as JSON, and described as a JSON Schema. Each option
 * goes by the rules of its kind.
 *
 * Reading sets the defaults first, then the given keys in the order of the text, and looks for
 * missing ones at the end. An unknown key or one given twice ends it, so the work is bounded by the
 * tables. */
#include "core/option/option.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/option/internal.h"

enum { NAMES_MAX = 256 };

/* A walk through all options of all tables of some parts. */
struct walk {
	const struct option_part *parts;
	unsigned count, part, next; /* next: the option that follows in the table */
	const struct option *const *table;
};

static struct walk walk_of(const struct option_part *parts, unsigned count)
{
	return (struct walk){.parts = parts, .count = count, .table = parts->tables};
}

static const struct option *walk_next(struct walk *w)
{
	while (w->part < w->count) {
		if (*w->table && (*w->table)[w->next].name)
			return &(*w->table)[w->next++];
		w->next = 0;
		if (*w->table)
			w->table++;
		else if (++w->part < w->count)
			w->table = w->parts[w->part].tables;
	}
	return NULL;
}

/* The struct that the options of the walk's place fill. */
static void *walk_into(const struct walk *w)
{
	return w->parts[w->part].into;
}

const struct option_rules *option_rules(const struct option *o)
{
	static const struct option_rules *const rules[] = {
		[OPTION_U64] = &option_u64,         [OPTION_BYTES] = &option_bytes,
		[OPTION_TIME] = &option_time,       [OPTION_RATE] = &option_rate,
		[OPTION_REAL] = &option_real,       [OPTION_BOOL] = &option_bool,
		[OPTION_TEXT] = &option_text,       [OPTION_TEXTS] = &option_texts,
		[OPTION_CHOICE] = &option_choice,   [OPTION_WORD] = &option_word,
		[OPTION_WORDS] = &option_words,     [OPTION_DRAW] = &option_draw,
		[OPTION_FACTORS] = &option_factors, [OPTION_TABLE] = &option_table,
		[OPTION_LIST] = &option_list,
	};

	return rules[o->kind];
}

bool option_default_valid(const struct option *o)
{
	const struct option_rules *rules = option_rules(o);

	return !rules->default_valid || rules->default_valid(o);
}

void option_path(char where[OPTION_PATH_BYTES], const char *path, const char *key)
{
	char quoted[JSON_QUOTE_BYTES], escaped[2 * JSON_QUOTE_BYTES];
	size_t n, i, at = 0;

	json_quote(quoted, key);
	n = strlen(quoted) - 1; /* without the quotes; as RFC 6901 writes keys */
	for (i = 1; i < n; i++) {
		if (quoted[i] == '~' || quoted[i] == '/') {
			escaped[at++] = '~';
			escaped[at++] = quoted[i] == '~' ? '0' : '1';
		} else {
			escaped[at++] = quoted[i];
		}
	}
	escaped[at] = '\0';
	snprintf(where, OPTION_PATH_BYTES, "%.140s/%s", path, escaped);
}

int option_refuse(const char *where, const char *wanted, const struct cJSON *value, struct err *err)
{
	char is[JSON_QUOTE_BYTES];

	return err_set(err, -EINVAL, "%s: must be %s, is %s", where, wanted,
		       json_describe(is, value));
}

int option_parse_one(const struct option *o, void *into, const struct cJSON *value,
		     const char *where, struct arena *arena, struct err *err)
{
	return option_rules(o)->parse(o, option_member(into, o), value, where, arena, err);
}

/* The value of the choice called name in a table, for the struct at from. */
static const char *choice_value(const char *name, const struct option *table, const void *from)
{
	while (strcmp(table->name, name) != 0)
		table++;
	return table
		->choices[*(const uint32_t *)(const void *)((const char *)from + table->offset)];
}

/* Whether o, of that table, may be given: it belongs to no choice, or to the chosen value. */
static bool option_chosen(const struct option *o, const struct option *table, const void *from)
{
	return !o->of || strcmp(choice_value(o->of, table, from), o->name) == 0;
}

static int parts_preset(const struct option_part *parts, unsigned count, const struct cJSON *object,
			const char *path, struct arena *arena, struct err *err)
{
	struct walk w = walk_of(parts, count);
	const struct option *o;
	char where[OPTION_PATH_BYTES];
	const cJSON *child;
	int rc;

	while ((o = walk_next(&w)) != NULL) {
		child = o->preset ? cJSON_GetObjectItemCaseSensitive(object, o->name) : NULL;
		if (!child)
			continue;
		option_path(where, path, o->name);
		rc = option_parse_one(o, walk_into(&w), child, where, arena, err);
		if (rc < 0)
			return rc;
		o->preset(walk_into(&w));
	}
	return 0;
}

static int refuse_key(const struct option_part *parts, unsigned count, const char *const *others,
		      const char *key, const char *where, struct err *err)
{
	struct walk w = walk_of(parts, count);
	const struct option *o;
	const char *names[NAMES_MAX + 1];
	char known[400] = "";
	const char *near;
	static const char prefix[] = "target_";
	unsigned i, n = 0, targets = 0;
	size_t skip;

	for (i = 0; others && others[i] && n < NAMES_MAX; i++)
		names[n++] = others[i];
	while (n < NAMES_MAX && (o = walk_next(&w)) != NULL)
		names[n++] = o->name;
	/* A target is looked for among targets, by what follows the prefix of all of them. */
	for (i = 0; strncmp(key, prefix, strlen(prefix)) == 0 && i < n; i++)
		if (strncmp(names[i], prefix, strlen(prefix)) == 0)
			names[targets++] = names[i] + strlen(prefix);
	skip = targets ? strlen(prefix) : 0;
	n = targets ? targets : n;
	names[n] = NULL;
	near = option_nearest(key + skip, names);
	if (near)
		return err_set(err, -EINVAL, "%s: unknown key; did you mean \"%s\"?", where,
			       near - skip);
	if (!n)
		return err_set(err, -EINVAL, "%s: unknown key; there are no options here", where);
	for (i = 0; i < n; i++) {
		if (strlen(known) + strlen(names[i]) + skip + 8 > sizeof(known)) {
			strcat(known, ", …");
			break;
		}
		if (i)
			strcat(known, ", ");
		strcat(known, names[i] - skip);
	}
	return err_set(err, -EINVAL, "%s: unknown key; known are: %s", where, known);
}

static int parse_key(const struct option_part *parts, unsigned count, const char *const *others,
		     const struct cJSON *child, const char *path, struct arena *arena,
		     struct err *err)
{
	struct walk w = walk_of(parts, count);
	char where[OPTION_PATH_BYTES];
	const char *const *other;
	const struct option *o;

	for (other = others; other && *other; other++)
		if (!strcmp(*other, child->string))
			return 0;
	option_path(where, path, child->string);
	while ((o = walk_next(&w)) != NULL)
		if (!strcmp(o->name, child->string))
			return option_parse_one(o, walk_into(&w), child, where, arena, err);
	return refuse_key(parts, count, others, child->string, where, err);
}

static int parts_required(const struct option_part *parts, unsigned count,
			  const struct cJSON *object, const char *path, struct err *err)
{
	struct walk w = walk_of(parts, count);
	const struct option *o;

	while ((o = walk_next(&w)) != NULL)
		if (o->required && !cJSON_GetObjectItemCaseSensitive(object, o->name))
			return err_set(err, -EINVAL, "%s/%s: is missing", path, o->name);
	return 0;
}

/* Refuses tables that belong to another value of a choice than the chosen one. */
static int parts_chosen(const struct option_part *parts, unsigned count, const struct cJSON *object,
			const char *path, struct err *err)
{
	struct walk w = walk_of(parts, count);
	const struct option *o;

	while ((o = walk_next(&w)) != NULL)
		if (cJSON_GetObjectItemCaseSensitive(object, o->name) &&
		    !option_chosen(o, *w.table, walk_into(&w)))
			return err_set(err, -EINVAL, "%s/%s: is for %s \"%s\", not for \"%s\"",
				       path, o->name, o->of, o->name,
				       choice_value(o->of, *w.table, walk_into(&w)));
	return 0;
}

/* Applies what is given to structs that already hold values. */
static int parts_fill(const struct option_part *parts, unsigned count, const char *const *others,
		      const struct cJSON *object, const char *path, struct arena *arena,
		      struct err *err)
{
	char where[OPTION_PATH_BYTES];
	const cJSON *child;
	int rc;

	if (!cJSON_IsObject(object))
		return option_refuse(*path ? path : "/", "an object", object, err);
	rc = parts_preset(parts, count, object, path, arena, err);
	if (rc < 0)
		return rc;
	cJSON_ArrayForEach(child, object)
	{
		if (cJSON_GetObjectItemCaseSensitive(object, child->string) != child) {
			option_path(where, path, child->string);
			return err_set(err, -EINVAL, "%s: given twice", where);
		}
		rc = parse_key(parts, count, others, child, path, arena, err);
		if (rc < 0)
			return rc;
	}
	rc = parts_required(parts, count, object, path, err);
	return rc < 0 ? rc : parts_chosen(parts, count, object, path, err);
}

int options_fill(const struct option *const *tables, void *into, const struct cJSON *object,
		 const char *path, struct arena *arena, struct err *err)
{
	const struct option_part part = {tables, into};

	return parts_fill(&part, 1, NULL, object, path, arena, err);
}

int options_parse_parts(const struct option_part *parts, unsigned count, const char *const *others,
			const struct cJSON *object, const char *path, struct arena *arena,
			struct err *err)
{
	struct walk w = walk_of(parts, count);
	const struct option *o;
	int rc = 0;

	while (rc == 0 && (o = walk_next(&w)) != NULL)
		rc = option_rules(o)->start(o, option_member(walk_into(&w), o), arena, err);
	return rc < 0 || !object ? rc : parts_fill(parts, count, others, object, path, arena, err);
}

int options_parse(const struct option *const *tables, void *into, const struct cJSON *object,
		  const char *path, struct arena *arena, struct err *err)
{
	const struct option_part part = {tables, into};

	return options_parse_parts(&part, 1, NULL, object, path, arena, err);
}

int option_parse_word(const struct option *o, void *into, const char *word, const char *where,
		      struct err *err)
{
	cJSON *value = word ? cJSON_CreateStringReference(word) : cJSON_CreateTrue();
	int rc = value ? option_parse_one(o, into, value, where, NULL, err)
		       : err_set(err, -ENOMEM, "%s: no memory", where);

	cJSON_Delete(value);
	return rc;
}

/* A value of a kind that holds no text. */
union option_value {
	uint64_t whole;
	double real;
	uint32_t choice;
	bool yes;
	struct draw draw;
};

bool option_value_default(struct cJSON *schema, const struct option *o)
{
	union option_value value;

	memset(&value, 0, sizeof(value));
	option_rules(o)->start(o, &value, NULL, NULL);
	return option_add(schema, "default", option_rules(o)->print(o, &value));
}

/* Whether the option has its default, which is not valid, so that it was not given. Kinds whose
 * default may be invalid hold no text. */
static bool is_absent(const struct option *o, const void *member)
{
	union option_value value;

	if (option_default_valid(o))
		return false;
	option_rules(o)->start(o, &value, NULL, NULL);
	return memcmp(&value, member, o->size) == 0;
}

static bool lacks_required(const struct option *table, const struct cJSON *object)
{
	for (; table->name; table++)
		if (table->required && !cJSON_GetObjectItemCaseSensitive(object, table->name))
			return true;
	return false;
}

static bool print_table(struct cJSON *object, const struct option *table, const void *from)
{
	const struct option *o;
	const void *member;
	cJSON *item;

	for (o = table; o->name; o++) {
		member = (const char *)from + o->offset;
		if (is_absent(o, member) || !option_chosen(o, table, from))
			continue;
		item = option_rules(o)->print(o, member);
		if (!item)
			return false;
		if (o->kind == OPTION_TABLE && lacks_required(o->table, item)) {
			/* It was never given and stays absent; an object without its keys would not
			 * parse. */
			cJSON_Delete(item);
			continue;
		}
		if (!option_add(object, o->name, item))
			return false;
	}
	return true;
}

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

struct cJSON *option_schema(const struct option *o)
{
	const struct option_rules *rules = option_rules(o);
	cJSON *schema = cJSON_CreateObject();

	if (schema && rules->schema(schema, o) &&
	    (!o->help || option_add(schema, "description", cJSON_CreateString(o->help))) &&
	    (o->required || !rules->schema_default || !option_default_valid(o) ||
	     rules->schema_default(schema, o)))
		return schema;
	cJSON_Delete(schema);
	return NULL;
}

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

struct cJSON *option_alternative(struct cJSON *any, const char *type, const char *pattern)
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

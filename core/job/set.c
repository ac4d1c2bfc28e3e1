/* SPDX-License-Identifier: Apache-2.0 */
/* --set path=value: changes the JSON tree before it is read, so that the value is checked and
 * refused just like one in the file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/internal.h"
#include "core/json.h"

enum { SET_SEGMENTS_MAX = 12, SET_PATH_BYTES = 200 };

struct set {
	char path[SET_PATH_BYTES]; /* cut at its dots */
	const char *segments[SET_SEGMENTS_MAX];
	unsigned count, at; /* at: index of the next part */
	char *pointer;      /* the JSON path so far */
	const struct job_schema *schema;
	const struct option *const *tables; /* of the node, where it is a phase's kind; else NULL */
	const struct option *table; /* of the node, where it is an option with a table; else NULL */
	const struct option *list;  /* of the entries of the node, where it is a list; else NULL */
	/* Phases of the kind that the path names, where no phase has that name: how many are done,
	 * how many this search has passed, and whether one follows. */
	unsigned done, seen;
	bool again;
	struct err *err;
};

static int set_split(struct set *s, const char *text, size_t length);
static const struct option *const *kind_tables(const struct set *s, const char *kind);
static int set_value(const char *text, cJSON **value, struct err *err);
static int set_one(struct set *s, cJSON *root, const char *text);
static int set_start(struct set *s, cJSON **node);
static int set_enter(struct set *s, cJSON **node);
static int set_store(struct set *s, cJSON *node, cJSON *value);
static int set_index(struct set *s, cJSON *list, const char *segment, int *index);

int job_set(const struct job_schema *schema, cJSON *root, const char *text,
	    char pointer[JOB_POINTER_BYTES], struct err *err)
{
	const char *equals = strchr(text, '=');
	struct set s = {.pointer = pointer, .schema = schema, .err = err};
	int rc;

	if (!equals || equals == text)
		return err_set(err, -EINVAL, "write it as path=value, as in train.batch=4");
	rc = set_split(&s, text, (size_t)(equals - text));
	do {
		s.at = 0;
		s.seen = 0;
		s.again = false;
		rc = rc < 0 ? rc : set_one(&s, root, equals + 1);
		s.done++;
	} while (rc == 0 && s.again);
	return rc;
}

/* Sets the value at the first place that the path names, or where a kind of phase has several, in
 * phase s->done of them. */
static int set_one(struct set *s, cJSON *root, const char *text)
{
	cJSON *node = root, *value;
	int rc;

	s->pointer[0] = '\0';
	s->tables = NULL;
	s->table = s->list = NULL;
	rc = set_start(s, &node);
	while (!rc && s->at + 1 < s->count)
		rc = set_enter(s, &node);
	if (rc < 0)
		return rc;
	rc = set_value(text, &value, s->err);
	if (rc < 0)
		return rc;
	rc = set_store(s, node, value);
	if (rc < 0)
		cJSON_Delete(value);
	return rc;
}

static int set_split(struct set *s, const char *text, size_t length)
{
	char *p = s->path;

	if (length >= sizeof(s->path))
		return err_set(s->err, -EINVAL, "its path is longer than %zu bytes",
			       sizeof(s->path) - 1);
	memcpy(s->path, text, length);
	if (!json_text_plain(s->path))
		return err_set(s->err, -EINVAL, "its path holds control characters");
	while (p) {
		if (s->count == SET_SEGMENTS_MAX)
			return err_set(s->err, -EINVAL, "its path has more than %d parts",
				       SET_SEGMENTS_MAX);
		s->segments[s->count++] = p;
		p = strchr(p, '.');
		if (p)
			*p++ = '\0';
		if (!*s->segments[s->count - 1])
			return err_set(s->err, -EINVAL, "its path has an empty part");
	}
	return 0;
}

/* The value is JSON if it parses as JSON, else bare text. */
static int set_value(const char *text, cJSON **value, struct err *err)
{
	if (!json_parse(value, text, strlen(text), JOB_DEPTH_MAX - SET_SEGMENTS_MAX, JOB_VALUES_MAX,
			NULL))
		return 0;
	if (!json_text_plain(text))
		return err_set(err, -EINVAL, "its value holds control characters");
	*value = cJSON_CreateString(text);
	return *value ? 0 : err_set(err, -ENOMEM, "no memory");
}

static void add_pointer(struct set *s, const char *segment)
{
	size_t n = strlen(s->pointer);

	snprintf(s->pointer + n, JOB_POINTER_BYTES - n, "/%s", segment);
}

/* A phase's name is the given one, or else its kind. */
static bool phase_is(struct set *s, const cJSON *phase, const char *name, bool kind)
{
	const cJSON *given;

	if (!cJSON_IsObject(phase) || !phase->child)
		return false;
	if (kind)
		return strcmp(phase->child->string, name) == 0 && s->seen++ == s->done;
	given = cJSON_GetObjectItemCaseSensitive(phase->child, "name");
	return !strcmp(cJSON_IsString(given) ? given->valuestring : phase->child->string, name);
}

/* The first phase of that name in a list, or number s->done of that kind, and in what runs together
 * in it. Adds its path. */
static cJSON *phase_named(struct set *s, const cJSON *list, const char *name, bool kind)
{
	size_t n = strlen(s->pointer);
	cJSON *child, *found;
	char index[16];
	int i = 0;

	cJSON_ArrayForEach(child, list)
	{
		cJSON *together = cJSON_IsObject(child)
					  ? cJSON_GetObjectItemCaseSensitive(child, JOB_TOGETHER)
					  : NULL;

		snprintf(index, sizeof(index), "%d", i++);
		add_pointer(s, index);
		if (!together && phase_is(s, child, name, kind))
			return child;
		if (together) {
			add_pointer(s, JOB_TOGETHER);
			found = phase_named(s, together, name, kind);
			if (found)
				return found;
		}
		s->pointer[n] = '\0';
	}
	return NULL;
}

static bool is_part(const char *segment)
{
	const struct option *o;
	const char *const *part;

	for (part = job_parts; *part; part++)
		if (!strcmp(*part, segment))
			return true;
	for (o = job_tables[0]; o->name; o++)
		if (!strcmp(o->name, segment))
			return true;
	return false;
}

static const struct option *const *kind_tables(const struct set *s, const char *kind)
{
	const struct section *const *section;

	for (section = s->schema->phases; *section; section++)
		if (!strcmp((*section)->name, kind))
			return (*section)->tables;
	return NULL;
}

static unsigned phases_of_kind(const cJSON *list, const char *kind)
{
	unsigned n = 0;
	const cJSON *child;

	cJSON_ArrayForEach(child, list)
	{
		const cJSON *together =
			cJSON_IsObject(child)
				? cJSON_GetObjectItemCaseSensitive(child, JOB_TOGETHER)
				: NULL;

		if (together)
			n += phases_of_kind(together, kind);
		else if (cJSON_IsObject(child) && child->child)
			n += strcmp(child->child->string, kind) == 0;
	}
	return n;
}

/* The first part: a key of the job, the name of a phase, or the name of a data set. */
static int set_start(struct set *s, cJSON **node)
{
	cJSON *phases = cJSON_GetObjectItemCaseSensitive(*node, "phases");
	cJSON *datasets = cJSON_GetObjectItemCaseSensitive(*node, "datasets"), *child;
	const char *name = s->segments[0];
	char quoted[JSON_QUOTE_BYTES];

	if (is_part(name))
		return 0;
	s->at = 1;
	add_pointer(s, "phases");
	child = phase_named(s, phases, name, false);
	if (!child) {
		child = phase_named(s, phases, name, true);
		s->again = child && phases_of_kind(phases, name) > s->done + 1;
	}
	if (child) {
		add_pointer(s, child->child->string);
		*node = child->child;
		s->tables = kind_tables(s, child->child->string);
	} else {
		s->pointer[0] = '\0';
		child = cJSON_IsObject(datasets) ? cJSON_GetObjectItemCaseSensitive(datasets, name)
						 : NULL;
	}
	if (!child)
		return err_set(
			s->err, -EINVAL,
			"the job has no %s; a path starts with name, seed, ranks, stall_limit, "
			"cluster, stores, dataset, datasets, phases, or the name or kind of a phase, or the name of a data set",
			json_quote(quoted, name));
	if (!s->pointer[0]) {
		snprintf(s->pointer, JOB_POINTER_BYTES, "/datasets/%s", name);
		*node = child;
	}
	if (s->count == 1)
		return err_set(s->err, -EINVAL,
			       "%s is not an option but holds some, as in %s.batch=4", name, name);
	return 0;
}

/* The option of that name, where it holds options itself. */
static const struct option *set_holder(const struct option *table, const char *name)
{
	for (; table && table->name; table++)
		if ((table->kind == OPTION_TABLE || table->kind == OPTION_LIST) &&
		    !strcmp(table->name, name))
			return table;
	return NULL;
}

/* Finds the tables of what segment names in the node. */
static void set_follow(struct set *s, const char *segment)
{
	const struct option *const *tables = s->tables, *found = set_holder(s->table, segment);

	for (; tables && *tables && !found; tables++)
		found = set_holder(*tables, segment);
	s->table = found && found->kind == OPTION_TABLE ? found->table : NULL;
	s->list = found && found->kind == OPTION_LIST ? found->table : NULL;
	s->tables = NULL;
	if (!strcmp(s->segments[0], "phases") &&
	    (s->at == 3 || (s->at == 5 && !strcmp(s->segments[2], JOB_TOGETHER))))
		s->tables = kind_tables(s, segment);
}

/* A bare value that stands for the first option of a table becomes the object that it
 * abbreviates. */
static int set_unfold(struct set *s, cJSON *parent, const char *segment, cJSON **child)
{
	cJSON *object, *bare;
	bool replaced;

	if (!s->table || cJSON_IsObject(*child) || cJSON_IsArray(*child))
		return 0;
	object = cJSON_CreateObject();
	bare = cJSON_Duplicate(*child, true);
	if (!object || !bare || !cJSON_AddItemToObject(object, s->table->name, bare)) {
		cJSON_Delete(bare);
		cJSON_Delete(object);
		return err_set(s->err, -ENOMEM, "no memory");
	}
	if (cJSON_IsArray(parent))
		replaced = cJSON_ReplaceItemViaPointer(parent, *child, object);
	else
		replaced = cJSON_ReplaceItemInObjectCaseSensitive(parent, segment, object);
	if (!replaced) {
		cJSON_Delete(object);
		return err_set(s->err, -ENOMEM, "no memory");
	}
	*child = object;
	return 0;
}

/* Goes down one part, and makes the object or list that is not there yet. */
static int set_enter(struct set *s, cJSON **node)
{
	const char *segment = s->segments[s->at++];
	char is[JSON_QUOTE_BYTES];
	cJSON *child = NULL;
	int index, rc;

	if (cJSON_IsArray(*node)) {
		rc = set_index(s, *node, segment, &index);
		if (rc < 0)
			return rc;
		child = cJSON_GetArrayItem(*node, index);
		s->table = s->list;
		s->list = NULL;
		rc = set_unfold(s, *node, segment, &child);
		if (rc < 0)
			return rc;
	} else if (cJSON_IsObject(*node)) {
		set_follow(s, segment);
		child = cJSON_GetObjectItemCaseSensitive(*node, segment);
		if (!child)
			child = s->list ? cJSON_AddArrayToObject(*node, segment)
					: cJSON_AddObjectToObject(*node, segment);
		if (!child)
			return err_set(s->err, -ENOMEM, "no memory");
		rc = set_unfold(s, *node, segment, &child);
		if (rc < 0)
			return rc;
	} else {
		return err_set(s->err, -EINVAL, "%s holds nothing, it is %s", s->pointer,
			       json_describe(is, *node));
	}
	add_pointer(s, segment);
	*node = child;
	return 0;
}

/* The kind of store that a value of "uri" names; NULL: none, or several. */
static const struct section *uri_section(const struct set *s, const cJSON *uri)
{
	const char *text = cJSON_IsString(uri) ? uri->valuestring : "", *end = strstr(text, "://");

	for (const struct section *const *k = s->schema->stores; end && *k; k++)
		if (strlen((*k)->name) == (size_t)(end - text) &&
		    strncmp((*k)->name, text, (size_t)(end - text)) == 0)
			return *k;
	return NULL;
}

static bool section_has(const struct section *section, const char *key)
{
	for (const struct option *const *table = section->tables; *table; table++)
		for (const struct option *o = *table; o->name; o++)
			if (strcmp(o->name, key) == 0)
				return true;
	return false;
}

/* A store becomes one of another kind: options that only the former kind has go with it. */
static void set_other_store(const struct set *s, cJSON *store, const cJSON *uri)
{
	const struct section *before =
		uri_section(s, cJSON_GetObjectItemCaseSensitive(store, "uri"));
	const struct section *now = uri_section(s, uri);
	cJSON *item = store->child;

	while (before && now && before != now && item) {
		cJSON *next = item->next;

		if (section_has(before, item->string) && !section_has(now, item->string))
			cJSON_Delete(cJSON_DetachItemViaPointer(store, item));
		item = next;
	}
}

static int set_store(struct set *s, cJSON *node, cJSON *value)
{
	const char *segment = s->segments[s->at];
	char is[JSON_QUOTE_BYTES];
	bool done;
	int index, rc;

	if (cJSON_IsArray(node)) {
		rc = set_index(s, node, segment, &index);
		if (rc < 0)
			return rc;
		done = cJSON_ReplaceItemInArray(node, index, value);
	} else if (!cJSON_IsObject(node)) {
		return err_set(s->err, -EINVAL, "%s holds nothing, it is %s", s->pointer,
			       json_describe(is, node));
	} else if (cJSON_GetObjectItemCaseSensitive(node, segment)) {
		if (s->at == 2 && !strcmp(s->segments[0], "stores") && !strcmp(segment, "uri"))
			set_other_store(s, node, value);
		done = cJSON_ReplaceItemInObjectCaseSensitive(node, segment, value);
	} else {
		done = cJSON_AddItemToObject(node, segment, value);
	}
	add_pointer(s, segment);
	return done ? 0 : err_set(s->err, -ENOMEM, "no memory");
}

/* In a list of options the index behind the last entry is allowed, too: it makes a new entry. */
static int set_index(struct set *s, cJSON *list, const char *segment, int *index)
{
	int size = cJSON_GetArraySize(list);
	bool number = !segment[strspn(segment, "0123456789")] && strlen(segment) <= 8;
	cJSON *entry;

	*index = number ? atoi(segment) : size;
	if (*index < size)
		return 0;
	if (s->list && number && *index == size) {
		entry = cJSON_CreateObject();
		if (entry && cJSON_AddItemToArray(list, entry))
			return 0;
		cJSON_Delete(entry);
		return err_set(s->err, -ENOMEM, "no memory");
	}
	return err_set(s->err, -EINVAL, "%s holds %d, counted from 0; there is no %s", s->pointer,
		       size, segment);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of other tools: see keys.h. */
#include "import/keys.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "import/overrides.h"
#include "import/yaml/tree.h"

enum { KEY_DEPTH_MAX = 4, FLAG_BYTES = 1024, NAME_MAX_BYTES = 63 };

#define KEY_WORDS(id, words) [KEY_##id] = (words),
static const char *const key_words[KEY_KIND_COUNT] = {KEY_KINDS(KEY_WORDS)};
#undef KEY_WORDS

/* Whether a path is the pattern, in which "*" stands for one part, and "**" for all that
 * follows. */
static bool key_is(const char *pattern, const char *path)
{
	while (*pattern && *path) {
		if (strcmp(pattern, "**") == 0)
			return true;
		if (*pattern == '*') {
			pattern++;
			path += strcspn(path, ".");
		} else if (*pattern++ != *path++) {
			return false;
		}
	}
	return !*pattern && !*path;
}

const struct import_key *import_key_find(const struct import_tool *tool, const char *path)
{
	const char *dot = tool->by_name ? strrchr(path, '.') : NULL;
	char name[IMPORT_KEY_BYTES];

	snprintf(name, sizeof(name), "%s", dot ? dot + 1 : path);
	for (char *c = name; tool->by_name && *c; c++)
		if (*c == '-')
			*c = '_';
	for (const struct import_key *k = tool->keys; k->path; k++)
		if (key_is(k->path, name) || (k->other && strcmp(k->other, name) == 0))
			return k;
	return NULL;
}

static bool kind_is_switch(const cJSON *value)
{
	static const char *const words[] = {"off", "seed", "random"};

	for (unsigned i = 0; cJSON_IsString(value) && i < 3; i++)
		if (strcmp(value->valuestring, words[i]) == 0)
			return true;
	return cJSON_IsFalse(value);
}

static bool kind_is_texts(const cJSON *value)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, value)
	{
		if (!cJSON_IsString(item))
			return false;
	}
	return cJSON_IsString(value) || cJSON_IsArray(value);
}

static bool kind_is(enum key_kind kind, const cJSON *value)
{
	const cJSON *first = cJSON_GetArrayItem(value, 0), *second = cJSON_GetArrayItem(value, 1);

	switch (kind) {
	case KEY_WHOLE:
		return cJSON_IsNumber(value) && value->valuedouble >= 0 &&
		       value->valuedouble == floor(value->valuedouble);
	case KEY_NUMBER:
		return cJSON_IsNumber(value);
	case KEY_TEXT:
		return cJSON_IsString(value);
	case KEY_BOOL:
		return cJSON_IsBool(value);
	case KEY_FLAG:
		return cJSON_IsBool(value) || cJSON_IsNumber(value);
	case KEY_SWITCH:
		return kind_is_switch(value);
	case KEY_TEXTS:
		return kind_is_texts(value);
	case KEY_DRAW:
		return cJSON_IsNumber(value) || cJSON_IsObject(value);
	case KEY_LIST:
		return cJSON_IsArray(value);
	case KEY_RANGE:
		return cJSON_IsArray(value) && cJSON_GetArraySize(value) == 2 &&
		       cJSON_IsNumber(first) && cJSON_IsNumber(second) &&
		       first->valuedouble <= second->valuedouble;
	default:
		return true;
	}
}

const char *import_kind_wrong(enum key_kind kind, const struct cJSON *value)
{
	return kind_is(kind, value) ? NULL : key_words[kind];
}

/* Calls one with the path of each value of the tree that is not null. */
static int keys_each(const char *path, const cJSON *value, unsigned depth,
		     int (*one)(void *argument, const char *path, const cJSON *value),
		     void *argument, struct err *err)
{
	const cJSON *child;
	int rc = 0;

	if (!value || cJSON_IsNull(value))
		return 0;
	if (!cJSON_IsObject(value))
		return one(argument, path, value);
	if (depth == KEY_DEPTH_MAX)
		return err_set(err, -EINVAL, "%s: has keys below keys below keys", path);
	cJSON_ArrayForEach(child, value)
	{
		char below[IMPORT_KEY_BYTES];
		int n = snprintf(below, sizeof(below), "%s%s%s", path, *path ? "." : "",
				 child->string);

		if (n < 0 || (size_t)n >= sizeof(below))
			return err_set(err, -EINVAL, "%s: has a key that is too long", path);
		rc = keys_each(below, child, depth + 1, one, argument, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

struct keys_count {
	const struct import_tool *tool;
	unsigned known, others;
};

static int keys_count_one(void *argument, const char *path, const cJSON *value)
{
	struct keys_count *c = argument;

	(void)value;
	if (import_key_find(c->tool, path))
		c->known++;
	else
		c->others++;
	return 0;
}

int import_read(struct cJSON **tree, const struct import_tool *tool, const char *text,
		size_t length, struct err *err)
{
	struct keys_count c = {.tool = tool};
	int rc = (tool->read ? tool->read : yaml_tree_read)(tree, text, length, err);

	if (rc == 0 && !cJSON_IsObject(*tree))
		rc = err_set(err, -EINVAL, "is not %s: it must hold keys", tool->file);
	if (rc == 0)
		rc = keys_each("", *tree, 0, keys_count_one, &c, err);
	if (rc == 0 && (!c.known || c.known < c.others))
		rc = err_set(err, -EINVAL, "is not %s of %s: of its %u keys, %s has %u", tool->file,
			     tool->name, c.known + c.others, tool->name, c.known);
	return rc;
}

int import_flags(struct cJSON *tree, const char *const *flags, unsigned count, struct err *err)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < count; i++) {
		const char *flag = flags[i] + (strncmp(flags[i], "--", 2) == 0 ? 2 : 0);
		char text[FLAG_BYTES];
		int n = snprintf(text, sizeof(text), "++%s%s", flag,
				 strchr(flag, '=') ? "" : "=true");

		if (n < 0 || (size_t)n >= sizeof(text))
			return err_set(err, -EINVAL, "%.64s: is too long", flags[i]);
		rc = override_apply(tree, text, err);
	}
	return rc;
}

struct keys_walk {
	const struct import_tool *tool;
	struct import *out;
	import_take *take;
	void *importer;
	struct err *err;
};

static int keys_walk_one(void *argument, const char *path, const cJSON *value)
{
	const struct keys_walk *w = argument;
	const struct import_key *key = import_key_find(w->tool, path);
	const char *wrong = key ? import_kind_wrong(key->kind, value) : NULL;

	w->out->keys++;
	if (wrong)
		return err_set(w->err, -EINVAL, "%s: must be %s", path, wrong);
	if (!key)
		import_found(w->out, IMPORT_UNKNOWN, path, value, "%s", w->tool->unknown);
	else if (key->way == KEY_LEFT)
		import_found(w->out, IMPORT_LEFT, path, value, "%s", key->why);
	else
		return w->take(w->importer, key, path, value);
	return 0;
}

int import_walk(const struct import_tool *tool, struct import *out, const struct cJSON *tree,
		import_take *take, void *importer, struct err *err)
{
	struct keys_walk w = {tool, out, take, importer, err};

	return keys_each("", tree, 0, keys_walk_one, &w, err);
}

void import_add_name(struct cJSON *job, const char *name, const char *otherwise)
{
	char cut[NAME_MAX_BYTES + 1];

	snprintf(cut, sizeof(cut), "%s", json_text_plain(name) && *name ? name : otherwise);
	json_add_text(job, "name", cut);
}

char *import_keys_print(const struct import_key *keys)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	for (const struct import_key *k = keys; k->path; k++)
		fprintf(out, "%-54s %s%s\n", k->path, k->way == KEY_LEFT ? "not mapped: " : "-> ",
			k->way == KEY_LEFT ? k->why
			: k->to            ? k->to
					   : "the phase");
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

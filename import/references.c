/* SPDX-License-Identifier: Apache-2.0 */
/* References in a configuration: see references.h. A reference is followed to its end before it is
 * used; what refers to itself is found by the depth. */
#include "import/references.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "import/yaml/tree.h"

enum { DEPTH_MAX = 40, TEXT_BYTES = 4096, REFERENCE_PATH_BYTES = 256 };
#define REFERENCE_GROUP "workload."

struct resolver {
	const cJSON *root;
	unsigned values; /* made so far */
	unsigned depth;
	struct err *err;
};

static cJSON *resolve_value(struct resolver *r, const char *path, const cJSON *value);

static cJSON *resolve_refuse(struct resolver *r, int rc, const char *what, const char *text)
{
	char quoted[JSON_QUOTE_BYTES];

	err_set(r->err, rc, "%s %s; give the value as an override", json_quote(quoted, text), what);
	return NULL;
}

/* The end of the reference that begins at text ("${…"), or NULL. */
static const char *resolve_end(const char *text)
{
	unsigned depth = 0;

	for (; *text; text++) {
		if (text[0] == '$' && text[1] == '{') {
			depth++;
			text++;
		} else if (*text == '}' && --depth == 0) {
			return text + 1;
		}
	}
	return NULL;
}

/* The first reference of a text that is not escaped, or NULL. */
static const char *resolve_begin(const char *text)
{
	for (const char *at = strstr(text, "${"); at; at = strstr(at + 2, "${"))
		if (at == text || at[-1] != '\\')
			return at;
	return NULL;
}

bool references_in(const struct cJSON *value)
{
	const cJSON *child;

	if (cJSON_IsString(value))
		return strstr(value->valuestring, "${") != NULL;
	cJSON_ArrayForEach(child, value)
	{
		if (references_in(child))
			return true;
	}
	return false;
}

/* One step down: a key of an object, or a number of a list. */
static const cJSON *resolve_step(const cJSON *node, const char *part)
{
	char *end;
	long i;

	if (!cJSON_IsArray(node))
		return cJSON_GetObjectItemCaseSensitive(node, part);
	i = strtol(part, &end, 10);
	return end == part || *end || i < 0 || i > YAML_VALUES_MAX
		       ? NULL
		       : cJSON_GetArrayItem(node, (int)i);
}

/* The value at "a.b[0].c", from the root on. */
static const cJSON *resolve_find(const cJSON *root, const char *path)
{
	const cJSON *node = root;
	char part[REFERENCE_PATH_BYTES];

	while (node && *path) {
		size_t n = strcspn(path, ".[]");

		snprintf(part, sizeof(part), "%.*s", (int)n, path);
		if (n)
			node = resolve_step(node, part);
		path += n + (path[n] != '\0');
	}
	return node;
}

/* The path from the root on: each leading dot goes up one level from the value that refers. */
static bool resolve_absolute(const char *from, const char *to, char out[REFERENCE_PATH_BYTES])
{
	size_t used = strlen(from);

	if (*to != '.')
		return snprintf(out, REFERENCE_PATH_BYTES, "%s", to) < REFERENCE_PATH_BYTES;
	for (; *to == '.'; to++) {
		while (used && from[used - 1] != '.')
			used--;
		used -= used > 0;
	}
	return snprintf(out, REFERENCE_PATH_BYTES, "%.*s%s%s", (int)used, from, used ? "." : "",
			to) < REFERENCE_PATH_BYTES;
}

/* NULL without a sentence: there is no such value. */
static cJSON *resolve_path(struct resolver *r, const char *path, const char *to)
{
	char absolute[REFERENCE_PATH_BYTES];
	const cJSON *value;

	if (!resolve_absolute(path, to, absolute))
		return NULL;
	value = resolve_find(r->root, absolute);
	if (!value && strncmp(absolute, REFERENCE_GROUP, strlen(REFERENCE_GROUP)) == 0) {
		memmove(absolute, absolute + strlen(REFERENCE_GROUP),
			strlen(absolute + strlen(REFERENCE_GROUP)) + 1);
		value = resolve_find(r->root, absolute);
	}
	return value ? resolve_value(r, absolute, value) : NULL;
}

/* Text without quotes and blanks around it, in place. */
static char *resolve_trim(char *text)
{
	size_t n;

	while (isspace((unsigned char)*text))
		text++;
	n = strlen(text);
	while (n && isspace((unsigned char)text[n - 1]))
		text[--n] = '\0';
	if (n > 1 && (*text == '\'' || *text == '"') && text[n - 1] == *text) {
		text[n - 1] = '\0';
		text++;
	}
	return text;
}

static cJSON *resolve_environment(struct resolver *r, char *name, char *other)
{
	const char *value;

	name = resolve_trim(name);
	value = getenv(name);
	if (value && *value)
		return yaml_scalar(value);
	if (other)
		return yaml_scalar(resolve_trim(other));
	return resolve_refuse(r, -ENOENT, "is a variable of the environment that is not set here",
			      name);
}

/* ${name:argument,other} */
static cJSON *resolve_call(struct resolver *r, const char *path, char *text)
{
	char *arguments = strchr(text, ':') + 1, *comma = strchr(arguments, ',');
	cJSON *value;

	arguments[-1] = '\0';
	text = resolve_trim(text);
	if (strcmp(text, "oc.decode") == 0)
		return yaml_scalar(resolve_trim(arguments));
	if (comma)
		*comma++ = '\0';
	if (strcmp(text, "oc.env") == 0 || strcmp(text, "env") == 0)
		return resolve_environment(r, arguments, comma);
	if (strcmp(text, "oc.select") != 0)
		return resolve_refuse(r, -ENOENT, "is not known before DLIO runs", text);
	value = resolve_path(r, path, resolve_trim(arguments));
	if (!value && comma && !r->err->text[0])
		value = yaml_scalar(resolve_trim(comma));
	if (!value && !r->err->text[0])
		resolve_refuse(r, -ENOENT, "is referred to, and is not in the file", arguments);
	return value;
}

/* What stands between "${" and "}", in which references are resolved already. */
static cJSON *resolve_one(struct resolver *r, const char *path, char *text)
{
	cJSON *value;

	if (strchr(text, ':'))
		return resolve_call(r, path, text);
	text = resolve_trim(text);
	value = resolve_path(r, path, text);
	if (!value && !r->err->text[0])
		resolve_refuse(r, -ENOENT, "is referred to, and is not in the file", text);
	return value;
}

/* Adds a scalar to a text. */
static bool resolve_append(struct resolver *r, char out[TEXT_BYTES], const cJSON *value)
{
	size_t used = strlen(out);
	char *printed = NULL;
	const char *text = value->valuestring;
	int n;

	if (cJSON_IsArray(value) || cJSON_IsObject(value)) {
		err_set(r->err, -EINVAL,
			"a reference within a text must be to one value, not to a list or to keys");
		return false;
	}
	if (!cJSON_IsString(value))
		text = printed = cJSON_PrintUnformatted(value);
	n = snprintf(out + used, TEXT_BYTES - used, "%s", text ? text : "");
	free(printed);
	if ((size_t)n < TEXT_BYTES - used)
		return true;
	err_set(r->err, -EINVAL, "is longer than %d bytes when its references are resolved",
		TEXT_BYTES);
	return false;
}

static bool resolve_append_text(struct resolver *r, char out[TEXT_BYTES], const char *text,
				size_t n)
{
	size_t used = strlen(out);

	for (size_t i = 0; i < n; i++) {
		/* "\${" is "${". */
		if (text[i] == '\\' && i + 2 < n && text[i + 1] == '$' && text[i + 2] == '{')
			continue;
		if (used + 1 == TEXT_BYTES) {
			err_set(r->err, -EINVAL, "is longer than %d bytes", TEXT_BYTES);
			return false;
		}
		out[used++] = text[i];
		out[used] = '\0';
	}
	return true;
}

/* A text with references, of which one may be all of it. */
static cJSON *resolve_text(struct resolver *r, const char *path, const char *text)
{
	char out[TEXT_BYTES] = "", inner[TEXT_BYTES];
	const char *at = text, *begin;

	while ((begin = resolve_begin(at))) {
		const char *end = resolve_end(begin);
		bool whole = begin == text && end && !*end;
		cJSON *within, *value;

		if (!end || end - begin >= TEXT_BYTES)
			return resolve_refuse(r, -EINVAL, "has a reference without its end", text);
		snprintf(inner, sizeof(inner), "%.*s", (int)(end - begin - 3), begin + 2);
		within = cJSON_CreateString(inner);
		value = within ? resolve_value(r, path, within) : NULL;
		cJSON_Delete(within);
		inner[0] = '\0';
		if (value && resolve_append(r, inner, value)) {
			cJSON_Delete(value);
			value = resolve_one(r, path, inner);
		}
		if (!value || r->err->text[0]) {
			cJSON_Delete(value);
			return NULL;
		}
		if (whole)
			return value;
		if (!resolve_append_text(r, out, at, (size_t)(begin - at)) ||
		    !resolve_append(r, out, value)) {
			cJSON_Delete(value);
			return NULL;
		}
		cJSON_Delete(value);
		at = end;
	}
	return resolve_append_text(r, out, at, strlen(at)) ? cJSON_CreateString(out) : NULL;
}

/* A list or an object, each value in it resolved. */
static cJSON *resolve_children(struct resolver *r, const char *path, const cJSON *value)
{
	cJSON *out = cJSON_IsArray(value) ? cJSON_CreateArray() : cJSON_CreateObject(), *made;
	char below[REFERENCE_PATH_BYTES];
	const cJSON *child;
	unsigned i = 0;

	cJSON_ArrayForEach(child, value)
	{
		if (child->string)
			snprintf(below, sizeof(below), "%s.%s", path, child->string);
		else
			snprintf(below, sizeof(below), "%s.%u", path, i++);
		made = out ? resolve_value(r, below, child) : NULL;
		if (!made || !(child->string ? cJSON_AddItemToObject(out, child->string, made)
					     : cJSON_AddItemToArray(out, made))) {
			cJSON_Delete(made);
			cJSON_Delete(out);
			return NULL;
		}
	}
	return out;
}

static cJSON *resolve_value(struct resolver *r, const char *path, const cJSON *value)
{
	cJSON *out;

	if (++r->values > YAML_VALUES_MAX) {
		err_set(r->err, -EINVAL, "refers to more values than are allowed");
		return NULL;
	}
	if (r->depth == DEPTH_MAX) {
		err_set(r->err, -EINVAL, "refers to itself, or too deep");
		return NULL;
	}
	r->depth++;
	if (cJSON_IsString(value) && references_in(value))
		out = resolve_text(r, path, value->valuestring);
	else if (cJSON_IsArray(value) || cJSON_IsObject(value))
		out = resolve_children(r, path, value);
	else
		out = cJSON_Duplicate(value, true);
	r->depth--;
	return out;
}

struct cJSON *references_resolve(const struct cJSON *root, const char *path,
				 const struct cJSON *value, struct err *err)
{
	struct resolver r = {.root = root, .err = err};
	cJSON *out;

	err->text[0] = '\0';
	out = resolve_value(&r, path, value);
	if (!out && !err->text[0])
		err_set(err, -ENOMEM, "no memory for what it refers to");
	return out;
}

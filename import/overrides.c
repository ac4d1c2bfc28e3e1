/* SPDX-License-Identifier: Apache-2.0 */
/* Hydra's overrides: see overrides.h. */
#include "import/overrides.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "import/yaml/tree.h"

enum { OVERRIDE_PATH_BYTES = 256, PARTS_MAX = 8, OVERRIDE_BYTES = 1 << 16 };
#define OVERRIDE_GROUP "workload"

static bool override_is_path(const char *path)
{
	for (const char *at = path; *at; at++) {
		if (*at == '.' && (at == path || at[-1] == '.'))
			return false;
		if (!isalnum((unsigned char)*at) && !strchr("_-.", *at))
			return false;
	}
	return path[0] && path[strlen(path) - 1] != '.';
}

/* Whether text holds a comma outside quotes and brackets. */
static bool override_is_sweep(const char *text)
{
	char quote = '\0';
	int depth = 0;

	for (; *text; text++) {
		if (quote)
			quote = *text == quote ? '\0' : quote;
		else if (*text == '\'' || *text == '"')
			quote = *text;
		else if (*text == '[' || *text == '{')
			depth++;
		else if (*text == ']' || *text == '}')
			depth--;
		else if (*text == ',' && depth == 0)
			return true;
	}
	return false;
}

/* Hydra reads {a:b} as a key and its value; for YAML it is the key "a:b" without a value. */
static int override_split_keys(cJSON *value)
{
	cJSON *child, *split;
	char *colon;
	int rc = 0;

	for (child = value->child; rc == 0 && child; child = child->next) {
		colon = child->string ? strchr(child->string, ':') : NULL;
		if (!colon || colon == child->string || !cJSON_IsNull(child)) {
			rc = override_split_keys(child);
			continue;
		}
		*colon = '\0';
		if (cJSON_GetObjectItemCaseSensitive(value, child->string) != child)
			return -EEXIST;
		split = yaml_scalar(colon + 1);
		if (!split)
			return -ENOMEM;
		split->string = strdup(child->string);
		if (!split->string || !cJSON_ReplaceItemViaPointer(value, child, split)) {
			cJSON_Delete(split);
			return -ENOMEM;
		}
		child = split;
	}
	return rc;
}

static int override_value(const char *text, cJSON **out, struct err *err)
{
	int rc;

	if (override_is_sweep(text))
		return err_set(
			err, -EINVAL,
			"gives several values, which is a sweep; use haul run --sweep instead");
	if (!*text || !strchr("[{'\"", *text)) {
		*out = *text ? yaml_scalar(text) : cJSON_CreateString("");
		return *out ? 0 : err_set(err, -ENOMEM, "no memory");
	}
	rc = yaml_tree_read(out, text, strlen(text), err);
	if (rc < 0)
		return rc;
	rc = override_split_keys(*out);
	if (rc < 0) {
		cJSON_Delete(*out);
		*out = NULL;
		err_set(err, rc, rc == -EEXIST ? "gives a key twice" : "no memory");
	}
	return rc;
}

/* Splits path into its parts, in place, without a leading "workload". Returns their number; 0:
 * there are too many. */
static unsigned override_split_path(char *path, char *parts[PARTS_MAX])
{
	unsigned n = 0;
	char *rest = NULL;

	for (char *part = strtok_r(path, ".", &rest); part && n < PARTS_MAX;
	     part = strtok_r(NULL, ".", &rest))
		parts[n++] = part;
	if (rest && *rest)
		return 0;
	if (n > 1 && strcmp(parts[0], OVERRIDE_GROUP) == 0)
		memmove(parts, parts + 1, --n * sizeof(*parts));
	return n;
}

static int override_set(cJSON *tree, char *const *parts, unsigned n, cJSON *value, struct err *err)
{
	for (unsigned i = 0; i + 1 < n; i++) {
		cJSON *next = cJSON_GetObjectItemCaseSensitive(tree, parts[i]);

		if (cJSON_IsNull(next)) {
			cJSON_DeleteItemFromObjectCaseSensitive(tree, parts[i]);
			next = NULL;
		}
		if (next && !cJSON_IsObject(next))
			return err_set(err, -EINVAL, "\"%s\" holds a value, not keys", parts[i]);
		if (!next)
			next = cJSON_AddObjectToObject(tree, parts[i]);
		if (!next)
			return err_set(err, -ENOMEM, "no memory");
		tree = next;
	}
	cJSON_DeleteItemFromObjectCaseSensitive(tree, parts[n - 1]);
	if (!cJSON_AddItemToObject(tree, parts[n - 1], value))
		return err_set(err, -ENOMEM, "no memory");
	return 0;
}

/* ~a.b, and ~a.b=value, which Hydra accepts where the value is that one. */
static int override_remove(cJSON *tree, char *const *parts, unsigned n, struct err *err)
{
	for (unsigned i = 0; tree && i + 1 < n; i++)
		tree = cJSON_GetObjectItemCaseSensitive(tree, parts[i]);
	if (!cJSON_IsObject(tree) || !cJSON_GetObjectItemCaseSensitive(tree, parts[n - 1]))
		return err_set(err, -EINVAL, "there is no such key to remove");
	cJSON_DeleteItemFromObjectCaseSensitive(tree, parts[n - 1]);
	return 0;
}

static int override_apply_plain(cJSON *tree, const char *text, struct err *err)
{
	char path[OVERRIDE_PATH_BYTES], *parts[PARTS_MAX];
	bool removes = *text == '~';
	const char *begin = text, *equals = strchr(text, '=');
	cJSON *value = NULL;
	unsigned n;
	int rc = 0;

	begin += removes;
	while (!removes && *begin == '+' && begin < text + 2)
		begin++;
	if (!removes && !equals)
		return err_set(err, -EINVAL, "is not an override; write it as KEY=VALUE");
	n = (unsigned)snprintf(path, sizeof(path), "%.*s",
			       equals ? (int)(equals - begin) : OVERRIDE_BYTES, begin);
	if (n >= sizeof(path) || !override_is_path(path))
		return err_set(err, -EINVAL, "must begin with a key such as reader.batch_size");
	n = override_split_path(path, parts);
	if (n == 0)
		return err_set(err, -EINVAL, "has more than %d parts in its key", PARTS_MAX);
	if (n == 1 && strcmp(parts[0], OVERRIDE_GROUP) == 0)
		return err_set(err, -EINVAL,
			       "names another workload file; import that one instead");
	if (removes)
		return override_remove(tree, parts, n, err);
	rc = override_value(equals + 1, &value, err);
	if (rc == 0)
		rc = override_set(tree, parts, n, value, err);
	if (rc < 0)
		cJSON_Delete(value);
	return rc;
}

int override_apply(struct cJSON *tree, const char *text, struct err *err)
{
	char quoted[JSON_QUOTE_BYTES];
	int rc = -EINVAL;

	if (strlen(text) < OVERRIDE_BYTES && json_text_plain(text))
		rc = override_apply_plain(tree, text, err);
	else
		err_set(err, rc, "is too long or is not plain text");
	return rc < 0 ? err_wrap(err, rc, "override %s", json_quote(quoted, text)) : 0;
}

/* "workload=unet3d" chooses a file, and "hydra.run.dir=x" is for Hydra. */
static bool override_is_for_hydra(const char *text)
{
	text += strspn(text, "+~");
	return strncmp(text, "hydra", 5) == 0 ||
	       strncmp(text, OVERRIDE_GROUP "=", sizeof(OVERRIDE_GROUP)) == 0;
}

int override_list_read(struct cJSON **list, const char *text, size_t length, struct err *err)
{
	cJSON *item, *next;
	int rc = yaml_tree_read(list, text, length, err);

	if (rc < 0)
		return rc;
	rc = cJSON_IsArray(*list) ? 0 : -EINVAL;
	for (item = (*list)->child; rc == 0 && item; item = next) {
		next = item->next;
		if (!cJSON_IsString(item))
			rc = -EINVAL;
		else if (override_is_for_hydra(item->valuestring))
			cJSON_Delete(cJSON_DetachItemViaPointer(*list, item));
	}
	if (rc == 0)
		return 0;
	cJSON_Delete(*list);
	*list = NULL;
	return err_set(err, rc, "is not a list of overrides");
}

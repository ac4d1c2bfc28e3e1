/* Check of a DLIO workload: see check.h. */
#include "import/dlio/check.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/option/option.h"

/* Unknown keys for which the nearest known one is looked for; a text may hold thousands of
 * them. */
enum { CHECK_HINTS_MAX = 100, CHECK_PATH_BYTES = 256 };

struct check {
	struct dlio *d;
	unsigned unknown; /* keys so far */
};

static int check_object(struct check *c, cJSON *node, const char *prefix);
static int check_child(struct check *c, cJSON *node, cJSON *child, const char *path);
static int check_known_key(struct check *c, const struct dlio_key *k, cJSON *node, cJSON *value);
static const char *check_kind(enum dlio_kind kind, const cJSON *value);
static bool check_is_switch(const cJSON *value);
static bool check_is_texts(const cJSON *value);
static int check_model(struct check *c, cJSON *node, cJSON *text);
static int check_defaults(struct check *c, const cJSON *list);
static int check_unknown(struct check *c, const char *path, const cJSON *value);
static const char *check_nearest(const char *path);

int dlio_check(struct dlio *d)
{
	struct check c = {.d = d};

	return check_object(&c, d->tree, "");
}

/* The YAML reader bounds the depth and the number of values. */
static int check_object(struct check *c, cJSON *node, const char *prefix)
{
	cJSON *child, *next;
	int rc = 0;

	for (child = node->child; rc == 0 && child; child = next) {
		char path[CHECK_PATH_BYTES];

		next = child->next;
		snprintf(path, sizeof(path), "%s%s%s", prefix, *prefix ? "." : "", child->string);
		rc = check_child(c, node, child, path);
	}
	return rc;
}

static int check_child(struct check *c, cJSON *node, cJSON *child, const char *path)
{
	/* A dot inside a key's name would make it look like a path. */
	bool dotted = strchr(child->string, '.') != NULL;
	const struct dlio_key *k = dotted ? NULL : dlio_key(path);

	if (k)
		return check_known_key(c, k, node, child);
	if (strcmp(path, "defaults") == 0 && cJSON_IsArray(child))
		return check_defaults(c, child);
	if (dotted || !dlio_key_section(path))
		return check_unknown(c, path, child);
	if (strcmp(path, "model") == 0 && cJSON_IsString(child))
		return check_model(c, node, child);
	if (cJSON_IsObject(child))
		return check_object(c, child, path);
	if (!cJSON_IsNull(child))
		return err_set(c->d->err, -EINVAL, "%s: must hold keys", path);
	return 0;
}

static int check_known_key(struct check *c, const struct dlio_key *k, cJSON *node, cJSON *value)
{
	struct dlio *d = c->d;
	char described[JSON_QUOTE_BYTES];
	const char *wrong;
	int rc;

	d->out->keys++;
	if (cJSON_IsString(value) && strstr(value->valuestring, "${")) {
		rc = import_find(d->out, IMPORT_LEFT, k->path, value, d->err,
				 "haul does not resolve ${...}: give the value as an override");
		cJSON_Delete(cJSON_DetachItemViaPointer(node, value));
		return rc;
	}
	if (!k->to)
		return import_find(d->out, IMPORT_LEFT, k->path,
				   k->kind == DLIO_SECRET ? NULL : value, d->err, "%s", k->why);
	wrong = cJSON_IsNull(value) ? NULL : check_kind(k->kind, value);
	if (wrong)
		return err_set(d->err, -EINVAL, "%s: %s, is %s", k->path, wrong,
			       json_describe(described, value));
	return 0;
}

/* What the value must be, or NULL where it is that. */
static const char *check_kind(enum dlio_kind kind, const cJSON *value)
{
	switch (kind) {
	case DLIO_WHOLE:
		return cJSON_IsNumber(value) && value->valuedouble >= 0 &&
				       value->valuedouble == floor(value->valuedouble)
			       ? NULL
			       : "must be a whole number of 0 or more";
	case DLIO_NUMBER:
		return cJSON_IsNumber(value) ? NULL : "must be a number";
	case DLIO_BOOL:
		return cJSON_IsBool(value) ? NULL : "must be true or false";
	case DLIO_TEXT:
		return cJSON_IsString(value) ? NULL : "must be a text";
	case DLIO_SWITCH:
		return check_is_switch(value) ? NULL : "must be off, seed or random";
	case DLIO_TEXTS:
		return check_is_texts(value) ? NULL : "must be a text or a list of texts";
	case DLIO_DRAW:
		return cJSON_IsNumber(value) || cJSON_IsObject(value)
			       ? NULL
			       : "must be a number of seconds or a distribution";
	case DLIO_LIST:
		return cJSON_IsArray(value) ? NULL : "must be a list";
	case DLIO_ANY:
	case DLIO_SECRET:
		break;
	}
	return NULL;
}

static bool check_is_switch(const cJSON *value)
{
	static const char *const words[] = {"off", "seed", "random"};

	for (unsigned i = 0; cJSON_IsString(value) && i < 3; i++)
		if (strcmp(value->valuestring, words[i]) == 0)
			return true;
	return cJSON_IsFalse(value);
}

static bool check_is_texts(const cJSON *value)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, value)
	{
		if (!cJSON_IsString(item))
			return false;
	}
	return cJSON_IsString(value) || cJSON_IsArray(value);
}

/* "model: unet3d" is the older form of "model: {name: unet3d}", which takes its place in the
 * tree. */
static int check_model(struct check *c, cJSON *node, cJSON *text)
{
	struct dlio *d = c->d;
	cJSON *name = cJSON_Duplicate(text, false), *model = cJSON_CreateObject();
	int rc = import_find(d->out, IMPORT_CHANGED, "model", text, d->err,
			     "a text names the model: haul takes it for model.name");

	if (!model || !name || !cJSON_AddItemToObject(model, "name", name)) {
		cJSON_Delete(name);
		cJSON_Delete(model);
		return dlio_no_memory(d);
	}
	if (!cJSON_ReplaceItemInObjectCaseSensitive(node, "model", model)) {
		cJSON_Delete(model);
		return dlio_no_memory(d);
	}
	return rc == 0 ? check_object(c, model, "model") : rc;
}

/* Hydra's list of the files that a configuration is composed of. */
static int check_defaults(struct check *c, const cJSON *list)
{
	const cJSON *item;
	int rc = 0;

	cJSON_ArrayForEach(item, list)
	{
		if (cJSON_IsString(item) && strcmp(item->valuestring, "_self_") == 0)
			continue;
		rc = import_find(c->d->out, IMPORT_LEFT, "defaults",
				 cJSON_IsObject(item) && item->child ? item->child : item,
				 c->d->err,
				 "haul reads one file: it does not read the one that this names");
		if (rc < 0)
			break;
	}
	return rc;
}

static int check_unknown(struct check *c, const char *path, const cJSON *value)
{
	const char *near = c->unknown++ < CHECK_HINTS_MAX ? check_nearest(path) : NULL;

	return near ? import_find(c->d->out, IMPORT_UNKNOWN, path, value, c->d->err,
				  "DLIO has no such key; did you mean \"%s\"?", near)
		    : import_find(c->d->out, IMPORT_UNKNOWN, path, value, c->d->err,
				  "DLIO has no such key");
}

/* A key of the same name in another section, else the nearest by the whole path. */
static const char *check_nearest(const char *path)
{
	const char *names[DLIO_KEYS_MAX + 1], *last = strrchr(path, '.');
	unsigned n = 0;

	last = last ? last + 1 : path;
	for (const struct dlio_key *k = dlio_keys; k->path && n < DLIO_KEYS_MAX; k++) {
		const char *dot = strrchr(k->path, '.');

		if (dot && strcmp(dot + 1, last) == 0)
			return k->path;
		names[n++] = k->path;
	}
	names[n] = NULL;
	return option_nearest(path, names);
}

static bool check_begins(const char *path, const char *section)
{
	return strncmp(path, section, strlen(section)) == 0;
}

/* Why nothing has asked for a key that can be mapped. */
static const char *check_why_unused(const struct dlio *d, const char *path)
{
	bool of_data = check_begins(path, "dataset.") || check_begins(path, "storage.");
	bool of_checkpoints = check_begins(path, "model.") || check_begins(path, "checkpoint.");

	if (of_checkpoints && d->sizeless)
		return "the model has no size, so the job has no checkpoints";
	if (of_checkpoints && !d->checkpoints && !d->saves)
		return "this workload writes no checkpoints";
	if (check_begins(path, "checkpoint.") && d->saves)
		return "DLIO uses it only where the workload does not train";
	if (!of_data && !of_checkpoints && !d->trains)
		return "this workload does not train";
	return "this format, store or workflow has no use for it";
}

int dlio_check_unused(struct dlio *d)
{
	int rc = 0;

	for (const struct dlio_key *k = dlio_keys; rc == 0 && k->path; k++)
		if (k->to && !d->asked[k - dlio_keys] && dlio_peek(d, k->path))
			rc = dlio_find(d, IMPORT_LEFT, k->path, "%s", check_why_unused(d, k->path));
	return rc;
}

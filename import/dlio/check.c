/* Check of a DLIO workload: see check.h. */
#include "import/dlio/check.h"

#include <cjson/cJSON.h>
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

static void check_object(struct check *c, cJSON *node, const char *prefix);
static void check_child(struct check *c, cJSON *node, cJSON *child, const char *path);
static void check_known_key(struct check *c, const struct dlio_key *k, cJSON *node, cJSON *value);
static const char *check_kind(enum dlio_kind kind, const cJSON *value);
static bool check_is_switch(const cJSON *value);
static bool check_is_texts(const cJSON *value);
static void check_model(struct check *c, cJSON *node, cJSON *text);
static void check_defaults(struct check *c, const cJSON *list);
static void check_unknown(struct check *c, const char *path, const cJSON *value);
static const char *check_nearest(const char *path);

int dlio_check(struct dlio *d)
{
	struct check c = {.d = d};

	check_object(&c, d->tree, "");
	return d->rc;
}

/* The YAML reader bounds the depth and the number of values. */
static void check_object(struct check *c, cJSON *node, const char *prefix)
{
	cJSON *child, *next;

	for (child = node->child; child; child = next) {
		char path[CHECK_PATH_BYTES];

		next = child->next;
		snprintf(path, sizeof(path), "%s%s%s", prefix, *prefix ? "." : "", child->string);
		check_child(c, node, child, path);
	}
}

static void check_child(struct check *c, cJSON *node, cJSON *child, const char *path)
{
	/* A dot inside a key's name would make it look like a path. */
	bool dotted = strchr(child->string, '.') != NULL;
	const struct dlio_key *k = dotted ? NULL : dlio_key(path);

	if (k)
		check_known_key(c, k, node, child);
	else if (strcmp(path, "defaults") == 0 && cJSON_IsArray(child))
		check_defaults(c, child);
	else if (dotted || !dlio_key_section(path))
		check_unknown(c, path, child);
	else if (strcmp(path, "model") == 0 && cJSON_IsString(child))
		check_model(c, node, child);
	else if (cJSON_IsObject(child))
		check_object(c, child, path);
	else if (!cJSON_IsNull(child))
		dlio_refuse(c->d, "%s: must hold keys", path);
}

static void check_known_key(struct check *c, const struct dlio_key *k, cJSON *node, cJSON *value)
{
	struct dlio *d = c->d;
	char described[JSON_QUOTE_BYTES];
	const char *wrong;

	d->out->keys++;
	if (cJSON_IsString(value) && strstr(value->valuestring, "${")) {
		import_found(d->out, IMPORT_LEFT, k->path, value,
			     "haul does not resolve ${...}: give the value as an override");
		cJSON_Delete(cJSON_DetachItemViaPointer(node, value));
		return;
	}
	if (!k->to) {
		import_found(d->out, IMPORT_LEFT, k->path, k->kind == DLIO_SECRET ? NULL : value,
			     "%s", k->why);
		return;
	}
	wrong = cJSON_IsNull(value) ? NULL : check_kind(k->kind, value);
	if (wrong)
		dlio_refuse(d, "%s: %s, is %s", k->path, wrong, json_describe(described, value));
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
static void check_model(struct check *c, cJSON *node, cJSON *text)
{
	cJSON *name = cJSON_Duplicate(text, false), *model = cJSON_CreateObject();

	import_found(c->d->out, IMPORT_CHANGED, "model", text,
		     "a text names the model: haul takes it for model.name");
	if (!cJSON_AddItemToObject(model, "name", name)) {
		cJSON_Delete(name);
		dlio_no_memory(c->d);
	}
	if (model && cJSON_ReplaceItemInObjectCaseSensitive(node, "model", model)) {
		check_object(c, model, "model");
		return;
	}
	cJSON_Delete(model);
	dlio_no_memory(c->d);
}

/* Hydra's list of the files that a configuration is composed of. */
static void check_defaults(struct check *c, const cJSON *list)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, list)
	{
		if (cJSON_IsString(item) && strcmp(item->valuestring, "_self_") == 0)
			continue;
		import_found(c->d->out, IMPORT_LEFT, "defaults",
			     cJSON_IsObject(item) && item->child ? item->child : item,
			     "haul reads one file: it does not read the one that this names");
	}
}

static void check_unknown(struct check *c, const char *path, const cJSON *value)
{
	const char *near = c->unknown++ < CHECK_HINTS_MAX ? check_nearest(path) : NULL;

	if (near)
		import_found(c->d->out, IMPORT_UNKNOWN, path, value,
			     "DLIO has no such key; did you mean \"%s\"?", near);
	else
		import_found(c->d->out, IMPORT_UNKNOWN, path, value, "DLIO has no such key");
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

void dlio_check_unused(struct dlio *d)
{
	for (const struct dlio_key *k = dlio_keys; k->path; k++)
		if (k->to && !d->asked[k - dlio_keys] && dlio_peek(d, k->path))
			dlio_found(d, IMPORT_LEFT, k->path, "%s", check_why_unused(d, k->path));
}

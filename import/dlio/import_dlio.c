/* Import of a DLIO workload file: see import_dlio.h. */
#include "import/dlio/import_dlio.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/option/option.h"
#include "import/dlio/parts.h"
#include "import/overrides.h"
#include "import/yaml/tree.h"

enum { JOB_NAME_MAX = 63 };

/* Unknown keys for which the nearest known one is looked for; a text may hold thousands of
 * them. */
enum { CHECK_HINTS_MAX = 100, CHECK_PATH_BYTES = 256 };

struct check {
	struct dlio *d;
	unsigned unknown; /* keys so far */
};

static void check_object(struct check *c, cJSON *node, const char *prefix);

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

static void check_unknown(struct check *c, const char *path, const cJSON *value)
{
	const char *near = c->unknown++ < CHECK_HINTS_MAX ? check_nearest(path) : NULL;

	if (near)
		import_found(c->d->out, IMPORT_UNKNOWN, path, value,
			     "DLIO has no such key; did you mean \"%s\"?", near);
	else
		import_found(c->d->out, IMPORT_UNKNOWN, path, value, "DLIO has no such key");
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

/* Compares the tree with the table of keys: counts the keys, adds findings for those that are unknown or not mapped, and takes
 * values out that hold Hydra's ${...}, so that DLIO's default stands for them. A value of the wrong kind is refused. The YAML
 * reader bounds the depth and the number of values. */
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

/* Takes root over as d->tree. A workload file has its keys at the top; the configuration that Hydra
 * writes beside a run's output has them below "workload". */
static int import_root(struct dlio *d, cJSON *root)
{
	cJSON *workload, *rest;

	d->tree = root;
	if (!cJSON_IsObject(root))
		return err_set(d->err, -EINVAL, "is not a DLIO workload: it must hold keys");
	workload = cJSON_DetachItemFromObjectCaseSensitive(root, "workload");
	if (!workload)
		return 0;
	if (!cJSON_IsObject(workload)) {
		cJSON_Delete(workload);
		return err_set(d->err, -EINVAL,
			       "workload: names another file; import that one instead");
	}
	d->tree = workload;
	while ((rest = cJSON_DetachItemFromArray(root, 0))) {
		if (cJSON_GetObjectItemCaseSensitive(workload, rest->string) ||
		    !cJSON_AddItemToObject(workload, rest->string, rest)) {
			err_set(d->err, -EINVAL,
				"%.64s: is given twice, beside \"workload\" and below it",
				rest->string);
			cJSON_Delete(rest);
			cJSON_Delete(root);
			return -EINVAL;
		}
	}
	cJSON_Delete(root);
	return 0;
}

static void choose_loader(struct dlio *d)
{
	const char *framework = dlio_text(d, "framework");
	const char *loader =
		dlio_at(d, "reader.data_loader") ? dlio_text(d, "reader.data_loader") : framework;

	d->evaluates = dlio_bool(d, "workflow.evaluation") && d->trains &&
		       dlio_number(d, "dataset.num_files_eval") > 0;
	d->tensorflow = strcmp(loader, "tensorflow") == 0 || strstr(loader, "dali") != NULL;
	d->streams = d->tensorflow && strcmp(dlio_text(d, "dataset.format"), "tfrecord") == 0;
	d->synthetic = strcmp(loader, "synthetic") == 0 ||
		       strcmp(dlio_text(d, "dataset.format"), "synthetic") == 0;
}

static void choose_workflow(struct dlio *d)
{
	bool checkpoints = dlio_bool(d, "workflow.checkpoint");

	d->generates = dlio_bool(d, "workflow.generate_data");
	d->trains = dlio_bool(d, "workflow.train");
	if (dlio_uses_data(d))
		choose_loader(d);
	else if (!checkpoints)
		dlio_refuse(d, "generates no data, does not train and writes no checkpoints: there "
			       "is nothing to import");
	d->checkpoints = checkpoints && !d->trains;
	if (checkpoints && d->trains)
		dlio_choose_saves(d);
	if (dlio_bool(d, "workflow.profiling"))
		dlio_found(d, IMPORT_CHANGED, "workflow.profiling",
			   "haul records the node's counters in every run");
}

static void import_job(struct dlio *d, const char *name)
{
	cJSON *job = d->out->job = cJSON_CreateObject();
	char cut[JOB_NAME_MAX + 1];

	choose_workflow(d);
	snprintf(cut, sizeof(cut), "%s", json_text_plain(name) && *name ? name : "dlio");
	dlio_add_text(d, job, "name", cut);
	cJSON_AddNumberToObject(job, "seed", dlio_number(d, "train.seed"));
	dlio_add_stores(d, job);
	if (dlio_uses_data(d))
		dlio_add_datasets(d, job);
	dlio_add_phases(d, job);
}

int import_dlio(struct import *out, const char *name, const char *text, size_t length,
		const char *const *overrides, unsigned override_count, enum import_as as,
		struct err *err)
{
	struct dlio d = {.out = out, .as = as, .err = err};
	struct check c = {.d = &d};
	cJSON *root;
	int rc;

	*out = (struct import){0};
	rc = yaml_tree_read(&root, text, length, err);
	if (rc == 0)
		rc = import_root(&d, root);
	for (unsigned i = 0; rc == 0 && i < override_count; i++)
		rc = override_apply(d.tree, overrides[i], err);
	if (rc == 0)
		check_object(&c, d.tree, "");
	/* Values of the wrong kind are not looked up. */
	if (rc == 0 && d.rc == 0)
		import_job(&d, name);
	for (const struct dlio_key *k = dlio_keys; rc == 0 && d.rc == 0 && k->path; k++)
		if (k->to && !d.asked[k - dlio_keys] && dlio_peek(&d, k->path))
			dlio_found(&d, IMPORT_LEFT, k->path, "%s", check_why_unused(&d, k->path));
	rc = rc ? rc : d.rc;
	if (rc == 0 && out->failed)
		rc = err_set(err, -ENOMEM, "no memory for the job");
	cJSON_Delete(d.tree);
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Import of a DLIO workload file: see import_dlio.h. */
#include "import/dlio/import_dlio.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/numbers.h"
#include "core/option/option.h"
#include "import/dlio/parts.h"
#include "import/overrides.h"
#include "import/references.h"
#include "import/yaml/tree.h"
#include "mlperf/class.h"

/* Unknown keys for which the nearest known one is looked for; a text may hold thousands of them. */
enum { CHECK_HINTS_MAX = 100, CHECK_PATH_BYTES = 256 };

struct given_keys {
	struct dlio *d;
	unsigned unknown; /* keys so far */
	bool model_text;  /* "model" was a text */
};

static void check_object(struct given_keys *c, cJSON *node, const char *prefix);

static void check_known_key(struct given_keys *c, const struct import_key *k, const cJSON *value)
{
	struct dlio *d = c->d;
	char described[JSON_QUOTE_BYTES];
	const char *wrong;

	d->out->keys++;
	if (!k->to) {
		import_found(d->out, IMPORT_LEFT, k->path, k->kind == KEY_SECRET ? NULL : value,
			     "%s", k->why);
		return;
	}
	wrong = cJSON_IsNull(value) ? NULL : import_kind_wrong(k->kind, value);
	if (cJSON_IsString(value) && strcmp(value->valuestring, "???") == 0)
		dlio_refuse(d, "%s: is ???, a value that must be given; give it as an override",
			    k->path);
	else if (wrong)
		dlio_refuse(d, "%s: must be %s, is %s", k->path, wrong,
			    json_describe(described, value));
}

/* A key of the same name in another section, else the nearest by the whole path. */
static const char *check_nearest(const char *path)
{
	const char *names[DLIO_KEYS_MAX + 1], *last = strrchr(path, '.');
	unsigned n = 0;

	last = last ? last + 1 : path;
	for (const struct import_key *k = dlio_keys; k->path && n < DLIO_KEYS_MAX; k++) {
		const char *dot = strrchr(k->path, '.');

		if (dot && strcmp(dot + 1, last) == 0)
			return k->path;
		names[n++] = k->path;
	}
	names[n] = NULL;
	return option_nearest(path, names);
}

static void check_unknown(struct given_keys *c, const char *path, const cJSON *value)
{
	const char *near = c->unknown++ < CHECK_HINTS_MAX ? check_nearest(path) : NULL;

	if (near)
		import_found(c->d->out, IMPORT_UNKNOWN, path, value,
			     "DLIO has no such key; did you mean \"%s\"?", near);
	else
		import_found(c->d->out, IMPORT_UNKNOWN, path, value, "DLIO has no such key");
}

/* Hydra's list of the files that a configuration is composed of. */
static void check_defaults(struct given_keys *c, const cJSON *list)
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
static void check_model(struct given_keys *c, cJSON *node, cJSON *text)
{
	cJSON *name = cJSON_Duplicate(text, false), *model = cJSON_CreateObject();

	c->model_text = true;
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

/* Puts what a value refers to in its place. A reference that cannot be resolved stays where nothing
 * depends on it, and is refused otherwise: a default in its place would be a folder that nobody
 * meant. Returns the value. */
static cJSON *check_references(struct given_keys *c, cJSON *node, cJSON *value, const char *path)
{
	const struct import_key *k = dlio_key(path);
	bool section = cJSON_IsObject(value) && !k;
	struct err err = {0};
	char *name;
	cJSON *to;

	if (section || (k && !k->to) || !references_in(value))
		return value;
	to = references_resolve(c->d->tree, path, value, &err);
	if (!to) {
		if (k || dlio_key_section(path))
			dlio_refuse(c->d, "%s: %s", path, err.text);
		return value;
	}
	name = strdup(value->string);
	if (!name || !cJSON_ReplaceItemInObjectCaseSensitive(node, name, to)) {
		cJSON_Delete(to);
		dlio_no_memory(c->d);
		free(name);
		return value;
	}
	free(name);
	return to;
}

static void check_child(struct given_keys *c, cJSON *node, cJSON *child, const char *path)
{
	/* A dot inside a key's name would make it look like a path. */
	bool dotted = strchr(child->string, '.') != NULL;
	const struct import_key *k = dotted ? NULL : dlio_key(path);

	if (!dotted)
		child = check_references(c, node, child, path);
	if (k)
		check_known_key(c, k, child);
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

/* Compares the tree with the table of keys: counts the keys, adds findings for those that are
 * unknown or not mapped, and resolves references. A value of the wrong kind is refused. The YAML
 * reader bounds the depth and the number of values. */
static void check_object(struct given_keys *c, cJSON *node, const char *prefix)
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

/* A list of overrides is what Hydra writes beside a run's configuration. */
static int root_refuse(const struct dlio *d, const cJSON *root)
{
	const cJSON *first = cJSON_GetArrayItem(root, 0);

	if (cJSON_IsString(first) && strchr(first->valuestring, '='))
		return err_set(
			d->err, -EINVAL,
			"is a list of overrides, not a workload: import the workload's file and give this one "
			"after it, or import config.yaml, which lies beside it and holds both");
	return err_set(d->err, -EINVAL, "is not a DLIO workload: it must hold keys");
}

/* Takes root over as d->tree. A workload file has its keys at the top; the configuration that Hydra
 * writes beside a run's output has them below "workload". */
static int import_root(struct dlio *d, cJSON *root)
{
	cJSON *workload, *rest;

	d->tree = root;
	if (!cJSON_IsObject(root))
		return root_refuse(d, root);
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

/* Keys that other tools' files have, too: they do not show that a file is DLIO's. */
static bool root_key_is_common(const char *path)
{
	static const char *const common[] = {"framework",           "train.epochs",
					     "train.seed",          "dataset.format",
					     "dataset.data_folder", "dataset.compression",
					     "dataset.batch_size",  "dataset.batch_size_eval"};

	for (unsigned i = 0; i < COUNT(common); i++)
		if (strcmp(path, common[i]) == 0)
			return true;
	return check_begins(path, "model.");
}

/* Whether the file is a workload at all. One key that only DLIO has shows it, where at most half of all
 * keys are not DLIO's; or a framework with a section or a key of a workload beside it, where all of
 * them are. Most of what the file has at its top must be DLIO's in any case. */
static int root_check(const struct dlio *d, unsigned strange)
{
	static const char *const sections[] = {"workflow", "dataset", "reader", "storage"};
	const cJSON *framework = dlio_peek(d, "framework"), *child;
	unsigned common = 0, own = 0, known = 0, unknown = 0, described = 0;

	for (const struct import_key *k = dlio_keys; k->path; k++) {
		if (!k->to || !dlio_peek(d, k->path))
			continue;
		if (root_key_is_common(k->path))
			common++;
		else
			own++;
	}
	for (unsigned i = 0; i < COUNT(sections); i++)
		described += cJSON_IsObject(dlio_peek(d, sections[i]));
	cJSON_ArrayForEach(child, d->tree)
	{
		if (dlio_key(child->string) || dlio_key_section(child->string))
			known++;
		else if (strcmp(child->string, "defaults") != 0)
			unknown++;
	}
	if (known >= unknown && own && strange <= d->out->keys)
		return 0;
	if (known >= unknown && !strange && cJSON_IsString(framework) && (common > 1 || described))
		return 0;
	return err_set(
		d->err, -EINVAL,
		"is not a DLIO workload: of its %u sections and keys at the top, DLIO has %u, and %u "
		"values in it say what a workload does; keys in it that are not DLIO's: %u",
		known + unknown, known, common + own - (framework != NULL), strange);
}

/* Names that DLIO takes; it stops at any other one. */
static void choose_one_of(struct dlio *d, const char *path, const char *const names[])
{
	const char *given = dlio_peek(d, path) ? dlio_text(d, path) : NULL;
	char list[160] = "";

	for (unsigned i = 0; names[i]; i++) {
		if (!given || strcmp(names[i], given) == 0)
			return;
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
			 !i             ? ""
			 : names[i + 1] ? ", "
					: " or ",
			 names[i]);
	}
	dlio_refuse(d, "%s: must be %s, is \"%.32s\"", path, list, given);
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

/* What is asked for and has nothing to do is left out, so that it does not stand in the way of the
 * rest. */
static void choose_leave_empty(struct dlio *d)
{
	bool files;

	if (!dlio_uses_data(d))
		return;
	files = dlio_number(d, "dataset.num_files_train") > 0;
	if (d->trains && (!files || dlio_number(d, "train.epochs") < 1)) {
		d->trains = false;
		dlio_found(d, IMPORT_LEFT, files ? "train.epochs" : "dataset.num_files_train",
			   files ? "there are no epochs to train"
				 : "there are no files to train on");
	}
	if (d->generates && !files && dlio_number(d, "dataset.num_files_eval") < 1) {
		d->generates = false;
		dlio_found(d, IMPORT_LEFT, "dataset.num_files_train",
			   "there are no files to generate");
	}
}

static void choose_daos(struct dlio *d)
{
	const char *loader =
		dlio_peek(d, "reader.data_loader") ? dlio_text(d, "reader.data_loader") : "";
	const char *type = dlio_text(d, "storage.storage_type");

	d->daos = strcmp(loader, "daos_pytorch") == 0 || strcmp(type, "daos_pytorch") == 0 ||
		  strcmp(type, "daos") == 0;
}

static void choose_workflow(struct dlio *d)
{
	static const char *const frameworks[] = {"tensorflow", "pytorch", NULL};
	static const char *const loaders[] = {"tensorflow",   "pytorch",   "dali",
					      "native_dali",  "synthetic", "custom",
					      "daos_pytorch", "none",      NULL};
	static const char *const modes[] = {"default", "subset", NULL};
	bool checkpoints = dlio_bool(d, "workflow.checkpoint"),
	     alone = !dlio_bool(d, "workflow.train");

	choose_one_of(d, "framework", frameworks);
	choose_one_of(d, "reader.data_loader", loaders);
	d->generates = dlio_bool(d, "workflow.generate_data");
	d->trains = !alone;
	if (checkpoints)
		choose_one_of(d, "checkpoint.mode", modes);
	choose_daos(d);
	choose_leave_empty(d);
	d->checkpoints = checkpoints && alone && dlio_choose_checkpoints(d);
	if (dlio_uses_data(d))
		choose_loader(d);
	else if (!d->checkpoints)
		dlio_refuse(d, "generates no data, does not train and writes no checkpoints: there "
			       "is nothing to import");
	if (checkpoints && d->trains)
		dlio_choose_saves(d);
	if (dlio_bool(d, "workflow.profiling"))
		dlio_found(d, IMPORT_CHANGED, "workflow.profiling",
			   "haul records the node's counters in every run");
}

static void import_job(struct dlio *d, const char *name)
{
	cJSON *job = d->out->job = cJSON_CreateObject();
	choose_workflow(d);
	import_add_name(job, name, "dlio");
	cJSON_AddNumberToObject(job, "seed", dlio_number(d, "train.seed"));
	dlio_add_stores(d, job);
	if (dlio_uses_data(d))
		dlio_add_datasets(d, job);
	dlio_add_phases(d, job);
}

/* The class is of the keys as they are given, whatever they are called today. */
static void import_class(const struct dlio *d, const cJSON *given, const struct editions *editions)
{
	const struct edition_workload *benchmark =
		edition_latest(editions, d->trains ? "training" : "checkpointing", "");
	struct workload_class class;

	if (!(d->trains || d->checkpoints) || !benchmark)
		return;
	d->out->failed |= !given || !class_of(&class, benchmark, given);
	class_say(d->out->class, sizeof(d->out->class), &class);
}

int import_dlio_tree(struct import *out, const char *name, struct cJSON *root,
		     const struct import_given *given, struct err *err)
{
	struct dlio d = {.out = out, .as = given->as, .err = err};
	struct given_keys c = {.d = &d};
	cJSON *as_given;
	int rc;

	*out = (struct import){0};
	rc = root ? import_root(&d, root) : err_set(err, -ENOMEM, "no memory for the job");
	for (unsigned i = 0; rc == 0 && i < given->override_count; i++)
		rc = override_apply(d.tree, given->overrides[i], err);
	as_given = rc == 0 ? cJSON_Duplicate(d.tree, 1) : NULL;
	if (rc == 0)
		generation_rename_section(&d);
	if (rc == 0)
		check_object(&c, d.tree, "");
	if (rc == 0 && d.rc == 0) {
		rc = root_check(&d, c.unknown);
		generation_find(&d, c.model_text);
	}
	/* Values of the wrong kind are not looked up. */
	if (rc == 0 && d.rc == 0)
		import_job(&d, name);
	for (const struct import_key *k = dlio_keys; rc == 0 && d.rc == 0 && k->path; k++)
		if (k->to && !d.asked[k - dlio_keys] && dlio_peek(&d, k->path))
			dlio_found(&d, IMPORT_LEFT, k->path, "%s", check_why_unused(&d, k->path));
	if (rc == 0 && d.rc == 0)
		import_class(&d, as_given, given->editions);
	rc = rc ? rc : d.rc;
	if (rc == 0 && out->failed)
		rc = err_set(err, -ENOMEM, "no memory for the job");
	cJSON_Delete(as_given);
	cJSON_Delete(d.tree);
	return rc;
}

int import_dlio(struct import *out, const char *name, const char *text, size_t length,
		const struct import_given *given, struct err *err)
{
	cJSON *root = NULL;
	int rc = yaml_tree_read(&root, text, length, err);

	*out = (struct import){0};
	return rc < 0 ? rc : import_dlio_tree(out, name, root, given, err);
}

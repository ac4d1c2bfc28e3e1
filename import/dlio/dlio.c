#include "import/dlio/dlio.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/option/option.h"
#include "import/overrides.h"
#include "import/yaml/tree.h"

/* HINTS_MAX: unknown keys for which the nearest known one is looked for; a text may hold thousands. */
enum { PATH_BYTES = 256, JOB_NAME_MAX = 63, HINTS_MAX = 100 };

static int take_root(struct dlio *d, cJSON *root);
static int walk(struct dlio *d, cJSON *node, const char *prefix);
static const cJSON *look_at(const struct dlio *d, const char *path);
static int find_unused(struct dlio *d);
static int make_job(struct dlio *d, const char *name);

int import_dlio(struct import *out, const char *name, const char *text, size_t length,
		const char *const *overrides, unsigned override_count, enum import_as as,
		struct err *err)
{
	struct dlio d = {.out = out, .as = as, .err = err};
	cJSON *root;
	int rc;

	*out = (struct import){0};
	rc = yaml_tree_read(&root, text, length, err);
	if (rc == 0)
		rc = take_root(&d, root);
	for (unsigned i = 0; rc == 0 && i < override_count; i++)
		rc = override_apply(d.tree, overrides[i], err);
	if (rc == 0)
		rc = walk(&d, d.tree, "");
	if (rc == 0)
		rc = make_job(&d, name);
	if (rc == 0)
		rc = find_unused(&d);
	cJSON_Delete(d.tree);
	return rc;
}

/* The keys stand at the top, or (in what Hydra wrote down of a run) below "workload". */
static int take_root(struct dlio *d, cJSON *root)
{
	cJSON *workload, *rest;

	d->tree = root;
	if (!cJSON_IsObject(root))
		return err_set(d->err, -EINVAL, "is no DLIO workload: it must hold keys");
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
			err_set(d->err, -EINVAL, "%.64s: stands beside and below workload",
				rest->string);
			cJSON_Delete(rest);
			cJSON_Delete(root);
			return -EINVAL;
		}
	}
	cJSON_Delete(root);
	return 0;
}

static const char *wrong_kind(enum dlio_kind kind, const cJSON *value)
{
	const cJSON *item;

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
		return cJSON_IsFalse(value) || (cJSON_IsString(value) &&
						(strcmp(value->valuestring, "off") == 0 ||
						 strcmp(value->valuestring, "seed") == 0 ||
						 strcmp(value->valuestring, "random") == 0))
			       ? NULL
			       : "must be off, seed or random";
	case DLIO_TEXTS:
		if (cJSON_IsString(value))
			return NULL;
		cJSON_ArrayForEach(item, value)
		{
			if (!cJSON_IsString(item))
				return "must be a text or a list of texts";
		}
		return cJSON_IsArray(value) ? NULL : "must be a text or a list of texts";
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

/* By the whole path, else a key of that name in another section. */
static const char *nearest(const char *path)
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

static int find_unknown(struct dlio *d, const char *path, const cJSON *value)
{
	const char *near = d->unknown++ < HINTS_MAX ? nearest(path) : NULL;

	return near ? import_find(d->out, IMPORT_UNKNOWN, path, value, d->err,
				  "no key of DLIO; did you mean \"%s\"?", near)
		    : import_find(d->out, IMPORT_UNKNOWN, path, value, d->err, "no key of DLIO");
}

/* Hydra's list of what a file is made of. */
static int walk_defaults(struct dlio *d, const cJSON *list)
{
	const cJSON *item;
	int rc = 0;

	cJSON_ArrayForEach(item, list)
	{
		if (cJSON_IsString(item) && strcmp(item->valuestring, "_self_") == 0)
			continue;
		rc = import_find(d->out, IMPORT_LEFT, "defaults",
				 cJSON_IsObject(item) && item->child ? item->child : item, d->err,
				 "haul reads one file; what this names is not read");
		if (rc < 0)
			break;
	}
	return rc;
}

/* One value. *drop: the table's default is to stand for it. */
static int take_key(struct dlio *d, const struct dlio_key *k, const cJSON *value, bool *drop)
{
	const char *wrong;
	char described[JSON_QUOTE_BYTES];

	d->out->keys++;
	if (cJSON_IsString(value) && strstr(value->valuestring, "${")) {
		*drop = true;
		return import_find(d->out, IMPORT_LEFT, k->path, value, d->err,
				   "haul resolves no ${…}: give the value as an override");
	}
	if (!k->to)
		return import_find(d->out, IMPORT_LEFT, k->path,
				   k->kind == DLIO_SECRET ? NULL : value, d->err, "%s", k->why);
	wrong = cJSON_IsNull(value) ? NULL : wrong_kind(k->kind, value);
	if (wrong)
		return err_set(d->err, -EINVAL, "%s: %s, is %s", k->path, wrong,
			       json_describe(described, value));
	return 0;
}

/* Depth and number of values are bounded by the YAML reader. */
static int walk(struct dlio *d, cJSON *node, const char *prefix)
{
	cJSON *child, *next;
	int rc = 0;

	for (child = node->child; rc == 0 && child; child = next) {
		char path[PATH_BYTES];
		const struct dlio_key *k;
		bool drop = false;

		next = child->next;
		snprintf(path, sizeof(path), "%s%s%s", prefix, *prefix ? "." : "", child->string);
		k = strchr(child->string, '.') ? NULL : dlio_key(path);
		if (k)
			rc = take_key(d, k, child, &drop);
		else if (strcmp(path, "defaults") == 0 && cJSON_IsArray(child))
			rc = walk_defaults(d, child);
		else if (strchr(child->string, '.') || !dlio_is_section(path))
			rc = find_unknown(d, path, child);
		else if (cJSON_IsObject(child))
			rc = walk(d, child, path);
		else if (!cJSON_IsNull(child))
			rc = err_set(d->err, -EINVAL, "%s: must hold keys", path);
		if (drop)
			cJSON_Delete(cJSON_DetachItemViaPointer(node, child));
	}
	return rc;
}

/* As dlio_at, but the key does not count as asked for. */
static const cJSON *look_at(const struct dlio *d, const char *path)
{
	const cJSON *at = d->tree;
	char part[PATH_BYTES];

	while (at && *path) {
		size_t n = strcspn(path, ".");

		snprintf(part, sizeof(part), "%.*s", (int)n, path);
		at = cJSON_GetObjectItemCaseSensitive(at, part);
		path += n + (path[n] == '.');
	}
	return cJSON_IsNull(at) ? NULL : at;
}

const struct cJSON *dlio_at(struct dlio *d, const char *path)
{
	const struct dlio_key *k = dlio_key(path);

	if (k)
		d->asked[k - dlio_keys] = true;
	return look_at(d, path);
}

double dlio_number(struct dlio *d, const char *path)
{
	const cJSON *value = dlio_at(d, path);

	return value ? value->valuedouble : dlio_key(path)->def;
}

bool dlio_bool(struct dlio *d, const char *path)
{
	const cJSON *value = dlio_at(d, path);

	return value ? cJSON_IsTrue(value) : dlio_key(path)->def != 0;
}

const char *dlio_text(struct dlio *d, const char *path)
{
	const cJSON *value = dlio_at(d, path);

	return value ? value->valuestring : dlio_key(path)->def_text;
}

const char *dlio_switch(struct dlio *d, const char *path)
{
	const cJSON *value = dlio_at(d, path);

	if (cJSON_IsFalse(value))
		return "off";
	return value ? value->valuestring : dlio_key(path)->def_text;
}

int dlio_find(struct dlio *d, enum import_fate fate, const char *path, const char *format, ...)
{
	char why[IMPORT_WHY_BYTES];
	va_list list;

	va_start(list, format);
	vsnprintf(why, sizeof(why), format, list);
	va_end(list);
	return import_find(d->out, fate, path, dlio_at(d, path), d->err, "%s", why);
}

/* One that only checkpoints has no data set. */
static bool uses_data(const struct dlio *d)
{
	return d->generates || d->trains;
}

static void choose_reader(struct dlio *d)
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

static int choose(struct dlio *d)
{
	bool checkpoints = dlio_bool(d, "workflow.checkpoint");
	int rc = 0;

	d->generates = dlio_bool(d, "workflow.generate_data");
	d->trains = dlio_bool(d, "workflow.train");
	if (uses_data(d))
		choose_reader(d);
	else if (!checkpoints)
		return err_set(d->err, -EINVAL,
			       "makes no data, does not train and writes no checkpoints: there is "
			       "nothing to import");
	if (checkpoints)
		rc = dlio_find(d, IMPORT_LEFT, "workflow.checkpoint", "%s%s", DLIO_CHECKPOINT,
			       uses_data(d) ? "" : ", so the job has none to run");
	if (rc == 0 && dlio_bool(d, "workflow.profiling"))
		rc = dlio_find(d, IMPORT_CHANGED, "workflow.profiling",
			       "haul records the node's counters in every run");
	return rc;
}

/* Keys that could be mapped, had this workload any use for them. */
static int find_unused(struct dlio *d)
{
	int rc = 0;

	for (const struct dlio_key *k = dlio_keys; rc == 0 && k->path; k++) {
		bool of_training = strncmp(k->path, "dataset.", 8) != 0 &&
				   strncmp(k->path, "storage.", 8) != 0;

		if (!k->to || d->asked[k - dlio_keys] || !look_at(d, k->path))
			continue;
		rc = dlio_find(d, IMPORT_LEFT, k->path, "%s",
			       of_training && !d->trains
				       ? "it does not train"
				       : "of no use to this format, store or workflow");
	}
	return rc;
}

static int make_job(struct dlio *d, const char *name)
{
	cJSON *job;
	char cut[JOB_NAME_MAX + 1];
	int rc = choose(d);

	if (rc < 0)
		return rc;
	job = d->out->job = cJSON_CreateObject();
	snprintf(cut, sizeof(cut), "%s", json_text_plain(name) && *name ? name : "dlio");
	if (!cJSON_AddStringToObject(job, "name", cut) ||
	    !cJSON_AddNumberToObject(job, "seed", dlio_number(d, "train.seed")))
		return err_set(d->err, -ENOMEM, "no memory for the job");
	rc = dlio_add_store(d, job);
	if (rc == 0 && uses_data(d))
		rc = dlio_add_datasets(d, job);
	return rc == 0 ? dlio_add_phases(d, job) : rc;
}

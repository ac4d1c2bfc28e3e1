/* Import of a DLIO workload file: see import_dlio.h. */
#include "import/dlio/import_dlio.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "import/dlio/check.h"
#include "import/dlio/checkpoint.h"
#include "import/dlio/dataset.h"
#include "import/dlio/phases.h"
#include "import/dlio/store.h"
#include "import/overrides.h"
#include "import/yaml/tree.h"

enum { JOB_NAME_MAX = 63 };

static int import_root(struct dlio *d, cJSON *root);
static void import_job(struct dlio *d, const char *name);
static void choose_workflow(struct dlio *d);
static void choose_loader(struct dlio *d);

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
		rc = import_root(&d, root);
	for (unsigned i = 0; rc == 0 && i < override_count; i++)
		rc = override_apply(d.tree, overrides[i], err);
	if (rc == 0)
		rc = dlio_check(&d);
	if (rc == 0) {
		import_job(&d, name);
		dlio_check_unused(&d);
		rc = d.rc;
	}
	if (rc == 0 && out->failed)
		rc = err_set(err, -ENOMEM, "no memory for the job");
	cJSON_Delete(d.tree);
	return rc;
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

/* SPDX-License-Identifier: Apache-2.0 */
/* The verb "export": results as files that other programs read. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/check.h"
#include "cli/cli.h"
#include "cli/edition.h"
#include "core/json.h"
#include "core/json_path.h"
#include "judge/judge.h"
#include "report/mlperf/mlperf.h"
#include "report/phase.h"

enum { EXPORT_FILES_MAX = 4096 };

struct export_args {
	const char *mlperf, *edition, *system, *xlsx;
};

static const struct option export_options[] = {
	OPT_WORD("mlperf", struct export_args, mlperf, .value = "DIR",
		 .help = "writes a tree of files in MLPerf Storage's layout into this new folder"),
	OPT_WORD("edition", struct export_args, edition, .value = EDITION_USUAL,
		 .help = "the edition whose layout and rules count; default: " EDITION_USUAL),
	OPT_WORD("system", struct export_args, system, .value = "NAME",
		 .help = "the name of the system in the tree; default: system"),
	OPT_WORD("xlsx", struct export_args, xlsx, .value = "OUT",
		 .help = "writes key-value caches as a workbook to the new file OUT"),
	OPT_END,
};

struct export
{
	const char *const *paths;
	struct results_file **files;
	struct mlperf_phase *phases;
	struct cJSON **trees; /* [count], that the phases have */
	unsigned file_count;
	uint32_t count;
};

static bool export_same_data(const struct cJSON *a, const struct cJSON *b)
{
	double size = json_number_at(a, "dataset.sample_bytes", NAN);

	return size == json_number_at(b, "dataset.sample_bytes", NAN);
}

/* What a data set is generated for is the workload that trains on it, be it in another file; a
 * training of no workload has its own name. */
static void export_share_dlio(const struct export *x)
{
	for (uint32_t i = 0; i < x->count; i++) {
		const cJSON *dlio = NULL;
		const char *trains = NULL;

		if (phase_purpose(x->phases[i].phase) != PURPOSE_DATA)
			continue;
		for (uint32_t k = 0; k < x->count && !dlio; k++) {
			if (!export_same_data(x->trees[i], x->trees[k]))
				continue;
			dlio = json_at(x->trees[k], "dlio");
			if (phase_purpose(x->phases[k].phase) == PURPOSE_TRAINING)
				trains = x->phases[k].phase->record.name;
		}
		if (dlio)
			cJSON_AddItemToObject(x->trees[i], "dlio", cJSON_Duplicate(dlio, true));
		else if (trains)
			json_add_text(cJSON_AddObjectToObject(x->trees[i], "dlio"), "model",
				      trains);
	}
}

static int export_add_file(struct export *x, const struct editions *editions,
			   const struct results_file *f, struct err *err)
{
	struct check_job j = {.sizes = edition_sizes()};
	uint32_t room = x->count + f->phase_count;
	struct mlperf_phase *phases;
	struct cJSON **trees;
	int rc = check_job_of_file(&j, f, 0, err);

	phases = realloc(x->phases, (room + 1) * sizeof(*phases));
	x->phases = phases ? phases : x->phases;
	trees = realloc(x->trees, (room + 1) * sizeof(*trees));
	x->trees = trees ? trees : x->trees;
	if (!phases || !trees)
		rc = err_set(err, -ENOMEM, "no memory");
	for (uint32_t i = 0; i < f->phase_count && rc == 0; i++) {
		const struct plan_phase *planned = check_job_phase(&j, &f->phases[i]);
		struct cJSON *tree = planned ? check_job_ran(&j, f, &f->phases[i]) : NULL;

		if (f->phases[i].gone)
			rc = err_set(err, -ENOENT,
				     "%s: details of the runs are missing; move the folder %s.runs "
				     "along with it",
				     f->path, f->path);
		if (!tree)
			continue;
		class_add_dlio(tree, editions, planned);
		x->trees[x->count] = tree;
		x->phases[x->count++] = (struct mlperf_phase){f, &f->phases[i], tree};
	}
	check_job_free(&j);
	return rc;
}

static int export_read(struct export *x, const char *const *paths, unsigned count, struct err *err)
{
	struct editions *editions = NULL;
	int rc = edition_data(&editions, NULL, err);

	x->paths = paths;
	x->files = calloc(count, sizeof(struct results_file *));
	if (!x->files)
		rc = err_set(err, -ENOMEM, "no memory");
	for (unsigned i = 0; i < count && rc == 0; i++) {
		rc = results_load(&x->files[i], paths[i], err);
		x->file_count = i + 1;
		if (rc == 0)
			rc = export_add_file(x, editions, x->files[i], err);
	}
	if (rc == 0)
		export_share_dlio(x);
	editions_free(editions);
	return rc;
}

static void export_free(struct export *x)
{
	for (uint32_t i = 0; i < x->count; i++)
		json_free(x->trees[i]);
	for (unsigned i = 0; i < x->file_count; i++)
		results_unload(x->files[i]);
	free(x->trees);
	free(x->phases);
	free(x->files);
}

static int export_tree(const struct export *x, const struct export_args *args, struct err *err)
{
	struct mlperf_export e = {.root = args->mlperf,
				  .edition = args->edition ? args->edition : EDITION_USUAL,
				  .system = args->system ? args->system : "system",
				  .phases = x->phases,
				  .count = x->count};
	int rc;

	if (!*e.system ||
	    strspn(e.system, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "0123456789._-") != strlen(e.system) ||
	    *e.system == '.')
		return err_set(err, -EINVAL,
			       "--system: a name has letters, digits, \".\", \"_\" and \"-\"");
	rc = check_division(&e.division, args->edition, x->paths, x->file_count, err);
	if (rc == 0)
		rc = mlperf_export(&e, err);
	if (rc == 0)
		printf("%s: %s, by the rules of edition %s; no MLPerf result\n", e.root, e.division,
		       e.edition);
	return rc;
}

static int export_run(const struct call *call)
{
	const struct export_args *args = call->options;
	struct export x = {.files = NULL};
	struct err err = {0};
	int rc = 0;

	if (!args->mlperf && !args->xlsx)
		rc = err_set(&err, -EINVAL, "export: needs --mlperf DIR or --xlsx OUT");
	if (rc == 0)
		rc = cli_refuse_simulated(call->arguments, call->argument_count, false,
					  "only measurements are exported", &err);
	if (rc == 0)
		rc = export_read(&x, call->arguments, call->argument_count, &err);
	if (rc == 0 && args->mlperf)
		rc = export_tree(&x, args, &err);
	if (rc == 0 && args->xlsx)
		rc = mlperf_workbook(args->xlsx, x.phases, x.count, &err);
	export_free(&x);
	return cli_ended(rc, &err);
}

const struct verb export_verb = {
	.name = "export",
	.arguments = "FILE.h5…",
	.help = "writes results as MLPerf Storage's tree of files, or as a workbook",
	.example = "haul export --mlperf tree unet3d.h5",
	.options = export_options,
	.options_bytes = sizeof(struct export_args),
	.arguments_min = 1,
	.arguments_max = EXPORT_FILES_MAX,
	.run = export_run,
};

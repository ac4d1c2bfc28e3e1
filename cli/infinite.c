/* SPDX-License-Identifier: Apache-2.0 */
/* AU on infinite storage: see infinite.h. One job is made of the trainings of all ready jobs of
 * MLPerf, run, and its results are read. */
#include "cli/infinite.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/catalog_find.h"
#include "cli/check_job.h"
#include "core/json.h"
#include "haul_build.h"
#include "ranks/run/run.h"
#include "report/infinite.h"

#define INFINITE_FAMILY "mlperf_"
#define INFINITE_FILE   "haul_validate.h5"
enum { INFINITE_EPOCHS = 100000, INFINITE_PATH_BYTES = 4096 };

/* The job that is made. */
struct infinite_job {
	double seconds;
	cJSON *datasets, *phases;
	struct err *err;
};

static void job_number(cJSON *to, const char *key, double value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(to, key);
	json_add_number(to, key, value);
}

static void job_word(cJSON *to, const char *key, const char *text)
{
	cJSON_DeleteItemFromObjectCaseSensitive(to, key);
	json_add_text(to, key, text);
}

/* The training of a ready job, on null:// and for some seconds. */
static void job_add(struct infinite_job *made, const char *name, cJSON *job)
{
	cJSON *dataset = cJSON_DetachItemFromObjectCaseSensitive(job, "dataset"), *entry;
	cJSON *phases = cJSON_GetObjectItemCaseSensitive(job, "phases");

	cJSON_ArrayForEach(entry, phases)
	{
		cJSON *train = cJSON_DetachItemFromObjectCaseSensitive(entry, "train"), *phase;

		if (!train)
			continue;
		phase = json_object();
		job_word(dataset, "store", "null");
		cJSON_AddItemToObject(made->datasets, name, dataset);
		dataset = NULL;
		job_word(train, "name", name);
		job_word(train, "dataset", name);
		job_number(train, "epochs", INFINITE_EPOCHS);
		job_number(train, "seconds", made->seconds);
		job_number(train, "null_steps", 0);
		cJSON_DeleteItemFromObjectCaseSensitive(train, "checkpoint");
		cJSON_AddItemToObject(phase, "train", train);
		cJSON_AddItemToArray(made->phases, phase);
		break;
	}
	json_free(dataset);
}

static int job_add_ready(void *argument, const char *name)
{
	struct infinite_job *made = argument;
	char path[INFINITE_PATH_BYTES];
	cJSON *json = NULL;
	struct job job = {0};
	int rc;

	if (strncmp(name, INFINITE_FAMILY, strlen(INFINITE_FAMILY)) != 0)
		return 0;
	rc = catalog_resolve(name, path, sizeof(path), made->err);
	if (rc == 0)
		rc = job_load(&job, plan_schema(), path, NULL, 0, made->err);
	if (rc == 0)
		rc = check_job_json(&json, &job, made->err);
	if (rc == 0)
		job_add(made, name + strlen(INFINITE_FAMILY), json);
	json_free(json);
	job_free(&job);
	return rc;
}

static int job_make(char **text, double seconds, struct err *err)
{
	cJSON *root = json_object(), *stores = cJSON_AddObjectToObject(root, "stores");
	struct infinite_job made = {.seconds = seconds,
				    .datasets = cJSON_AddObjectToObject(root, "datasets"),
				    .phases = cJSON_AddArrayToObject(root, "phases"),
				    .err = err};
	int rc = catalog_each(job_add_ready, &made);

	json_add_text(root, "name", "infinite_storage");
	json_add_text(cJSON_AddObjectToObject(stores, "null"), "uri", "null://");
	*text = rc == 0 ? json_print(root) : NULL;
	json_free(root);
	if (rc < 0 && !err->code)
		return err_set(err, rc, "the catalogue: %s", strerror(-rc));
	return rc < 0 || *text ? rc : err_set(err, -ENOMEM, "no memory for the job");
}

/* Rank 0: the table of the results. */
static int infinite_say(const char *path, enum report_shape shape, bool *missed, struct err *err)
{
	struct results_file *f = NULL;
	int rc = results_load(&f, path, err);
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (rc == 0)
		rc = infinite_print(stdout, shape, f, cores > 0 ? (uint32_t)cores : 1, missed, err);
	if (f)
		results_unload(f);
	return rc;
}

/* Under MPI: only rank 0 makes the job, reads the results, and speaks. */
static int infinite_run(struct run *run, const struct infinite_args *args, struct err *err)
{
	struct err refused = {0};
	struct run_options options = {.verb = RUN_ALL,
				      .job = "haul validate",
				      .results = args->results ? args->results : INFINITE_FILE,
				      .quiet = true,
				      .command_line = "haul validate --infinite-storage",
				      .version = HAUL_VERSION,
				      .build = HAUL_BUILD};
	bool speak = false, missed = false;
	enum exit_status status;
	char *text = NULL;
	int rc = run_rank(run) == 0 ? job_make(&text, args->seconds, err) : 0;

	/* A job that could not be made is refused by all ranks, as an empty one is. */
	options.job_text = text ? text : "";
	status = run_job(run, &options, &speak, rc < 0 ? &refused : err);
	free(text);
	if (!speak || status != EXIT_DONE) {
		if (speak)
			cli_say("%s", err->text);
		return status;
	}
	rc = infinite_say(options.results, args->shape, &missed, err);
	if (!args->results)
		unlink(INFINITE_FILE);
	if (rc < 0) {
		cli_say("%s", err->text);
		return EXIT_FAILED;
	}
	return missed ? EXIT_TARGET_MISSED : EXIT_DONE;
}

int infinite_measure(const struct call *call, const struct infinite_args *args)
{
	char **argv = call->argv;
	struct err err = {0};
	int argc = call->argc, status;
	struct run *run;

	if (run_begin(&run, &argc, &argv, &err) < 0) {
		cli_say("%s", err.text);
		return EXIT_FAILED;
	}
	status = infinite_run(run, args, &err);
	run_end(run);
	return status;
}

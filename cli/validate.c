/* SPDX-License-Identifier: Apache-2.0 */
/* The verb "validate": haul's own plans beside what others published. It plans the jobs that the
 * rows name, for as many ranks and nodes as they say, and runs nothing, unless it is asked for the AU
 * on infinite storage, or for what simulations predict. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/catalog.h"
#include "cli/cli.h"
#include "cli/edition.h"
#include "core/json.h"
#include "haul_build.h"
#include "judge/fitted.h"
#include "judge/judge.h"
#include "ranks/run/run.h"
#include "report/infinite.h"
#include "report/shapes.h"
#include "report/validation.h"

/* AU on infinite storage: the part of the verb "validate" that runs, under mpiexec. */

struct infinite_args {
	const char *results; /* NULL: they are removed */
	double seconds;      /* of each workload */
	enum report_shape shape;
};

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

/* Trains on null:// with the workloads of all ready jobs "mlperf_…" that train, one after the other,
 * and prints the AU of each. Returns the exit status: EXIT_TARGET_MISSED where one misses it. */
static int infinite_measure(const struct call *call, const struct infinite_args *args)
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

struct validate_args {
	const char *rows, *results;
	bool json, csv, infinite, simulated;
	uint64_t seconds_ns;
};

#define VALIDATE_SECONDS_NS 10000000000u

static const struct option validate_options[] = {
	OPT_WORD("rows", struct validate_args, rows, .value = "FILE",
		 .help = "published values of one's own in place of the catalogue's"),
	OPT_BOOL(
		"infinite-storage", struct validate_args, infinite,
		.help = "under mpiexec: trains on null:// with each workload of MLPerf instead, and tells its AU; exit status 8: one is below 99 %"),
	OPT_TIME("seconds", struct validate_args, seconds_ns, .value = "TIME", .min = 1000000,
		 .help = "with --infinite-storage: how long each workload trains; default 10 s"),
	OPT_WORD(
		"results", struct validate_args, results, .value = "FILE",
		.help = "with --infinite-storage: file for the results; default: they are removed"),
	OPT_BOOL(
		"simulated", struct validate_args, simulated,
		.help = "adds what simulations predict: of submitters with three or more results of a workload, the storage fitted to the largest predicts AU of the others"),
	OPT_BOOL("json", struct validate_args, json, .help = "prints JSON, for programs"),
	OPT_BOOL("csv", struct validate_args, csv, .help = "prints CSV, one line per value"),
	OPT_END,
};

/* Compares the row with the phase that it names. */
static int validate_phase(const struct check_job *j, const struct editions *editions,
			  const struct published_row *row, struct published_match *out,
			  struct err *err)
{
	struct workload_class classes[CLASSES_MAX];
	int count = class_of_plan(classes, editions, &j->job, &j->plan, j->job_json, err);

	if (count < 0)
		return count;
	for (uint32_t i = 0; i < j->plan.phase_count; i++) {
		cJSON *tree;

		if (strcmp(j->plan.phases[i].phase->name, row->phase) != 0)
			continue;
		tree = check_job_tree(j, i);
		for (int k = 0; k < count; k++)
			if (strcmp(classes[k].phase, row->phase) == 0)
				json_add_text(tree, "class", classes[k].hash);
		published_compare(row, tree, out);
		json_free(tree);
		return 0;
	}
	return err_set(err, -EINVAL, "has no phase \"%s\"", row->phase);
}

static int validate_plan(struct check_job *j, const struct published_row *row, struct err *err)
{
	char path[4096];
	int rc = catalog_resolve(row->job, path, sizeof(path), err);

	if (rc == 0)
		rc = job_load(&j->job, plan_schema(), path, (const char *const *)row->set.items,
			      row->set.count, err);
	if (rc == 0)
		rc = check_job_plan(j, (uint32_t)row->ranks, (uint32_t)row->nodes, 0, err);
	return rc;
}

static bool validate_same_job(const struct published_row *a, const struct published_row *b)
{
	bool same = strcmp(a->job, b->job) == 0 && a->ranks == b->ranks && a->nodes == b->nodes &&
		    a->set.count == b->set.count;

	for (uint32_t i = 0; same && i < a->set.count; i++)
		same = strcmp(a->set.items[i], b->set.items[i]) == 0;
	return same;
}

/* Neighbours that are of one job share its plan. */
static int validate_rows(const struct published *p, struct published_match *matches,
			 struct err *err)
{
	const struct rule_sizes sizes = edition_sizes();
	struct check_job j = {.past = true};
	struct editions *editions = NULL;
	int rc = edition_data(&editions, NULL, err);

	for (uint32_t i = 0; i < p->count && rc == 0; i++) {
		const struct published_row *row = &p->rows[i];

		if (i == 0 || !validate_same_job(row, row - 1)) {
			check_job_free(&j);
			j = (struct check_job){.sizes = sizes, .past = true};
			rc = validate_plan(&j, row, err);
		}
		if (rc == 0)
			rc = validate_phase(&j, editions, row, &matches[i], err);
		if (rc < 0)
			err_wrap(err, rc, "%s of %s", row->quantity, row->of);
	}
	check_job_free(&j);
	editions_free(editions);
	return rc;
}

static enum report_shape validate_shape(const struct validate_args *args)
{
	return args->json ? REPORT_JSON : args->csv ? REPORT_CSV : REPORT_TEXT;
}

static int validate_check(const struct validate_args *args, struct err *err)
{
	if (args->json && args->csv)
		return err_set(err, -EINVAL, "--json and --csv exclude each other");
	if (args->infinite && args->simulated)
		return err_set(err, -EINVAL,
			       "--simulated and --infinite-storage exclude each other");
	if (args->infinite && args->rows)
		return err_set(err, -EINVAL, "--rows and --infinite-storage exclude each other");
	if (!args->infinite && (args->seconds_ns || args->results))
		return err_set(err, -EINVAL, "--seconds and --results need --infinite-storage");
	return 0;
}

static int validate_all(const struct validate_args *args, struct published *published,
			struct validation *v, struct err *err)
{
	char path[4096];
	int rc = 0;

	if (!args->rows)
		rc = catalog_published(path, sizeof(path), err);
	if (rc == 0)
		rc = published_read(published, args->rows ? args->rows : path, err);
	if (rc < 0)
		return rc;
	v->matches = calloc(PUBLISHED_MAX, sizeof(*v->matches));
	if (!v->matches)
		return err_set(err, -ENOMEM, "no memory for %u values", published->count);
	rc = validate_rows(published, v->matches, err);
	return rc == 0 && args->simulated ? fitted_add(v, published, catalog_resolve, err) : rc;
}

static int validate_plans(const struct validate_args *args)
{
	struct published *published = calloc(1, sizeof(*published));
	struct validation v = {.published = published};
	struct err err = {0};
	int rc = published ? validate_all(args, published, &v, &err)
			   : err_set(&err, -ENOMEM, "no memory for what is published");

	if (rc == 0)
		rc = validation_print(stdout, validate_shape(args), &v, &err);
	rc = cli_ended(rc, &err);
	if (rc == EXIT_DONE && validation_count(&v, PUBLISHED_MISSED))
		rc = EXIT_TARGET_MISSED;
	if (published)
		published_free(published);
	free(v.matches);
	free(published);
	return rc;
}

static int validate_run(const struct call *call)
{
	const struct validate_args *args = call->options;
	const struct infinite_args infinite = {
		.results = args->results,
		.seconds =
			1e-9 * (double)(args->seconds_ns ? args->seconds_ns : VALIDATE_SECONDS_NS),
		.shape = validate_shape(args)};
	struct err err = {0};

	if (validate_check(args, &err) < 0)
		return cli_ended(err.code, &err);
	return args->infinite ? infinite_measure(call, &infinite) : validate_plans(args);
}

const struct verb validate_verb = {
	.name = "validate",
	.arguments = "",
	.help = "compares haul's plans with what others published; exit status 8: a value differs",
	.example = "haul validate",
	.options = validate_options,
	.options_bytes = sizeof(struct validate_args),
	.run = validate_run,
};

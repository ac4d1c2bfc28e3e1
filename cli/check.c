/* SPDX-License-Identifier: Apache-2.0 */
/* The verb "check": a job before it runs, or results after, judged by the rules of a benchmark's
 * edition. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/check.h"

#include "cli/catalog_find.h"
#include "cli/check_job.h"
#include "cli/cli.h"
#include "cli/edition.h"
#include "cli/job_class.h"
#include "core/json.h"
#include "core/numbers.h"
#include "ranks/run/run.h"
#include "report/check.h"
#include "report/json/json.h"

enum { CHECK_FILES_MAX = 4096 };

struct check_args {
	const char *edition, *rules;
	uint64_t nodes, ranks_per_node, memory;
	struct word_list sets;
	bool json;
};

static const struct option check_options[] = {
	OPT_WORD(
		"edition", struct check_args, edition, .value = EDITION_USUAL,
		.help = "the edition of MLPerf Storage whose rules judge; default: " EDITION_USUAL),
	OPT_WORD("rules", struct check_args, rules, .value = "FILE",
		 .help = "rules of one's own in place of an edition's"),
	OPT_U64("nodes", struct check_args, nodes, .value = "N", .min = 1, .max = 1 << 20,
		.help = "the job runs on N nodes; default 1"),
	OPT_U64("ranks-per-node", struct check_args, ranks_per_node, .value = "P", .min = 1,
		.max = 1 << 16, .help = "P ranks per node; default: what the job says, or 1"),
	OPT_BYTES(
		"memory", struct check_args, memory, .value = "SIZE", .min = 1,
		.help = "memory per node; default: what results tell; without it, a job's rules of memory are not known"),
	OPT_WORDS("set", struct check_args, sets, .value = "PATH=VALUE",
		  .help = "changes the job: train.batch=4; may be repeated"),
	OPT_BOOL("json", struct check_args, json, .help = "prints JSON, for programs"),
	OPT_END,
};

/* Judges each phase of the job. file: that the job is from; NULL: none. */
static int check_phases(struct check *c, const struct check_job *j, const char *file,
			struct err *err)
{
	struct workload_class classes[CLASSES_MAX];
	struct editions *editions = NULL;
	int count = edition_data(&editions, err);

	if (count == 0)
		count = class_of_plan(classes, editions, &j->job, &j->plan, j->job_json, err);
	editions_free(editions);

	for (int i = 0; i < count; i++)
		check_class(c, file, &classes[i]);
	for (uint32_t i = 0; i < j->plan.phase_count; i++) {
		cJSON *tree = check_job_tree(j, i);

		check_tree(c, RULE_OF_JOB, tree, file, j->plan.phases[i].phase->name);
		json_free(tree);
	}
	return count < 0 ? count : 0;
}

static int check_a_job(struct check *c, const struct check_args *args, const char *name,
		       struct err *err)
{
	struct check_job j = {.job_json = NULL};
	uint64_t nodes = args->nodes ? args->nodes : 1, per_node, ranks;
	char path[4096];
	int rc = catalog_resolve(name, path, sizeof(path), err);

	if (rc == 0)
		rc = job_load(&j.job, plan_schema(), path, args->sets.items, args->sets.count, err);
	if (rc < 0)
		return rc;
	if (args->ranks_per_node)
		j.job.cluster.ranks_per_node = args->ranks_per_node;
	if (args->memory)
		j.job.cluster.memory = args->memory;
	per_node = j.job.cluster.ranks_per_node ? j.job.cluster.ranks_per_node : 1;
	ranks = nodes * per_node;
	if (!args->nodes && !args->ranks_per_node)
		ranks = max_u64(ranks, j.job.cluster.ranks);
	if (ranks > UINT32_MAX)
		rc = err_set(err, -EINVAL, "--nodes: %llu ranks are too many",
			     (unsigned long long)ranks);
	if (rc == 0)
		rc = check_job_plan(&j, (uint32_t)ranks, (uint32_t)nodes, (double)args->memory,
				    err);
	if (rc == 0)
		rc = check_phases(c, &j, NULL, err);
	if (rc < 0)
		err_wrap(err, rc, "%s", path);
	check_job_free(&j);
	return rc;
}

static int check_a_file(struct check *c, const struct check_args *args,
			const struct results_file *f, struct err *err)
{
	struct check_job j = {.job_json = NULL};
	int rc = check_job_of_file(&j, f, (double)args->memory, err);

	if (rc == 0)
		rc = check_phases(c, &j, f->path, err);
	for (uint32_t i = 0; i < f->phase_count && rc == 0; i++) {
		const struct results_phase_read *p = &f->phases[i];
		cJSON *tree = p->record.warmup ? NULL : check_job_ran(&j, f, p);

		if (tree)
			check_tree(c, RULE_OF_RESULT, tree, f->path, p->record.name);
		json_free(tree);
	}
	check_job_free(&j);
	return rc;
}

/* Runs of one phase in the order of the files, for rules of a series. */
struct check_series {
	const char *name, *kind;
	uint32_t warmups, runs;
	double ended, longest_gap, shortest; /* unix time, seconds */
	double after_writes;                 /* the longest; NaN: there is none */
	double queries;                      /* of searches of vectors */
};

static void check_series_add(struct check_series *s, const struct results_phase_read *p)
{
	double begun = (double)p->record.started_ns * 1e-9;
	double seconds = (double)p->record.finished_ns * 1e-9 - begun;

	if (s->warmups + s->runs)
		s->longest_gap = fmax(s->longest_gap, begun - s->ended);
	s->warmups += p->record.warmup;
	s->runs += !p->record.warmup;
	s->shortest = s->warmups + s->runs > 1 ? fmin(s->shortest, seconds) : seconds;
	s->ended = begun + seconds;
	if (strcmp(s->kind, "vector") == 0)
		s->queries += results_value(&p->merged, 0, "queries");
}

/* The longest time from checkpoints that were written to those that the phase only reads. */
static double check_after_writes(struct results_file *const *files, unsigned count,
				 const struct results_phase_read *p)
{
	double begun = (double)p->record.started_ns * 1e-9, after = NAN;

	if (strcmp(p->record.kind, "checkpoint") != 0 ||
	    results_value(&p->merged, 0, "bytes_written") > 0)
		return NAN;
	for (unsigned f = 0; f < count; f++)
		for (uint32_t i = 0; i < files[f]->phase_count; i++) {
			const struct results_phase_read *w = &files[f]->phases[i];
			double ended = (double)w->record.finished_ns * 1e-9;

			if (strcmp(w->record.kind, "checkpoint") == 0 && ended <= begun &&
			    results_value(&w->merged, 0, "bytes_written") > 0)
				after = fmin(after, begun - ended);
		}
	return after;
}

static void check_series_judge(struct check *c, const struct check_series *s)
{
	cJSON *tree = json_object();
	cJSON *series = cJSON_AddObjectToObject(tree, "series");

	json_add_text(tree, "kind", s->kind);
	json_add_text(tree, "name", s->name);
	json_add_number(series, "warmups", s->warmups);
	json_add_number(series, "runs", s->runs);
	if (s->warmups + s->runs > 1 && s->shortest > 0)
		json_add_number(series, "longest_gap_of_a_run", s->longest_gap / s->shortest);
	if (isfinite(s->after_writes))
		json_add_number(series, "seconds_after_writes", s->after_writes);
	if (s->queries > 0)
		json_add_number(series, "queries", s->queries);
	check_tree(c, RULE_OF_SERIES, tree, NULL, s->name);
	json_free(tree);
}

static void check_all_series(struct check *c, struct results_file *const *files, unsigned count)
{
	for (unsigned f = 0; f < count; f++)
		for (uint32_t i = 0; i < files[f]->phase_count; i++) {
			const struct results_phase_read *first = &files[f]->phases[i];
			struct check_series s = {.name = first->record.name,
						 .kind = first->record.kind,
						 .after_writes = NAN};
			bool before = false;

			for (unsigned g = 0; g <= f && !before; g++)
				for (uint32_t k = 0; k < (g < f ? files[g]->phase_count : i); k++)
					before |= strcmp(files[g]->phases[k].record.name, s.name) ==
						  0;
			if (before)
				continue;
			for (unsigned g = f; g < count; g++)
				for (uint32_t k = 0; k < files[g]->phase_count; k++)
					if (strcmp(files[g]->phases[k].record.name, s.name) == 0) {
						const struct results_phase_read *p =
							&files[g]->phases[k];

						check_series_add(&s, p);
						s.after_writes =
							fmax(s.after_writes,
							     check_after_writes(files, count, p));
					}
			check_series_judge(c, &s);
		}
}

static int check_files(struct check *c, const struct check_args *args, const char *const *paths,
		       unsigned count, struct results_file **files, struct err *err)
{
	int rc = 0;

	if (args->nodes || args->ranks_per_node || args->sets.count)
		return err_set(
			err, -EINVAL,
			"--nodes, --ranks-per-node and --set are of a job; results have theirs");
	rc = cli_refuse_simulated(paths, count, false, "rules judge measurements", err);
	for (unsigned i = 0; i < count && rc == 0; i++)
		rc = results_load(&files[i], paths[i], err);
	for (unsigned i = 0; i < count && rc == 0; i++)
		rc = check_a_file(c, args, files[i], err);
	if (rc == 0)
		check_all_series(c, files, count);
	return rc;
}

/* Results files are told from jobs by the name. */
static bool check_is_file(const char *path)
{
	size_t n = strlen(path);

	return n > 3 && strcmp(path + n - 3, ".h5") == 0;
}

int check_division(const char **division, const char *edition, struct results_file **files,
		   unsigned count, struct err *err)
{
	const struct check_args args = {.edition = edition};
	struct rules *rules = NULL;
	struct check c = {.ran = true};
	int rc = edition_read(&rules, edition, NULL, err);

	c.rules = rules;
	for (unsigned i = 0; i < count && rc == 0; i++)
		rc = check_a_file(&c, &args, files[i], err);
	if (rc == 0)
		check_all_series(&c, files, count);
	/* What is not known is not closed. */
	*division = check_is_closed(&c)                  ? "closed"
		    : check_category(&c) == RULE_INVALID ? "whatif"
							 : "open";
	check_free(&c);
	edition_free(rules);
	return rc;
}

/* Judges a job, or files. */
static int check_all(const struct check_args *args, const char *const *paths, unsigned count,
		     bool files)
{
	struct results_file **loaded = calloc(count, sizeof(struct results_file *));
	struct rules *rules = NULL;
	struct check c = {.ran = files};
	struct err err = {0};
	int rc = loaded ? 0 : err_set(&err, -ENOMEM, "no memory");

	if (rc == 0 && args->rules && args->edition)
		rc = err_set(&err, -EINVAL, "--rules and --edition exclude each other");
	if (rc == 0)
		rc = edition_read(&rules, args->edition, args->rules, &err);
	c.rules = rules;
	if (rc == 0 && files)
		rc = check_files(&c, args, paths, count, loaded, &err);
	else if (rc == 0 && count > 1)
		rc = err_set(&err, -EINVAL, "%s: one job is checked at a time", paths[1]);
	else if (rc == 0)
		rc = check_a_job(&c, args, paths[0], &err);
	if (rc == 0)
		rc = check_print(stdout, args->json ? REPORT_JSON : REPORT_TEXT, &c, &err);
	rc = cli_ended(rc, &err);
	if (rc == EXIT_DONE && !check_is_closed(&c))
		rc = EXIT_TARGET_MISSED;
	check_free(&c);
	for (unsigned i = 0; loaded && i < count; i++)
		results_unload(loaded[i]);
	edition_free(rules);
	free(loaded);
	return rc;
}

int check_results(const char *rules, const char *const *files, unsigned count, bool json)
{
	const struct check_args args = {.rules = rules, .json = json};

	return check_all(&args, files, count, true);
}

static int check_run(const struct call *call)
{
	return check_all(call->options, call->arguments, call->argument_count,
			 check_is_file(call->arguments[0]));
}

const struct verb check_verb = {
	.name = "check",
	.arguments = "JOB|FILE.h5…",
	.help = "judges a job, or results, by MLPerf's rules; exit status 8: not closed",
	.example = "haul check unet3d_b200 --nodes 4 --memory \"64 GiB\"",
	.options = check_options,
	.options_bytes = sizeof(struct check_args),
	.arguments_min = 1,
	.arguments_max = CHECK_FILES_MAX,
	.takes_job = true,
	.run = check_run,
};

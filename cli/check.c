/* SPDX-License-Identifier: Apache-2.0 */
/* The verb "check": a job before it runs, or results after, judged by the rules of a benchmark's
 * edition. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/check.h"

#include "cli/catalog.h"
#include "cli/cli.h"
#include "cli/edition.h"
#include "cli/run_folder.h"
#include "core/invariant.h"
#include "core/json.h"
#include "core/json_path.h"
#include "judge/judge.h"
#include "plan/notes.h"
#include "plan/phase_tree.h"
#include "ranks/run/run.h"
#include "report/check.h"

enum { CHECK_FILES_MAX = 4096 };

struct check_args {
	const char *edition, *rules;
	uint64_t nodes, ranks_per_node, memory;
	struct word_list sets;
	bool json, all;
};

static const struct option check_options[] = {
	OPT_WORD(
		"edition", struct check_args, edition, .value = EDITION_USUAL,
		.help = "the edition of MLPerf Storage whose rules judge; default: " EDITION_USUAL),
	OPT_WORD("rules", struct check_args, rules, .value = "FILE",
		 .help = "rules of one's own in place of an edition's"),
	OPT_U64("nodes", struct check_args, nodes, .value = "N", .min = 1, .max = 1 << 20,
		.help = "the job runs on N nodes; default: what a run's folder says, or 1"),
	CLI_RANKS_PER_NODE(struct check_args),
	OPT_BYTES(
		"memory", struct check_args, memory, .value = "SIZE", .min = 1,
		.help = "memory per node; default: what results tell; without it, a job's rules of memory are not known"),
	CLI_SET(struct check_args),
	OPT_BOOL("all", struct check_args, all, .help = "shows the rules that are held, too"),
	OPT_BOOL("json", struct check_args, json, .help = "prints JSON, for programs"),
	OPT_END,
};

/* What is judged together: jobs, or results. */
struct check_case {
	struct check_job j;
	struct results_file *f; /* NULL: a job */
	const char *file;       /* named in lines; NULL: it is the only job */
	char path[RUN_FOLDER_BYTES];
	double written, read; /* checkpoints of its job */
};
struct check_cases {
	const struct check_args *args;
	struct editions *editions; /* NULL: rules of one's own judge alone */
	const char *edition;
	struct check_case **list; /* each stays where it is: its plan points into its job */
	uint32_t count;
	uint64_t options; /* bits of the options of caches that are there */
	bool has_caches;
};

/* Halves of a checkpoint submission are judged together: checkpoints that a job does not write are
 * those that another one only writes. */
static void case_set_whole(const struct check_cases *all, const struct check_case *one, cJSON *tree)
{
	cJSON *whole = json_at(tree, "whole");
	double written = one->written, read = one->read;

	if (one->f)
		cJSON_AddTrueToObject(whole, "ran");
	if ((written > 0) == (read > 0))
		return;
	for (uint32_t i = 0; i < all->count; i++) {
		const struct check_case *other = all->list[i];

		written += one->written > 0 || other->read > 0 ? 0 : other->written;
		read += one->read > 0 || other->written > 0 ? 0 : other->read;
	}
	cJSON_AddTrueToObject(whole, "apart");
	cJSON_DeleteItemFromObjectCaseSensitive(whole, "checkpoints_written");
	cJSON_DeleteItemFromObjectCaseSensitive(whole, "checkpoints_read");
	json_add_number(whole, "checkpoints_written", written);
	json_add_number(whole, "checkpoints_read", read);
}

/* What is measured beside a benchmark makes another job of it. */
static bool case_has_benchmark(const struct check_case *one)
{
	for (uint32_t i = 0; i < one->j.plan.phase_count; i++)
		if (closed_is_benchmark(one->j.plan.phases[i].phase))
			return true;
	return false;
}

/* A phase beside the edition's own job of its workload. */
static int case_compare(struct check *c, struct check_cases *all, const struct check_case *one,
			uint32_t i, cJSON *tree, struct err *err)
{
	const struct job_phase *planned = one->j.plan.phases[i].phase;
	const char *kind = json_text_at(tree, "kind", ""), *phase = planned->name;
	enum purpose purpose = workload_purpose(planned);
	struct closed_phase *beside = calloc(1, sizeof(*beside));
	char name[CHECK_PHASE_BYTES] = "";
	int rc = beside ? closed_find(beside, all->editions, all->edition, &one->j, i, err)
			: err_set(err, -ENOMEM, "no memory for the comparison");

	if (rc == 0 && beside->workload) {
		closed_name(name, sizeof(name), beside);
		closed_add_edition(tree, beside);
		if (beside->option >= 0)
			all->options |= 1ull << beside->option;
		check_workload(c, one->file, phase, name, beside->whatif, &beside->differences);
	} else if (rc == 0 && beside->whatif) {
		check_workload(c, one->file, phase, "", true, &beside->differences);
	} else if (rc == 0 && purpose != PURPOSE_DATA && !closed_is_benchmark(planned) &&
		   case_has_benchmark(one)) {
		edition_differs(&beside->differences, false, kind, phase, "nothing",
				"a phase \"%s\" is in none of the edition's jobs", kind);
		check_workload(c, one->file, phase, "", false, &beside->differences);
	}
	all->has_caches |= rc == 0 && purpose == PURPOSE_CACHE;
	free(beside);
	return rc;
}

/* Judges each phase of the job. */
static int check_phases(struct check *c, struct check_cases *all, const struct check_case *one,
			struct err *err)
{
	struct workload_class classes[CLASSES_MAX];
	const struct check_job *j = &one->j;
	int count = 0, rc = 0;

	if (all->editions)
		count = class_of_plan(classes, all->editions, &j->job, &j->plan, j->job_json, err);
	for (int i = 0; i < count; i++)
		check_class(c, one->file, &classes[i]);
	for (uint32_t i = 0; i < j->plan.phase_count && rc == 0 && count >= 0; i++) {
		const char *name = j->plan.phases[i].phase->name;
		cJSON *tree = check_job_tree(j, i);

		case_set_whole(all, one, tree);
		if (all->editions)
			rc = case_compare(c, all, one, i, tree, err);
		check_tree(c, RULE_OF_JOB, tree, one->file, name);
		/* What only a run shows is a condition of what is judged before it. */
		if (!one->f) {
			check_tree(c, RULE_OF_RESULT, tree, one->file, name);
			check_tree(c, RULE_OF_SERIES, tree, one->file, name);
		}
		json_free(tree);
	}
	return count < 0 ? count : rc;
}

/* A submission has all options of the benchmark of caches. */
static void check_options_of_caches(struct check *c, const struct check_cases *all)
{
	const struct edition_workload *caches =
		all->editions && all->has_caches
			? edition_find(all->editions, all->edition, "kvcache", "")
			: NULL;
	const cJSON *options = caches ? edition_member(caches, "options") : NULL;
	struct edition_differences *missing = calloc(1, sizeof(*missing));

	for (int i = 0; missing && i < cJSON_GetArraySize(options); i++)
		if (!(all->options >> i & 1))
			edition_differs(missing, false, "phases", "nothing",
					json_text_at(cJSON_GetArrayItem(options, i), "name", ""),
					"option %d, %s, is missing: a submission has all %d", i + 1,
					json_text_at(cJSON_GetArrayItem(options, i), "name", ""),
					cJSON_GetArraySize(options));
	if (missing && missing->count)
		check_workload(c, NULL, "", "", false, missing);
	free(missing);
}

/* Plans a job that was read. ranks, nodes, memory: of the run that it is from; 0: none are known. */
static int case_plan(struct check_case *one, const struct check_args *args,
		     const struct run_folder *ran, struct err *err)
{
	const struct plan_asked asked = {args->nodes, args->ranks_per_node, args->memory,
					 ran ? ran->nodes : 0, ran ? ran->ranks : 0};
	uint32_t ranks, nodes;
	int rc = plan_size(&one->j.job, &asked, &ranks, &nodes, err);

	if (rc < 0)
		return rc;
	return check_job_plan(&one->j, ranks, nodes,
			      args->memory ? (double)args->memory
			      : ran        ? ran->memory
					   : 0,
			      err);
}

static struct check_case *cases_add(struct check_cases *all, struct err *err)
{
	struct check_case **more =
		realloc(all->list, (all->count + 1) * sizeof(struct check_case *));
	struct check_case *one = more ? calloc(1, sizeof(*one)) : NULL;

	if (more)
		all->list = more;
	if (one)
		all->list[all->count++] = one;
	else
		err_set(err, -ENOMEM, "no memory for what is checked");
	return one;
}

static int cases_add_runs(struct check_cases *all, const char *path, struct err *err)
{
	struct run_folders *runs = NULL;
	int rc = run_folders_find(&runs, path, err);

	for (uint32_t i = 0; runs && i < runs->count && rc == 0; i++) {
		struct check_case *one = cases_add(all, err);

		if (!one) {
			rc = -ENOMEM;
			break;
		}
		snprintf(one->path, sizeof(one->path), "%s", runs->list[i].config);
		rc = run_folder_job(&one->j.job, &runs->list[i], all->editions,
				    all->args->sets.items, all->args->sets.count, err);
		if (rc == 0)
			rc = case_plan(one, all->args, &runs->list[i], err);
	}
	free(runs);
	return rc;
}

static int cases_add_job(struct check_cases *all, const char *name, struct err *err)
{
	struct check_case *one = cases_add(all, err);
	int rc = one ? catalog_resolve(name, one->path, sizeof(one->path), err) : -ENOMEM;

	if (rc == 0)
		rc = job_load(&one->j.job, plan_schema(), one->path, all->args->sets.items,
			      all->args->sets.count, err);
	if (rc < 0)
		return rc;
	rc = case_plan(one, all->args, NULL, err);
	return rc < 0 ? err_wrap(err, rc, "%s", one->path) : 0;
}

static int cases_add_file(struct check_cases *all, const char *path, struct err *err)
{
	struct check_case *one = cases_add(all, err);
	int rc = one ? results_load(&one->f, path, err) : -ENOMEM;

	if (rc < 0)
		return rc;
	snprintf(one->path, sizeof(one->path), "%s", path);
	return check_job_of_file(&one->j, one->f, (double)all->args->memory, err);
}

static void cases_free(struct check_cases *all)
{
	for (uint32_t i = 0; i < all->count; i++) {
		check_job_free(&all->list[i]->j);
		results_unload(all->list[i]->f);
		free(all->list[i]);
	}
	free(all->list);
	editions_free(all->editions);
}

/* A run of a phase, named where there are several. */
static void check_result(struct check *c, const struct check_cases *all,
			 const struct check_case *one, const struct results_phase_read *p)
{
	cJSON *tree = p->record.warmup ? NULL : check_job_ran(&one->j, one->f, p);
	char name[CHECK_PHASE_BYTES];
	bool several = false;

	for (uint32_t i = 0; i < one->f->phase_count; i++)
		several |= one->f->phases[i].record.run != p->record.run;
	snprintf(name, sizeof(name), several ? "%s, run %llu" : "%s", p->record.name,
		 (unsigned long long)p->record.run);
	if (tree) {
		case_set_whole(all, one, tree);
		check_tree(c, RULE_OF_RESULT, tree, one->file, name);
	}
	json_free(tree);
}

/* Judges all cases. */
static int check_cases(struct check *c, struct check_cases *all, struct err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < all->count; i++) {
		struct check_case *one = all->list[i];

		one->file = one->f || all->count > 1 ? one->path : NULL;
		phase_tree_checkpoints(&one->j.job, one->j.job_json, &one->written, &one->read);
	}
	for (uint32_t i = 0; i < all->count && rc == 0; i++) {
		const struct check_case *one = all->list[i];

		rc = check_phases(c, all, one, err);
		for (uint32_t k = 0; one->f && k < one->f->phase_count && rc == 0; k++)
			check_result(c, all, one, &one->f->phases[k]);
	}
	if (rc == 0)
		check_options_of_caches(c, all);
	return rc;
}

static void check_all_series(struct check *c, const struct check_cases *all)
{
	const struct results_file *files[CHECK_FILES_MAX];
	uint32_t count = 0;

	for (; count < all->count && count < CHECK_FILES_MAX; count++)
		files[count] = all->list[count]->f;
	check_series(c, files, count);
}

/* Results files are told from jobs by the name. */
static bool check_is_file(const char *path)
{
	size_t n = strlen(path);

	return n > 3 && strcmp(path + n - 3, ".h5") == 0;
}

static int cases_read(struct check_cases *all, const char *const *paths, unsigned count,
		      struct err *err)
{
	const struct check_args *args = all->args;
	bool files = check_is_file(paths[0]);
	int rc = files ? cli_refuse_simulated(paths, count, false, "rules judge measurements", err)
		       : 0;

	if (rc == 0 && files && (args->nodes || args->ranks_per_node || args->sets.count))
		return err_set(
			err, -EINVAL,
			"--nodes, --ranks-per-node and --set are of a job; results have theirs");
	for (unsigned i = 0; i < count && rc == 0; i++) {
		if (check_is_file(paths[i]) != files)
			rc = err_set(err, -EINVAL, "%s: jobs and results are not judged together",
				     paths[i]);
		else if (files)
			rc = cases_add_file(all, paths[i], err);
		else
			rc = run_folder_is(paths[i]) ? cases_add_runs(all, paths[i], err)
						     : cases_add_job(all, paths[i], err);
	}
	return rc;
}

/* Reads the rules, and what they judge; and judges it. */
static int check_judge(struct check *c, struct check_cases *all, const char *const *paths,
		       unsigned count, struct rules **rules, struct err *err)
{
	const struct check_args *args = all->args;
	const char *edition = args->edition ? args->edition : EDITION_USUAL;
	int rc = 0;

	*rules = NULL;
	if (args->rules && args->edition)
		rc = err_set(err, -EINVAL, "--rules and --edition exclude each other");
	if (rc == 0)
		rc = edition_read(rules, args->edition, args->rules, err);
	/* An edition's file names the edition, also as rules of haul accept. */
	if (rc == 0 && args->rules)
		edition = edition_of_rules(*rules);
	if (rc == 0 && *edition)
		rc = edition_data(&all->editions, NULL, err);
	if (rc == 0)
		rc = cases_read(all, paths, count, err);
	for (unsigned i = 0; rc == 0 && !*c->note && i < all->count; i++)
		for (uint32_t k = 0; !*c->note && k < all->list[i]->j.job.dataset_count; k++)
			notes_files(c->note, &all->list[i]->j.job.datasets[k]);
	INVARIANT(rc < 0 || all->count,
		  "a command line names one at least, and no folder of runs is empty");
	c->rules = *rules;
	c->all = args->all;
	c->ran = rc == 0 && all->list[0]->f;
	all->edition = all->editions ? closed_edition(all->editions, edition) : NULL;
	if (rc == 0)
		rc = check_cases(c, all, err);
	if (rc == 0 && c->ran)
		check_all_series(c, all);
	return rc;
}

int check_division(const char **division, const char *edition, const char *const *files,
		   unsigned count, struct err *err)
{
	const struct check_args args = {.edition = edition};
	struct check_cases all = {.args = &args};
	struct rules *rules = NULL;
	struct check c = {.ran = true};
	int rc = check_judge(&c, &all, files, count, &rules, err);
	enum check_verdict verdict = rc == 0 ? check_verdict(&c) : CHECK_INVALID;

	/* What is not known is not closed; what nothing in results can decide is in the README. */
	*division =
		verdict == CHECK_CLOSED || (verdict == CHECK_CLOSED_IF && !c.states[RULE_UNKNOWN])
			? "closed"
		: verdict == CHECK_OPEN || verdict == CHECK_CLOSED_IF ? "open"
								      : "whatif";
	check_free(&c);
	cases_free(&all);
	edition_free(rules);
	return rc;
}

static int check_all(const struct check_args *args, const char *const *paths, unsigned count)
{
	struct check_cases all = {.args = args};
	struct rules *rules = NULL;
	struct check c = {.ran = false};
	struct err err = {0};
	int rc = check_judge(&c, &all, paths, count, &rules, &err);

	if (rc == 0)
		rc = check_print(stdout, args->json ? REPORT_JSON : REPORT_TEXT, &c, &err);
	rc = cli_ended(rc, &err);
	if (rc == EXIT_DONE && check_verdict(&c) != CHECK_CLOSED)
		rc = check_verdict(&c) == CHECK_CLOSED_IF ? EXIT_CONDITIONS : EXIT_TARGET_MISSED;
	check_free(&c);
	cases_free(&all);
	edition_free(rules);
	return rc;
}

int check_results(const char *rules, const char *const *files, unsigned count, bool json)
{
	const struct check_args args = {.rules = rules, .json = json};

	return check_all(&args, files, count);
}

static int check_run(const struct call *call)
{
	return check_all(call->options, call->arguments, call->argument_count);
}

const struct verb check_verb = {
	.name = "check",
	.arguments = "JOB…|RUN/…|FILE.h5…",
	.help = "judges jobs, runs or results by MLPerf's rules; 9: closed if …; 8: not",
	.example = "haul check unet3d_b200 --nodes 4 --memory \"64 GiB\"",
	.options = check_options,
	.options_bytes = sizeof(struct check_args),
	.arguments_min = 1,
	.arguments_max = CHECK_FILES_MAX,
	.takes_job = true,
	.run = check_run,
};

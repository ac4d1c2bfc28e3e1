/* SPDX-License-Identifier: Apache-2.0 */
/* The verb "assess": what a storage is good for. Its job is made here, from the URI and from the ready
 * jobs of the catalogue; ranks/run runs it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "cli/catalog.h"
#include "cli/cli.h"
#include "cli/cli_run.h"
#include "core/units.h"
#include "plan/assess/assess.h"
#include "plan/option_ref.h"
#include "plan/plan.h"
#include "plan/space.h"

/* Behind the budget, what was made is removed; then it ends, also where some is left. */
static const double removing_s = 20, budget_default_s = 600;

enum { ASSESS_CHANGES_MAX = 2 * WORD_LIST_MAX, CHANGE_BYTES = 1024, ASSESS_PATH_BYTES = 4096 };

struct assess_args {
	const char *results;
	bool force, quiet, plan, clean, ignore_space;
	struct word_list sets;
	uint64_t budget_ns, space, grace_ns, fake_nodes;
};

#define ASSESS_ROW(n, KIND, member, ...) OPT_##KIND(n, struct assess_args, member, __VA_ARGS__)

static const struct option assess_options[] = {
	ASSESS_ROW("budget", TIME, budget_ns, .value = "TIME", .min = 1,
		   .help = "how long it may take in all (\"10 min\", the default)"),
	ASSESS_ROW(
		"space", BYTES, space, .value = "SIZE", .min = 1,
		.help = "it writes at most so much at a time; default: 1 GiB for each second in which it "
			"writes streams, at most 16 GiB"),
	ASSESS_ROW("plan", BOOL, plan,
		   .help = "only says how long it takes and what it writes; measures nothing"),
	ASSESS_ROW("clean", BOOL, clean,
		   .help = "only removes what such a run that was stopped has left"),
	ASSESS_ROW("set", WORDS, sets, .value = "KEY=VALUE",
		   .help = "an option of the store: engine=uring; may be repeated"),
	ASSESS_ROW("results", WORD, results, .value = "FILE",
		   .help = "file for the results; default results.h5"),
	ASSESS_ROW("force", BOOL, force, .help = "replaces a results file that exists"),
	ASSESS_ROW("ignore-space", BOOL, ignore_space,
		   .help = "runs even if it writes more than is free on the store"),
	ASSESS_ROW(
		"grace", TIME, grace_ns, .value = "TIME", .min = 1,
		.help = "how long after a stop (a signal, an error) ranks may take to end; default 10 s"),
	ASSESS_ROW("fake-nodes", U64, fake_nodes, .value = "N", .min = 1, .max = 1 << 16,
		   .seldom = true, .help = "treats this machine as N nodes"),
	ASSESS_ROW("quiet", BOOL, quiet, .help = "no progress line, no report"),
	OPT_END,
};

/* An assessment as the command line asks for it, with its job. */
struct assessing {
	const struct call *call;
	struct assess assess;
	char *text;
	const char *changes[ASSESS_CHANGES_MAX];
	char room[ASSESS_CHANGES_MAX][CHANGE_BYTES];
	unsigned change_count;
};

/* The same change for each of the job's stores, which are one storage. */
static int assess_change(struct assessing *a, const char *set, struct err *err)
{
	static const char *const stores[] = {"data", "durable"};

	for (unsigned i = 0; i < (a->assess.ask.syncs ? 2u : 1u); i++) {
		char *change = a->room[a->change_count];

		if (snprintf(change, CHANGE_BYTES, "stores.%s.%s", stores[i], set) >= CHANGE_BYTES)
			return err_set(err, -EINVAL, "--set: is too long");
		a->changes[a->change_count++] = change;
	}
	return 0;
}

/* What the store can do. */
static int assess_ask_store(struct assess_ask *ask, const struct assess_args *args, struct err *err)
{
	const struct job_store *store;
	const struct backend_ops *ops;
	struct option_ref found;
	struct job job;
	int rc = job_parse_store(&job, plan_schema(), ask->uri, args->sets.items, args->sets.count,
				 err);

	if (rc < 0)
		return rc;
	store = &job.stores[0];
	ops = store->section->owner;
	ask->cached = ops->capabilities & BACKEND_CACHED;
	ask->engines =
		option_find(store->section, store->options, "", "engine", OPTION_CHOICE, &found);
	ask->deep = !ask->engines;
	ask->bypasses = !ask->cached || (option_find(store->section, store->options, "", "direct",
						     OPTION_BOOL, &found) &&
					 *(const bool *)found.value);
	for (unsigned i = 0; i < args->sets.count; i++) {
		if (strncmp(args->sets.items[i], "engine=", 7) == 0) {
			ask->engines = false;
			ask->deep = strcmp(args->sets.items[i] + 7, "uring") == 0;
		}
	}
	ask->keeps = ops->capabilities & BACKEND_PERSISTENT;
	ask->syncs =
		option_find(store->section, store->options, "", "fsync", OPTION_CHOICE, &found);
	job_free(&job);
	return 0;
}

static int assess_add_ready(struct assess *a, const char *name, struct err *err)
{
	char path[ASSESS_PATH_BYTES], *text = NULL;
	size_t bytes;
	int rc = catalog_resolve(name, path, sizeof(path), err);

	if (rc == 0)
		rc = job_read_file(path, &text, &bytes, err);
	if (rc == 0)
		rc = assess_add_workload(a, name, text, bytes, err);
	free(text);
	return rc;
}

static double assess_budget_s(const struct assess_args *args)
{
	return args->budget_ns ? (double)args->budget_ns / 1e9 : budget_default_s;
}

static int assess_make(struct assessing *a, uint32_t ranks, struct err *err)
{
	const struct assess_args *args = a->call->options;
	struct assess_ask ask = {.budget_s = assess_budget_s(args),
				 .space_bytes = (double)args->space,
				 .ranks = ranks};
	int rc = 0;

	if (snprintf(ask.uri, sizeof(ask.uri), "%s", a->call->arguments[0]) >= ASSESS_URI_BYTES)
		return err_set(err, -EINVAL, "assess: the URI is too long");
	rc = assess_ask_store(&ask, args, err);
	if (rc == 0)
		rc = assess_init(&a->assess, &ask, err);
	for (unsigned i = 0; rc == 0 && i < args->sets.count; i++)
		rc = assess_change(a, args->sets.items[i], err);
	for (unsigned i = 0; rc == 0 && assess_workloads[i]; i++)
		rc = assess_add_ready(&a->assess, assess_workloads[i], err);
	if (rc == 0)
		a->text = assess_job(&a->assess);
	if (rc == 0 && !a->text)
		rc = err_set(err, -ENOMEM, "no memory for the job");
	return rc;
}

/* The job is made on rank 0 alone. */
static int assess_prepare(const struct run *run, struct run_options *options, void *argument,
			  struct err *err)
{
	struct assessing *a = argument;
	int rc = assess_make(a, run_ranks(run), err);

	options->job_text = rc == 0 ? a->text : "";
	options->sets = a->changes;
	options->set_count = a->change_count;
	return rc;
}

/* What it would do, without a run. */
static int assess_plan(struct assessing *a)
{
	struct job_changes changes = {0};
	struct plan plan = {0};
	struct job job = {0};
	struct err err = {0};
	char time[UNITS_TEXT_BYTES], bytes[UNITS_TEXT_BYTES];
	uint32_t ranks = cli_ranks();
	int rc = assess_make(a, ranks, &err), status = EXIT_DONE;

	changes.items = a->changes;
	changes.count = a->change_count;
	if (rc == 0)
		rc = job_parse_changed(&job, plan_schema(), "haul assess", a->text, strlen(a->text),
				       &changes, &err);
	if (rc == 0)
		rc = plan_check(&job, ranks, 1, true, &err);
	if (rc == 0)
		rc = plan_make(&plan, &job, ranks, 1, &err);
	if (rc == 0 && cli_speaks()) {
		plan_ask_space(&plan);
		status = cli_print(plan_text(&plan, &job));
		printf("assess     takes up to %s · writes at most %s at a time, and removes it\n",
		       units_time(time, a->assess.ask.budget_s),
		       units_bytes_binary(bytes, a->assess.ask.space_bytes));
	} else if (rc < 0) {
		cli_say("%s", err.text);
		status = EXIT_USAGE;
	}
	plan_free(&plan);
	job_free(&job);
	return status;
}

static int do_assess(const struct call *call)
{
	const struct assess_args *args = call->options;
	struct assessing *a = calloc(1, sizeof(*a));
	struct run_options options = {
		.verb = args->clean ? RUN_CLEAN : RUN_ALL,
		.job = "haul assess",
		.job_text = "",
		.results = args->results,
		.force = args->force,
		.quiet = args->quiet,
		.ignore_space = args->ignore_space,
		.grace_ns = args->grace_ns,
		.deadline_ns =
			args->clean ? 0 : (uint64_t)((assess_budget_s(args) + removing_s) * 1e9),
		.fake_nodes = (uint32_t)args->fake_nodes,
	};
	int status;

	if (!a) {
		cli_say("no memory for an assessment");
		return EXIT_FAILED;
	}
	a->call = call;
	options.assess = &a->assess;
	status = args->plan ? assess_plan(a) : (int)cli_run(call, &options, assess_prepare, a);
	free(a->text);
	free(a);
	return status;
}

const struct verb assess_verb = {
	.name = "assess",
	.arguments = "URI",
	.help = "under mpiexec: what a storage is good for: its ceilings, what it carries",
	.example = "mpiexec -n 8 haul assess file:///scratch/haul --budget \"10 min\"",
	.options = assess_options,
	.options_bytes = sizeof(struct assess_args),
	.arguments_min = 1,
	.arguments_max = 1,
	.run = do_assess,
};

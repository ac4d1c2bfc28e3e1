/* SPDX-License-Identifier: Apache-2.0 */
/* The verb "plan": checks a job and shows its demand. */
#include "plan/plan.h"
#include "plan/space.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/catalog.h"
#include "cli/cli.h"
#include "cli/edition.h"
#include "core/clock.h"
#include "core/json.h"
#include "core/proc.h"
#include "core/units.h"
#include "plan/page.h"
#include "plan/phase_filter.h"
#include "plan/scaling.h"
#include "plan/search/choice.h"
#include "plan/search/cost.h"
#include "plan/search/halving.h"
#include "plan/series/series.h"
#include "ranks/run/run.h"
#include "report/report.h"
#include "simulate/results_size.h"

enum { NODE_COUNTS_MAX = 64 };

struct plan_args {
	const char *nodes, *nic, *storage, *html, *find, *until;
	uint64_t repeat, warmup;
	uint64_t ranks_per_node, memory;
	const char *tune_by;
	struct word_list sets, sweeps, tunes, only, skip;
	bool json, ways;
};

static const struct option plan_options[] = {
	CLI_NODE_COUNTS(struct plan_args),
	CLI_RANKS_PER_NODE(struct plan_args),
	OPT_BYTES(
		"memory", struct plan_args, memory, .value = "SIZE", .min = 1,
		.help = "memory per node, for the size of data set that MLPerf wants; default: this node's"),
	OPT_WORD("nic", struct plan_args, nic, .value = "NxRATE",
		 .help = "speed of a node's network cards, such as \"8x25 GB/s\", for the table"),
	OPT_WORD("storage", struct plan_args, storage, .value = "RATE",
		 .help = "speed of the storage, such as \"650 GB/s\", for the table"),
	CLI_SET(struct plan_args),
	OPT_WORDS("sweep", struct plan_args, sweeps, .value = "PATH=A,B,C",
		  .help = "plans the job with each value; several sweeps: with each combination"),
	OPT_WORD(
		"find", struct plan_args, find, .value = "PATH=LOW..HIGH",
		.help = "plans the job with both ends of a search, and says how many runs it may take"),
	OPT_WORD("until", struct plan_args, until, .value = "TARGET",
		 .help = "the target of --find"),
	OPT_WORDS("tune", struct plan_args, tunes, .value = "PATH=A,B,C",
		  .help = "plans the job, and says how many runs a search for the best of these "
			  "settings may take"),
	OPT_WORD("tune-by", struct plan_args, tune_by, .value = "[PHASE.]FIGURE",
		 .help = "what --tune judges by"),
	OPT_U64("repeat", struct plan_args, repeat, .value = "N", .min = 1,
		.max = BISECT_REPEATS_MAX,
		.help = "of --find: the greatest number of repeats of a value; of --tune: the repeats "
			"of the final"),
	OPT_U64("warmup", struct plan_args, warmup, .value = "N", .max = SERIES_RUNS_MAX - 1,
		.help = "of --find: warm-up runs of each value; of --tune: those of the final"),
	CLI_ONLY(struct plan_args),
	CLI_SKIP(struct plan_args),
	OPT_BOOL("ways", struct plan_args, ways,
		 .help = "only lists the ways of the job, one per line, each with the variables "
			 "that it wants set; --set way=NAME plans one"),
	OPT_BOOL("json", struct plan_args, json, .help = "prints JSON, for programs"),
	OPT_WORD(
		"html", struct plan_args, html, .value = "OUT",
		.help = "writes one page to the file OUT, for a browser: what --nodes ask for, by default "
			"1,2,4,...,512"),
	OPT_END,
};

/* The numbers of nodes of a page, unless others are given. */
static const char plan_page_nodes[] = "1,2,4,...,512";

/* nodes 0: the command line does not say how many. */
static int plan_from_args(const struct plan_args *args, uint64_t nodes, const char *path,
			  struct job *job, struct plan *plan, struct err *err)
{
	const struct phase_filter filter = {.only = args->only.items,
					    .only_count = args->only.count,
					    .skip = args->skip.items,
					    .skip_count = args->skip.count};
	const struct plan_asked asked = {
		.nodes = nodes, .ranks_per_node = args->ranks_per_node, .memory = args->memory};
	uint64_t told = job->cluster.ranks_per_node;
	uint32_t ranks, on;
	int rc = plan_size(job, &asked, &ranks, &on, err);

	if (rc < 0)
		return rc;
	/* By all phases, since one that is left out may say how large the data set is. */
	rc = plan_scale(job, ranks, on, err);
	if (rc == 0)
		rc = phase_filter_apply(&filter, job, err);
	if (rc == 0)
		rc = plan_check(job, ranks, on, false, err);
	if (rc == 0)
		rc = plan_make(plan, job, ranks, on, err);
	/* A number of ranks per node that differs from the job's must also be given to the run. */
	if (rc == 0 && args->ranks_per_node && told && told != args->ranks_per_node)
		plan->other_ranks_per_node = told;
	return rc < 0 ? err_wrap(err, rc, "%s", path) : 0;
}

/* The job's text, read once, and the changes of the command line. */
struct plan_source {
	char path[4096];
	char *text;
	size_t bytes;
	struct series series;
	struct question question; /* of --find; its set is "" where nothing is searched for */
	struct choice choice;     /* of --tune */
	struct search_cost cost;
	uint32_t node_counts[NODE_COUNTS_MAX], node_count; /* 0: none is given */
	struct scaling_limits limits;
	struct rule_sizes sizes;
};

static int plan_source_scaling(struct plan_source *s, const struct plan_args *args, struct err *err)
{
	const char *nodes = args->nodes ? args->nodes : args->html ? plan_page_nodes : NULL;
	int rc = nodes ? scaling_parse_nodes(nodes, s->node_counts, NODE_COUNTS_MAX, err) : 0;

	if (rc < 0)
		return rc;
	s->node_count = (uint32_t)rc;
	if ((args->nic || args->storage) && s->node_count < 2 && !args->html)
		return err_set(err, -EINVAL, "--%s: is for a table, and --nodes names one number",
			       args->nic ? "nic" : "storage");
	rc = args->nic ? scaling_parse_rate(args->nic, &s->limits.nic_per_node, err) : 0;
	if (rc < 0)
		return err_wrap(err, rc, "--nic");
	rc = args->storage ? scaling_parse_rate(args->storage, &s->limits.storage, err) : 0;
	return rc < 0 ? err_wrap(err, rc, "--storage") : 0;
}

static uint32_t plan_repeats(const struct plan_args *args)
{
	return args->repeat ? (uint32_t)args->repeat : QUESTION_REPEATS;
}

static int plan_source_read(struct plan_source *s, const struct call *call, struct err *err)
{
	const struct plan_args *args = call->options;
	int rc = plan_source_scaling(s, args, err);

	s->sizes = edition_sizes();
	if (rc == 0)
		rc = catalog_resolve(call->arguments[0], s->path, sizeof(s->path), err);
	if (rc == 0)
		rc = job_read_file(s->path, &s->text, &s->bytes, err);
	if (rc == 0)
		rc = series_init(&s->series, args->sweeps.items, args->sweeps.count, 1, 0, err);
	if (rc == 0 && (args->find || args->until))
		rc = question_parse(&s->question, args->find, args->until, plan_repeats(args), err);
	if (rc == 0 && args->find)
		rc = series_search(&s->series, &s->question, (uint32_t)args->warmup, err);
	if (rc == 0 && args->tunes.count)
		rc = series_tune(&s->series, args->tunes.items, args->tunes.count,
				 plan_repeats(args), (uint32_t)args->warmup, err);
	return rc;
}

/* How long the search may take, as far as is known beforehand. */
static void plan_say_search(const struct plan_args *args, const struct plan_source *s)
{
	uint32_t steps = bisect_steps_most(&s->question.ask);
	uint64_t each = args->warmup + s->question.ask.repeats;

	printf("search     %s until %s: at most %u values where each is decided, up to %llu runs of "
	       "each\n",
	       args->find, s->question.until, steps, (unsigned long long)each);
	search_cost_say(stdout, &s->cost, steps * (double)each, steps * (double)each);
}

/* Reads the job of one combination of the sweeps' values. */
static int plan_parse(const struct plan_source *s, const struct plan_args *args,
		      uint32_t combination, struct job *job, struct err *err)
{
	const char *items[2 * WORD_LIST_MAX], *sets[SERIES_SWEEPS_MAX];
	struct job_changes changes = {.items = items, .option = series_option(&s->series)};

	/* Behind the last one is the job as it is. */
	if (combination < s->series.combinations)
		changes.swept = s->series.sweep_count;
	if (changes.swept)
		series_sets(&s->series, combination, sets);
	for (unsigned i = 0; i < args->sets.count; i++)
		items[changes.count++] = args->sets.items[i];
	if (s->question.set[0])
		items[changes.count++] = s->question.set;
	for (unsigned i = 0; i < changes.swept; i++)
		items[changes.count++] = sets[i];
	return job_parse_changed(job, plan_schema(), s->path, s->text, s->bytes, &changes, err);
}

/* Plans it. */
static int plan_combination(const struct plan_source *s, const struct plan_args *args,
			    uint32_t combination, uint64_t nodes, struct job *job,
			    struct plan *plan, struct err *err)
{
	int rc = plan_parse(s, args, combination, job, err);

	if (rc == 0)
		rc = plan_from_args(args, nodes, s->path, job, plan, err);
	plan->sizes = s->sizes;
	return rc;
}

/* What separates the output of one combination from that of the one before. */
static void plan_print_label(const struct plan_args *args, const struct plan_source *s,
			     uint32_t combination)
{
	const char *sets[SERIES_SWEEPS_MAX];
	char label[256];

	if (s->series.combinations < 2 || s->series.tunes)
		return;
	if (args->json) {
		printf("%s", combination ? "," : "[");
		return;
	}
	series_sets(&s->series, combination, sets);
	printf("%s%s\n", combination ? "\n" : "",
	       series_label(sets, s->series.sweep_count, label, sizeof(label)));
}

/* What a search judges in a job, what its runs take, and which of its phases run once. */
static int plan_meet(const struct plan_args *args, struct plan_source *s, const struct job *job,
		     const struct plan *plan, struct err *err)
{
	const char *paths[SERIES_SWEEPS_MAX];
	uint32_t judged;
	int rc;

	for (uint32_t i = 0; i < s->series.sweep_count; i++)
		paths[i] = s->series.sweeps[i].path;
	s->choice.by = args->tune_by;
	rc = s->series.tunes ? choice_meet(&s->choice, job, paths, s->series.sweep_count, err)
			     : question_meet(&s->question, job, err);
	if (rc < 0)
		return rc;
	judged = s->series.tunes ? s->choice.phase_index : s->question.phase_index;
	return search_cost_add(&s->cost, job, judged, plan, err);
}

/* Combinations that cannot run are told, and left out. Returns an error where none can. */
static int plan_leave_out(const struct plan_args *args, struct plan_source *s, struct err *err)
{
	uint64_t nodes = s->node_count ? s->node_counts[0] : 0;
	const char *sets[SERIES_SWEEPS_MAX];
	char label[256];
	int rc = 0;

	for (uint32_t i = 0; i < s->series.combinations; i++) {
		struct plan plan = {0};
		struct job job = {0};
		struct err why = {0};

		rc = plan_parse(s, args, i, &job, err);
		if (rc < 0)
			return rc;
		rc = plan_from_args(args, nodes, s->path, &job, &plan, &why);
		plan_free(&plan);
		if (rc == 0)
			rc = plan_meet(args, s, &job, NULL, &why);
		job_free(&job);
		if (rc == 0)
			continue;
		series_sets(&s->series, i, sets);
		cli_say("left out: %s: %s",
			series_label(sets, s->series.sweep_count, label, sizeof(label)), why.text);
		s->series.left_out[i] = 1;
		s->series.left_out_count++;
		if (s->series.left_out_count == s->series.combinations)
			*err = why;
	}
	return s->series.left_out_count == s->series.combinations ? rc : 0;
}

/* How long a search among settings takes. */
static void plan_say_tune(const struct plan_args *args, const struct plan_source *s)
{
	const struct halving_ask ask = {.count = s->series.combinations,
					.left_out = s->series.left_out,
					.repeats = plan_repeats(args),
					.warmup = (uint32_t)args->warmup,
					.parts = s->choice.limit != NULL};
	struct halving_cost cost = halving_cost(&ask);

	printf("search     the best of %u settings, %u left out: %u round%s and a final, at most %u "
	       "runs\n",
	       s->series.combinations, s->series.left_out_count, cost.rounds,
	       cost.rounds == 1 ? "" : "s", cost.runs);
	search_cost_say(stdout, &s->cost, cost.runs, cost.whole);
	if (!ask.parts)
		printf("           each run is whole, since the phase has no limit of time to "
		       "shorten\n");
}

static int plan_print(const struct plan_args *args, struct plan_source *s, uint32_t combination,
		      int *status, struct err *err)
{
	struct plan plan = {0};
	struct job job = {0};
	int rc = plan_combination(s, args, combination, s->node_count ? s->node_counts[0] : 0, &job,
				  &plan, err);

	if (rc == 0) {
		plan_print_label(args, s, combination);
		if (s->series.tunes || args->find)
			rc = plan_meet(args, s, &job, &plan, err);
	}
	if (rc == 0) {
		plan_ask_space(&plan);
		rc = class_add_to_plan(&plan, &job, err);
	}
	if (rc == 0) {
		results_size_add(&plan, &job);
		*status = cli_print(args->json ? plan_json(&plan, &job) : plan_text(&plan, &job));
	}
	plan_free(&plan);
	job_free(&job);
	return rc;
}

/* The target AU that the job asks for; 0: none. */
static double plan_target(const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->phase_count; i++)
		if (plan->phases[i].demand.target > 0)
			return plan->phases[i].demand.target;
	return 0;
}

static int plan_print_table(const struct plan_args *args, const struct plan_source *s,
			    uint32_t combination, int *status, struct err *err)
{
	struct scaling_row rows[NODE_COUNTS_MAX];
	double target = 0;
	int rc = 0;

	for (uint32_t i = 0; i < s->node_count && rc == 0; i++) {
		struct plan plan = {0};
		struct job job = {0};

		rc = plan_combination(s, args, combination, s->node_counts[i], &job, &plan, err);
		if (rc == 0) {
			scaling_row(&rows[i], &plan, &s->limits);
			target = plan_target(&plan);
		}
		plan_free(&plan);
		job_free(&job);
	}
	if (rc < 0)
		return rc;
	plan_print_label(args, s, combination);
	*status = cli_print(args->json ? scaling_json(rows, s->node_count, &s->limits, target)
				       : scaling_text(rows, s->node_count, &s->limits, target));
	return 0;
}

/* The plans of a combination, for a page. A number of nodes that the job refuses stands there with
 * the reason. Returns an error, the last one, only if the job refuses all of them. */
static int plan_page_combination(const struct plan_args *args, const struct plan_source *s,
				 uint32_t combination, struct cJSON *page, struct err *err)
{
	struct scaling_row rows[NODE_COUNTS_MAX];
	const char *sets[SERIES_SWEEPS_MAX];
	char label[256];
	struct cJSON *part;
	uint32_t count = 0;
	double target = 0;
	int rc = 0;

	series_sets(&s->series, combination, sets);
	part = plan_page_part(page,
			      series_label(sets, s->series.sweep_count, label, sizeof(label)));
	for (uint32_t i = 0; i < s->node_count; i++) {
		struct plan plan = {0};
		struct job job = {0};

		rc = plan_combination(s, args, combination, s->node_counts[i], &job, &plan, err);
		if (rc == 0)
			rc = class_add_to_plan(&plan, &job, err);
		if (rc == 0)
			results_size_add(&plan, &job);
		if (rc == 0) {
			scaling_row(&rows[count++], &plan, &s->limits);
			target = plan_target(&plan);
			plan_page_add(part, &plan, &job);
		} else {
			plan_page_refuse(part, s->node_counts[i], err->text);
		}
		plan_free(&plan);
		job_free(&job);
	}
	plan_page_table(part, rows, count, &s->limits, target);
	return count ? 0 : rc;
}

static int plan_write_page(const struct plan_args *args, const struct plan_source *s, int *status,
			   struct err *err)
{
	struct cJSON *page;
	int rc = 0;

	if (args->json)
		return err_set(err, -EINVAL, "plan: --html and --json exclude each other");
	if (s->series.combinations > PLAN_PAGE_COMBINATIONS_MAX)
		return err_set(
			err, -EINVAL,
			"--html: the sweeps have %u combinations, and a page has room for %d",
			s->series.combinations, PLAN_PAGE_COMBINATIONS_MAX);
	page = plan_page_begin(&s->limits);
	for (uint32_t i = 0; i < s->series.combinations && rc == 0; i++)
		rc = plan_page_combination(args, s, i, page, err);
	if (rc == 0)
		*status = cli_ended(report_plan_page(args->html, page, err), err);
	else
		json_free(page);
	return rc;
}

/* Prints the plans. Returns an error of the job; what else went wrong is in *status. */
static int plan_print_all(const struct plan_args *args, struct plan_source *s, int *status,
			  struct err *err)
{
	int rc = 0;

	if (s->series.tunes) {
		rc = plan_print(args, s, s->series.combinations, status, err);
		return rc < 0 ? rc : plan_leave_out(args, s, err);
	}
	for (uint32_t i = 0; i < s->series.combinations && rc == 0 && *status == EXIT_DONE; i++)
		rc = s->node_count > 1 ? plan_print_table(args, s, i, status, err)
				       : plan_print(args, s, i, status, err);
	if (rc == 0 && args->json && s->series.combinations > 1)
		printf("]\n");
	return rc;
}

static int plan_run(const struct call *call)
{
	const struct plan_args *args = call->options;
	struct plan_source source = {.text = NULL};
	char took[UNITS_TEXT_BYTES];
	struct err err = {0};
	int rc = plan_source_read(&source, call, &err), status = EXIT_DONE;

	if (rc == 0 && args->ways)
		rc = job_write_ways(stdout, source.path, source.text, source.bytes, &err);
	else if (rc == 0)
		rc = args->html ? plan_write_page(args, &source, &status, &err)
				: plan_print_all(args, &source, &status, &err);
	if (rc < 0) {
		cli_say("%s", err.text);
		status = EXIT_USAGE;
	} else if (!args->json && !args->html && !args->ways && !status) {
		if (args->find)
			plan_say_search(args, &source);
		if (source.series.tunes)
			plan_say_tune(args, &source);
		/* ru_maxrss includes the process that started this one. */
		printf("planned in %s, %" PRIu64 " MiB\n",
		       units_time(took, (double)(clock_kernel_ns() - call->start_ns) / 1e9),
		       proc_bytes("/proc/self/status", "VmHWM") >> 20);
	}
	search_cost_free(&source.cost);
	series_free(&source.series);
	free(source.text);
	return status;
}

static void plan_more(void)
{
	printf("Keys of a job, for --set and --sweep: docs/reference-job.md, or haul schema\n"
	       "--reference.\n");
}

const struct verb plan_verb = {
	.name = "plan",
	.arguments = "JOB",
	.help = "checks a job and shows what it needs of the machine; asks only DAOS, for space",
	.example = "haul plan unet3d_aurora --nodes 512",
	.more = plan_more,
	.options = plan_options,
	.options_bytes = sizeof(struct plan_args),
	.arguments_min = 1,
	.arguments_max = 1,
	.takes_job = true,
	.run = plan_run,
};

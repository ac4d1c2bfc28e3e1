/* The verb "plan": checks a job and shows its demand. */
#include "plan/plan.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/catalog_find.h"
#include "cli/cli.h"
#include "core/clock.h"
#include "core/units.h"
#include "plan/phase_filter.h"
#include "plan/series/series.h"
#include "ranks/run/run.h"

struct plan_args {
	uint64_t nodes, ranks_per_node, memory;
	struct verb_texts sets, sweeps, only, skip;
	bool json;
};

static const struct verb_option plan_options[] = {
	{.name = "nodes",
	 .kind = VERB_COUNT,
	 .offset = offsetof(struct plan_args, nodes),
	 .value = "N",
	 .min = 1,
	 .max = 1 << 20,
	 .help = "on N nodes; default 1"},
	{.name = "ranks-per-node",
	 .kind = VERB_COUNT,
	 .offset = offsetof(struct plan_args, ranks_per_node),
	 .value = "P",
	 .min = 1,
	 .max = 1 << 16,
	 .help = "P ranks per node; default: what the job says, or 1"},
	{.name = "memory",
	 .kind = VERB_BYTES,
	 .offset = offsetof(struct plan_args, memory),
	 .value = "SIZE",
	 .help = "memory per node, for the size of data set that MLPerf wants; default: this node's"},
	{.name = "set",
	 .kind = VERB_TEXTS,
	 .offset = offsetof(struct plan_args, sets),
	 .value = "PATH=VALUE",
	 .help = "changes the job: train.batch=4; may be repeated"},
	{.name = "sweep",
	 .kind = VERB_TEXTS,
	 .offset = offsetof(struct plan_args, sweeps),
	 .value = "PATH=A,B,C",
	 .help = "plans the job with each value; several sweeps: with each combination"},
	{.name = "only",
	 .kind = VERB_TEXTS,
	 .offset = offsetof(struct plan_args, only),
	 .value = "PHASE",
	 .help = "only the phases of this name or kind; may be repeated"},
	{.name = "skip",
	 .kind = VERB_TEXTS,
	 .offset = offsetof(struct plan_args, skip),
	 .value = "PHASE",
	 .help = "all except the phases of this name or kind; may be repeated"},
	{.name = "json",
	 .kind = VERB_FLAG,
	 .offset = offsetof(struct plan_args, json),
	 .help = "for programs"},
	{.name = NULL},
};

/* The peak memory of this process in MiB. VmHWM is used because ru_maxrss includes the process that
 * started this one. */
static unsigned long plan_peak_mib(void)
{
	unsigned long kib = 0;
	char line[256];
	FILE *status = fopen("/proc/self/status", "r");

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "VmHWM: %lu", &kib) == 1)
			break;
	if (status)
		fclose(status);
	return kib / 1024;
}

static int plan_from_args(const struct plan_args *args, const char *path, struct job *job,
			  struct plan *plan, struct err *err)
{
	const struct phase_filter filter = {.only = args->only.items,
					    .only_count = args->only.count,
					    .skip = args->skip.items,
					    .skip_count = args->skip.count};
	uint64_t nodes = args->nodes ? args->nodes : 1, ranks, told;
	int rc;

	rc = phase_filter_apply(&filter, job, err);
	if (rc < 0)
		return rc;
	told = job->cluster.ranks_per_node;
	if (args->ranks_per_node)
		job->cluster.ranks_per_node = args->ranks_per_node;
	ranks = nodes * (job->cluster.ranks_per_node ? job->cluster.ranks_per_node : 1);
	if (!args->nodes && !args->ranks_per_node && ranks < job->cluster.ranks)
		ranks = job->cluster.ranks;
	if (ranks > UINT32_MAX)
		return err_set(err, -EINVAL, "--nodes: %llu ranks are too many",
			       (unsigned long long)ranks);
	rc = plan_check(job, (uint32_t)ranks, (uint32_t)nodes, false, err);
	if (rc == 0)
		rc = plan_make(plan, job, (uint32_t)ranks, (uint32_t)nodes, err);
	/* A number of ranks per node that differs from the job's must also be given to the run. */
	if (rc == 0 && args->ranks_per_node && told && told != args->ranks_per_node)
		plan->other_ranks_per_node = told;
	if (args->memory) {
		plan->node_memory_bytes = (double)args->memory;
		plan->node_memory_told = true;
	}
	return rc < 0 ? err_wrap(err, rc, "%s", path) : 0;
}

/* The job's text, read once, and the changes of the command line. */
struct plan_source {
	char path[4096];
	char *text;
	size_t bytes;
	struct series series;
};

static int plan_source_read(struct plan_source *s, const struct call *call, struct err *err)
{
	const struct plan_args *args = call->options;
	int rc = catalog_resolve(call->arguments[0], s->path, sizeof(s->path), err);

	if (rc == 0)
		rc = job_read_file(s->path, &s->text, &s->bytes, err);
	if (rc == 0)
		rc = series_init(&s->series, args->sweeps.items, args->sweeps.count, 1, 0, err);
	return rc;
}

/* Plans the job of one combination of the sweeps' values. */
static int plan_combination(const struct plan_source *s, const struct plan_args *args,
			    uint32_t combination, struct job *job, struct plan *plan,
			    struct err *err)
{
	const char *items[2 * VERB_TEXTS_MAX], *sets[SERIES_SWEEPS_MAX];
	struct job_changes changes = {.items = items, .swept = s->series.sweep_count};
	int rc;

	series_sets(&s->series, combination, sets);
	for (unsigned i = 0; i < args->sets.count; i++)
		items[changes.count++] = args->sets.items[i];
	for (unsigned i = 0; i < s->series.sweep_count; i++)
		items[changes.count++] = sets[i];
	rc = job_parse_changed(job, plan_schema(), s->path, s->text, s->bytes, &changes, err);
	return rc < 0 ? rc : plan_from_args(args, s->path, job, plan, err);
}

static int plan_print(const struct plan_args *args, const struct plan_source *s,
		      uint32_t combination, const struct plan *plan, const struct job *job)
{
	const char *sets[SERIES_SWEEPS_MAX];
	char label[256];
	bool several = s->series.combinations > 1;

	if (args->json) {
		if (several)
			printf("%s", combination ? "," : "[");
		return cli_print(plan_json(plan, job));
	}
	series_sets(&s->series, combination, sets);
	if (several)
		printf("%s%s\n", combination ? "\n" : "",
		       series_label(sets, s->series.sweep_count, label, sizeof(label)));
	return cli_print(plan_text(plan, job));
}

static int plan_run(const struct call *call)
{
	const struct plan_args *args = call->options;
	struct plan_source source = {.text = NULL};
	char took[UNITS_TEXT_BYTES];
	struct err err = {0};
	int rc = plan_source_read(&source, call, &err), status = EXIT_DONE;
	uint32_t combinations = rc < 0 ? 0 : source.series.combinations;

	for (uint32_t i = 0; i < combinations && rc == 0 && status == EXIT_DONE; i++) {
		struct plan plan = {0};
		struct job job = {0};

		rc = plan_combination(&source, args, i, &job, &plan, &err);
		if (rc == 0)
			status = plan_print(args, &source, i, &plan, &job);
		plan_free(&plan);
		job_free(&job);
	}
	if (rc < 0) {
		cli_say("%s", err.text);
		status = EXIT_USAGE;
	} else if (args->json && combinations > 1) {
		printf("]\n");
	} else if (!args->json && !status) {
		printf("planned in %s, %lu MiB\n",
		       units_time(took, (double)(clock_kernel_ns() - call->start_ns) / 1e9),
		       plan_peak_mib());
	}
	series_free(&source.series);
	free(source.text);
	return status;
}

const struct verb plan_verb = {
	.name = "plan",
	.arguments = "JOB",
	.help = "checks a job and shows what it needs of the machine; opens nothing",
	.example = "haul plan unet3d_aurora --nodes 512",
	.options = plan_options,
	.options_bytes = sizeof(struct plan_args),
	.arguments_min = 1,
	.arguments_max = 1,
	.takes_job = true,
	.run = plan_run,
};

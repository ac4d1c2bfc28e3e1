/* SPDX-License-Identifier: Apache-2.0 */
/* The verb "show": gives back what a results file keeps: the job that ran. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "core/job/job.h"
#include "core/numbers.h"
#include "plan/plan.h"
#include "ranks/run/run.h"
#include "results-schema/results_read.h"

enum { SHOW_RUNS_MAX = 1000 };

struct show_args {
	bool job;
	uint64_t run;
};

static const struct option show_options[] = {
	OPT_BOOL(
		"job", struct show_args, job,
		.help = "the job that ran, with all its defaults, as a job file; the only thing it shows, so it may be left out"),
	OPT_U64("run", struct show_args, run, .value = "N", .min = 1, .max = SHOW_RUNS_MAX,
		.help = "the job of run N of a series, with the values that its sweeps set; "
			"default: the job as it was given"),
	OPT_END,
};

/* The first phase of a run; NULL: the file does not have that run. */
static const struct results_phase_read *show_phase(const struct results_file *f, uint64_t run)
{
	for (uint32_t i = 0; i < f->phase_count; i++)
		if (f->phases[i].record.run == run)
			return &f->phases[i];
	return NULL;
}

/* The job with what the sweeps set for the run of that phase. */
static int show_changed(const struct results_file *f, const struct results_phase_read *p,
			char **text, struct err *err)
{
	const char *sets[RECORD_SETS_MAX];
	uint32_t count = min_u64(p->set_count, RECORD_SETS_MAX);
	struct job job = {0};
	int rc;

	for (uint32_t i = 0; i < count; i++)
		sets[i] = p->sets[i];
	rc = job_parse(&job, plan_schema(), f->path, f->job_text, strlen(f->job_text), sets, count,
		       err);
	if (rc < 0)
		return rc;
	*text = job_text(&job, plan_schema());
	job_free(&job);
	return 0;
}

static int show_job(const struct results_file *f, uint64_t run, char **text, struct err *err)
{
	const struct results_phase_read *p = run ? show_phase(f, run) : NULL;

	if (!f->job_text || !*f->job_text)
		return err_set(err, -EINVAL, "%s: has no job", f->path);
	if (run && !p)
		return err_set(err, -EINVAL, "%s: has no run %llu", f->path,
			       (unsigned long long)run);
	if (run)
		return show_changed(f, p, text, err);
	*text = strdup(f->job_text);
	return 0;
}

static int show_run(const struct call *call)
{
	const struct show_args *args = call->options;
	struct results_file *f = NULL;
	struct err err = {0};
	char *text = NULL;
	int rc;

	rc = results_open(&f, call->arguments[0], &err);
	if (rc == 0)
		rc = show_job(f, args->run, &text, &err);
	results_unload(f);
	if (rc < 0) {
		cli_say("%s", err.text);
		return EXIT_USAGE;
	}
	return cli_print(text);
}

const struct verb show_verb = {
	.name = "show",
	.arguments = "FILE",
	.help = "gives back the job of a results file, to run it again",
	.example = "haul show results.h5 --job > again.json",
	.options = show_options,
	.options_bytes = sizeof(struct show_args),
	.arguments_min = 1,
	.arguments_max = 1,
	.run = show_run,
};

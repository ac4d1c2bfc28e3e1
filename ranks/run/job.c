/* SPDX-License-Identifier: Apache-2.0 */
/* Rank 0 alone reads the job; the others get its resolved text, so that what runs is what stands in
 * the results. In a series with sweeps each combination of their values is the same text parsed
 * with other changes; all of them are checked before anything runs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "plan/search/once.h"
#include "ranks/run/driver.h"
#include "ranks/run/run.h"
#include "ranks/run/state.h"

#define PUBLISH_EVERY_MIN_NS 1000000000u

bool run_wants(const struct run_options *options, const struct job_phase *phase)
{
	const struct workload *workload = phase->section->owner;

	if (options->verb == RUN_GENERATE && !workload->generating)
		return false;
	return phase_filter_wants(&options->filter, phase);
}

/* Checks that the phases that --only and --skip leave are worth the runs of the series. */
static int choose(const struct run *run, const struct run_options *options, struct job *job,
		  struct err *err)
{
	uint32_t generating = 0, repeated = 0;
	int rc;

	if (options->verb == RUN_CLEAN)
		return 0;
	rc = phase_filter_apply(&options->filter, job, err);
	if (rc < 0 || !job->phase_count) /* without any phase plan_check refuses the job */
		return rc;
	for (uint32_t i = 0; i < job->phase_count; i++) {
		const struct workload *workload = job->phases[i].section->owner;

		generating += workload->generating;
		repeated += !workload->generating;
	}
	if (options->verb == RUN_GENERATE && !generating)
		return err_set(err, -EINVAL, "there is no phase that generates");
	if (!repeated && run->series.warmup + run->series.repeat > 1)
		return err_set(err, -EINVAL,
			       "no phase is left to repeat: what generates runs once in a series");
	return 0;
}

/* Refuses a series in which two runs make different data sets in one place. */
static int check_generated(const struct run_options *options, const struct job *job,
			   struct generated_registry *generated, uint32_t combination,
			   struct err *err)
{
	enum generated_before before;

	for (uint32_t i = 0; i < job->phase_count; i++) {
		int rc = 0;

		if (!run_wants(options, &job->phases[i]) ||
		    !((const struct workload *)job->phases[i].section->owner)->generating)
			continue;
		rc = generated_phase(generated, job, &job->phases[i], combination, &before, err);
		if (rc == 0 && before == MADE_OTHER)
			rc = err_set(
				err, -EINVAL,
				"%s: an earlier run of the series makes another data set in this "
				"place; sweep the data set as a whole, each with its own folder: "
				"--sweep 'dataset={\"folder\": \"a\", …},{\"folder\": \"b\", …}'",
				job->phases[i].path);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Parses the job's text with --set and with the values of a combination; NULL: without sweeps. */
static int parse(const struct run *run, const struct run_options *options, const char *const *swept,
		 struct job *job, struct err *err)
{
	unsigned more = swept ? run->series.sweep_count : 0;
	unsigned own = options->set_count + run->driver->more_count;
	struct job_changes changes = {
		.count = own + more, .swept = more, .option = series_option(&run->series)};
	const char **items = calloc(changes.count + 1, sizeof(*items));
	int rc;

	if (!items)
		return err_set(err, -ENOMEM, "no memory for the job");
	for (unsigned i = 0; i < changes.count; i++)
		items[i] = i < options->set_count ? options->sets[i]
			   : i < own              ? run->driver->more[i - options->set_count]
						  : swept[i - own];
	changes.items = items;
	rc = job_parse_changed(job, plan_schema(), options->job, run->text, run->text_bytes,
			       &changes, err);
	if (rc == 0) {
		rc = options->verb == RUN_CLEAN
			     ? plan_scale_any(job, run->world->size, run->nodes.count, err)
			     : plan_scale(job, run->world->size, run->nodes.count, err);
		if (rc < 0) {
			err_wrap(err, rc, "%s", options->job);
			job_free(job);
		}
	}
	free(items);
	return rc;
}

/* Tells whether the values of the sweeps or the job itself caused the plan's refusal. */
static int wrap_sets(const struct run *run, const struct run_options *options,
		     const char *const *sets, int rc, struct err *err)
{
	char label[256];

	if (!run->series.sweep_count)
		return err_wrap(err, rc, "%s", options->job);
	return err_wrap(err, rc, "%s %s", series_option(&run->series),
			series_label(sets, run->series.sweep_count, label, sizeof(label)));
}

static int check_space(const struct run *run, const struct run_options *options,
		       const struct job *job, struct err *err)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < job->phase_count && !options->ignore_space; i++)
		if (options->verb != RUN_CLEAN && run_wants(options, &job->phases[i]))
			rc = plan_check_space(job, &job->phases[i], run->world->size,
					      run->nodes.count, err);
	return rc;
}

/* Whether the values of a combination are those that the job has anyway. */
static int check_as_is(struct run *run, uint32_t combination, const struct job *job,
		       struct err *err)
{
	char *own = job_text(&run->job, plan_schema()), *text = job_text(job, plan_schema());
	int rc = own && text ? 0 : err_set(err, -ENOMEM, "no memory for the job's text");

	if (rc == 0 && strcmp(own, text) == 0)
		run->series.as_is = combination;
	free(own);
	free(text);
	return rc;
}

/* impossible: its values do not go together. */
static int check_combination(struct run *run, const struct run_options *options,
			     uint32_t combination, struct generated_registry *generated,
			     struct once *once, bool *impossible, struct err *err)
{
	const char *sets[SERIES_SWEEPS_MAX];
	struct job job;
	int rc;

	series_sets(&run->series, combination, sets);
	rc = parse(run, options, sets, &job, err);
	if (rc < 0)
		return rc;
	if (run->series.tunes)
		rc = check_as_is(run, combination, &job, err);
	/* Before choose, which renumbers the phases. */
	if (rc == 0 && run->driver->answer)
		rc = once_see(once, &job, run->driver->phase_index, &options->filter, err);
	if (rc == 0)
		rc = choose(run, options, &job, err);
	if (rc == 0 && options->publish_every_ns &&
	    options->publish_every_ns < PUBLISH_EVERY_MIN_NS)
		rc = err_set(err, -EINVAL, "--publish-every: must be at least 1 s");
	if (rc == 0) {
		/* Any number of ranks can clean, whatever number the phases need. */
		rc = options->verb == RUN_CLEAN
			     ? plan_check_places(&job, run->nodes.count, true, err)
			     : plan_check(&job, run->world->size, run->nodes.count, true, err);
		*impossible = rc == -EINVAL;
		if (rc == 0)
			rc = check_space(run, options, &job, err);
		if (rc == 0)
			rc = check_generated(options, &job, generated, combination + 1, err);
		if (rc < 0)
			rc = wrap_sets(run, options, sets, rc, err);
	}
	job_free(&job);
	return rc;
}

/* Rank 0: the text of the job, which is kept for the combinations. */
static int read_text(struct run *run, const struct run_options *options, struct err *err)
{
	if (!options->job_text)
		return job_read_file(options->job, &run->text, &run->text_bytes, err);
	run->text = strdup(options->job_text);
	if (!run->text)
		return err_set(err, -ENOMEM, "no memory for the job");
	run->text_bytes = strlen(run->text);
	return 0;
}

/* Of several sweeps, a combination whose values do not go together is left out, unless none is
 * left. */
static int check_combinations(struct run *run, const struct run_options *options,
			      struct generated_registry *generated, struct err *err)
{
	struct series *s = &run->series;
	struct once once = {.before = NULL};
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < s->combinations; i++) {
		bool impossible = false;

		rc = check_combination(run, options, i, generated, &once, &impossible, err);
		if (!impossible || (s->sweep_count < 2 && !s->tunes) ||
		    options->verb == RUN_CLEAN || s->left_out_count + 1 == s->combinations)
			continue;
		s->left_out[i] = 1;
		s->left_out_count++;
		log_say(&run->log, LOG_WARNING, "left out: %s", err->text);
		*err = (struct err){0};
		rc = 0;
	}
	run->driver->once = run->driver->answer && !once.again;
	once_free(&once);
	return rc;
}

/* Whether the job or a change to it says itself how its reads are kept out of the page cache. */
static bool says_cold(const struct run *run, const struct run_options *options)
{
	bool says = strstr(run->text, "\"cold\"") != NULL;

	for (unsigned i = 0; i < options->set_count; i++)
		says = says || strstr(options->sets[i], ".cold");
	return says;
}

/* The change by which the judged phase drops what it reads from the page cache. */
static void set_cold(struct driver *s, const struct job *job)
{
	const struct job_phase *phase = &job->phases[s->phase_index];

	snprintf(s->cold, sizeof(s->cold), "%s.cold.drop=fadvise", phase->path + 1);
	for (char *c = s->cold; *c && *c != '='; c++)
		*c = *c == '/' ? '.' : *c;
	s->more[s->more_count++] = s->cold;
}

/* Rank 0: a search reads the same data again and again, so what the judged phase reads is dropped
 * from the page cache before each run, where the phase and its store can do that. */
static int read_cold(struct run *run, const struct run_options *options, struct err *err)
{
	struct err ignored = {0};
	struct job job;
	int rc;

	if (says_cold(run, options))
		return 0;
	set_cold(run->driver, &run->job);
	rc = parse(run, options, NULL, &job, &ignored);
	if (rc == 0)
		rc = plan_check(&job, run->world->size, run->nodes.count, true, &ignored);
	job_free(&job);
	if (rc < 0) {
		run->driver->more_count--;
		return 0;
	}
	if (!options->quiet)
		log_say(&run->log, LOG_INFO, "reads of the search are cold: --set %s",
			run->driver->cold);
	job_free(&run->job);
	return parse(run, options, NULL, &run->job, err);
}

/* Rank 0: checks every combination, then makes the text of the job without the sweeps. */
static int read_job(struct run *run, const struct run_options *options, char **text,
		    struct err *err)
{
	struct generated_registry generated = {0};
	int rc;

	rc = read_text(run, options, err);
	if (rc == 0)
		rc = parse(run, options, NULL, &run->job, err);
	if (rc == 0)
		rc = driver_meet(run, err);
	if (rc == 0 && run->driver->answer)
		rc = read_cold(run, options, err);
	if (rc == 0)
		rc = check_combinations(run, options, &generated, err);
	generated_free(&generated);
	if (rc < 0)
		return rc;
	/* Ranks that clean need not make up groups. */
	if (options->verb == RUN_CLEAN)
		run->job.cluster.tensor = run->job.cluster.pipeline = 1;
	*text = job_text(&run->job, plan_schema());
	return *text ? 0 : err_set(err, -ENOMEM, "no memory for the job's text");
}

/* Rank 0 has the job and its text, or rc; the other ranks receive it. Frees text. */
static int hand_out(struct run *run, const struct run_options *options, char *text, int rc,
		    struct err *err)
{
	bool first = run->world->rank == 0;
	uint64_t length = 0;

	rc = group_agree(run->world, rc, err);
	if (rc < 0)
		goto out_free;
	if (text)
		length = strlen(text);
	group_broadcast(run->world, &length, sizeof(length));
	if (!first) {
		text = malloc(length + 1);
		if (!text)
			rc = err_set(err, -ENOMEM, "no memory for the job's text");
	}
	rc = group_agree(run->world, rc, err);
	if (rc < 0)
		goto out_free;
	group_broadcast(run->world, text, length);
	if (!first)
		rc = job_parse(&run->job, plan_schema(), options->job, text, length, NULL, 0, err);
	if (!first && rc == 0 && options->verb != RUN_CLEAN)
		rc = plan_sets(&run->job, run->world->size, run->nodes.count, err);
	rc = group_agree(run->world, rc, err);
	if (rc == 0)
		backends_process_begin(run->job.stores, run->job.store_count);
out_free:
	free(text);
	return rc;
}

int run_share_job(struct run *run, const struct run_options *options, struct err *err)
{
	char *text = NULL;
	int rc = 0;

	if (run->world->rank == 0)
		rc = read_job(run, options, &text, err);
	group_broadcast(run->world, run->series.left_out, sizeof(run->series.left_out));
	group_broadcast(run->world, &run->series.left_out_count,
			sizeof(run->series.left_out_count));
	group_broadcast(run->world, &run->series.as_is, sizeof(run->series.as_is));
	group_broadcast(run->world, &run->driver->once, sizeof(run->driver->once));
	return hand_out(run, options, text, rc, err);
}

int run_series_of_job(struct run *run, const struct run_options *options, struct err *err)
{
	bool repeats = options->verb == RUN_ALL && !options->repeat && !options->warmup &&
		       !run->driver->answer;

	for (uint32_t i = 0; repeats && i < run->job.phase_count; i++) {
		const struct job_phase *phase = &run->job.phases[i];
		const struct workload *workload = phase->section->owner;

		if (!workload->generating && run_wants(options, phase))
			return series_of_job(&run->series, &run->job, err);
	}
	return 0;
}

int run_share_combination(struct run *run, const struct run_options *options,
			  const char *const *sets, struct err *err)
{
	char *text = NULL;
	int rc = 0;

	job_free(&run->job);
	if (run->world->rank == 0) {
		rc = parse(run, options, sets, &run->job, err);
		if (rc == 0)
			text = job_text(&run->job, plan_schema());
		if (rc == 0 && !text)
			rc = err_set(err, -ENOMEM, "no memory for the job's text");
	}
	return hand_out(run, options, text, rc, err);
}

int run_tuned_text(const struct run *run, const struct run_options *options,
		   const char *const *sets, char **text, struct err *err)
{
	unsigned more = sets ? run->series.sweep_count : 0;
	struct job_changes changes = {.count = options->set_count + more};
	const char **items = calloc(changes.count + 1, sizeof(*items));
	struct job job;
	int rc;

	*text = NULL;
	if (!items)
		return err_set(err, -ENOMEM, "no memory for the job");
	for (unsigned i = 0; i < changes.count; i++)
		items[i] = i < options->set_count ? options->sets[i] : sets[i - options->set_count];
	changes.items = items;
	rc = job_parse_changed(&job, plan_schema(), options->job, run->text, run->text_bytes,
			       &changes, err);
	if (rc == 0)
		*text = job_text(&job, plan_schema());
	if (rc == 0 && !*text)
		rc = err_set(err, -ENOMEM, "no memory for the job's text");
	job_free(&job);
	free(items);
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of the driver: see driver.h. What is known is in the results whenever they are written, so a
 * signal, an error or the deadline keeps it. */
#include "ranks/run/driver.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "backends/node_block.h"
#include "plan/plan.h"
#include "ranks/run/run.h"

int driver_open(struct run *run, const struct run_options *options, struct err *err)
{
	bool finds = options->find || options->until, tunes = options->tune_count;
	bool assesses = options->assess && options->verb != RUN_CLEAN;
	struct driver *d;

	if (!tunes && (options->tune_by || options->tuned))
		return err_set(err, -EINVAL, "--%s: needs --tune, too",
			       options->tune_by ? "tune-by" : "tuned");
	if (finds && tunes)
		return err_set(err, -EINVAL, "--find and --tune exclude each other");
	d = run->driver = calloc(1, sizeof(*d));
	if (!d)
		return err_set(err, -ENOMEM, "no memory for the runs");
	d->answer = finds      ? ANSWER_FIND
		    : tunes    ? ANSWER_TUNE
		    : assesses ? ANSWER_ASSESS
			       : ANSWER_NONE;
	d->strategy = finds      ? &strategy_find
		      : tunes    ? &strategy_tune
		      : assesses ? &strategy_assess
				 : &strategy_series;
	d->options = options;
	return d->strategy->open(run, options, err);
}

/* The job of another combination, whose values are run->sets, on all ranks. */
static int driver_change(struct run *run, const struct run_options *options, struct err *err)
{
	int rc = run_share_combination(run, options, run->at.set_count ? run->sets : NULL, err);

	if (rc < 0)
		return rc;
	return group_agree(
		run->world,
		node_blocks_reserve(run->nodes.node, run->job.stores, run->job.store_count, err),
		err);
}

/* What a kept run has made is there, where its store keeps it. */
static int driver_made(struct run *run, const struct run_options *options, uint32_t n,
		       struct err *err)
{
	struct series_place place = series_at(&run->series, n);
	struct phase_store stores[PHASE_STORES_MAX];
	enum generated_before before;
	uint32_t count;
	int rc = 0;

	if (n && series_at(&run->series, n - 1).combination == place.combination)
		return 0;
	run->at.set_count = run->series.sweep_count;
	series_sets(&run->series, place.combination, run->sets);
	if (run->at.set_count)
		rc = driver_change(run, options, err);
	for (uint32_t i = 0; rc == 0 && i < run->job.phase_count; i++) {
		const struct job_phase *phase = &run->job.phases[i];

		if (!run_wants(options, phase) ||
		    !series_makes_once(&run->job, phase, &options->filter) ||
		    plan_phase_stores(&run->job, phase, run->world->size, stores, &count, err) <
			    0 ||
		    !(((const struct backend_ops *)stores[0].store->section->owner)->capabilities &
		      BACKEND_PERSISTENT))
			continue;
		rc = generated_phase(&run->generated, &run->job, phase, n + 1, &before, err);
	}
	return group_agree(run->world, rc, err);
}

void driver_free(struct driver *s)
{
	if (s && s->own)
		s->strategy->free(s->own);
	free(s);
}

/* After the last run: the phases behind the judged one, which belong to that run. */
static int driver_ending(struct run *run, const struct run_options *options,
			 enum exit_status *status, struct err *err)
{
	struct repeat_targets *targets;
	int rc;

	if (!run->driver->once)
		return 0;
	run->driver->ending = true;
	targets = calloc(run->job.phase_count, sizeof(*targets));
	rc = group_agree(run->world,
			 targets ? 0 : err_set(err, -ENOMEM, "no memory for the phases"), err);
	if (rc == 0)
		rc = run_phases(run, options, targets, status, err);
	free(targets);
	return rc;
}

/* One run. */
static int driver_once(struct run *run, const struct run_options *options,
		       const struct next_run *look, enum exit_status *status, struct err *err)
{
	const struct driver *s = run->driver;
	struct repeat_targets *targets = NULL;
	int rc = 0;

	run->at.combination = look->combination;
	run->at.set_count = look->set_count;
	if (look->changed)
		rc = driver_change(run, options, err);
	if (rc == 0) {
		targets = calloc(run->job.phase_count, sizeof(*targets));
		rc = targets ? 0 : err_set(err, -ENOMEM, "no memory for the phases");
		rc = group_agree(run->world, rc, err);
	}
	if (rc < 0 || !targets) {
		*status = EXIT_FAILED;
		free(targets);
		return rc;
	}
	for (uint32_t i = 0; i < run->job.phase_count; i++)
		targets[i].judged.found = NAN;
	run->at.run++;
	run->at.warmup = look->warmup;
	run->at.repeat = look->repeat;
	rc = run_phases(run, options, targets, status, err);
	if (*status == EXIT_DONE)
		rc = group_agree(run->world, s->strategy->add(run, options, look, targets, err),
				 err);
	free(targets);
	return rc;
}

static int driver_record(const struct run *run, struct err *err)
{
	const struct strategy *strategy = run->driver->strategy;
	int rc = 0;

	if (!strategy->record)
		return 0;
	if (run->results && strategy->record(run) < 0)
		rc = err_set(err, -ENOMEM, "no memory for the answer");
	return group_agree(run->world, rc, err);
}

/* Tells what was decided. A run that is killed afterwards has it in its file. */
static int driver_tell(struct run *run, const struct run_options *options, struct err *err)
{
	const struct strategy *strategy = run->driver->strategy;
	const char *news = strategy->news ? strategy->news(run) : NULL;
	int rc = 0;

	if (!news)
		return 0;
	if (run->results) {
		run_watch_write(run);
		rc = results_publish_answer(run->results, err);
		run_unwatch_write(run);
	}
	run_lap(run, OWN_PUBLISH);
	if (rc == 0 && run->world->rank == 0 && !options->quiet)
		log_say(&run->log, LOG_INFO, "%s", news);
	return rc;
}

int driver_run(struct run *run, const struct run_options *options, enum exit_status *status,
	       struct err *err)
{
	const struct strategy *strategy = run->driver->strategy;
	struct next_run look;
	struct err ignored = {0};
	int rc = strategy->begin ? group_agree(run->world, strategy->begin(run, err), err) : 0,
	    last;

	run->at = (struct results_run){.run = run->kept, .sets = run->sets};
	*status = EXIT_DONE;
	for (uint32_t n = 0; rc == 0 && n < run->kept; n++)
		rc = driver_made(run, options, n, err);
	/* So that a run which others must end has an answer, too. */
	if (rc == 0)
		rc = driver_record(run, err);
	while (rc == 0 && *status == EXIT_DONE && strategy->next(run, options, &look)) {
		rc = driver_once(run, options, &look, status, err);
		if (rc == 0)
			rc = driver_record(run, err);
		if (rc == 0 && *status == EXIT_DONE)
			rc = driver_tell(run, options, err);
	}
	if (rc == 0 && *status == EXIT_DONE)
		rc = driver_ending(run, options, status, err);
	if (rc == 0 && *status == EXIT_DONE)
		rc = strategy->end(run, options, status, err);
	/* A search ends with its last look, which says how. An error before it keeps its sentence. */
	last = driver_record(run, rc < 0 ? &ignored : err);
	rc = rc < 0 ? rc : last;
	if (rc < 0 && *status == EXIT_DONE)
		*status = EXIT_FAILED;
	return rc;
}

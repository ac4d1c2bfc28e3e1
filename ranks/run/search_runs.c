/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of a search: see search.h. What is known is in the results whenever they are written, so a
 * signal, an error or the deadline keeps it. */
#include "ranks/run/search.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ranks/run/run.h"

int search_open(struct run *run, const struct run_options *options, struct err *err)
{
	bool finds = options->find || options->until, tunes = options->tune_count;
	bool assesses = options->assess && options->verb != RUN_CLEAN;

	if (!tunes && (options->tune_by || options->tuned))
		return err_set(err, -EINVAL, "--%s: needs --tune, too",
			       options->tune_by ? "tune-by" : "tuned");
	if (!finds && !tunes && !assesses)
		return 0;
	if (finds && tunes)
		return err_set(err, -EINVAL, "--find and --tune exclude each other");
	run->search = calloc(1, sizeof(*run->search));
	if (!run->search)
		return err_set(err, -ENOMEM, "no memory for a search");
	run->search->answer = finds ? ANSWER_FIND : tunes ? ANSWER_TUNE : ANSWER_ASSESS;
	run->search->strategy = finds ? &search_find : tunes ? &search_tune : &search_assess;
	run->search->options = options;
	return run->search->strategy->open(run, options, err);
}

void search_free(struct search *s)
{
	if (s && s->own)
		s->strategy->free(s->own);
	free(s);
}

/* After the last run: the phases behind the judged one, which belong to that run. */
static int search_ending(struct run *run, const struct run_options *options,
			 enum exit_status *status, struct err *err)
{
	struct repeat_targets *targets;
	int rc;

	if (!run->search->once)
		return 0;
	run->search->ending = true;
	targets = calloc(run->job.phase_count, sizeof(*targets));
	rc = group_agree(run->world,
			 targets ? 0 : err_set(err, -ENOMEM, "no memory for the phases"), err);
	if (rc == 0)
		rc = run_phases(run, options, targets, status, err);
	free(targets);
	return rc;
}

/* One run. */
static int search_once(struct run *run, const struct run_options *options,
		       const struct search_look *look, enum exit_status *status, struct err *err)
{
	const struct search *s = run->search;
	struct repeat_targets *targets = NULL;
	int rc = 0;

	run->at.combination = look->combination;
	run->at.set_count = look->set_count;
	if (look->changed)
		rc = run_change(run, options, err);
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
		s->strategy->add(run, options, look, targets);
	free(targets);
	return rc;
}

static int search_record(const struct run *run, struct err *err)
{
	int rc = run->results ? run->search->strategy->record(run) : 0;

	if (rc < 0)
		rc = err_set(err, rc, "no memory for the results of the search");
	return group_agree(run->world, rc, err);
}

int run_search(struct run *run, const struct run_options *options, enum exit_status *status,
	       struct err *err)
{
	const struct search_strategy *strategy = run->search->strategy;
	struct search_look look;
	int rc = group_agree(run->world, strategy->begin(run, err), err);

	run->at = (struct results_run){.sets = run->sets};
	*status = EXIT_DONE;
	while (rc == 0 && *status == EXIT_DONE && strategy->next(run, options, &look)) {
		rc = search_once(run, options, &look, status, err);
		if (rc == 0)
			rc = search_record(run, err);
	}
	if (rc == 0 && *status == EXIT_DONE)
		rc = search_ending(run, options, status, err);
	if (rc == 0 && *status == EXIT_DONE)
		rc = strategy->end(run, options, status, err);
	/* The search ends with its last look, which says how. */
	if (run->results && strategy->record(run) < 0 && rc == 0)
		rc = err_set(err, -ENOMEM, "no memory for the results of the search");
	rc = group_agree(run->world, rc, err);
	if (rc < 0 && *status == EXIT_DONE)
		*status = EXIT_FAILED;
	return rc;
}

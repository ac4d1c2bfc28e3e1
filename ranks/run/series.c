/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of a series: for each combination of the sweeps' values first the warm-up runs, then the
 * repeats; or all combinations in turn. An error, a signal or the deadline ends the whole series;
 * what was published is kept. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/node_block.h"
#include "ranks/run/run.h"
#include "ranks/run/state.h"

/* A target is missed where the mean over the repeats misses it. A single run may miss it by
 * chance. */
static bool phase_missed(const struct run *run, const struct job_phase *phase,
			 const struct repeat_targets *of, struct err *err)
{
	char swept[256], sentence[256], about[64] = "";

	if (of->repeats > 1)
		snprintf(about, sizeof(about), ", on average over %u repeats,", of->repeats);
	for (uint32_t i = 0; i < of->count; i++) {
		struct target_result mean = of->results[i];

		mean.found = of->sum[i] / of->repeats;
		if (target_met(&mean))
			continue;
		series_label(run->sets, run->at.set_count, swept, sizeof(swept));
		target_sentence(sentence, sizeof(sentence), &mean, about);
		err_set(err, -ERANGE, "%s%s%s: %s", phase->name, *swept ? " with " : "", swept,
			sentence);
		return true;
	}
	return false;
}

static bool target_missed(const struct run *run, const struct repeat_targets *all, struct err *err)
{
	for (uint32_t i = 0; i < run->job.phase_count; i++)
		if (phase_missed(run, &run->job.phases[i], &all[i], err))
			return true;
	return false;
}

int run_change(struct run *run, const struct run_options *options, struct err *err)
{
	int rc = run_share_combination(run, options, run->at.set_count ? run->sets : NULL, err);

	if (rc < 0)
		return rc;
	return group_agree(
		run->world,
		node_blocks_reserve(run->nodes.node, run->job.stores, run->job.store_count, err),
		err);
}

/* What the targets of each combination reached, from its first run to its last one: a block of its
 * phases. */
struct series_targets {
	struct repeat_targets **of; /* [count]; NULL before and after that */
	uint32_t count;
};

/* Warm-ups are left out: the block is cleared when they have ended. */
static int series_targets_begin(struct series_targets *t, const struct run *run,
				const struct series_place *place, struct err *err)
{
	size_t phases = run->job.phase_count;
	struct repeat_targets **block;
	int rc = 0;

	if (!t->of)
		t->of = calloc(t->count, sizeof(struct repeat_targets *));
	block = t->of ? &t->of[place->combination] : NULL;
	if (block && !*block)
		*block = calloc(phases, sizeof(**block));
	else if (block && place->nth == run->series.warmup)
		memset(*block, 0, phases * sizeof(**block));
	if (!block || !*block)
		rc = err_set(err, -ENOMEM, "no memory for the phases");
	return group_agree(run->world, rc, err);
}

static void series_targets_free(struct series_targets *t)
{
	for (uint32_t i = 0; t->of && i < t->count; i++)
		free(t->of[i]);
	free(t->of);
}

/* One run of the series. */
static int series_run_once(struct run *run, const struct run_options *options,
			   const struct series_place *place, struct series_targets *targets,
			   enum exit_status *status, struct err *err)
{
	const struct series *s = &run->series;
	struct repeat_targets **block;
	int rc = 0;

	if (s->sweep_count && run->at.combination != place->combination + 1) {
		series_sets(s, place->combination, run->sets);
		rc = run_change(run, options, err);
	}
	run->at.combination = place->combination + 1;
	if (rc == 0)
		rc = series_targets_begin(targets, run, place, err);
	block = targets->of ? &targets->of[place->combination] : NULL;
	if (rc < 0 || !block) {
		*status = EXIT_FAILED;
		return rc;
	}
	run->at.run++;
	run->at.warmup = place->nth < s->warmup;
	run->at.repeat = run->at.warmup ? place->nth + 1 : place->nth - s->warmup + 1;
	rc = run_phases(run, options, *block, status, err);
	if (place->nth + 1 < s->warmup + s->repeat)
		return rc;
	if (*status == EXIT_DONE && options->strict && target_missed(run, *block, err))
		*status = EXIT_TARGET_MISSED;
	free(*block);
	*block = NULL;
	return rc;
}

int run_series(struct run *run, const struct run_options *options, enum exit_status *status,
	       struct err *err)
{
	const struct series *s = &run->series;
	struct series_targets targets = {.count = s->combinations};
	struct err missed = {0};
	int rc = 0;

	run->at = (struct results_run){.sets = run->sets, .set_count = s->sweep_count};
	*status = EXIT_DONE;
	for (uint32_t i = 0; rc == 0 && i < series_runs(s); i++) {
		struct series_place place = series_at(s, i);

		*status = EXIT_DONE;
		rc = series_run_once(run, options, &place, &targets, status, err);
		if (*status == EXIT_FAILED || *status == EXIT_INTERRUPTED)
			break;
		if (*status == EXIT_TARGET_MISSED && !missed.code)
			missed = *err;
	}
	series_targets_free(&targets);
	if (missed.code && *status != EXIT_FAILED && *status != EXIT_INTERRUPTED) {
		*err = missed;
		*status = EXIT_TARGET_MISSED;
	}
	return rc;
}

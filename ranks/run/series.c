/* SPDX-License-Identifier: Apache-2.0 */
/* The strategy of a plain series and of sweeps: for each combination of the sweeps' values first the
 * warm-up runs, then the repeats; or all combinations in turn. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/run/driver.h"
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

struct series_runs {
	uint32_t run;   /* the next one, from 0 */
	uint32_t count; /* combinations */
	/* [count]: what the targets of each combination reached, from its first repeat to its last
	 * one: a block of its phases; NULL before and after that. */
	struct repeat_targets **of;
	struct err missed; /* the first target that the mean over its repeats has missed */
};

static int series_open(struct run *run, const struct run_options *options, struct err *err)
{
	(void)options;
	run->driver->own = calloc(1, sizeof(struct series_runs));
	return run->driver->own ? 0 : err_set(err, -ENOMEM, "no memory for a series");
}

static int series_begin(struct run *run, struct err *err)
{
	struct series_runs *s = run->driver->own;

	s->count = run->series.combinations;
	s->run = run->kept;
	s->of = calloc(s->count, sizeof(struct repeat_targets *));
	return s->of ? 0 : err_set(err, -ENOMEM, "no memory for a series");
}

static bool series_next(struct run *run, const struct run_options *options, struct next_run *look)
{
	struct series_runs *own = run->driver->own;
	const struct series *s = &run->series;
	struct series_place place;

	(void)options;
	if (own->run == series_runs(s))
		return false;
	place = series_at(s, own->run++);
	*look = (struct next_run){.combination = place.combination + 1,
				  .set_count = s->sweep_count,
				  .warmup = place.nth < s->warmup};
	look->repeat = look->warmup ? place.nth + 1 : place.nth - s->warmup + 1;
	look->changed = s->sweep_count && run->at.combination != look->combination;
	if (look->changed)
		series_sets(s, place.combination, run->sets);
	return true;
}

static void series_gather(struct repeat_targets *all, const struct repeat_targets *one)
{
	all->count = one->count;
	all->repeats += one->repeats;
	for (uint32_t i = 0; i < one->count; i++) {
		all->results[i] = one->results[i];
		all->sum[i] += one->sum[i];
	}
}

static int series_add(struct run *run, const struct run_options *options,
		      const struct next_run *look, const struct repeat_targets *phases,
		      struct err *err)
{
	struct series_runs *s = run->driver->own;
	struct repeat_targets **block = &s->of[look->combination - 1];
	struct err missed = {0};

	if (look->warmup)
		return 0;
	if (!*block)
		*block = calloc(run->job.phase_count, sizeof(**block));
	if (!*block)
		return err_set(err, -ENOMEM, "no memory for the phases");
	for (uint32_t i = 0; i < run->job.phase_count; i++)
		if (phases[i].repeats)
			series_gather(&(*block)[i], &phases[i]);
	if (look->repeat < run->series.repeat)
		return 0;
	if (options->strict && !s->missed.code && target_missed(run, *block, &missed))
		s->missed = missed;
	free(*block);
	*block = NULL;
	return 0;
}

static int series_end(struct run *run, const struct run_options *options, enum exit_status *status,
		      struct err *err)
{
	const struct series_runs *s = run->driver->own;

	(void)options;
	if (s->missed.code) {
		*err = s->missed;
		*status = EXIT_TARGET_MISSED;
	}
	return 0;
}

static void series_close(void *own)
{
	struct series_runs *s = own;

	for (uint32_t i = 0; s->of && i < s->count; i++)
		free(s->of[i]);
	free(s->of);
	free(s);
}

const struct strategy strategy_series = {
	.open = series_open,
	.begin = series_begin,
	.next = series_next,
	.add = series_add,
	.end = series_end,
	.free = series_close,
};

/* Runs of a series: for each combination of the sweeps' values first the warm-up runs, then the
 * repeats. An error, a signal or the deadline ends the whole series; what was published is kept. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

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

static int run_combination(struct run *run, const struct run_options *options,
			   enum exit_status *status, struct err *err)
{
	const struct series *s = &run->series;
	size_t phases = run->job.phase_count;
	struct repeat_targets *all = calloc(2 * phases, sizeof(*all)), *counted = all + phases;
	int rc = all ? 0 : err_set(err, -ENOMEM, "no memory for the phases");

	rc = group_agree(run->world, rc, err);
	if (rc < 0)
		*status = EXIT_FAILED;
	for (uint32_t i = 0; rc == 0 && i < s->warmup + s->repeat; i++) {
		run->at.run++;
		run->at.warmup = i < s->warmup;
		run->at.repeat = run->at.warmup ? i + 1 : i - s->warmup + 1;
		rc = run_phases(run, options, run->at.warmup ? all : counted, status, err);
		if (*status == EXIT_FAILED || *status == EXIT_INTERRUPTED)
			break;
	}
	if (*status == EXIT_DONE && options->strict && target_missed(run, counted, err))
		*status = EXIT_TARGET_MISSED;
	free(all);
	return rc;
}

int run_series(struct run *run, const struct run_options *options, enum exit_status *status,
	       struct err *err)
{
	const struct series *s = &run->series;
	struct err missed = {0};
	int rc = 0;

	run->at = (struct results_run){.sets = run->sets, .set_count = s->sweep_count};
	*status = EXIT_DONE;
	for (uint32_t i = 0; rc == 0 && i < s->combinations; i++) {
		series_sets(s, i, run->sets);
		run->at.combination = i + 1;
		if (s->sweep_count)
			rc = run_share_combination(run, options, run->sets, err);
		if (s->sweep_count && rc == 0)
			rc = group_agree(run->world,
					 node_blocks_reserve(run->nodes.node, run->job.stores,
							     run->job.store_count, err),
					 err);
		if (rc < 0)
			*status = EXIT_FAILED;
		else
			rc = run_combination(run, options, status, err);
		if (*status == EXIT_FAILED || *status == EXIT_INTERRUPTED)
			return rc;
		if (*status == EXIT_TARGET_MISSED && !missed.code)
			missed = *err;
	}
	if (missed.code) {
		*err = missed;
		*status = EXIT_TARGET_MISSED;
	}
	return rc;
}

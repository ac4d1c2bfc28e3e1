/* The runs of a series: for each combination of the sweeps' values the warm-up runs, then the repeats.
 * An error, a signal or the deadline ends the whole series; what was published stands. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/node_block.h"
#include "ranks/run/state.h"

/* A target is missed where the mean over the repeats misses it: one run may lie below by chance. */
static bool target_missed(const struct run *run, const struct repeat_au *all, struct err *err)
{
	char swept[256], repeats[64] = "";

	series_label(run->sets, run->at.set_count, swept, sizeof(swept));
	for (uint32_t i = 0; i < run->job.phase_count; i++) {
		const struct repeat_au *au = &all[i];

		if (!au->count || au->sum / au->count >= au->target)
			continue;
		if (au->count > 1)
			snprintf(repeats, sizeof(repeats), " in the mean of %u repeats", au->count);
		err_set(err, -ERANGE, "%s%s%s: AU %.1f %%%s misses the target of %.4g %%",
			run->job.phases[i].name, *swept ? " with " : "", swept,
			au->sum / au->count * 100, repeats, au->target * 100);
		return true;
	}
	return false;
}

static int run_combination(struct run *run, const struct run_options *options,
			   enum exit_status *status, struct err *err)
{
	const struct series *s = &run->series;
	size_t phases = run->job.phase_count;
	struct repeat_au *au = calloc(2 * phases, sizeof(*au)), *counted = au + phases;
	int rc = au ? 0 : err_set(err, -ENOMEM, "no memory for the phases");

	rc = group_agree(run->world, rc, err);
	if (rc < 0)
		*status = EXIT_FAILED;
	for (uint32_t i = 0; rc == 0 && i < s->warmup + s->repeat; i++) {
		run->at.run++;
		run->at.warmup = i < s->warmup;
		run->at.repeat = run->at.warmup ? i + 1 : i - s->warmup + 1;
		rc = run_phases(run, options, run->at.warmup ? au : counted, status, err);
		if (*status == EXIT_FAILED || *status == EXIT_INTERRUPTED)
			break;
	}
	if (*status == EXIT_DONE && options->strict && target_missed(run, counted, err))
		*status = EXIT_TARGET_MISSED;
	free(au);
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

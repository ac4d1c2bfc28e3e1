/* SPDX-License-Identifier: Apache-2.0 */
/* Running the phases of a job, with the pauses between them: see state.h. */
#include <errno.h>
#include <time.h>

#include "core/units.h"
#include "plan/search/once.h"
#include "ranks/run/driver.h"
#include "ranks/run/phase_set.h"
#include "ranks/run/run.h"
#include "ranks/run/state.h"
#include "workloads/common/status_rounds.h"
#include "workloads/workload.h"

/* Collective where the run has a time. */
static bool turn_over(const struct run *run)
{
	bool over = driver_over(run);

	if (run->driver->until_ns)
		group_broadcast(run->world, &over, sizeof(over));
	return over;
}

/* Whether a phase has its turn in the current run: see once and until_ns of the driver. Collective. */
static bool phase_turn(const struct run *run, const struct job_phase *phase)
{
	const struct driver *s = run->driver;
	bool before;

	if (!s->once)
		return !turn_over(run);
	if (once_each(&run->job, s->phase_index, (uint32_t)(phase - run->job.phases), &before))
		return !s->ending;
	return before ? run->at.run == 1 && !s->ending : s->ending;
}

/* What is made once has nothing to do where an earlier run of the series has made it. */
static int phase_left(struct run *run, const struct run_options *options,
		      const struct job_phase *phase, bool *left, struct err *err)
{
	enum generated_before before = MADE_NOT;
	int rc = 0;

	/* What does not run makes nothing: only then is it asked what was made. */
	*left = run_wants(options, phase) && phase_turn(run, phase) &&
		phase_filter_wants(&run->driver->now, phase);
	if (*left && series_makes_once(&run->job, phase, &options->filter))
		rc = generated_phase(&run->generated, &run->job, phase, run->at.run, &before, err);
	*left = *left && before != MADE_SAME;
	return group_agree(run->world, rc, err);
}

/* The phase at *next, or all that run together with it, but for those that --only, --skip and
 * earlier runs leave out. Moves *next behind them. */
static int phases_take(struct run *run, const struct run_options *options, uint32_t *next,
		       struct phase_set *set, struct err *err)
{
	const struct job_together *together = run->job.phases[*next].together;
	bool left;
	int rc;

	*set = (struct phase_set){.count = 0};
	do {
		rc = phase_left(run, options, &run->job.phases[*next], &left, err);
		if (rc == 0 && left)
			set->index[set->count++] = *next;
		++*next;
	} while (rc == 0 && together && *next < run->job.phase_count &&
		 run->job.phases[*next].together == together);
	return rc;
}

/* The set, after each of its phases by itself where the job asks for that. */
static int phases_do(struct run *run, const struct run_options *options,
		     const struct phase_set *set, struct repeat_targets *targets,
		     enum exit_status *status, enum stop_reason *stopped, struct err *err)
{
	const struct job_together *together = run->job.phases[set->index[0]].together;
	int rc = 0;

	for (uint32_t i = 0; together && together->alone && *status == EXIT_DONE && i < set->count;
	     i++) {
		const struct phase_set one = {.count = 1, .index = {set->index[i]}, .alone = true};

		rc = phase_set_do(run, options, &one, targets, status, stopped, err);
	}
	if (*status == EXIT_DONE)
		rc = phase_set_do(run, options, set, targets, status, stopped, err);
	return rc;
}

enum { PAUSE_NAP_NS = 10000000 };

static enum stop_reason pause_stop(const struct run *run, uint64_t deadline_ns, uint64_t now_ns)
{
	enum stop_reason asked = stop_asked(&run->stop);

	if (deadline_ns && now_ns >= deadline_ns && asked < STOP_DEADLINE)
		asked = STOP_DEADLINE;
	return asked;
}

/* The pause that the job asks for before the phase, as some benchmarks require: all ranks wait, and
 * any of them may end the wait. Collective. Returns why it ended early, the same on all ranks. */
static enum stop_reason phases_pause(struct run *run, const struct run_options *options,
				     const struct job_phase *phase)
{
	uint64_t after_ns = job_phase_after_ns(phase, NULL);
	uint64_t until_ns = run->phase_end_ns + after_ns, now_ns = clock_now(&run->clock);
	uint64_t deadline_ns = options->deadline_ns ? run->start_ns + options->deadline_ns : 0;
	struct status mine = {.unfinished = 1};
	struct status_rounds rounds;
	char text[UNITS_TEXT_BYTES];

	if (!after_ns || !run->phase_end_ns)
		return STOP_NONE;
	if (run->world->rank == 0 && !options->quiet && until_ns > now_ns)
		log_say(&run->log, LOG_INFO, "%s begins in %s", phase->name,
			units_time(text, (double)(until_ns - now_ns) / 1e9));
	run_lap(run, OWN_OPEN);
	status_rounds_begin(&rounds, run->world, &mine);
	while (!rounds.over) {
		uint64_t nap_ns = now_ns + PAUSE_NAP_NS;

		clock_sleep_until(&run->clock,
				  nap_ns < until_ns || until_ns < now_ns ? nap_ns : until_ns);
		now_ns = clock_now(&run->clock);
		mine.unfinished = now_ns < until_ns;
		mine.stop = pause_stop(run, deadline_ns, now_ns);
		status_rounds_poll(&rounds, &mine, NULL);
	}
	run_lap_skip(run);
	return (enum stop_reason)rounds.merged.stop;
}

int run_phases(struct run *run, const struct run_options *options, struct repeat_targets *targets,
	       enum exit_status *status, struct err *err)
{
	enum stop_reason stopped = STOP_NONE;
	struct phase_set set;
	uint32_t next = 0;
	int rc = 0;

	*status = EXIT_DONE;
	while (next < run->job.phase_count && *status == EXIT_DONE) {
		rc = phases_take(run, options, &next, &set, err);
		if (rc < 0)
			*status = EXIT_FAILED;
		if (rc < 0 || !set.count)
			continue;
		stopped = phases_pause(run, options, &run->job.phases[set.index[0]]);
		if (stopped > STOP_LIMIT)
			*status = EXIT_INTERRUPTED;
		else
			rc = phases_do(run, options, &set, targets, status, &stopped, err);
	}
	if (*status == EXIT_INTERRUPTED)
		rc = err_set(err, -EINTR, "stopped %s",
			     stopped == STOP_SIGNAL    ? "by a signal"
			     : stopped == STOP_OVERDUE ? "after its limit of time"
						       : "at the deadline");
	return rc;
}

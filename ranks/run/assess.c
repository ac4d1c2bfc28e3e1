/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of haul assess: each is some of the phases of its job, which plan/assess names. What they made is
 * removed at the end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/assess/assess.h"
#include "ranks/run/driver.h"
#include "ranks/run/run.h"

enum { ASSESS_RUNS_MAX = 128 };

struct assess_run {
	struct assess assess;
	struct assess_look look;
	struct target main; /* all zero: phases are judged by their main figures */
	uint32_t runs;
	bool over;
};

static int assess_open(struct run *run, const struct run_options *options, struct err *err)
{
	struct assess_run *a = run->driver->own = calloc(1, sizeof(*a));
	int rc = a ? 0 : err_set(err, -ENOMEM, "no memory for an assessment");

	rc = group_agree(run->world, rc, err);
	if (rc < 0 || !a)
		return rc;
	if (run->world->rank == 0)
		a->assess = *options->assess;
	group_broadcast(run->world, &a->assess, sizeof(a->assess));
	run->driver->judge = &a->main;
	run->driver->judges_all = true;
	run->series.searches = true;
	run->series.runs_most = ASSESS_RUNS_MAX;
	return 0;
}

/* Since the run began, the same on all ranks. */
static double assess_elapsed(const struct run *run)
{
	double elapsed_s = (double)(clock_now(&run->clock) - run->start_ns) / 1e9;

	group_broadcast(run->world, &elapsed_s, sizeof(elapsed_s));
	return elapsed_s;
}

/* Removes all that was made so far. */
static enum exit_status assess_clean(struct run *run, const struct run_options *options,
				     struct err *err)
{
	const struct assess_run *a = run->driver->own;

	return a->assess.ask.keeps ? run_clean_made(run, options->job, err) : EXIT_DONE;
}

static bool assess_step(struct run *run, const struct run_options *options, struct next_run *out)
{
	struct driver *s = run->driver;
	struct assess_run *a = s->own;
	struct err ignored = {0};

	if (!assess_next(&a->assess, assess_elapsed(run), &a->look)) {
		a->over = true;
		return false;
	}
	s->until_ns = run->start_ns + (uint64_t)(a->look.until_s * 1e9);
	if (a->look.cleans && assess_clean(run, options, &ignored) == EXIT_INTERRUPTED)
		return false;
	s->now = (struct phase_filter){.only = a->look.phases, .only_count = a->look.phase_count};
	s->more_count = a->look.set_count;
	for (uint32_t i = 0; i < a->look.set_count; i++)
		s->more[i] = a->look.sets[i];
	*out = (struct next_run){.combination = ++a->runs, .repeat = 1, .changed = true};
	return true;
}

/* The AU of a training, the time of requests of users, of all else the main figure. */
static double assess_figure(const struct repeat_targets *of)
{
	for (uint32_t i = 0; i < of->count; i++)
		if (strcmp(of->results[i].name, "target_au") == 0 ||
		    strcmp(of->results[i].name, "target_request_p95") == 0)
			return of->results[i].found;
	return of->judged.found;
}

static int assess_add(struct run *run, const struct run_options *options,
		      const struct next_run *look, const struct repeat_targets *phases,
		      struct err *err)
{
	struct assess_run *a = run->driver->own;

	(void)options;
	(void)look;
	(void)err;
	for (uint32_t i = 0; i < run->job.phase_count; i++)
		if (phases[i].repeats)
			assess_found(&a->assess, run->job.phases[i].name,
				     assess_figure(&phases[i]));
	return 0;
}

static int assess_record(const struct run *run)
{
	const struct assess_run *a = run->driver->own;
	struct assess_head *head;
	struct answered answer;

	if (answer_make(&answer, ANSWER_ASSESS, a->assess.workload_count) < 0)
		return -ENOMEM;
	head = answer.head;
	assess_answer(&a->assess, a->over, head);
	head->nodes = run->nodes.count;
	for (uint32_t i = 0; i < a->assess.workload_count; i++)
		assess_follow(&a->assess, &a->assess.workloads[i], answer_row(&answer, i));
	results_set_answer(run->results, &answer, a->runs);
	return 0;
}

static int assess_end(struct run *run, const struct run_options *options, enum exit_status *status,
		      struct err *err)
{
	*status = assess_clean(run, options, err);
	return *status == EXIT_DONE ? 0 : err->code;
}

const struct strategy strategy_assess = {
	.open = assess_open,
	.next = assess_step,
	.add = assess_add,
	.record = assess_record,
	.end = assess_end,
	.free = free,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of haul assess: each is some of the phases of its job, which plan/assess names. What they made is
 * removed at the end. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"
#include "plan/assess/assess.h"
#include "ranks/run/run.h"
#include "ranks/run/search.h"
#include "results-schema/assessed.h"

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
	struct assess_run *a = run->search->own = calloc(1, sizeof(*a));
	int rc = a ? 0 : err_set(err, -ENOMEM, "no memory for an assessment");

	rc = group_agree(run->world, rc, err);
	if (rc < 0 || !a)
		return rc;
	if (run->world->rank == 0)
		a->assess = *options->assess;
	group_broadcast(run->world, &a->assess, sizeof(a->assess));
	run->search->judge = &a->main;
	run->search->judges_all = true;
	run->series.searches = true;
	run->series.runs_most = ASSESS_RUNS_MAX;
	return 0;
}

static int assess_meet(struct run *run, struct err *err)
{
	(void)run;
	(void)err;
	return 0;
}

static int assess_begin(struct run *run, struct err *err)
{
	return assess_meet(run, err);
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
	const struct assess_run *a = run->search->own;

	return a->assess.ask.keeps ? run_clean_made(run, options->job, err) : EXIT_DONE;
}

static bool assess_step(struct run *run, const struct run_options *options, struct search_look *out)
{
	struct search *s = run->search;
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
	*out = (struct search_look){.combination = ++a->runs, .repeat = 1, .changed = true};
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

static void assess_add(struct run *run, const struct run_options *options,
		       const struct search_look *look, const struct repeat_targets *phases)
{
	struct assess_run *a = run->search->own;

	(void)options;
	(void)look;
	for (uint32_t i = 0; i < run->job.phase_count; i++)
		if (phases[i].repeats)
			assess_found(&a->assess, run->job.phases[i].name,
				     assess_figure(&phases[i]));
}

static void assess_head(const struct run *run, struct assessed *out)
{
	const struct assess_run *a = run->search->own;
	const double *c = a->assess.ceilings;

	assessed_init(out);
	utf8_copy(out->uri, sizeof(out->uri), a->assess.ask.uri);
	utf8_copy(out->end, sizeof(out->end), a->over ? "found" : "stopped");
	out->nodes = run->nodes.count;
	out->ranks = run->world->size;
	out->budget = a->assess.ask.budget_s;
	out->space = a->assess.ask.space_bytes;
	utf8_copy(out->read_settings, sizeof(out->read_settings),
		  a->assess.settings[ASSESS_SETTLED_READ]);
	utf8_copy(out->random_settings, sizeof(out->random_settings),
		  a->assess.settings[ASSESS_SETTLED_RANDOM]);
	out->write = c[ASSESS_WRITE];
	out->read = c[ASSESS_READ];
	out->random = c[ASSESS_RANDOM];
	out->put = c[ASSESS_PUT];
	out->get = c[ASSESS_GET];
	out->create = c[ASSESS_CREATE];
	out->stat = c[ASSESS_STAT];
	out->remove = c[ASSESS_REMOVE];
	/* Each rank waits for one after the other. */
	out->commit = run->world->size / c[ASSESS_COMMIT];
}

static const char *const assess_units[] = {[ASSESS_TRAIN] = "accelerators",
					   [ASSESS_CHECKPOINT] = "checkpoints/h",
					   [ASSESS_USERS] = "users"};

static void assess_workload(const struct assess *a, const struct assess_workload *w,
			    struct assessed_workload *out)
{
	struct assess_row row;

	assess_follow(a, w, &row);
	*out = (struct assessed_workload){.carries = row.carries,
					  .follows = row.follows,
					  .target = w->target,
					  .measured = w->carried,
					  .step = w->step,
					  .found = w->found,
					  .bytes = (w->kind == ASSESS_TRAIN ? w->target : 1) *
						   w->bytes_per_second,
					  .opens = w->target * w->opens_per_second,
					  .written = w->written_per_second,
					  .full = row.full_seconds,
					  .data = w->data_bytes};
	utf8_copy(out->name, sizeof(out->name), w->name);
	utf8_copy(out->unit, sizeof(out->unit), assess_units[w->kind]);
	utf8_copy(out->basis, sizeof(out->basis),
		  isnan(row.carries) ? "unknown"
		  : row.measured     ? "measured"
				     : "follows");
	utf8_copy(out->limit, sizeof(out->limit), assess_limits[row.limit]);
}

static int assess_record(const struct run *run)
{
	const struct assess_run *a = run->search->own;
	uint32_t count = a->assess.workload_count;
	struct assessed_workload *rows = calloc(count + 1, sizeof(*rows));
	struct assessed head;
	int rc;

	if (!rows)
		return -ENOMEM;
	assess_head(run, &head);
	for (uint32_t i = 0; i < count; i++)
		assess_workload(&a->assess, &a->assess.workloads[i], &rows[i]);
	rc = results_set_answer(run->results, &head, rows, count, a->runs);
	free(rows);
	return rc;
}

static int assess_end(struct run *run, const struct run_options *options, enum exit_status *status,
		      struct err *err)
{
	*status = assess_clean(run, options, err);
	return *status == EXIT_DONE ? 0 : err->code;
}

const struct search_strategy search_assess = {
	.open = assess_open,
	.meet = assess_meet,
	.begin = assess_begin,
	.next = assess_step,
	.add = assess_add,
	.record = assess_record,
	.end = assess_end,
	.free = free,
};

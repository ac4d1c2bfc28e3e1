/* SPDX-License-Identifier: Apache-2.0 */
/* The runs of haul run --find: those of a series whose combinations a search names one by one, by
 * what the runs before have found. Each value is a combination, with its own warm-up runs; its
 * repeats go on until the search has decided it. All ranks know what the targets reached, so all of
 * them take the same steps. What is known is in the results whenever they are written, so a signal,
 * an error or the deadline keeps it. */
#include "ranks/run/find.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"
#include "ranks/run/run.h"

int find_open(struct run *run, const struct run_options *options, struct err *err)
{
	struct find *f;
	int rc;

	if (!options->find && !options->until)
		return 0;
	f = run->find = calloc(1, sizeof(*f));
	if (!f)
		return err_set(err, -ENOMEM, "no memory for a search");
	rc = question_parse(&f->question, options->find, options->until,
			    options->repeat ? options->repeat : QUESTION_REPEATS, err);
	if (rc == 0)
		rc = series_search(&run->series, &f->question, options->warmup, err);
	return rc;
}

int find_begin(struct run *run, struct err *err)
{
	int rc = question_meet(&run->find->question, &run->job, err);

	if (rc == 0)
		bisect_init(&run->find->search, &run->find->question.ask);
	return rc;
}

/* What the results say. */
static int find_record(const struct run *run)
{
	const struct find *f = run->find;
	const struct question *q = &f->question;
	struct found_step *steps = calloc(f->search.count + 1, sizeof(*steps));
	struct bisect_answer a;
	struct found found;
	int rc;

	if (!steps)
		return -ENOMEM;
	found_init(&found);
	bisect_answer(&f->search, &a);
	utf8_copy(found.path, sizeof(found.path), q->path);
	utf8_copy(found.until, sizeof(found.until), q->until);
	utf8_copy(found.phase, sizeof(found.phase), run->job.phases[q->phase_index].name);
	utf8_copy(found.target, sizeof(found.target), q->kind->name);
	utf8_copy(found.label, sizeof(found.label), q->kind->label);
	utf8_copy(found.unit, sizeof(found.unit), q->kind->unit);
	utf8_copy(found.end, sizeof(found.end), bisect_ends[f->search.end]);
	found.low = q->ask.low;
	found.high = q->ask.high;
	found.by = q->ask.by;
	found.most = q->ask.most;
	found.asked = q->ask.asked;
	found.repeats = q->ask.repeats;
	found.undecided = a.undecided;
	if (a.carries_known) {
		found.carries = a.carries;
		found.least = a.least;
		found.greatest = a.greatest;
	}
	if (a.misses_known) {
		found.misses = a.misses;
		found.missed_with = f->search.steps[a.missing_step].stats.mean;
	}
	for (uint32_t i = 0; i < f->search.count; i++) {
		const struct bisect_step *step = &f->search.steps[i];

		steps[i] = (struct found_step){.value = step->value,
					       .repeats = step->repeats,
					       .mean = step->repeats ? step->stats.mean : NAN,
					       .low = step->repeats ? step->stats.low : NAN,
					       .high = step->repeats ? step->stats.high : NAN};
		utf8_copy(steps[i].state, sizeof(steps[i].state), bisect_states[step->state]);
	}
	rc = results_set_found(run->results, &found, steps, f->search.count, run->at.run);
	free(steps);
	return rc;
}

/* The value of the next run: another one is another combination, whose job all ranks get. */
static int find_change(struct run *run, const struct run_options *options, uint64_t value,
		       struct err *err)
{
	struct find *f = run->find;

	if (run->at.combination == f->search.count)
		return 0;
	run->at.combination = f->search.count;
	f->done = 0;
	question_value(&f->question, value, f->set);
	run->sets[0] = f->set;
	return run_change(run, options, err);
}

/* What the target reached in the run that has ended; NaN: the phase did not run, or cannot tell. */
static double find_found(const struct find *f, const struct repeat_targets *targets)
{
	const struct repeat_targets *of = &targets[f->question.phase_index];

	for (uint32_t i = 0; i < of->count && of->repeats; i++)
		if (strcmp(of->results[i].name, f->question.target) == 0)
			return of->results[i].found;
	return NAN;
}

/* "ranks=32: AU 97.1 %, met". */
static void find_say(const struct run *run, const struct run_options *options)
{
	const struct find *f = run->find;
	const struct bisect_step *step = &f->search.steps[f->search.count - 1];
	char mean[TARGET_TEXT_BYTES];

	if (run->world->rank == 0 && !options->quiet && step->state != BISECT_OPEN)
		log_say(&run->log, LOG_INFO, "%s: %s %s, %s", f->set, f->question.kind->label,
			target_value(mean, f->question.kind->unit, step->stats.mean, 3),
			bisect_states[step->state]);
}

/* One run: a warm-up or a repeat of the value. */
static int find_once(struct run *run, const struct run_options *options, uint64_t value,
		     enum exit_status *status, struct err *err)
{
	struct find *f = run->find;
	struct repeat_targets *targets = NULL;
	int rc = find_change(run, options, value, err);

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
	run->at.run++;
	run->at.warmup = f->done < options->warmup;
	run->at.repeat = run->at.warmup ? f->done + 1 : f->done - options->warmup + 1;
	rc = run_phases(run, options, targets, status, err);
	if (*status == EXIT_DONE && !run->at.warmup) {
		bisect_add(&f->search, find_found(f, targets));
		find_say(run, options);
	}
	f->done++;
	free(targets);
	return rc;
}

/* A search that has no answer above the least value has missed its target. */
static void find_end(const struct run *run, const struct run_options *options,
		     enum exit_status *status, struct err *err)
{
	const struct find *f = run->find;

	if (*status != EXIT_DONE || !options->strict || f->search.end == BISECT_FOUND ||
	    f->search.end == BISECT_ALL)
		return;
	*status = EXIT_TARGET_MISSED;
	err_set(err, -ERANGE, "%s: %s with %s", f->question.until,
		f->search.end == BISECT_NONE ? "is missed even" : "cannot be told", f->set);
}

int run_find(struct run *run, const struct run_options *options, enum exit_status *status,
	     struct err *err)
{
	struct find *f = run->find;
	uint64_t value;
	int rc = 0;

	run->at = (struct results_run){.sets = run->sets, .set_count = 1};
	*status = EXIT_DONE;
	while (rc == 0 && *status == EXIT_DONE && bisect_next(&f->search, &value)) {
		rc = find_once(run, options, value, status, err);
		if (rc == 0 && run->results && find_record(run) < 0)
			rc = err_set(err, -ENOMEM, "no memory for the results of the search");
		rc = group_agree(run->world, rc, err);
	}
	/* The search ends with its last look, which says how. */
	if (run->results && find_record(run) < 0 && rc == 0)
		rc = err_set(err, -ENOMEM, "no memory for the results of the search");
	rc = group_agree(run->world, rc, err);
	if (rc < 0 && *status == EXIT_DONE)
		*status = EXIT_FAILED;
	find_end(run, options, status, err);
	return rc;
}

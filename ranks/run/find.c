/* SPDX-License-Identifier: Apache-2.0 */
/* The search of haul run --find for the greatest value that meets a target. Each value is a
 * combination, with its own warm-up runs; its repeats go on until the search has decided it. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"
#include "plan/search/question.h"
#include "ranks/run/driver.h"
#include "ranks/run/run.h"

struct find {
	struct question question;
	struct bisect search;
	uint32_t begun; /* values */
	uint32_t done;  /* runs of the current one */
	char set[QUESTION_TEXT_BYTES + 24];
	char news[2 * QUESTION_TEXT_BYTES];
};

static int find_open(struct run *run, const struct run_options *options, struct err *err)
{
	struct find *f = run->driver->own = calloc(1, sizeof(*f));
	int rc;

	if (!f)
		return err_set(err, -ENOMEM, "no memory for a search");
	rc = question_parse(&f->question, options->find, options->until,
			    options->repeat ? options->repeat : QUESTION_REPEATS, err);
	if (rc == 0)
		rc = series_search(&run->series, &f->question, options->warmup, err);
	run->driver->more[run->driver->more_count++] = f->question.set;
	return rc;
}

static int find_meet(struct run *run, struct err *err)
{
	struct find *f = run->driver->own;
	int rc = question_meet(&f->question, &run->job, err);

	run->driver->phase_index = f->question.phase_index;
	return rc;
}

static int find_begin(struct run *run, struct err *err)
{
	struct find *f = run->driver->own;

	(void)err;
	bisect_init(&f->search, &f->question.ask);
	return 0;
}

static int find_make(const struct run *run, struct answered *answer)
{
	const struct find *f = run->driver->own;
	const struct question *q = &f->question;
	struct find_head *head;

	if (answer_make(answer, ANSWER_FIND, f->search.count) < 0)
		return -ENOMEM;
	head = answer->head;
	utf8_copy(head->path, sizeof(head->path), q->path);
	utf8_copy(head->until, sizeof(head->until), q->until);
	utf8_copy(head->phase, sizeof(head->phase), run->job.phases[q->phase_index].name);
	utf8_copy(head->target, sizeof(head->target), q->kind->name);
	utf8_copy(head->label, sizeof(head->label), q->kind->label);
	utf8_copy(head->unit, sizeof(head->unit), q->kind->unit);
	bisect_answer(&f->search, head, answer->rows);
	return 0;
}

static int find_record(const struct run *run)
{
	struct answered answer;

	if (find_make(run, &answer) < 0)
		return -ENOMEM;
	results_set_answer(run->results, &answer, run->at.run);
	return 0;
}

static bool find_next(struct run *run, const struct run_options *options, struct next_run *look)
{
	struct find *f = run->driver->own;
	uint64_t value;

	if (!bisect_next(&f->search, &value))
		return false;
	*look = (struct next_run){.combination = f->search.count, .set_count = 1};
	look->changed = f->begun != f->search.count;
	if (look->changed) {
		f->begun = f->search.count;
		f->done = 0;
		question_value(&f->question, value, f->set);
		run->sets[0] = f->set;
	}
	look->warmup = f->done < options->warmup;
	look->repeat = look->warmup ? f->done + 1 : f->done - options->warmup + 1;
	return true;
}

/* What the target reached in the run that has ended; NaN: the phase did not run, or cannot tell. */
static double find_found(const struct find *f, const struct repeat_targets *of)
{
	for (uint32_t i = 0; i < of->count && of->repeats; i++)
		if (strcmp(of->results[i].name, f->question.target) == 0)
			return of->results[i].found;
	return NAN;
}

/* "ranks=32: AU 97.1 %, met". */
static const char *find_news(struct run *run)
{
	struct find *f = run->driver->own;
	const struct bisect_step *step = &f->search.steps[f->search.count - 1];
	char mean[TARGET_TEXT_BYTES];

	if (step->state == BISECT_OPEN)
		return NULL;
	snprintf(f->news, sizeof(f->news), "%s: %s %s, %s", f->set, f->question.kind->label,
		 target_value(mean, f->question.kind->unit, step->stats.mean, 3),
		 bisect_states[step->state]);
	return f->news;
}

static int find_add(struct run *run, const struct run_options *options, const struct next_run *look,
		    const struct repeat_targets *phases, struct err *err)
{
	struct find *f = run->driver->own;

	(void)options;
	(void)err;
	f->done++;
	if (look->warmup)
		return 0;
	bisect_add(&f->search, find_found(f, &phases[run->driver->phase_index]));
	return 0;
}

/* A search without a value that surely meets its target has missed it, or cannot tell. */
static int find_end(struct run *run, const struct run_options *options, enum exit_status *status,
		    struct err *err)
{
	const struct find *f = run->driver->own;
	struct answered answer;
	struct claim claim;

	if (!options->strict)
		return 0;
	if (find_make(run, &answer) < 0)
		return err_set(err, -ENOMEM, "no memory for the answer");
	answer_claim(&answer, &claim);
	answer_free(&answer);
	if (claim_holds(claim.state))
		return 0;
	*status = EXIT_TARGET_MISSED;
	if (claim.state == CLAIM_MISSED)
		err_set(err, -ERANGE, "%s: is missed even with %s", f->question.until,
			claim.evidence);
	else
		err_set(err, -ERANGE, "%s: cannot be told, since %s; what would settle it: %s",
			f->question.until, claim.evidence, claim.missing);
	return 0;
}

const struct strategy strategy_find = {
	.open = find_open,
	.meet = find_meet,
	.begin = find_begin,
	.next = find_next,
	.add = find_add,
	.record = find_record,
	.news = find_news,
	.end = find_end,
	.free = free,
};

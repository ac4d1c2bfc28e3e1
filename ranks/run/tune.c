/* SPDX-License-Identifier: Apache-2.0 */
/* The search of haul run --tune for the best of several settings. The runs of its rounds are marked as
 * warm-ups, since they may be short, and since they chose what the final judges: statistics of the
 * results are those of the final. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/part.h"
#include "core/units.h"
#include "core/utf8.h"
#include "plan/search/choice.h"
#include "plan/search/halving.h"
#include "plan/search/question.h"
#include "ranks/run/driver.h"
#include "ranks/run/run.h"

#define TUNE_ENDING  ".tuned.json"
#define TUNE_RESULTS "results.h5"

struct tune {
	struct choice choice;
	struct halving h;
	struct halving_cost cost;
	uint32_t left_out;
	uint32_t combination, part; /* of the run before; 0: none */
	uint32_t said;              /* the round that was told last; UINT32_MAX: none */
	unsigned kept;              /* changes to the job in all runs */
	struct target_result judged;
	char shorten[2 * CHOICE_TEXT_BYTES];
	char job[512]; /* the file for the job as tuned */
	bool written;
};

/* Beside the results, unless a place is given. */
static int tune_place(struct tune *t, const struct run_options *options, struct err *err)
{
	const char *results = options->results ? options->results : TUNE_RESULTS;
	size_t length = strlen(results);

	if (length > 3 && strcmp(results + length - 3, ".h5") == 0)
		length -= 3;
	if (snprintf(t->job, sizeof(t->job), "%.*s%s",
		     options->tuned ? 0 : (int)(length < sizeof(t->job) ? length : sizeof(t->job)),
		     results, options->tuned ? options->tuned : TUNE_ENDING) >= (int)sizeof(t->job))
		return err_set(err, -ENAMETOOLONG, "--tuned: its path is too long");
	return part_check_place(t->job, options->force, "name another with --tuned, or say --force",
				NULL, err);
}

static int tune_open(struct run *run, const struct run_options *options, struct err *err)
{
	struct tune *t = run->driver->own = calloc(1, sizeof(*t));
	int rc;

	if (!t)
		return err_set(err, -ENOMEM, "no memory for a search");
	t->choice.by = options->tune_by;
	t->choice.filter = &options->filter;
	t->said = UINT32_MAX;
	run->driver->judge = &t->choice.judge;
	rc = series_tune(&run->series, options->tunes, options->tune_count,
			 options->repeat ? options->repeat : QUESTION_REPEATS, options->warmup,
			 err);
	if (rc == 0 && run->world->rank == 0)
		rc = tune_place(t, options, err);
	return rc;
}

static int tune_meet(struct run *run, struct err *err)
{
	const struct series *s = &run->series;
	const char *paths[SERIES_SWEEPS_MAX];
	struct tune *t = run->driver->own;
	int rc;

	for (uint32_t i = 0; i < s->sweep_count; i++)
		paths[i] = s->sweeps[i].path;
	rc = choice_meet(&t->choice, &run->job, paths, s->sweep_count, err);
	run->driver->phase_index = t->choice.phase_index;
	return rc;
}

static int tune_begin(struct run *run, struct err *err)
{
	const struct run_options *options = run->driver->options;
	struct series *s = &run->series;
	struct tune *t = run->driver->own;
	const struct halving_ask ask = {
		.count = s->combinations,
		.left_out = s->left_out,
		.base = s->as_is,
		.repeats = options->repeat ? options->repeat : QUESTION_REPEATS,
		.warmup = options->warmup,
		.less = t->choice.judge.name && t->choice.judge.bound == TARGET_MOST,
		.parts = t->choice.limit != NULL,
	};

	halving_init(&t->h, &ask);
	t->cost = halving_cost(&ask);
	/* Before it was known which of them cannot run, and whether the job as it is is one of them, it was more. */
	s->runs_most = t->cost.runs;
	t->left_out = s->left_out_count;
	t->kept = run->driver->more_count;
	if (s->combinations - s->left_out_count == 1 && s->as_is < s->combinations)
		return err_set(err, -EINVAL,
			       "--tune: only the job as it is can run: there is nothing to choose");
	return 0;
}

/* What begins: "round 2 of 5: 32 settings, 1.25 s each". */
static void tune_say(struct run *run, const struct run_options *options,
		     const struct halving_look *look)
{
	struct tune *t = run->driver->own;
	char time[UNITS_TEXT_BYTES] = "";

	if (t->said == look->round || run->world->rank || options->quiet)
		return;
	t->said = look->round;
	if (t->choice.limit)
		units_time(time, (double)t->choice.limit_ns / 1e9 / look->part);
	if (look->round)
		log_say(&run->log, LOG_INFO, "round %u of %u: %u settings%s%s%s", look->round,
			t->cost.rounds, t->h.racing, *time ? ", " : "", time, *time ? " each" : "");
	else
		log_say(&run->log, LOG_INFO,
			"final: the job as it is, and %u settings, %u repeats each",
			t->h.racing - 1, t->h.ask.repeats);
}

static bool tune_next(struct run *run, const struct run_options *options, struct next_run *look)
{
	struct driver *s = run->driver;
	struct tune *t = s->own;
	struct halving_look ask;

	if (!halving_next(&t->h, &ask))
		return false;
	tune_say(run, options, &ask);
	*look = (struct next_run){.combination = ask.candidate + 1,
				  .repeat = ask.repeat,
				  .warmup = ask.round || ask.warmup};
	if (ask.candidate < run->series.combinations) {
		look->set_count = run->series.sweep_count;
		series_sets(&run->series, ask.candidate, run->sets);
	}
	look->changed = t->combination != look->combination || t->part != ask.part;
	t->combination = look->combination;
	t->part = ask.part;
	s->more_count = t->kept;
	if (ask.part > 1) {
		choice_shorten(&t->choice, ask.part, t->shorten);
		s->more[s->more_count++] = t->shorten;
	}
	return true;
}

static int tune_add(struct run *run, const struct run_options *options, const struct next_run *look,
		    const struct repeat_targets *phases, struct err *err)
{
	const struct repeat_targets *of = &phases[run->driver->phase_index];
	struct tune *t = run->driver->own;

	(void)options;
	(void)look;
	(void)err;
	if (!isnan(of->judged.found))
		t->judged = of->judged;
	halving_add(&t->h, of->judged.found);
	return 0;
}

/* The values of a combination, with a tab between several. */
static void tune_sets(const struct run *run, uint32_t candidate, char *out, size_t size)
{
	const char *sets[SERIES_SWEEPS_MAX];
	size_t used = 0;

	out[0] = '\0';
	if (candidate >= run->series.combinations)
		return;
	series_sets(&run->series, candidate, sets);
	for (uint32_t i = 0; i < run->series.sweep_count && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? "\t" : "", sets[i]);
}

static int tune_record(const struct run *run)
{
	const struct tune *t = run->driver->own;
	struct tune_head *head;
	struct answered answer;

	if (answer_make(&answer, ANSWER_TUNE, halving_rows(&t->h)) < 0)
		return -ENOMEM;
	head = answer.head;
	halving_answer(&t->h, head, answer.rows);
	for (uint64_t i = 0; i < answer.count; i++) {
		struct tune_row *row = answer_row(&answer, i);

		tune_sets(run, (uint32_t)row->combination - 1, row->sets, sizeof(row->sets));
	}
	utf8_copy(head->phase, sizeof(head->phase), run->job.phases[t->choice.phase_index].name);
	utf8_copy(head->figure, sizeof(head->figure), t->judged.name);
	utf8_copy(head->label, sizeof(head->label), t->judged.label);
	utf8_copy(head->unit, sizeof(head->unit), t->judged.unit);
	utf8_copy(head->job, sizeof(head->job), t->written ? t->job : "");
	head->left_out = t->left_out;
	head->rounds = t->cost.rounds;
	results_set_answer(run->results, &answer, run->at.run);
	return 0;
}

static int tune_write(const struct run *run, const struct run_options *options, const char *text,
		      struct err *err)
{
	const struct tune *t = run->driver->own;
	int fd = part_open_place(t->job, options->force,
				 "name another with --tuned, or say --force", 0, err);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	bool bad;

	if (fd < 0)
		return fd;
	if (!out) {
		close(fd);
		return err_set(err, -ENOMEM, "no memory for %s", t->job);
	}
	bad = fprintf(out, "%s\n", text) < 0;
	if (fclose(out) != 0 || bad)
		return err_set(err, -EIO, "%s: cannot be written", t->job);
	return 0;
}

/* Rank 0: the job with the best settings, or, where none is shown to be better, as it is. */
static int tune_write_best(struct run *run, const struct run_options *options, struct err *err)
{
	struct tune *t = run->driver->own;
	const struct tune_head *head;
	const struct tune_row *best;
	const char *sets[SERIES_SWEEPS_MAX];
	struct answered answer;
	char *text = NULL;
	int rc;

	if (answer_make(&answer, ANSWER_TUNE, halving_rows(&t->h)) < 0)
		return err_set(err, -ENOMEM, "no memory for the job as tuned");
	head = answer.head;
	best = answer.rows;
	halving_answer(&t->h, answer.head, answer.rows);
	if (head->better)
		series_sets(&run->series, (uint32_t)best->combination - 1, sets);
	rc = run_tuned_text(run, options, head->better ? sets : NULL, &text, err);
	if (rc == 0)
		rc = tune_write(run, options, text, err);
	t->written = rc == 0;
	free(text);
	answer_free(&answer);
	return rc;
}

static int tune_end(struct run *run, const struct run_options *options, enum exit_status *status,
		    struct err *err)
{
	const struct tune *t = run->driver->own;
	int rc = 0;

	if (run->world->rank == 0 && t->h.end == HALVING_DONE)
		rc = tune_write_best(run, options, err);
	rc = group_agree(run->world, rc, err);
	if (rc < 0)
		*status = EXIT_FAILED;
	return rc;
}

const struct strategy strategy_tune = {
	.open = tune_open,
	.meet = tune_meet,
	.begin = tune_begin,
	.next = tune_next,
	.add = tune_add,
	.record = tune_record,
	.end = tune_end,
	.free = free,
};

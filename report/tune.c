/* SPDX-License-Identifier: Apache-2.0 */
/* Which settings a search has found to be the best (haul run --tune): "read: read.threads=16 is the best of 12
 * settings with 1.05 GB/s, 1.35 times as fast as the job as it is (1.31 to 1.39)", and all settings, the
 * best first. */
#include "report/answer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/target.h"
#include "core/units.h"
#include "report/say.h"

enum { TUNED_DIGITS = 3 };

static const char as_it_is[] = "the job as it is";

/* "read.threads=16, read.depth=4" */
static void tuned_label(char *text, size_t size, const struct tune_row *s)
{
	text[0] = '\0';
	if (!s->sets[0])
		say(text, size, "%s", as_it_is);
	for (const char *from = s->sets; *from;) {
		size_t length = strcspn(from, "\t");

		say(text, size, "%s%.*s", from == s->sets ? "" : ", ", (int)length, from);
		from += length + (from[length] == '\t');
	}
}

/* "1.05 GB/s"; seconds by themselves have no unit in a table of targets. */
static char *tuned_value(char text[TARGET_TEXT_BYTES], const struct tune_head *t, double value)
{
	target_value(text, t->unit, value, TUNED_DIGITS);
	if (strcmp(t->unit, "s") == 0 && isfinite(value))
		say(text, TARGET_TEXT_BYTES, " s");
	return text;
}

/* Rates and times are of speed; of all else there is more. */
static bool tuned_fast(const struct tune_head *t)
{
	const char *const units[] = {"B/s", "1/s", "ns", "us", "s"};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(t->unit, units[i]) == 0)
			return true;
	return false;
}

/* "1.35 times as fast as the job as it is (1.31 to 1.39)" */
static void tuned_times(char *text, size_t size, const struct tune_head *t)
{
	say_times(text, size, t->times);
	say(text, size, " times as %s as %s", tuned_fast(t) ? "fast" : "good", as_it_is);
	say_range(text, size, t->times, t->times_low, t->times_high);
}

static const struct tune_row *tuned_best(const struct results_file *f)
{
	const struct tune_row *rows = f->answer.rows;

	return f->answer.count && !isnan(rows[0].mean) ? &rows[0] : NULL;
}

static void tuned_found(char *text, size_t size, const struct tune_head *t,
			const struct tune_row *best, const char *possible)
{
	char value[TARGET_TEXT_BYTES], label[sizeof(((struct tune_row *)0)->sets)];

	tuned_label(label, sizeof(label), best);
	tuned_value(value, t, best->mean);
	if (t->better) {
		say(text, size, "%s: %s is the best of %s settings with %s, ", t->phase, label,
		    possible, value);
		tuned_times(text, size, t);
	} else if (best->as_is) {
		say(text, size,
		    "%s: none of %s settings is shown to be better than the job as it is, with %s",
		    t->phase, possible, value);
	} else {
		say(text, size,
		    "%s: none of %s settings is shown to be better than %s; %s came out ", t->phase,
		    possible, as_it_is, label);
		tuned_times(text, size, t);
		say(text, size, ", which may be chance");
	}
}

/* A row whose settings have that one for some phase: "load.pattern=lazy". */
static bool tuned_has(const struct tune_row *s, const char *setting)
{
	size_t wanted = strlen(setting);

	for (const char *from = s->sets; *from;) {
		size_t length = strcspn(from, "\t");

		if (length > wanted && from[length - wanted - 1] == '.' &&
		    strncmp(from + length - wanted, setting, wanted) == 0)
			return true;
		from += length + (from[length] == '\t');
	}
	return false;
}

/* "; vLLM's default here (lazy, since …) has 74 s, 2.8 times as much (2.7 to 3)", and what to type for the
 * best. */
static void tuned_usual(char *text, size_t size, const struct results_file *f,
			const struct tune_row *best)
{
	const struct tune_head *t = f->answer.head;
	const struct tune_row *rows = f->answer.rows;
	const struct phase_record *r = NULL;
	char value[TARGET_TEXT_BYTES];

	for (uint32_t i = 0; i < f->phase_count; i++)
		if (f->phases[i].record.combination == best->combination &&
		    strcmp(f->phases[i].record.name, t->phase) == 0)
			r = &f->phases[i].record;
	if (!r)
		return;
	if (r->usual[0] && tuned_has(best, r->usual))
		say(text, size, "; it is %s", r->usual_as);
	for (uint64_t i = 1; r->usual[0] && i < f->answer.count; i++) {
		if (!tuned_has(&rows[i], r->usual) || isnan(rows[i].mean))
			continue;
		say(text, size, "; %s %s %s", r->usual_as,
		    strcmp(t->unit, "s") == 0 ? "takes" : "has",
		    tuned_value(value, t, rows[i].mean));
		if (isfinite(rows[i].times)) {
			say(text, size, ", and the best is ");
			say_times(text, size, rows[i].times);
			say(text, size, " times as %s", tuned_fast(t) ? "fast" : "good");
			say_range(text, size, rows[i].times, rows[i].times_low, rows[i].times_high);
		}
		break;
	}
	if (r->typed[0])
		say(text, size, ". To have it: %s", r->typed);
}

static void tuned_say(char *text, size_t size, const struct results_file *f)
{
	const struct tune_head *t = f->answer.head;
	const struct tune_row *best = tuned_best(f);
	char possible[UNITS_TEXT_BYTES], label[sizeof(((struct tune_row *)0)->sets)],
		value[TARGET_TEXT_BYTES];

	units_count(possible, t->combinations - t->left_out);
	if (strcmp(t->end, "unknown") == 0) {
		say(text, size, "%s: no setting has a figure to judge it by", t->phase);
	} else if (strcmp(t->end, "found") == 0 && best) {
		tuned_found(text, size, t, best, possible);
		tuned_usual(text, size, f, best);
	} else if (best) {
		tuned_label(label, sizeof(label), best);
		say(text, size,
		    "Stopped early: of %s settings, %s is the best of %s so far, with %s", possible,
		    label, t->phase, tuned_value(value, t, best->mean));
		tuned_usual(text, size, f, best);
	} else {
		say(text, size, "%s: stopped before any setting was measured", t->phase);
	}
}

static const struct series_line *tuned_line(const struct results_file *f,
					    const struct series_lines *s)
{
	const struct tune_head *t = f->answer.head;
	const struct tune_row *best = tuned_best(f);

	return best ? series_found(s, best->combination, t->phase) : NULL;
}

/* What people read for a state. */
void tune_show_state(char cell[TABLE_CELL_BYTES], const void *row)
{
	const struct tune_row *s = row;
	static const struct {
		const char *state, *words;
	} all[] = {
		{"best", "best"},           {"tied", "not shown to differ from the best"},
		{"worse", "worse"},         {"open", "not judged"},
		{"left out", "cannot run"},
	};

	snprintf(cell, TABLE_CELL_BYTES, "lost round %llu", (unsigned long long)s->rounds);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (strcmp(all[i].state, s->state) == 0)
			snprintf(cell, TABLE_CELL_BYTES, "%s", all[i].words);
	if (s->as_is)
		say(cell, TABLE_CELL_BYTES, "; as it is");
}

void tune_show_mean(char cell[TABLE_CELL_BYTES], const void *row)
{
	const struct tune_row *s = row;

	if (isnan(s->mean))
		strcpy(cell, "–");
	else
		tuned_value(cell, s->of, s->mean);
}

/* How many times as good the best is. */
void tune_show_times(char cell[TABLE_CELL_BYTES], const void *row)
{
	const struct tune_row *s = row;

	cell[0] = '\0';
	if (isfinite(s->times)) {
		say_times(cell, TABLE_CELL_BYTES, s->times);
		say_range(cell, TABLE_CELL_BYTES, s->times, s->times_low, s->times_high);
	} else {
		strcpy(cell, "–");
	}
}

#define TUNE_HEAD(...) ANSWER_COLUMN(struct tune_head, __VA_ARGS__)
#define TUNE_ROW(...)  ANSWER_COLUMN(struct tune_row, __VA_ARGS__)
static const struct column tune_head_columns[] = {TUNE_HEAD_LIST(TUNE_HEAD, ANSWER_VIEW)
							  COLUMNS_END};
static const struct column tune_row_columns[] = {TUNE_ROW_LIST(TUNE_ROW, ANSWER_VIEW) COLUMNS_END};

const struct answer_view answer_tune = {
	.head = tune_head_columns, .rows = tune_row_columns, .say = tuned_say, .line = tuned_line};

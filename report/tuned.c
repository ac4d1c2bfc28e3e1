/* SPDX-License-Identifier: Apache-2.0 */
/* The best settings: see tuned.h. */
#include "report/tuned.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/target.h"
#include "core/units.h"
#include "report/say.h"

enum { TUNED_DIGITS = 3 };

static const char as_it_is[] = "the job as it is";

/* "read.threads=16, read.depth=4" */
static void tuned_label(char *text, size_t size, const struct tuned_setting *s)
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

/* "1.05 GB/s" */
static char *tuned_value(char text[TARGET_TEXT_BYTES], const struct tuned *t, double value)
{
	return target_value(text, t->unit, value, TUNED_DIGITS);
}

/* Rates and times are of speed; of all else there is more. */
static bool tuned_fast(const struct tuned *t)
{
	const char *const units[] = {"B/s", "1/s", "ns", "us", "s"};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(t->unit, units[i]) == 0)
			return true;
	return false;
}

/* "1.35 times as fast as the job as it is (1.31 to 1.39)" */
static void tuned_times(char *text, size_t size, const struct tuned *t)
{
	say_times(text, size, t->times);
	say(text, size, " times as %s as %s", tuned_fast(t) ? "fast" : "good", as_it_is);
	say_range(text, size, t->times, t->times_low, t->times_high);
}

static const struct tuned_setting *tuned_best(const struct results_file *f)
{
	return f->tuned_count && !isnan(f->tuned_settings[0].mean) ? &f->tuned_settings[0] : NULL;
}

static void tuned_found(char *text, size_t size, const struct tuned *t,
			const struct tuned_setting *best, const char *possible)
{
	char value[TARGET_TEXT_BYTES], label[TUNED_SETS_BYTES];

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

void tuned_say(char *text, size_t size, const struct results_file *f)
{
	const struct tuned *t = f->tuned;
	const struct tuned_setting *best = tuned_best(f);
	char possible[UNITS_TEXT_BYTES], label[TUNED_SETS_BYTES], value[TARGET_TEXT_BYTES];

	units_count(possible, t->combinations - t->left_out);
	if (strcmp(t->end, "unknown") == 0) {
		say(text, size, "%s: no setting has a figure to judge it by", t->phase);
	} else if (strcmp(t->end, "found") == 0 && best) {
		tuned_found(text, size, t, best, possible);
	} else if (best) {
		tuned_label(label, sizeof(label), best);
		say(text, size,
		    "Stopped early: of %s settings, %s is the best of %s so far, with %s", possible,
		    label, t->phase, tuned_value(value, t, best->mean));
	} else {
		say(text, size, "%s: stopped before any setting was measured", t->phase);
	}
}

const struct series_line *tuned_line(const struct results_file *f, const struct series_lines *s)
{
	const struct tuned_setting *best = tuned_best(f);

	for (uint32_t i = 0; best && i < s->count; i++)
		if (s->lines[i].first->record.combination == best->combination &&
		    strcmp(s->lines[i].first->record.name, f->tuned->phase) == 0)
			return &s->lines[i];
	return NULL;
}

struct tuned_row *tuned_rows(const struct results_file *f)
{
	struct tuned_row *rows = calloc(f->tuned_count + 1, sizeof(*rows));

	for (uint64_t i = 0; rows && i < f->tuned_count; i++)
		rows[i] = (struct tuned_row){f->tuned, &f->tuned_settings[i]};
	return rows;
}

enum {
	SETTING_COMBINATION,
	SETTING_ROUNDS,
	SETTING_REPEATS,
	SETTING_MEAN,
	SETTING_TIMES,
	SETTING_LOW,
	SETTING_HIGH
};

static double setting_number(const void *row, int which)
{
	const struct tuned_setting *s = ((const struct tuned_row *)row)->setting;
	const double numbers[] = {[SETTING_COMBINATION] = (double)s->combination,
				  [SETTING_ROUNDS] = (double)s->rounds,
				  [SETTING_REPEATS] = (double)s->repeats,
				  [SETTING_MEAN] = s->mean,
				  [SETTING_TIMES] = s->times,
				  [SETTING_LOW] = s->times_low,
				  [SETTING_HIGH] = s->times_high};

	return numbers[which];
}

static const char *setting_state(const void *row)
{
	return ((const struct tuned_row *)row)->setting->state;
}

/* What people read for a state. */
void tuned_show_state(char cell[TABLE_CELL_BYTES], const void *row)
{
	static const struct {
		const char *state, *words;
	} all[] = {
		{"best", "best"},           {"tied", "not shown to differ from the best"},
		{"worse", "worse"},         {"open", "not judged"},
		{"left out", "cannot run"},
	};
	const struct tuned_setting *s = ((const struct tuned_row *)row)->setting;

	snprintf(cell, TABLE_CELL_BYTES, "lost round %llu", (unsigned long long)s->rounds);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (strcmp(all[i].state, s->state) == 0)
			snprintf(cell, TABLE_CELL_BYTES, "%s", all[i].words);
	if (s->as_is)
		say(cell, TABLE_CELL_BYTES, "; as it is");
}

void tuned_show_mean(char cell[TABLE_CELL_BYTES], const void *row)
{
	const struct tuned_row *r = row;

	if (isnan(r->setting->mean))
		strcpy(cell, "–");
	else
		tuned_value(cell, r->tuned, r->setting->mean);
}

/* How many times as good the best is. */
void tuned_show_times(char cell[TABLE_CELL_BYTES], const void *row)
{
	const struct tuned_setting *s = ((const struct tuned_row *)row)->setting;

	cell[0] = '\0';
	if (isfinite(s->times)) {
		say_times(cell, TABLE_CELL_BYTES, s->times);
		say_range(cell, TABLE_CELL_BYTES, s->times, s->times_low, s->times_high);
	} else {
		strcpy(cell, "–");
	}
}

#define SETTING(key_, which_) \
	{ \
		.type = COLUMN_VALUE, .key = (key_), .number = setting_number, \
		.which = SETTING_##which_ \
	}
const struct column tuned_setting_columns[] = {
	SETTING("combination", COMBINATION),
	{.type = COLUMN_WORD, .key = "state", .word = setting_state},
	SETTING("rounds", ROUNDS),
	SETTING("repeats", REPEATS),
	SETTING("mean", MEAN),
	SETTING("times", TIMES),
	SETTING("times_low", LOW),
	SETTING("times_high", HIGH),
	COLUMNS_END};

const struct column tuned_columns[] = {FIELD(NAME, struct tuned, phase),
				       FIELD(NAME, struct tuned, figure),
				       FIELD(NAME, struct tuned, label),
				       FIELD(NAME, struct tuned, unit),
				       FIELD(NAME, struct tuned, end),
				       FIELD(NAME, struct tuned, job),
				       FIELD(YES, struct tuned, less),
				       FIELD(U64, struct tuned, combinations),
				       FIELD(U64, struct tuned, left_out),
				       FIELD(U64, struct tuned, rounds),
				       FIELD(U64, struct tuned, repeats),
				       FIELD(YES, struct tuned, better),
				       FIELD(REAL, struct tuned, level),
				       FIELD(REAL, struct tuned, times),
				       FIELD(REAL, struct tuned, times_low),
				       FIELD(REAL, struct tuned, times_high),
				       COLUMNS_END};

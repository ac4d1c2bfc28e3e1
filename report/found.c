/* SPDX-License-Identifier: Apache-2.0 */
/* What a search has found: see found.h. */
#include "report/found.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/target.h"
#include "core/units.h"
#include "report/say.h"

enum { ASKED_DIGITS = 6, FOUND_DIGITS = 3 };

/* What is counted: the last part of the path. "46 users" where it is a plural, else "depth 46". */
static const char *found_noun(const struct found *f)
{
	const char *dot = strrchr(f->path, '.');

	return dot ? dot + 1 : f->path;
}

static void found_count(char text[TARGET_TEXT_BYTES], const struct found *f, uint64_t value)
{
	const char *noun = found_noun(f);
	size_t length = strlen(noun);
	char number[UNITS_TEXT_BYTES];

	units_count(number, value);
	if (strcmp(noun, "rate") == 0)
		snprintf(text, TARGET_TEXT_BYTES, "%s per second", number);
	else if (length > 1 && noun[length - 1] == 's')
		snprintf(text, TARGET_TEXT_BYTES, "%s %.*s", number,
			 (int)(value == 1 ? length - 1 : length), noun);
	else
		snprintf(text, TARGET_TEXT_BYTES, "%s %s", noun, number);
}

/* "AU ≥ 90 %" */
static void found_target(char *text, size_t size, const struct found *f)
{
	char asked[TARGET_TEXT_BYTES];

	snprintf(text, size, "%s %s %s", f->label, f->most ? "≤" : "≥",
		 target_value(asked, f->unit, f->asked, ASKED_DIGITS));
}

/* "; 47 miss it (AU 87.2 %)" */
static void found_missed(char *text, size_t size, const struct found *f)
{
	char number[UNITS_TEXT_BYTES], found[TARGET_TEXT_BYTES];

	if (f->misses != FOUND_NOTHING)
		say(text, size, "; %s %s it (%s)", units_count(number, f->misses),
		    f->misses == 1 ? "misses" : "miss",
		    target_value(found, f->unit, f->missed_with, FOUND_DIGITS));
}

static void found_range(char *text, size_t size, const struct found *f)
{
	char least[UNITS_TEXT_BYTES], greatest[UNITS_TEXT_BYTES];

	if (f->least != f->greatest)
		say(text, size, ", %s to %s,", units_count(least, f->least),
		    units_count(greatest, f->greatest));
}

/* "; 2 values stayed undecided": where no range says so. */
static void found_undecided(char *text, size_t size, const struct found *f)
{
	if (f->undecided)
		say(text, size, "; %llu value%s stayed undecided", (unsigned long long)f->undecided,
		    f->undecided == 1 ? "" : "s");
}

/* Whether the least value was measured, and is not known to miss the target. */
static bool found_open(const struct results_file *file)
{
	for (uint64_t i = 0; i < file->found_count; i++)
		if (file->found_steps[i].value == file->found->low)
			return strcmp(file->found_steps[i].state, "undecided") == 0;
	return false;
}

/* Not even the least value meets the target. */
static void found_none(char *text, size_t size, const struct results_file *file, const char *target)
{
	const struct found *f = file->found;
	char count[TARGET_TEXT_BYTES], found[TARGET_TEXT_BYTES];

	found_count(count, f, f->low);
	target_value(found, f->unit, f->missed_with, FOUND_DIGITS);
	if (found_open(file)) {
		say(text, size, "%s: it stayed undecided whether %s %s %s (%s)", f->phase, count,
		    f->low == 1 ? "meets" : "meet", target, found);
		return;
	}
	say(text, size, "%s: even %s %s %s (%s)", f->phase, count, f->low == 1 ? "misses" : "miss",
	    target, found);
	found_undecided(text, size, f);
}

void found_say(char *text, size_t size, const struct results_file *file)
{
	const struct found *f = file->found;
	char count[TARGET_TEXT_BYTES], low[UNITS_TEXT_BYTES], target[192];
	bool carries = f->carries != FOUND_NOTHING;

	found_target(target, sizeof(target), f);
	if (strcmp(f->end, "unknown") == 0) {
		say(text, size, "%s: it cannot be told whether %s is met", f->phase, target);
	} else if (strcmp(f->end, "none") == 0) {
		found_none(text, size, file, target);
	} else if (strcmp(f->end, "all") == 0) {
		found_count(count, f, f->high);
		say(text, size, "%s: all of %s to %s meet %s", f->phase, units_count(low, f->low),
		    count, target);
		found_undecided(text, size, f);
	} else if (carries) {
		bool ended = strcmp(f->end, "found") == 0;

		found_count(count, f, f->carries);
		say(text, size, "%s%s carries %s%s", ended ? "" : "Stopped early: ", f->phase,
		    ended ? "" : "at least ", count);
		if (ended)
			found_range(text, size, f);
		say(text, size, " with %s", target);
		found_missed(text, size, f);
	} else {
		say(text, size, "%s: stopped before any value was measured against %s", f->phase,
		    target);
		found_missed(text, size, f);
	}
}

const struct series_line *found_line(const struct results_file *f, const struct series_lines *s)
{
	uint64_t value = f->found->carries, combination = 1;

	/* The combinations of a search are its values, in the order in which they were begun. A
	 * phase that has searched in its own rounds is one run. */
	for (uint64_t i = 0; f->runs > 1 && value != FOUND_NOTHING && i < f->found_count; i++)
		if (f->found_steps[i].value == value)
			combination = i + 1;
	for (uint32_t i = 0; i < s->count; i++)
		if (s->lines[i].first->record.combination == combination &&
		    strcmp(s->lines[i].first->record.name, f->found->phase) == 0)
			return &s->lines[i];
	return NULL;
}

static int found_order(const void *a, const void *b)
{
	uint64_t x = ((const struct found_row *)a)->step->value,
		 y = ((const struct found_row *)b)->step->value;

	return x < y ? -1 : x > y;
}

struct found_row *found_rows(const struct results_file *f)
{
	struct found_row *rows = calloc(f->found_count + 1, sizeof(*rows));

	for (uint64_t i = 0; rows && i < f->found_count; i++)
		rows[i] = (struct found_row){f->found, &f->found_steps[i]};
	if (rows)
		qsort(rows, f->found_count, sizeof(*rows), found_order);
	return rows;
}

enum { CURVE_VALUE, CURVE_REPEATS, CURVE_MEAN, CURVE_LOW, CURVE_HIGH };

static double curve_number(const void *row, int which)
{
	const struct found_step *step = ((const struct found_row *)row)->step;

	return which == CURVE_VALUE     ? (double)step->value
	       : which == CURVE_REPEATS ? (double)step->repeats
	       : which == CURVE_MEAN    ? step->mean
	       : which == CURVE_LOW     ? step->low
					: step->high;
}

static const char *curve_state(const void *row)
{
	return ((const struct found_row *)row)->step->state;
}

static void curve_mean(char cell[TABLE_CELL_BYTES], const void *row)
{
	const struct found_row *r = row;

	target_value(cell, r->found->unit, r->step->mean, FOUND_DIGITS);
}

static void curve_interval(char cell[TABLE_CELL_BYTES], const void *row)
{
	const struct found_row *r = row;
	char low[TARGET_TEXT_BYTES], high[TARGET_TEXT_BYTES];
	bool share = strcmp(r->found->unit, "fraction") == 0;

	if (!isfinite(r->step->low)) {
		strcpy(cell, "–");
		return;
	}
	target_value(low, r->found->unit, fmax(r->step->low, 0), FOUND_DIGITS);
	target_value(high, r->found->unit, share ? fmin(r->step->high, 1) : r->step->high,
		     FOUND_DIGITS);
	snprintf(cell, TABLE_CELL_BYTES, "%.20s … %.20s", low, high);
}

#define CURVE(key_, heading_, format_, which_) \
	{ \
		.type = COLUMN_VALUE, .format = FORMAT_##format_, .key = (key_), \
		.heading = (heading_), .number = curve_number, .which = CURVE_##which_ \
	}
const struct column found_curve_columns[] = {
	CURVE("value", "value", COUNT, VALUE),
	SHOWN("mean", curve_mean),
	SHOWN("99 % interval", curve_interval),
	{.type = COLUMN_WORD, .key = "state", .heading = "target", .word = curve_state},
	CURVE("repeats", "repeats", COUNT, REPEATS),
	CURVE("mean", NULL, FIGURE, MEAN),
	CURVE("low", NULL, FIGURE, LOW),
	CURVE("high", NULL, FIGURE, HIGH),
	COLUMNS_END};

static double found_known(const void *row, int which)
{
	const struct found *f = row;
	const uint64_t values[] = {f->carries, f->least, f->greatest, f->misses};

	return values[which] == FOUND_NOTHING ? NAN : (double)values[which];
}

#define KNOWN(key_, which_) \
	{ \
		.type = COLUMN_VALUE, .key = (key_), .number = found_known, .which = (which_) \
	}
const struct column found_columns[] = {FIELD(NAME, struct found, path),
				       FIELD(NAME, struct found, until),
				       FIELD(NAME, struct found, phase),
				       FIELD(NAME, struct found, target),
				       FIELD(NAME, struct found, label),
				       FIELD(NAME, struct found, unit),
				       FIELD(NAME, struct found, end),
				       FIELD(U64, struct found, low),
				       FIELD(U64, struct found, high),
				       FIELD(U64, struct found, by),
				       FIELD(YES, struct found, most),
				       FIELD(REAL, struct found, asked),
				       FIELD(U64, struct found, repeats),
				       FIELD(U64, struct found, undecided),
				       KNOWN("carries", 0),
				       KNOWN("least", 1),
				       KNOWN("greatest", 2),
				       KNOWN("misses", 3),
				       FIELD(REAL, struct found, missed_with),
				       COLUMNS_END};

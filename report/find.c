/* SPDX-License-Identifier: Apache-2.0 */
/* What a search for the greatest load has found (haul run --find): "train carries 46 users, 41 to 50, with
 * AU ≥ 90 %; 47 miss it (AU 87.2 %)", and the curve. */
#include "report/answer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/target.h"
#include "core/units.h"
#include "report/say.h"

enum { ASKED_DIGITS = 6, FOUND_DIGITS = 3 };

/* What is counted: the last part of the path. "46 users" where it is a plural, else "depth 46". */
static const char *found_noun(const struct find_head *f)
{
	const char *dot = strrchr(f->path, '.');

	return dot ? dot + 1 : f->path;
}

static void found_count(char text[TARGET_TEXT_BYTES], const struct find_head *f, uint64_t value)
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
static void found_target(char *text, size_t size, const struct find_head *f)
{
	char asked[TARGET_TEXT_BYTES];

	snprintf(text, size, "%s %s %s", f->label, f->most ? "≤" : "≥",
		 target_value(asked, f->unit, f->asked, ASKED_DIGITS));
}

/* "; 47 miss it (AU 87.2 %)": only what surely does. */
static void found_missed(char *text, size_t size, const struct find_head *f,
			 const struct find_known *known)
{
	char number[UNITS_TEXT_BYTES], found[TARGET_TEXT_BYTES];

	if (known->misses)
		say(text, size, "; %s %s it (%s)", units_count(number, known->misses->value),
		    known->misses->value == 1 ? "misses" : "miss",
		    target_value(found, f->unit, known->misses->mean, FOUND_DIGITS));
}

/* "; 2 values are unknown" */
static void found_unknown(char *text, size_t size, const struct find_known *known)
{
	if (known->undecided)
		say(text, size, "; %llu %s unknown", (unsigned long long)known->undecided,
		    known->undecided == 1 ? "value is" : "values are");
}

/* ", 41 to 50,": between what surely meets the target and the one before what surely misses it. */
static void found_range(char *text, size_t size, const struct find_head *f,
			const struct find_known *known)
{
	char least[UNITS_TEXT_BYTES], greatest[UNITS_TEXT_BYTES];
	uint64_t before = known->misses ? known->misses->value - f->by : f->high;

	if (!known->misses && known->meets->value != f->carries)
		say(text, size, ", at least %s,", units_count(least, known->meets->value));
	else if (known->misses && known->meets->value != before)
		say(text, size, ", %s to %s,", units_count(least, known->meets->value),
		    units_count(greatest, before));
}

/* No value is known to meet the target. */
static void found_none(char *text, size_t size, const struct results_file *file,
		       const struct find_known *known, const char *target)
{
	const struct find_head *f = file->answer.head;
	const struct find_row *rows = file->answer.rows;
	bool stopped = strcmp(f->end, "stopped") == 0;
	char count[TARGET_TEXT_BYTES], found[TARGET_TEXT_BYTES];

	if (!known->measured) {
		say(text, size, "%s: stopped before any value was measured against %s", f->phase,
		    target);
		return;
	}
	found_count(count, f, f->low);
	if (known->misses && known->misses->value == f->low) {
		say(text, size, "%s: even %s %s %s (%s)", f->phase, count,
		    f->low == 1 ? "misses" : "miss", target,
		    target_value(found, f->unit, known->misses->mean, FOUND_DIGITS));
		found_unknown(text, size, known);
		return;
	}
	say(text, size, "%s%s: it is unknown whether %s %s %s", stopped ? "Stopped early: " : "",
	    f->phase, count, f->low == 1 ? "meets" : "meet", target);
	for (uint64_t i = 0; i < file->answer.count; i++)
		if (rows[i].value == f->low && rows[i].repeats)
			say(text, size, " (%s)",
			    target_value(found, f->unit, rows[i].mean, FOUND_DIGITS));
	found_missed(text, size, f, known);
	if (known->undecided > 1)
		found_unknown(text, size, known);
}

static void found_some(char *text, size_t size, const struct find_head *f,
		       const struct find_known *known, const char *target)
{
	bool stopped = strcmp(f->end, "stopped") == 0, ended = strcmp(f->end, "found") == 0;
	char count[TARGET_TEXT_BYTES];

	/* Until the end, and where what follows is unknown, only what is sure is told. */
	found_count(count, f, ended ? f->carries : known->meets->value);
	say(text, size, "%s%s carries %s%s", stopped ? "Stopped early: " : "", f->phase,
	    ended ? "" : "at least ", count);
	if (ended)
		found_range(text, size, f, known);
	say(text, size, " with %s", target);
	found_missed(text, size, f, known);
	if (!ended || !known->misses)
		found_unknown(text, size, known);
}

static void found_say(char *text, size_t size, const struct results_file *file)
{
	const struct find_head *f = file->answer.head;
	char count[TARGET_TEXT_BYTES], low[UNITS_TEXT_BYTES], target[192];
	struct find_known known;

	find_known(&file->answer, &known);
	found_target(target, sizeof(target), f);
	if (strcmp(f->end, "unknown") == 0) {
		say(text, size, "%s: it cannot be told whether %s is met", f->phase, target);
	} else if (!known.meets) {
		found_none(text, size, file, &known, target);
	} else if (strcmp(f->end, "all") == 0 && known.meets->value + f->by > f->high) {
		found_count(count, f, known.meets->value);
		say(text, size, "%s: all of %s to %s meet %s", f->phase, units_count(low, f->low),
		    count, target);
		found_unknown(text, size, &known);
	} else {
		found_some(text, size, f, &known, target);
	}
}

static const struct series_line *found_line(const struct results_file *file,
					    const struct series_lines *s)
{
	const struct find_head *f = file->answer.head;
	const struct find_row *rows = file->answer.rows;
	uint64_t combination = 1;

	/* The combinations of a search are its values, in the order in which they were begun. A
	 * phase that has searched in its own rounds is one run. */
	for (uint64_t i = 0;
	     file->runs > 1 && f->carries != ANSWER_UNKNOWN && i < file->answer.count; i++)
		if (rows[i].value == f->carries)
			combination = i + 1;
	return series_found(s, combination, f->phase);
}

static int found_order(const void *a, const void *b)
{
	uint64_t x = ((const struct find_row *)a)->value, y = ((const struct find_row *)b)->value;

	return x < y ? -1 : x > y;
}

static void find_mean(char cell[TABLE_CELL_BYTES], const void *row)
{
	const struct find_row *r = row;

	target_value(cell, r->of->unit, r->mean, FOUND_DIGITS);
}

static void find_interval(char cell[TABLE_CELL_BYTES], const void *row)
{
	const struct find_row *r = row;
	char low[TARGET_TEXT_BYTES], high[TARGET_TEXT_BYTES];
	bool share = strcmp(r->of->unit, "fraction") == 0;

	if (!isfinite(r->low)) {
		strcpy(cell, "–");
		return;
	}
	target_value(low, r->of->unit, fmax(r->low, 0), FOUND_DIGITS);
	target_value(high, r->of->unit, share ? fmin(r->high, 1) : r->high, FOUND_DIGITS);
	snprintf(cell, TABLE_CELL_BYTES, "%.20s … %.20s", low, high);
}

#define FIND_HEAD(...) ANSWER_COLUMN(struct find_head, __VA_ARGS__)
#define FIND_ROW(...)  ANSWER_COLUMN(struct find_row, __VA_ARGS__)
static const struct column find_head_columns[] = {FIND_HEAD_LIST(FIND_HEAD, ANSWER_VIEW)
							  COLUMNS_END};
static const struct column find_row_columns[] = {FIND_ROW_LIST(FIND_ROW, ANSWER_VIEW) COLUMNS_END};

const struct answer_view answer_find = {.head = find_head_columns,
					.rows = find_row_columns,
					.say = found_say,
					.line = found_line,
					.order = found_order};

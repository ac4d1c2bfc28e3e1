/* SPDX-License-Identifier: Apache-2.0 */
/* What a storage is good for (haul assess): "sim://x reads 9.63 GB/s and writes 9.79 GB/s; it carries 3
 * accelerators of unet3d_h100, …", of the first trainings of which it carries any; its ceilings, and what
 * it carries of each workload. */
#include "report/answer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/numbers.h"
#include "core/target.h"
#include "core/units.h"
#include "report/doubt.h"
#include "report/say.h"

/* From here on each phase may last a second. */
static const double budget_of_seconds = 32.5;
enum { ASSESSED_DIGITS = 3, ASSESSED_SAID = 3 };
enum { MOST_FRACTIONS = 1000 }; /* from here on three digits leave no fraction */

static bool assessed_trains(const struct assess_row *w)
{
	return strcmp(w->unit, "accelerators") == 0;
}

bool assess_bounded(const struct assess_row *w)
{
	return strcmp(w->unit, "users") == 0 && isnan(w->carries) && isfinite(w->follows);
}

/* "64 checkpoints/h" */
static void assessed_hourly(char cell[TABLE_CELL_BYTES], double carries)
{
	char count[UNITS_TEXT_BYTES];

	if (carries < MOST_FRACTIONS)
		snprintf(cell, TABLE_CELL_BYTES, "%.3g checkpoints/h", carries);
	else
		snprintf(cell, TABLE_CELL_BYTES, "%.20s checkpoints/h",
			 units_count(count, (uint64_t)carries));
}

/* "2 accelerators", "1 accelerator", "64 checkpoints/h", "at most 30 users"; TABLE_NOTHING where it is
 * not known. */
static void assessed_count(char cell[TABLE_CELL_BYTES], const struct assess_row *w)
{
	const char *noun = assessed_trains(w) ? "accelerator" : "user";
	double carries = assess_bounded(w) ? w->follows : w->carries;
	char count[UNITS_TEXT_BYTES];

	if (isnan(carries))
		strcpy(cell, "–");
	else if (strcmp(w->unit, "checkpoints/h") == 0)
		assessed_hourly(cell, carries);
	else if (carries < 1)
		strcpy(cell, "none");
	else
		snprintf(cell, TABLE_CELL_BYTES, "%s%.20s %s%s",
			 assess_bounded(w) ? "at most " : "", units_count(count, (uint64_t)carries),
			 noun, carries < 2 ? "" : "s");
}

static bool assessed_figures(const struct results_file *f)
{
	const struct assess_head *a = f->answer.head;

	return !isnan(a->read) && !isnan(a->write);
}

/* What is read is not longer than what may be written, and no phase than its share of the budget. */
static void assessed_explain(struct doubts *d, const struct results_file *f)
{
	const struct assess_head *a = f->answer.head;
	char text[UNITS_TEXT_BYTES];

	if (!d->raised[DOUBT_SHORT])
		return;
	if (a->budget < budget_of_seconds)
		say(d->why[DOUBT_SHORT], DOUBT_BYTES, ", since the budget is %s (--budget)",
		    units_time(text, a->budget));
	else
		say(d->why[DOUBT_SHORT], DOUBT_BYTES,
		    ", since no more than %s may be written to be read (--space)",
		    units_bytes_decimal(text, a->space));
}

static void assessed_say(char *text, size_t size, const struct results_file *f)
{
	const struct assess_head *a = f->answer.head;
	char read[TARGET_TEXT_BYTES], write[TARGET_TEXT_BYTES], count[TABLE_CELL_BYTES],
		follows[UNITS_TEXT_BYTES];
	unsigned said = 0;

	if (strcmp(a->end, "found") != 0)
		say(text, size, "Stopped early: ");
	if (!assessed_figures(f)) {
		say(text, size, "%.200s: its streams were not measured", a->uri);
		return;
	}
	say(text, size, "%.200s reads %s and writes %s; it carries ", a->uri,
	    target_value(read, "B/s", a->read, ASSESSED_DIGITS),
	    target_value(write, "B/s", a->write, ASSESSED_DIGITS));
	for (uint64_t i = 0; i < f->answer.count && said < ASSESSED_SAID; i++) {
		const struct assess_row *w = answer_row(&f->answer, i);

		if (!assessed_trains(w) || !(w->carries >= 1))
			continue;
		assessed_count(count, w);
		say(text, size, "%s%s of %s", said++ ? ", " : "", count, w->name);
		/* The storage may carry more. */
		if (strcmp(w->limit, "loader") == 0)
			say(text, size,
			    " (where the loader is the limit; its ceilings would carry %s)",
			    units_count(follows, (uint64_t)w->follows));
	}
	if (!said)
		say(text, size, "none of the trainings");
}

static const struct series_line *assessed_line(const struct results_file *f,
					       const struct series_lines *s)
{
	(void)f;
	/* Those before it were of the search for settings. */
	for (uint32_t i = s->count; i > 0; i--)
		if (strcmp(s->lines[i - 1].first->record.name, "read") == 0)
			return &s->lines[i - 1];
	return NULL;
}

#define CEILING_RATE       "B/s", 1
#define CEILING_OPERATIONS "1/s", 1
#define CEILING_SECONDS    "ns", 1e9
#define CEILING_CEILING(member, settings, label, as) \
	ceiling_make(#member, label, head->member, settings, CEILING_##as),
#define CEILING_TEXT(...)
#define CEILING_COUNT(...)
#define CEILING_REAL(...)
#define CEILING_SETTING(...)
#define CEILING_OF(kind, member, settings, label, as, help) \
	CEILING_##kind(member, settings, label, as)

static struct assess_ceiling ceiling_make(const char *name, const char *label, double value,
					  const char *settings, const char *unit, double factor)
{
	return (struct assess_ceiling){name, label, unit, value * factor, settings};
}

unsigned assess_ceilings(const struct assess_head *head,
			 struct assess_ceiling out[ASSESS_CEILINGS_MAX])
{
	const struct assess_ceiling all[] = {ASSESS_HEAD_LIST(CEILING_OF, ANSWER_VIEW)};

	memcpy(out, all, sizeof(all));
	return COUNT(all);
}

static void ceiling_value(char cell[TABLE_CELL_BYTES], const void *row)
{
	const struct assess_ceiling *c = row;
	char value[TARGET_TEXT_BYTES];

	if (isnan(c->value))
		strcpy(cell, "not measured");
	else
		snprintf(cell, TABLE_CELL_BYTES, "%.40s",
			 target_value(value, c->unit, c->value, ASSESSED_DIGITS));
}

const struct column assess_ceiling_columns[] = {
	FIELD(TEXT, struct assess_ceiling, name),
	COLUMN(TEXT, struct assess_ceiling, label, "label", "ceiling", .width = 40),
	SHOWN("measured", ceiling_value),
	COLUMN(TEXT, struct assess_ceiling, settings, "settings", "with", .width = 40),
	COLUMN(TEXT, struct assess_ceiling, unit, "unit", NULL),
	COLUMN(REAL, struct assess_ceiling, value, "value", NULL),
	COLUMNS_END};

static const struct {
	const char *limit, *words, *remedy;
} assess_limits[] = {
	{"read", "reading streams",
	 "reading streams: more bandwidth of the storage or of the way to it; more nodes, "
	 "connections or servers"},
	{"objects", "opening objects",
	 "opening objects: shorter answers and more of them side by side; fewer and larger objects"},
	{"write", "writing streams",
	 "writing streams: more bandwidth to stable storage; more nodes, connections or servers"},
	{"loader", "the loader",
	 "the loader: more workers, prefetching or requests side by side, and cores for them; the ceilings "
	 "would carry more"},
	{"requests", "time of requests",
	 "the time of requests: more bandwidth for each of them and shorter answers; more nodes, connections "
	 "or servers, so that fewer of them wait for each other"},
};

const char *assess_remedy(const void *row)
{
	const struct assess_row *w = row;

	for (size_t i = 0; i < COUNT(assess_limits); i++)
		if (strcmp(assess_limits[i].limit, w->limit) == 0)
			return assess_limits[i].remedy;
	return NULL;
}

static const char *workload_limit(const void *row)
{
	const struct assess_row *w = row;

	for (size_t i = 0; i < COUNT(assess_limits); i++)
		if (strcmp(assess_limits[i].limit, w->limit) == 0)
			return assess_limits[i].words;
	return "–";
}

static void workload_carries(char cell[TABLE_CELL_BYTES], const void *row)
{
	assessed_count(cell, row);
}

#define ASSESS_HEAD(...) ANSWER_COLUMN(struct assess_head, __VA_ARGS__)
#define ASSESS_ROW(...)  ANSWER_COLUMN(struct assess_row, __VA_ARGS__)
static const struct column assess_head_columns[] = {ASSESS_HEAD_LIST(ASSESS_HEAD, ANSWER_VIEW)
							    COLUMNS_END};
static const struct column assess_row_columns[] = {ASSESS_ROW_LIST(ASSESS_ROW, ANSWER_VIEW)
							   COLUMNS_END};

const struct answer_view answer_assess = {.head = assess_head_columns,
					  .rows = assess_row_columns,
					  .say = assessed_say,
					  .line = assessed_line,
					  .has_figures = assessed_figures,
					  .explain = assessed_explain,
					  .once = true};

/* SPDX-License-Identifier: Apache-2.0 */
/* What a storage is good for: see assessed.h. */
#include "report/assessed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/numbers.h"
#include "core/target.h"
#include "core/units.h"
#include "report/say.h"

enum { ASSESSED_DIGITS = 3, ASSESSED_SAID = 3 };
enum { MOST_FRACTIONS = 1000 }; /* from here on three digits leave no fraction */

static bool assessed_trains(const struct assessed_workload *w)
{
	return strcmp(w->unit, "accelerators") == 0;
}

bool assessed_bounded(const struct assessed_workload *w)
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
static void assessed_count(char cell[TABLE_CELL_BYTES], const struct assessed_workload *w)
{
	const char *noun = assessed_trains(w) ? "accelerator" : "user";
	double carries = assessed_bounded(w) ? w->follows : w->carries;
	char count[UNITS_TEXT_BYTES];

	if (isnan(carries))
		strcpy(cell, "–");
	else if (strcmp(w->unit, "checkpoints/h") == 0)
		assessed_hourly(cell, carries);
	else if (carries < 1)
		strcpy(cell, "none");
	else
		snprintf(cell, TABLE_CELL_BYTES, "%s%.20s %s%s",
			 assessed_bounded(w) ? "at most " : "",
			 units_count(count, (uint64_t)carries), noun, carries < 2 ? "" : "s");
}

void assessed_say(char *text, size_t size, const struct results_file *f)
{
	const struct assessed *a = f->assessed;
	char read[TARGET_TEXT_BYTES], write[TARGET_TEXT_BYTES], count[TABLE_CELL_BYTES];
	unsigned said = 0;

	if (strcmp(a->end, "found") != 0)
		say(text, size, "Stopped early: ");
	if (isnan(a->read) || isnan(a->write)) {
		say(text, size, "%.200s: its streams were not measured", a->uri);
		return;
	}
	say(text, size, "%.200s reads %s and writes %s; it carries ", a->uri,
	    target_value(read, "B/s", a->read, ASSESSED_DIGITS),
	    target_value(write, "B/s", a->write, ASSESSED_DIGITS));
	for (uint64_t i = 0; i < f->assessed_count && said < ASSESSED_SAID; i++) {
		const struct assessed_workload *w = &f->assessed_workloads[i];

		if (!assessed_trains(w) || !(w->carries >= 1))
			continue;
		assessed_count(count, w);
		say(text, size, "%s%s of %s", said++ ? ", " : "", count, w->name);
	}
	if (!said)
		say(text, size, "none of the trainings");
}

const struct series_line *assessed_line(const struct results_file *f, const struct series_lines *s)
{
	(void)f;
	/* Those before it were of the search for settings. */
	for (uint32_t i = s->count; i > 0; i--)
		if (strcmp(s->lines[i - 1].first->record.name, "read") == 0)
			return &s->lines[i - 1];
	return NULL;
}

unsigned assessed_ceilings(const struct assessed *a,
			   struct assessed_ceiling out[ASSESSED_CEILINGS_MAX])
{
	const struct assessed_ceiling all[] = {
		{"read", "streams read", "B/s", a->read, a->read_settings},
		{"write", "streams written, to stable storage", "B/s", a->write, ""},
		{"random", "random reads of 4 KiB", "1/s", a->random, a->random_settings},
		{"get", "objects of 64 KiB read", "1/s", a->get, ""},
		{"put", "objects of 64 KiB written", "1/s", a->put, ""},
		{"create", "empty objects created", "1/s", a->create, ""},
		{"stat", "objects looked up", "1/s", a->stat, ""},
		{"remove", "objects deleted", "1/s", a->remove, ""},
		{"commit", "4 KiB written to stable storage", "ns", a->commit * 1e9, ""},
	};

	memcpy(out, all, sizeof(all));
	return COUNT(all);
}

static const char *ceiling_name(const void *row)
{
	return ((const struct assessed_ceiling *)row)->name;
}

static const char *ceiling_label(const void *row)
{
	return ((const struct assessed_ceiling *)row)->label;
}

static const char *ceiling_settings(const void *row)
{
	return ((const struct assessed_ceiling *)row)->settings;
}

static void ceiling_value(char cell[TABLE_CELL_BYTES], const void *row)
{
	const struct assessed_ceiling *c = row;
	char value[TARGET_TEXT_BYTES];

	if (isnan(c->value))
		strcpy(cell, "not measured");
	else
		snprintf(cell, TABLE_CELL_BYTES, "%.40s",
			 target_value(value, c->unit, c->value, ASSESSED_DIGITS));
}

const struct column assessed_ceiling_columns[] = {
	{.type = COLUMN_WORD, .key = "name", .word = ceiling_name},
	{.type = COLUMN_WORD,
	 .key = "label",
	 .heading = "ceiling",
	 .word = ceiling_label,
	 .width = 40},
	SHOWN("measured", ceiling_value),
	{.type = COLUMN_WORD,
	 .key = "settings",
	 .heading = "with",
	 .word = ceiling_settings,
	 .width = 40},
	COLUMN(TEXT, struct assessed_ceiling, unit, "unit", NULL),
	COLUMN(REAL, struct assessed_ceiling, value, "value", NULL),
	COLUMNS_END};

static const struct {
	const char *limit, *words, *remedy;
} limits[] = {
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

const char *assessed_remedy(const void *row)
{
	const struct assessed_workload *w = row;

	for (size_t i = 0; i < COUNT(limits); i++)
		if (strcmp(limits[i].limit, w->limit) == 0)
			return limits[i].remedy;
	return NULL;
}

static const char *workload_limit(const void *row)
{
	const struct assessed_workload *w = row;

	for (size_t i = 0; i < COUNT(limits); i++)
		if (strcmp(limits[i].limit, w->limit) == 0)
			return limits[i].words;
	return "–";
}

static void workload_carries(char cell[TABLE_CELL_BYTES], const void *row)
{
	assessed_count(cell, row);
}

static const char *workload_basis(const void *row)
{
	return ((const struct assessed_workload *)row)->basis;
}

const struct column assessed_workload_columns[] = {
	COLUMN(NAME, struct assessed_workload, name, "name", "workload"),
	SHOWN("carries", workload_carries),
	{.type = COLUMN_WORD,
	 .key = "limit_words",
	 .heading = "first limit",
	 .word = workload_limit},
	{.type = COLUMN_WORD, .key = "basis", .heading = "how known", .word = workload_basis},
	COLUMN(REAL, struct assessed_workload, full, "full_seconds", "full run",
	       .format = FORMAT_TIME),
	FIELD(NAME, struct assessed_workload, unit),
	FIELD(NAME, struct assessed_workload, limit),
	{.type = COLUMN_WORD, .key = "raised_by", .word = assessed_remedy},
	FIELD(REAL, struct assessed_workload, carries),
	FIELD(REAL, struct assessed_workload, follows),
	FIELD(REAL, struct assessed_workload, target),
	FIELD(REAL, struct assessed_workload, measured),
	FIELD(REAL, struct assessed_workload, step),
	FIELD(REAL, struct assessed_workload, found),
	COLUMN(REAL, struct assessed_workload, bytes, "bytes_per_second", NULL),
	COLUMN(REAL, struct assessed_workload, opens, "opens_per_second", NULL),
	COLUMN(REAL, struct assessed_workload, written, "written_per_second", NULL),
	COLUMN(REAL, struct assessed_workload, data, "data_bytes", NULL),
	COLUMNS_END};

const struct column assessed_columns[] = {FIELD(NAME, struct assessed, uri),
					  FIELD(NAME, struct assessed, end),
					  FIELD(U64, struct assessed, nodes),
					  FIELD(U64, struct assessed, ranks),
					  FIELD(REAL, struct assessed, budget),
					  FIELD(REAL, struct assessed, space),
					  COLUMNS_END};

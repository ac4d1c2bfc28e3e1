/* SPDX-License-Identifier: Apache-2.0 */
/* AU on infinite storage: see infinite.h. */
#include "report/infinite.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/units.h"
#include "facts/document.h"

bool infinite_held(const struct infinite_row *row)
{
	return row->au >= INFINITE_AU;
}

/* What is the cause of most of the time lost: too few cores for the work of a step, other work on
 * the machine, or haul itself. */
static void row_explain(const struct infinite *t, struct infinite_row *row)
{
	double room_s = row->compute_s * t->cores,
	       lost_s = row->compute_s / row->au - row->compute_s;
	char takes[UNITS_TEXT_BYTES], has[UNITS_TEXT_BYTES];

	if (row->cpu_per_step_s > room_s)
		snprintf(
			row->why, sizeof(row->why),
			"a step of all ranks takes %s of processor time, and %u cores have %s in the time of a step",
			units_time(takes, row->cpu_per_step_s), t->cores, units_time(has, room_s));
	else if (row->waited_per_step_s > t->ranks * lost_s / 2)
		snprintf(
			row->why, sizeof(row->why),
			"threads that were ready waited %s per step for a core: the machine was busy; the median step reaches %.1f %%",
			units_time(takes, row->waited_per_step_s / t->ranks), 100 * row->median_au);
	else
		snprintf(row->why, sizeof(row->why),
			 "a step of %s lasts %s longer on average; the median step reaches %.1f %%",
			 units_time(has, row->compute_s), units_time(takes, lost_s),
			 100 * row->median_au);
}

void infinite_explain(struct infinite *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		struct infinite_row *row = &t->rows[i];

		if (infinite_held(row))
			continue;
		if (row->au > 0)
			row_explain(t, row);
		else
			snprintf(
				row->why, sizeof(row->why),
				"only its first step was done, which is not counted: --seconds is too short");
		row->text = row->why;
	}
}

static void show_au(char cell[TABLE_CELL_BYTES], double au)
{
	if (isnan(au))
		snprintf(cell, TABLE_CELL_BYTES, "–");
	else
		snprintf(cell, TABLE_CELL_BYTES, "%.2f %%", 100 * au);
}

static void show_mean(char cell[TABLE_CELL_BYTES], const void *row)
{
	show_au(cell, ((const struct infinite_row *)row)->au);
}

static void show_mlperf(char cell[TABLE_CELL_BYTES], const void *row)
{
	show_au(cell, ((const struct infinite_row *)row)->au_mlperf);
}

static void show_median(char cell[TABLE_CELL_BYTES], const void *row)
{
	show_au(cell, ((const struct infinite_row *)row)->median_au);
}

static void show_infinite_held(char cell[TABLE_CELL_BYTES], const void *row)
{
	snprintf(cell, TABLE_CELL_BYTES, "%s", infinite_held(row) ? "yes" : "NO");
}

static const struct column columns[] = {
	COLUMN(NAME, struct infinite_row, workload, "workload", "workload", .width = 20),
	COLUMN(REAL, struct infinite_row, batch, "batch", "batch", .format = FORMAT_COUNT),
	COLUMN(REAL, struct infinite_row, compute_s, "compute_s", "compute", .format = FORMAT_TIME),
	COLUMN(REAL, struct infinite_row, steps, "steps", "steps", .format = FORMAT_COUNT),
	FIELD(REAL, struct infinite_row, au),
	FIELD(REAL, struct infinite_row, au_mlperf),
	FIELD(REAL, struct infinite_row, median_au),
	FIELD(REAL, struct infinite_row, cpu_per_step_s),
	FIELD(REAL, struct infinite_row, waited_per_step_s),
	SHOWN("AU", show_mean),
	SHOWN("MLPerf's AU", show_mlperf),
	SHOWN("median step", show_median),
	COLUMN(REAL, struct infinite_row, cpu_per_sample_s, "cpu_per_sample_s", "CPU/sample",
	       .format = FORMAT_TIME),
	SHOWN("99 %", show_infinite_held),
	COLUMN(TEXT, struct infinite_row, text, "why", NULL),
	COLUMNS_END};

static bool infinite_write(struct document *d, const void *about)
{
	const struct infinite *t = about;
	const struct report_table table = {
		.key = "rows", .columns = columns, .flat = true, TABLE_ROWS(t->rows, t->count)};
	static const struct column total_columns[] = {
		FIELD(U32, struct infinite, ranks), FIELD(U32, struct infinite, nodes),
		FIELD(U32, struct infinite, cores), COLUMNS_END};
	uint32_t held = 0;

	for (uint32_t i = 0; i < t->count; i++)
		held += infinite_held(&t->rows[i]);
	document_fields(d, total_columns, t);
	document_table(d, &table);
	document_say(d, "\n");
	for (uint32_t i = 0; i < t->count; i++)
		if (t->rows[i].text)
			document_say(d, "%s: %s\n", t->rows[i].workload, t->rows[i].text);
	document_say(d, "On null://, %u ranks on %u cores: %u of %u workloads reach %g %%.\n",
		     t->ranks, t->cores, held, t->count, 100 * INFINITE_AU);
	return true;
}

int infinite_print(FILE *out, enum report_shape shape, const struct infinite *t, struct err *err)
{
	return document_print(out, shape, infinite_write, t, err);
}

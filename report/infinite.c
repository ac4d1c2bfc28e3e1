/* SPDX-License-Identifier: Apache-2.0 */
/* AU on infinite storage: see infinite.h. */
#include "report/infinite.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/measure/quantile.h"
#include "core/units.h"
#include "facts/document.h"
#include "report/phase.h"
#include "report/series.h"

#define INFINITE_AU 0.99 /* that a workload is to reach */
enum { INFINITE_NAME_BYTES = 64, INFINITE_WHY_BYTES = 256 };

struct infinite_row {
	char workload[INFINITE_NAME_BYTES];
	double batch, compute_s, steps; /* of a rank */
	double au, au_mlperf;
	double median_au;             /* of the median step */
	double cpu_per_sample_s;      /* of all ranks, divided by their samples */
	double cpu_per_step_s;        /* of all ranks: what a step of all of them takes */
	double waited_per_step_s;     /* threads of all ranks were ready, and had no core */
	char why[INFINITE_WHY_BYTES]; /* "" where the AU is reached */
	const char *text;             /* why, or NULL */
};

struct infinite {
	struct infinite_row *rows;
	uint32_t count, ranks, nodes, cores; /* cores: of all nodes */
};

static bool infinite_held(const struct infinite_row *row)
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

static void infinite_explain(struct infinite *t)
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

static void row_read(struct infinite_row *row, const struct results_file *f,
		     const struct results_phase_read *p)
{
	const struct results_table *t = &p->merged;
	double steps = results_value(t, 0, "steps"), samples = results_value(t, 0, "samples");
	double cpu_s =
		1e-9 * (results_value(t, 0, "cpu_user_ns") + results_value(t, 0, "cpu_system_ns"));
	double compute_s = 1e-9 * results_value(t, 0, "compute_ns") / (steps * (double)f->ranks);
	double stall_s = 1e-9 * phase_quantile_ns(results_find_hist(p, "step_stall"), QUANTILE_P50);

	*row = (struct infinite_row){
		.batch = samples / (steps * (double)f->ranks),
		.compute_s = compute_s,
		.steps = steps,
		.au = series_figure_of(p, SERIES_AU),
		.au_mlperf = results_role_value(t, 0, ROLE_UTILISATION_MLPERF),
		.median_au = compute_s / (compute_s + stall_s),
		.cpu_per_sample_s = cpu_s / samples,
		.cpu_per_step_s = cpu_s / steps,
		.waited_per_step_s = 1e-9 * results_value(t, 0, "runnable_ns") / steps,
	};
	snprintf(row->workload, sizeof(row->workload), "%s", p->record.name);
}

int infinite_print(FILE *out, enum report_shape shape, const struct results_file *f, uint32_t cores,
		   bool *missed, struct err *err)
{
	struct infinite t = {.ranks = (uint32_t)f->ranks,
			     .nodes = (uint32_t)f->nodes,
			     .cores = cores * (uint32_t)f->nodes,
			     .rows = calloc(f->phase_count + 1, sizeof(*t.rows))};
	int rc;

	if (!t.rows)
		return err_set(err, -ENOMEM, "no memory for the table");
	for (; t.count < f->phase_count; t.count++) {
		row_read(&t.rows[t.count], f, &f->phases[t.count]);
		*missed |= !infinite_held(&t.rows[t.count]);
	}
	infinite_explain(&t);
	rc = document_print(out, shape, infinite_write, &t, err);
	free(t.rows);
	return rc;
}

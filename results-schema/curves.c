/* SPDX-License-Identifier: Apache-2.0 */
/* Curves: see curves.h. */
#include "results-schema/curves.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/measure/steps.h"
#include "core/measure/timeline.h"
#include "results-schema/results_read.h"

static void second_name(char name[CURVE_NAME_BYTES], uint32_t column)
{
	snprintf(name, CURVE_NAME_BYTES, "%s", second_kinds[column].name);
}

static const char *second_unit(uint32_t column)
{
	return second_kinds[column].unit;
}

static double **second_place(void *read, uint32_t column)
{
	return &((struct results_timeline *)read)->column[column];
}

const struct curve_kind curves_over_time = {.group = "timeline",
					    .title = "what all ranks did in each interval",
					    .axis = "time_s",
					    .axis_unit = "s",
					    .advance = "interval_s",
					    .columns = SECOND_WORDS,
					    .name = second_name,
					    .unit = second_unit,
					    .place = second_place,
					    .may_lack = true};

/* "load_ns" is the mean over ranks and steps, "load_max_ns" the longest of any. */
static void step_name(char name[CURVE_NAME_BYTES], uint32_t column)
{
	snprintf(name, CURVE_NAME_BYTES, "%s%s_ns", step_part_kinds[column / 2].name,
		 column % 2 ? "_max" : "");
}

static const char *step_unit(uint32_t column)
{
	(void)column;
	return "ns";
}

static double **step_place(void *read, uint32_t column)
{
	struct results_steps *s = read;

	return column % 2 ? &s->max_ns[column / 2] : &s->mean_ns[column / 2];
}

const struct curve_kind curves_over_steps = {.group = "steps",
					     .title = "what a step took, on average and at most",
					     .axis = "step",
					     .advance = "steps_per_row",
					     .advances_by_count = true,
					     .columns = 2 * STEP_PARTS,
					     .name = step_name,
					     .unit = step_unit,
					     .place = step_place};

enum { CURVES_MAX = 16 };
_Static_assert((int)SECOND_WORDS <= CURVES_MAX && 2 * STEP_PARTS <= CURVES_MAX, "room for names");

/* The first column is plotted, and the others beside it. */
static void write_plot(struct h5_writer *w, const struct curve_kind *kind)
{
	char names[CURVES_MAX][CURVE_NAME_BYTES];
	const char *more[CURVES_MAX];

	for (uint32_t c = 0; c < kind->columns; c++) {
		kind->name(names[c], c);
		more[c] = names[c];
	}
	h5w_nexus(w, &(struct nexus){.title = kind->title,
				     .signal = names[0],
				     .axes = &kind->axis,
				     .axis_count = 1,
				     .more = more + 1,
				     .more_count = kind->columns - 1});
}

void curves_write(struct h5_writer *w, const struct curves *c)
{
	char name[CURVE_NAME_BYTES];
	double *values;

	h5w_group(w, c->kind->group);
	write_plot(w, c->kind);
	if (c->kind->advances_by_count)
		h5w_u64(w, c->kind->advance, (uint64_t)c->axis_advance);
	else
		h5w_real(w, c->kind->advance, c->axis_advance);
	values = h5w_room(w, c->rows, sizeof(*values));
	for (uint32_t i = 0; values && i < c->rows; i++)
		values[i] = c->axis_first + i * c->axis_advance;
	h5w_array(w, c->kind->axis, H5T_NATIVE_DOUBLE, c->rows, values, c->kind->axis_unit);
	for (uint32_t k = 0; values && k < c->kind->columns; k++) {
		for (uint32_t i = 0; i < c->rows; i++)
			values[i] = c->value(c->from, i, k);
		c->kind->name(name, k);
		h5w_array(w, name, H5T_NATIVE_DOUBLE, c->rows, values, c->kind->unit(k));
	}
	h5w_leave(w);
}

/* All columns must be as long as the first that is there: *rows, *first. */
static double *read_column(struct h5_reader *r, const char *name, uint64_t *rows, bool *first)
{
	uint64_t count;
	double *values =
		h5r_list(r, name, H5T_NATIVE_DOUBLE, RESULTS_ROWS_MAX, sizeof(*values), &count);

	if (!*first && count != *rows)
		h5r_error(r, -EINVAL, "it has columns of different lengths");
	*rows = count;
	*first = false;
	return values;
}

uint64_t curves_read(struct h5_reader *r, const struct curve_kind *kind, void *read, double **axis,
		     double *advance)
{
	char name[CURVE_NAME_BYTES];
	uint64_t rows = 0, count = 0;
	bool first = true;

	if (!h5r_has(r, kind->group))
		return 0;
	h5r_enter(r, kind->group);
	if (kind->advances_by_count) {
		h5r_u64(r, kind->advance, &count);
		*advance = (double)count;
	} else {
		h5r_real(r, kind->advance, advance);
	}
	if (axis)
		*axis = read_column(r, kind->axis, &rows, &first);
	for (uint32_t c = 0; c < kind->columns; c++) {
		kind->name(name, c);
		if (!kind->may_lack || h5r_has(r, name))
			*kind->place(read, c) = read_column(r, name, &rows, &first);
	}
	h5r_leave(r);
	return r->rc < 0 ? 0 : rows;
}

void curves_free(const struct curve_kind *kind, void *read)
{
	for (uint32_t c = 0; c < kind->columns; c++) {
		free(*kind->place(read, c));
		*kind->place(read, c) = NULL;
	}
}

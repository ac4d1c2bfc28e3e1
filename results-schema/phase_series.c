/* /phases/N_kind/timeline and /phases/N_kind/steps: rows over time and over steps. See phase.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "results-schema/h5.h"
#include "results-schema/nexus.h"
#include "results-schema/phase.h"

static int timeline_columns(hid_t group, const struct timeline *t, struct err *err)
{
	double *values = calloc(t->rows, sizeof(*values));
	int rc = values ? 0 : err_set(err, -ENOMEM, "no memory for a timeline");

	for (uint32_t i = 0; rc == 0 && i < t->rows; i++)
		values[i] = (double)i * (double)t->interval_ns / 1e9;
	if (rc == 0)
		rc = h5_array(group, "time_s", H5T_NATIVE_DOUBLE, t->rows, values, "s", err);
	for (int c = 0; rc == 0 && c < SECOND_WORDS; c++) {
		for (uint32_t i = 0; i < t->rows; i++)
			values[i] = (double)t->row[i][c] /
				    (c == SECOND_STALLED_NS ? (double)t->interval_ns : 1);
		rc = h5_array(group, second_kinds[c].name, H5T_NATIVE_DOUBLE, t->rows, values,
			      second_kinds[c].unit, err);
	}
	free(values);
	return rc;
}

int phase_write_timeline(hid_t phase, const struct merged *m, struct err *err)
{
	static const char *const axes[] = {"time_s"}, *const more[] = {"bytes_written",
								       "operations",
								       "ranks_stalled"};
	static const struct nexus nexus = {.title = "what all ranks did in each interval",
					   .signal = "bytes_read",
					   .axes = axes,
					   .axis_count = 1,
					   .more = more,
					   .more_count = 3};
	hid_t group;
	int rc;

	if (!m->timeline)
		return 0;
	rc = h5_group(phase, "timeline", &group, err);
	if (rc == 0)
		rc = nexus_write(group, &nexus, err);
	if (rc == 0)
		rc = h5_attr_real(group, "interval_s", (double)m->timeline->interval_ns / 1e9, err);
	if (rc == 0)
		rc = timeline_columns(group, m->timeline, err);
	if (group >= 0)
		H5Gclose(group);
	return rc;
}

/* A row in which no rank counted a step is NaN. */
static double step_value(const struct steps_row *row, int part, bool most)
{
	if (!row->count)
		return NAN;
	return most ? (double)row->max_ns[part] : (double)row->sum_ns[part] / (double)row->count;
}

enum { STEP_NAME_BYTES = 32, STEP_COLUMNS = 2 * STEP_PARTS };

static int step_columns(hid_t group, const struct steps *s, char names[][STEP_NAME_BYTES],
			struct err *err)
{
	double *values = calloc(s->rows, sizeof(*values));
	int rc = values ? 0 : err_set(err, -ENOMEM, "no memory for the steps of a phase");

	for (uint32_t i = 0; rc == 0 && i < s->rows; i++)
		values[i] = (double)(i * s->steps_per_row + 1);
	if (rc == 0)
		rc = h5_array(group, "step", H5T_NATIVE_DOUBLE, s->rows, values, NULL, err);
	for (int c = 0; rc == 0 && c < STEP_COLUMNS; c++) {
		for (uint32_t i = 0; i < s->rows; i++)
			values[i] = step_value(&s->row[i], c / 2, c % 2);
		rc = h5_array(group, names[c], H5T_NATIVE_DOUBLE, s->rows, values, "ns", err);
	}
	free(values);
	return rc;
}

/* "load_ns" is the mean over ranks and steps, "load_max_ns" the longest of any. */
int phase_write_steps(hid_t phase, const struct merged *m, struct err *err)
{
	static const char *const axes[] = {"step"};
	char names[STEP_COLUMNS][STEP_NAME_BYTES];
	const char *more[STEP_COLUMNS - 1];
	const struct nexus nexus = {.title = "what a step took, on average and at most",
				    .signal = names[0],
				    .axes = axes,
				    .axis_count = 1,
				    .more = more,
				    .more_count = STEP_COLUMNS - 1};
	hid_t group;
	int rc;

	if (!m->steps)
		return 0;
	for (int c = 0; c < STEP_COLUMNS; c++) {
		snprintf(names[c], sizeof(names[c]), "%s%s_ns", step_part_kinds[c / 2].name,
			 c % 2 ? "_max" : "");
		if (c)
			more[c - 1] = names[c];
	}
	rc = h5_group(phase, "steps", &group, err);
	if (rc == 0)
		rc = nexus_write(group, &nexus, err);
	if (rc == 0)
		rc = h5_attr_u64(group, "steps_per_row", m->steps->steps_per_row, err);
	if (rc == 0)
		rc = step_columns(group, m->steps, names, err);
	if (group >= 0)
		H5Gclose(group);
	return rc;
}

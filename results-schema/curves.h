/* SPDX-License-Identifier: Apache-2.0 */
/* Curves: columns of one length along an axis, in a group of their own: what all ranks did over
 * time, and what steps took. One description makes what is written of them, what is read and what
 * is freed. */
#ifndef HAUL_RESULTS_SCHEMA_CURVES_H
#define HAUL_RESULTS_SCHEMA_CURVES_H

#include "results-schema/h5_reader.h"
#include "results-schema/h5_writer.h"

enum { CURVE_NAME_BYTES = 32 };

struct curve_kind {
	const char *group, *title;
	const char *axis, *axis_unit;
	const char
		*advance; /* attribute of the group: by how much the axis grows from row to row */
	bool advances_by_count;
	uint32_t columns; /* without the axis */
	/* name and unit of a column */
	void (*name)(char name[CURVE_NAME_BYTES], uint32_t column);
	const char *(*unit)(uint32_t column);
	/* where a column is kept that was read: in struct results_timeline, struct results_steps */
	double **(*place)(void *read, uint32_t column);
	bool may_lack; /* files need not have all columns */
};
extern const struct curve_kind curves_over_time, curves_over_steps;

/* Writes the group. from: what value gets. */
struct curves {
	const struct curve_kind *kind;
	uint32_t rows;
	double axis_first, axis_advance;
	double (*value)(const void *from, uint32_t row, uint32_t column);
	const void *from;
};
void curves_write(struct h5_writer *w, const struct curves *c);

/* Reads the group, if there is one: the columns to their places, the attribute *advance, and the
 * axis (NULL: it is not wanted). Returns the number of rows. */
uint64_t curves_read(struct h5_reader *r, const struct curve_kind *kind, void *read, double **axis,
		     double *advance);
void curves_free(const struct curve_kind *kind, void *read);

#endif

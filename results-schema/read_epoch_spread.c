/* SPDX-License-Identifier: Apache-2.0 */
/* Reading how the ranks differed in each epoch: epoch_ranks, [epoch][rank], a few epochs at a time.
 * See read_phase.h. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "results-schema/h5.h"
#include "results-schema/read_phase.h"

static const char spread_table[] = "epochs", spread_rows[] = "epoch_ranks";

static struct results_rows *spread_find(struct results_phase_read *p)
{
	for (uint32_t i = 0; i < p->table_count; i++)
		if (strcmp(p->tables[i].name, spread_table) == 0)
			return &p->tables[i];
	return NULL;
}

static void spread_of_row(struct results_spread *s, const double *values, uint64_t ranks)
{
	*s = (struct results_spread){NAN, NAN, NAN};
	for (uint64_t r = 0; r < ranks; r++) {
		if (isnan(values[r]))
			continue;
		if (isnan(s->least) || values[r] < s->least) {
			s->least = values[r];
			s->least_rank = (double)r;
		}
		if (isnan(s->most) || values[r] > s->most)
			s->most = values[r];
	}
}

/* A record of the one column in memory. Negative: the rows of the ranks do not have it. */
static hid_t spread_type(struct h5_reader *r, const char *column)
{
	hid_t found, type = H5I_INVALID_HID;

	h5r_enter(r, spread_rows);
	found = H5Dget_type(h5r_at(r));
	if (H5Tget_class(found) == H5T_COMPOUND && H5Tget_member_index(found, column) >= 0) {
		type = H5Tcreate(H5T_COMPOUND, sizeof(double));
		H5Tinsert(type, column, 0, H5T_NATIVE_DOUBLE);
	}
	h5_close(found);
	h5r_leave(r);
	return type;
}

static void spread_read(struct h5_reader *r, hid_t type, uint64_t ranks, struct results_rows *t)
{
	const struct h5_extent wanted = {2, t->table.row_count, sizeof(double)};
	struct h5r_rows rows;

	h5r_rows_begin(r, &rows, spread_rows, type, &wanted);
	if (rows.dims[0] != t->table.row_count || rows.dims[1] > ranks)
		h5r_error(r, -EINVAL, "it does not fit the rows of %s", spread_table);
	t->spread = h5r_room(r, rows.dims[0], sizeof(*t->spread));
	while (h5r_rows_next(r, &rows))
		for (uint64_t i = 0; i < rows.count; i++)
			spread_of_row(&t->spread[rows.first + i],
				      (const double *)rows.block + i * rows.dims[1], rows.dims[1]);
	h5r_rows_end(r, &rows);
}

void read_epoch_spread(struct h5_reader *r, const struct results_file *f,
		       struct results_phase_read *p)
{
	struct results_rows *t = spread_find(p);
	int column = t ? results_role(&t->table, ROLE_UTILISATION) : -1;
	hid_t type;

	if (column < 0 || !h5r_has(r, spread_rows))
		return;
	type = spread_type(r, t->table.columns[column].name);
	if (type >= 0)
		spread_read(r, type, f->ranks, t);
	h5_close(type);
}

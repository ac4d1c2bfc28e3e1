/* Reading how the ranks differed in each epoch: epoch_ranks, [epoch][rank], a few epochs at a time. See read_phase.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results-schema/h5.h"
#include "results-schema/h5_read.h"
#include "results-schema/h5_row_reader.h"
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

/* Whether the rows of the ranks have the column. */
static bool spread_has(hid_t phase, const char *column)
{
	hid_t dataset = H5Dopen2(phase, spread_rows, H5P_DEFAULT);
	hid_t type = dataset < 0 ? dataset : H5Dget_type(dataset);
	bool has = type >= 0 && H5Tget_class(type) == H5T_COMPOUND &&
		   H5Tget_member_index(type, column) >= 0;

	if (type >= 0)
		H5Tclose(type);
	if (dataset >= 0)
		H5Dclose(dataset);
	return has;
}

/* type: a record of the one column. */
static int spread_read(hid_t phase, hid_t type, uint64_t ranks, struct results_rows *t,
		       struct err *err)
{
	const struct h5_extent wanted = {2, t->table.row_count, sizeof(double)};
	struct h5_row_reader rows;
	int rc = h5_rows_begin(&rows, phase, spread_rows, type, &wanted, err);

	if (rc == 0 && (rows.dims[0] != t->table.row_count || rows.dims[1] > ranks))
		rc = err_set(err, -EINVAL, "%s does not fit the rows of %s", spread_rows,
			     spread_table);
	if (rc == 0) {
		t->spread = calloc(rows.dims[0] + 1, sizeof(*t->spread));
		rc = t->spread ? 1 : err_set(err, -ENOMEM, "no memory for %s", spread_rows);
	}
	while (rc > 0) {
		rc = h5_rows_next(&rows, err);
		for (uint64_t i = 0; rc > 0 && i < rows.count; i++)
			spread_of_row(&t->spread[rows.first + i],
				      (const double *)rows.block + i * rows.dims[1], rows.dims[1]);
	}
	h5_rows_end(&rows);
	return rc;
}

int read_epoch_spread(hid_t phase, const struct results_file *f, struct results_phase_read *p,
		      struct err *err)
{
	struct results_rows *t = spread_find(p);
	int column = t ? results_role(&t->table, ROLE_UTILISATION) : -1, rc;
	hid_t type;

	if (column < 0 || H5Lexists(phase, spread_rows, H5P_DEFAULT) <= 0 ||
	    !spread_has(phase, t->table.columns[column].name))
		return 0;
	type = H5Tcreate(H5T_COMPOUND, sizeof(double));
	if (type < 0 || H5Tinsert(type, t->table.columns[column].name, 0, H5T_NATIVE_DOUBLE) < 0)
		rc = h5_fail(err, "%s cannot be read", spread_rows);
	else
		rc = spread_read(phase, type, f->ranks, t, err);
	if (type >= 0)
		H5Tclose(type);
	return rc;
}

/* Reading the rows of a data set in blocks: see h5_row_reader.h. */
#include "results-schema/h5_row_reader.h"

#include <errno.h>
#include <stdlib.h>

#include "results-schema/h5.h"

int h5_rows_begin(struct h5_row_reader *r, hid_t at, const char *name, hid_t type,
		  const struct h5_extent *wanted, struct err *err)
{
	uint64_t row_bytes;
	int rc;

	*r = (struct h5_row_reader){.name = name, .type = type, .rank = wanted->rank};
	rc = h5_open_shape(at, name, wanted, &r->dataset, r->dims, err);
	if (rc < 0)
		return rc;
	if (!r->dims[1] || r->dims[1] > RESULTS_BYTES_MAX / wanted->size)
		return err_set(err, -EINVAL, "rows of %s have %llu elements", name,
			       (unsigned long long)r->dims[1]);
	row_bytes = r->dims[1] * wanted->size;
	r->block_rows = row_bytes < H5_BLOCK_BYTES ? H5_BLOCK_BYTES / row_bytes : 1;
	if (r->block_rows > r->dims[0])
		r->block_rows = r->dims[0];
	r->block = calloc(r->block_rows ? r->block_rows : 1, row_bytes);
	return r->block ? 0 : err_set(err, -ENOMEM, "no memory for rows of %s", name);
}

int h5_rows_next(struct h5_row_reader *r, struct err *err)
{
	hsize_t start[2] = {r->first + r->count, 0}, size[2] = {0, r->dims[1]};
	hid_t file, memory, transfer;
	int rc = 1;

	r->first = start[0];
	r->count = r->dims[0] - r->first;
	if (r->count > r->block_rows)
		r->count = r->block_rows;
	if (!r->count)
		return 0;
	size[0] = r->count;
	file = H5Dget_space(r->dataset);
	memory = H5Screate_simple(r->rank, size, NULL);
	transfer = h5_transfer(r->dataset, r->type, (hssize_t)(size[0] * size[1]));
	if (file < 0 || memory < 0 || transfer < 0 ||
	    H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, size, NULL) < 0 ||
	    H5Dread(r->dataset, r->type, memory, file, transfer, r->block) < 0)
		rc = h5_fail(err, "the data set %s cannot be read", r->name);
	if (transfer >= 0)
		H5Pclose(transfer);
	if (memory >= 0)
		H5Sclose(memory);
	if (file >= 0)
		H5Sclose(file);
	return rc;
}

void h5_rows_end(struct h5_row_reader *r)
{
	free(r->block);
	r->block = NULL;
	if (r->dataset >= 0)
		H5Dclose(r->dataset);
	r->dataset = H5I_INVALID_HID;
}

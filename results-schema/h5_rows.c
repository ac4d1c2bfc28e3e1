/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a data set that all ranks write together: the part of h5.h that needs a parallel HDF5. */
#include <stdbool.h>

#include "results-schema/h5.h"

int h5_write_rows(hid_t dataset, hid_t type, int rank, const hsize_t *start, const hsize_t *count,
		  const void *data, struct err *err)
{
	hid_t file = H5Dget_space(dataset), memory = H5Screate_simple(rank, count, NULL);
	hid_t transfer = h5_transfer(dataset, type, H5Sget_simple_extent_npoints(memory));
	uint64_t dummy = 0;
	bool none = false;
	int rc = 0;

	for (int i = 0; i < rank; i++)
		none = none || count[i] == 0;
	if (file < 0 || memory < 0 || transfer < 0 ||
	    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE) < 0 ||
	    (none ? H5Sselect_none(file)
		  : H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL)) < 0 ||
	    (none && H5Sselect_none(memory) < 0))
		rc = h5_fail(err, "cannot choose the rows of a data set");
	/* Written even so: the other ranks are waiting in it. */
	if (H5Dwrite(dataset, type, memory, file, transfer, none ? &dummy : data) < 0 && rc == 0)
		rc = h5_fail(err, "cannot write the rows of a data set");
	if (transfer >= 0)
		H5Pclose(transfer);
	if (memory >= 0)
		H5Sclose(memory);
	if (file >= 0)
		H5Sclose(file);
	return rc;
}

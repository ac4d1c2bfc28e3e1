/* SPDX-License-Identifier: Apache-2.0 */
/* Version of the HDF5 library: see library.h. */
#include "results-schema/library.h"

#include <hdf5.h>
#include <stdio.h>

void hdf5_library(char text[HDF5_LIBRARY_BYTES])
{
	const char *kind = "serial";

#ifdef H5_HAVE_PARALLEL
	kind = "parallel";
#endif
	snprintf(text, HDF5_LIBRARY_BYTES, "%u.%u.%u, %s", H5_VERS_MAJOR, H5_VERS_MINOR,
		 H5_VERS_RELEASE, kind);
}

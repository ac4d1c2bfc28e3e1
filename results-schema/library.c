/* SPDX-License-Identifier: Apache-2.0 */
/* Version of the HDF5 library: see library.h. */
#include "results-schema/library.h"

#include <hdf5.h>
#include <stdio.h>

void hdf5_library(char text[HDF5_LIBRARY_BYTES])
{
	unsigned major = 0, minor = 0, release = 0;
	const char *kind = "serial";

#ifdef H5_HAVE_PARALLEL
	kind = "parallel";
#endif
	H5get_libversion(&major, &minor, &release);
	snprintf(text, HDF5_LIBRARY_BYTES, "%u.%u.%u, %s", major, minor, release, kind);
}

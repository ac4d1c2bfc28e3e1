/* SPDX-License-Identifier: Apache-2.0 */
/* Version of the HDF5 library, for `haul version` and `haul doctor`. It is that of the headers, so
 * that the library need not be opened: HDF5 itself refuses to work with headers of another one. */
#ifndef HAUL_RESULTS_SCHEMA_LIBRARY_H
#define HAUL_RESULTS_SCHEMA_LIBRARY_H

enum { HDF5_LIBRARY_BYTES = 64 };

/* "1.10.8, parallel". */
void hdf5_library(char text[HDF5_LIBRARY_BYTES]);

#endif

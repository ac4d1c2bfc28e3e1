/* SPDX-License-Identifier: Apache-2.0 */
/* Version of the HDF5 library that this program runs on, for `haul version` and `haul doctor`. Does
 * not need MPI_Init. */
#ifndef HAUL_RESULTS_SCHEMA_LIBRARY_H
#define HAUL_RESULTS_SCHEMA_LIBRARY_H

enum { HDF5_LIBRARY_BYTES = 64 };

/* "1.10.8, parallel". */
void hdf5_library(char text[HDF5_LIBRARY_BYTES]);

#endif

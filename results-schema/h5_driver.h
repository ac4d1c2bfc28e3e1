/* SPDX-License-Identifier: Apache-2.0 */
/* HDF5 file driver with which rank 0 writes results.h5: plain reads and writes, whose failures are
 * hidden from HDF5.
 *
 * HDF5 cannot give up a file that it could not write: closing it fails, and the library crashes
 * when the process ends. So this driver remembers a write that fails (a full disk). From then on
 * writes are dropped and succeed, and the file is closed as usual. The code that closed it then
 * asks what went wrong and throws the file away. */
#ifndef HAUL_RESULTS_SCHEMA_H5_DRIVER_H
#define HAUL_RESULTS_SCHEMA_H5_DRIVER_H

#include <hdf5.h>

/* Sets the driver in a file access property list. Errors of files opened with it are stored in
 * *error, a negative errno, which must outlive the file. Negative: failed. */
herr_t h5_driver_set(hid_t access, int *error);

#endif

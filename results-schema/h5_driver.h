/* The file driver by which rank 0 writes results.h5: plain reads and writes, and failures that HDF5 never hears of.
 *
 * HDF5 cannot let go of a file that it could not write: closing it fails, and the library crashes when the process ends.
 * So a write that fails (a full disk) is remembered here; from then on writes are dropped and succeed, the file is
 * closed as usual, and whoever closed it asks what went wrong and throws the file away. */
#ifndef HAUL_RESULTS_SCHEMA_H5_DRIVER_H
#define HAUL_RESULTS_SCHEMA_H5_DRIVER_H

#include <hdf5.h>

/* Lets a file access property list use the driver. What goes wrong with files opened so is put into *error, a negative
 * errno, which must outlive the file. Negative: failed. */
herr_t h5_driver_set(hid_t access, int *error);

#endif

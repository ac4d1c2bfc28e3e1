/* SPDX-License-Identifier: Apache-2.0 */
/* HDF5 in haul's terms, for reading and for writing: errors become struct err, text has a fixed
 * length and is UTF-8. */
#ifndef HAUL_RESULTS_SCHEMA_H5_H
#define HAUL_RESULTS_SCHEMA_H5_H

#include <hdf5.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

/* an attribute is stored in its object's header, which has at most 64 KiB */
enum { H5_TEXT_MAX = 32768 };

/* Fills err with the sentence and the cause from HDF5's error stack. Returns -ENOSPC where that is
 * a full disk, else -EIO. */
int h5_fail(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
int h5_vfail(struct err *err, const char *format, va_list arguments);

/* Closes an object of any kind. Negative: there is none. */
void h5_close(hid_t object);

/* HDF5 prints nothing by itself. Whatever opens a file calls this first: ranks that open none do not need the library. */
void h5_quiet(void);

/* Property lists: objects have the formats of HDF5 1.8, which every reader knows. The caller closes
 * them. Negative: failed. */
hid_t h5_file_access(void);
hid_t h5_group_properties(hid_t class); /* H5P_FILE_CREATE or H5P_GROUP_CREATE */

hid_t h5_text_type(size_t bytes); /* the caller closes it */

/* Property list for a transfer of count elements between data_set and memory, where they have the
 * given type. Without it HDF5 clears two buffers of 1 MiB for each transfer that converts types,
 * which are the peak of a small rank's memory; with it they have the size of the data, at most 1
 * MiB each. The caller closes it. Negative: failed. */
hid_t h5_transfer(hid_t data_set, hid_t type, hssize_t count);

/* Collective: writes this rank's block of a data set of one or two dimensions. A count of 0 writes
 * nothing. */
int h5_write_rows(hid_t dataset, hid_t type, int rank, const hsize_t *start, const hsize_t *count,
		  const void *data, struct err *err);

/* Call after a file is closed: HDF5 keeps the memory of a file that it had open, more than half a
 * megabyte, for the next one. h5w_finish does so itself. */
void h5_give_back(void);

/* Call before a file that all ranks have opened is closed. What this rank has written goes to disk,
 * and what HDF5 still has to write (the unchanged superblock) goes into memory that is then
 * discarded. So closing cannot fail on one rank and leave the others waiting. After a failure rc
 * nothing goes to disk. */
int h5_divert(const char *path, int rc, struct err *err);

#endif

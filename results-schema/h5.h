/* HDF5 in haul's terms: errors become struct err, text has a fixed length and is UTF-8, a data set
 * is contiguous and its space is allocated when it is created.
 *
 * Calls with "at" change metadata: only rank 0 makes them, on a file that only it has opened.
 * h5_write_rows is for all ranks, on a file that all have opened. */
#ifndef HAUL_RESULTS_SCHEMA_H5_H
#define HAUL_RESULTS_SCHEMA_H5_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

/* an attribute is stored in its object's header, which has at most 64 KiB */
enum { H5_TEXT_MAX = 32768 };

/* Fills err with the sentence and the cause from HDF5's error stack. Returns -ENOSPC where that is
 * a full disk, else -EIO. */
int h5_fail(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Call before any other function of this library, so that HDF5 prints nothing by itself. */
void h5_quiet(void);

/* Property lists: objects have the formats of HDF5 1.8, which every reader knows. The caller closes
 * them. Negative: failed. */
hid_t h5_file_access(void);
hid_t h5_group_properties(hid_t class); /* H5P_FILE_CREATE or H5P_GROUP_CREATE */

hid_t h5_text_type(size_t bytes); /* the caller closes it */

/* Attributes: created, or replaced where they exist. */
int h5_attr_text(hid_t at, const char *name, const char *text, struct err *err);
int h5_attr_u64(hid_t at, const char *name, uint64_t value, struct err *err);
int h5_attr_real(hid_t at, const char *name, double value, struct err *err);
int h5_attr_texts(hid_t at, const char *name, const char *const *texts, size_t count,
		  struct err *err);

/* A group with room for its attributes. The caller closes it. */
int h5_group(hid_t at, const char *name, hid_t *out, struct err *err);

/* A data set. The caller closes it. type: in the file. */
int h5_dataset(hid_t at, const char *name, hid_t type, int rank, const hsize_t *dims, hid_t *out,
	       struct err *err);

/* Property list for a transfer of count elements between data_set and memory, where they have the
 * given type. Without it HDF5 clears two buffers of 1 MiB for each transfer that converts types,
 * which are the peak of a small rank's memory; with it they have the size of the data, at most 1 MiB
 * each. The caller closes it. Negative: failed. */
hid_t h5_transfer(hid_t data_set, hid_t type, hssize_t count);

/* Writes the whole data set, by this rank alone. */
int h5_write(hid_t dataset, hid_t type, const void *data, struct err *err);

/* Collective: writes this rank's block of a data set of one or two dimensions. A count of 0 writes
 * nothing. */
int h5_write_rows(hid_t dataset, hid_t type, int rank, const hsize_t *start, const hsize_t *count,
		  const void *data, struct err *err);

/* Creates a data set, writes it from this rank, and closes it. units: attribute "units", NULL for
 * none. */
int h5_array(hid_t at, const char *name, hid_t type, hsize_t n, const void *data, const char *units,
	     struct err *err);

/* A file that only this rank writes to. Close it also after an error: rc is the result since it was
 * opened, and is returned unless a write failed. After a failed write the file is useless. */
struct h5_file {
	hid_t id;
	const char *path;
	int error; /* of the first write that failed */
};
int h5_write_open(struct h5_file *f, const char *path, bool create, struct err *err);
int h5_write_close(struct h5_file *f, int rc, struct err *err);

/* Call after a file is closed: HDF5 keeps the memory of a file that it had open, more than half a
 * megabyte, for the next one. h5_write_close does so itself. */
void h5_give_back(void);

/* Call before a file that all ranks have opened is closed. What this rank has written goes to disk,
 * and what HDF5 still has to write (the unchanged superblock) goes into memory that is then
 * discarded. So closing cannot fail on one rank and leave the others waiting. After a failure rc
 * nothing goes to disk. */
int h5_divert(const char *path, int rc, struct err *err);

#endif

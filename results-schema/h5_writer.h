/* SPDX-License-Identifier: Apache-2.0 */
/* Writer of HDF5 files: it remembers the first error, with the path of the object that it met it
 * in, and what it has open. After an error each call does nothing, so callers check once, at the
 * end. Data sets are contiguous, and their space is allocated when they are created. Only rank 0
 * writes. */
#ifndef HAUL_RESULTS_SCHEMA_H5_WRITER_H
#define HAUL_RESULTS_SCHEMA_H5_WRITER_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/member.h"

enum { H5W_DEPTH = 8 };

struct h5_writer {
	const char *path;
	/* The file, and the groups and the data set entered in it; calls work on the innermost. */
	hid_t open[H5W_DEPTH];
	void *room[H5W_DEPTH];
	unsigned depth; /* of the innermost */
	int driver_error;
	int rc; /* of the first error */
	struct err *err;
};

/* Opens the file, or makes it. Call h5w_finish in any case. */
void h5w_open(struct h5_writer *w, const char *path, bool create, struct err *err);

/* Closes everything. Returns the first error; the file is then useless. */
int h5w_finish(struct h5_writer *w);

/* Remembers that a call of HDF5 has failed, or an error of the caller's. */
void h5w_failed(struct h5_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void h5w_error(struct h5_writer *w, int rc, const char *what);

/* The innermost object, for calls of HDF5 that are made nowhere else. Invalid after an error. */
hid_t h5w_at(const struct h5_writer *w);

/* Zeroed memory for count elements, until the next call at this depth or until its object is left.
 * NULL: an error. */
void *h5w_room(struct h5_writer *w, size_t count, size_t size);

/* Make a group or a data set (type: in the file) and enter it, or enter one that exists.
 * h5w_leave closes what was entered last. Attributes have room in the header of a group. */
void h5w_group(struct h5_writer *w, const char *name);
void h5w_dataset(struct h5_writer *w, const char *name, hid_t type, int rank, const hsize_t *dims);
void h5w_enter(struct h5_writer *w, const char *name);
void h5w_leave(struct h5_writer *w);

/* Writes the whole data set that was entered. type: in memory. */
void h5w_data(struct h5_writer *w, hid_t type, const void *data);

/* A data set of one dimension, written and left. units: NULL for none. */
void h5w_array(struct h5_writer *w, const char *name, hid_t type, hsize_t n, const void *data,
	       const char *units);
/* Of any rank, compressed where HDF5 can: its bytes hardly depend on dims. */
void h5w_packed(struct h5_writer *w, const char *name, hid_t type, int rank, const hsize_t *dims,
		const void *data, const char *units);

/* Attributes: created, or replaced where they exist. */
void h5w_text(struct h5_writer *w, const char *name, const char *text);
void h5w_u64(struct h5_writer *w, const char *name, uint64_t value);
void h5w_real(struct h5_writer *w, const char *name, double value);
void h5w_texts(struct h5_writer *w, const char *name, const char *const *texts, size_t count);
/* One for each member, which are of kinds MEMBER_TEXT, MEMBER_U64 and MEMBER_REAL. */
void h5w_record(struct h5_writer *w, const struct member *members, size_t count,
		const void *record);

/* The attributes with which viewers that know NeXus plot a group. signal: the data set to plot.
 * axes: a data set for each of its dimensions. more: further signals. */
struct nexus {
	const char *title, *signal;
	const char *const *axes;
	size_t axis_count;
	const char *const *more;
	size_t more_count;
};
void h5w_nexus(struct h5_writer *w, const struct nexus *n);

#endif

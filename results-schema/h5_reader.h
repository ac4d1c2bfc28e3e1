/* SPDX-License-Identifier: Apache-2.0 */
/* Reader of HDF5 files, without trust: a file may contain anything. It remembers the first error,
 * with the path of the object that it met it in, and what it has open. After an error each call
 * does nothing and gives 0, NULL or "", so callers check once, at the end. Every size is bounded
 * before memory is allocated. */
#ifndef HAUL_RESULTS_SCHEMA_H5_READER_H
#define HAUL_RESULTS_SCHEMA_H5_READER_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/member.h"

enum { H5R_DEPTH = 10 };

struct h5_reader {
	hid_t open
		[H5R_DEPTH]; /* the first object, and what was entered in it; calls work on the innermost */
	unsigned depth;
	int rc; /* of the first error */
	struct err *err;
};

/* Opens a file for reading. The caller closes it. Negative: it cannot be opened, or it is not an
 * HDF5 file. */
hid_t h5r_file(const char *path);

/* Takes over a file or a group. Call h5r_finish in any case: it closes everything and returns the
 * first error. */
void h5r_begin(struct h5_reader *r, hid_t object, struct err *err);
int h5r_finish(struct h5_reader *r);

/* Remembers an error of the caller's, or that a call of HDF5 has failed. */
void h5r_error(struct h5_reader *r, int rc, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void h5r_failed(struct h5_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The innermost object. Invalid after an error. */
hid_t h5r_at(const struct h5_reader *r);

/* Zeroed memory, which is the caller's. NULL: an error. */
void *h5r_room(struct h5_reader *r, uint64_t count, size_t size);

/* Enter a group or a data set, or an object that is already open, which they take over; h5r_leave
 * closes what was entered last. */
void h5r_enter(struct h5_reader *r, const char *name);
void h5r_enter_open(struct h5_reader *r, hid_t object, const char *name);
void h5r_leave(struct h5_reader *r);

/* Whether the group has a member, or the object an attribute, of that name. false after an
 * error. */
bool h5r_has(const struct h5_reader *r, const char *name);
bool h5r_has_attribute(const struct h5_reader *r, const char *name);

/* The number of members of the group, which may be at most `most`; and the name of one of them, by
 * the order of names. */
uint64_t h5r_members(struct h5_reader *r, uint64_t most);
void h5r_member(struct h5_reader *r, uint64_t i, char *name, size_t size);

/* What a member is. A grid: whole numbers in two dimensions. */
enum h5r_kind { H5R_OTHER, H5R_GROUP, H5R_DATA_SET, H5R_GRID };
enum h5r_kind h5r_kind_of(const struct h5_reader *r, const char *name);

/* Attributes of the innermost object. The caller frees texts. h5r_texts: a list, each of which ends
 * within the given number of bytes. */
void h5r_u64(struct h5_reader *r, const char *name, uint64_t *value);
void h5r_real(struct h5_reader *r, const char *name, double *value);
char *h5r_text(struct h5_reader *r, const char *name);
void h5r_text_into(struct h5_reader *r, const char *name, char *text, size_t size);
char *h5r_texts(struct h5_reader *r, const char *name, size_t bytes, uint32_t *count);
/* One for each member, of kinds MEMBER_TEXT, MEMBER_U64 and MEMBER_REAL. A member that the file
 * lacks keeps its value, because names are added to a schema, never renamed. */
void h5r_record(struct h5_reader *r, const struct member *members, size_t count, void *record);

/* The text of a data set. The caller frees it. */
char *h5r_text_data(struct h5_reader *r, const char *name);

/* What a data set may be: its number of dimensions (1 or 2), its greatest number of rows, and the
 * bytes of an element in memory. */
struct h5_extent {
	int rank;
	uint64_t rows_max;
	size_t size;
};

/* Read a data set as an array of a memory type; dims[1] is 1 where it has one dimension. The caller
 * frees the array. Data sets of another shape, or larger than allowed, are errors. */
void *h5r_grid(struct h5_reader *r, const char *name, hid_t type, const struct h5_extent *wanted,
	       uint64_t dims[2]);
void *h5r_list(struct h5_reader *r, const char *name, hid_t type, uint64_t rows_max, size_t size,
	       uint64_t *count);

/* Rows of a data set, a block of consecutive rows at a time. So reading takes bounded memory,
 * however many rows the file has. A block has H5_BLOCK_BYTES, or is one row where a row is
 * larger. */
enum { H5_BLOCK_BYTES = 1 << 20 };
struct h5r_rows {
	hid_t type; /* in memory; the caller's */
	int rank;
	hsize_t dims[2];       /* rows, and elements of a row */
	uint64_t block_rows;   /* most rows of a block */
	uint64_t first, count; /* rows of the block that was read last */
	void *block;           /* [count][dims[1]], elements of the memory type */
};

/* Enters a data set of that shape. Refuses empty rows. Call h5r_rows_end in any case. */
void h5r_rows_begin(struct h5_reader *r, struct h5r_rows *rows, const char *name, hid_t type,
		    const struct h5_extent *wanted);
/* Reads the next block. false: there are no more rows, or an error. */
bool h5r_rows_next(struct h5_reader *r, struct h5r_rows *rows);
void h5r_rows_end(struct h5_reader *r, struct h5r_rows *rows);

#endif

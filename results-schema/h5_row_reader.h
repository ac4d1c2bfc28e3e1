/* Rows of a data set, a block of consecutive rows at a time. So reading takes bounded memory, however many rows the file has. */
#ifndef HAUL_RESULTS_SCHEMA_H5_ROW_READER_H
#define HAUL_RESULTS_SCHEMA_H5_ROW_READER_H

#include "results-schema/h5_read.h"

/* A block is of this size, or of one row where a row is larger. */
enum { H5_BLOCK_BYTES = 1 << 20 };

struct h5_row_reader {
	const char *name;
	hid_t dataset, type;
	int rank;
	hsize_t dims[2];       /* rows, and elements of a row */
	uint64_t block_rows;   /* most rows of a block */
	uint64_t first, count; /* rows of the block that was read last */
	void *block;           /* [count][dims[1]], elements of the memory type */
};

/* Opens a data set of two dimensions, or of one. wanted: its shape, and the bytes of an element of the memory type, which
 * stays the caller's. Refuses other shapes, more rows, and empty rows. Call h5_rows_end in any case. */
int h5_rows_begin(struct h5_row_reader *r, hid_t at, const char *name, hid_t type,
		  const struct h5_extent *wanted, struct err *err);

/* Reads the next block. Returns 1, 0 where there are no more rows, or a negative errno. */
int h5_rows_next(struct h5_row_reader *r, struct err *err);

void h5_rows_end(struct h5_row_reader *r);

#endif

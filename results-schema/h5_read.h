/* Reading what h5.c writes, without trusting it: the file may contain anything. */
#ifndef HAUL_RESULTS_SCHEMA_H5_READ_H
#define HAUL_RESULTS_SCHEMA_H5_READ_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "results-schema/results_read.h"

/* Opens a file for reading. The caller closes it. Negative: it cannot be opened, or it is not an HDF5
 * file. */
hid_t h5_read_open(const char *path);

int h5_read_u64(hid_t at, const char *attribute, uint64_t *value, struct err *err);
int h5_read_real(hid_t at, const char *attribute, double *value, struct err *err);
int h5_read_text(hid_t at, const char *attribute, char **text,
		 struct err *err); /* the caller frees */
int h5_read_into(hid_t at, const char *attribute, char *text, size_t size, struct err *err);

/* A list of texts, each of which ends within the given number of bytes. The caller frees *texts. */
int h5_read_texts(hid_t at, const char *attribute, size_t bytes, char **texts, uint32_t *count,
		  struct err *err);

int h5_read_text_dataset(hid_t at, const char *name, char **text, struct err *err);

/* What a data set may be: its number of dimensions (1 or 2), its greatest number of rows, and the
 * bytes of an element in memory. */
struct h5_extent {
	int rank;
	uint64_t rows_max;
	size_t size;
};

/* Opens a data set of that shape. Refuses others, and more rows, with a sentence. The caller closes *dataset, also after an
 * error, unless it is negative. */
int h5_open_shape(hid_t at, const char *name, const struct h5_extent *wanted, hid_t *dataset,
		  hsize_t dims[2], struct err *err);

/* Reads a data set as an array of a memory type; dims[1] is 1 where it has one dimension. The
 * caller frees *data. A data set that is larger than allowed is refused with a sentence before
 * memory is allocated. */
int h5_read_array(hid_t at, const char *name, hid_t type, const struct h5_extent *wanted,
		  void **data, uint64_t dims[2], struct err *err);

/* The same for one dimension. */
int h5_read_records(hid_t at, const char *name, hid_t type, const struct h5_extent *wanted,
		    void **data, uint64_t *count, struct err *err);

/* Reads a compound data set of unsigned integers and reals, with its units and roles. */
int h5_read_table(hid_t at, const char *name, uint64_t rows_max, struct results_table *table,
		  struct err *err);

/* The same, of only some of its columns. */
typedef bool (*h5_column_choice)(const struct results_column *column);
int h5_read_columns(hid_t at, const char *name, uint64_t rows_max, h5_column_choice choice,
		    struct results_table *table, struct err *err);

/* The number of dimensions of a data set, -1 where it is not one; and whether its elements are
 * whole numbers. */
int h5_rank_of(hid_t at, const char *name);
bool h5_is_plain(hid_t at, const char *name);

/* Reads the attributes that the group's attribute "columns" names, as a table of one row. */
int h5_read_headline(hid_t group, struct results_table *table, struct err *err);

#endif

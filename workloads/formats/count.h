/* SPDX-License-Identifier: Apache-2.0 */
/* How many samples a file holds that haul did not make: what the file itself says in its header, its
 * directory, its footer, or the index beside it, checked against how long the file is. A few short
 * reads where that is enough; an index is read whole, and records without one are followed from one
 * to the next. Nothing that it says is believed without a bound.
 *
 * A file knows no samples, it knows arrays, rows or records: where a shape could mean something
 * else, the count is unknown. */
#ifndef HAUL_WORKLOADS_FORMATS_COUNT_H
#define HAUL_WORKLOADS_FORMATS_COUNT_H

#include <stdbool.h>
#include <stdint.h>

enum {
	COUNT_READ_BYTES = 4096,
	COUNT_PIECE_BYTES = 32 << 10, /* of an index */
	COUNT_SIDES = 2
};

struct count_file {
	/* Reads n (at most COUNT_PIECE_BYTES) bytes of the file, all of which are in it. Or a
	 * negative errno. */
	int (*read)(void *user, uint64_t offset, uint8_t *out, uint32_t n);
	/* Opens what lies beside the file as one of its sides: under its name with this suffix, or
	 * with the suffix instead of the name's ending. *bytes: its size. -ENOENT: nothing. */
	int (*beside)(void *user, unsigned side, const char *suffix, bool instead, uint64_t *bytes);
	int (*read_side)(void *user, unsigned side, uint64_t offset, uint8_t *out, uint32_t n);
	void *user;
	uint64_t size;
	uint64_t expected; /* samples, as the job says */
	bool dlio;         /* DLIO made it: the last dimension of an array counts the samples */
};

/* A negative errno of a read; or 0, with *samples, which is 0 where the file does not tell, and
 * *wrong, a sentence where it is damaged, else NULL. */
typedef int format_count(const struct count_file *f, uint64_t *samples, const char **wrong);

format_count npy_count, npz_count, hdf5_count, tfrecord_count, csv_count, parquet_count,
	indexed_count, picture_count, safetensors_count;

/* The arrays of a file, one after another, and how many samples they are. */
enum { COUNT_DIMENSIONS_MAX = 8 };
struct count_arrays {
	uint64_t labels; /* rows of the labels; 0: there are none */
	uint64_t first;  /* the first dimension of the first array */
	uint64_t last;   /* the last of it */
	unsigned arrays, dimensions;
	bool differ; /* in their first dimensions */
};
void count_array(struct count_arrays *a, bool labels, const uint64_t *dimensions, unsigned count);
/* sure: the names say which array counts. 0: it cannot be told. */
uint64_t count_of_arrays(const struct count_arrays *a, const struct count_file *f, bool sure);

#endif

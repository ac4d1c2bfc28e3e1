/* SPDX-License-Identifier: Apache-2.0 */
/* How many samples a file holds that haul did not make: what the file itself says, in its head or
 * at its end. A few short reads, whatever the size of the file. Nothing that it says is believed
 * without a bound.
 *
 * A file knows no samples, it knows arrays, rows or records: where a shape could mean something
 * else, the count is unknown. */
#ifndef HAUL_WORKLOADS_FORMATS_COUNT_H
#define HAUL_WORKLOADS_FORMATS_COUNT_H

#include <stdbool.h>
#include <stdint.h>

enum { COUNT_READ_BYTES = 4096 };

struct count_file {
	/* Reads n (at most COUNT_READ_BYTES) bytes of the file, all of which are in it. Or a
	 * negative errno. */
	int (*read)(void *user, uint64_t offset, uint8_t *out, uint32_t n);
	/* The size of what lies beside the file under its name with this suffix. -ENOENT:
	 * nothing. */
	int (*beside)(void *user, const char *suffix, uint64_t *bytes);
	void *user;
	uint64_t size;
	uint64_t expected; /* samples, as the job says */
	bool dlio;         /* DLIO made it: the last dimension of an array counts the samples */
};

/* A negative errno of a read; or 0, with *samples, which is 0 where the file does not tell, and
 * *wrong, a sentence where it is damaged, else NULL. */
typedef int format_count(const struct count_file *f, uint64_t *samples, const char **wrong);

format_count npy_count, npz_count, hdf5_count, tfrecord_count, csv_count, parquet_count,
	indexed_count, picture_count;

#endif

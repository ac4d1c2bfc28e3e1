/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of HDF5 files read by libhdf5 itself, as h5py's f["records_0"][k] reads them: for each
 * sample it opens the file, reads one row by H5Dread and closes the file, in one thread. haul's
 * reader (open, ranges, close) is compared with it.
 *
 *	bench_hdf5 EPOCHS FILE...
 *
 * Prints samples, seconds, and processor time in seconds. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "core/clock.h"

static double processor_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

/* Returns the number of rows in the file, or 0 where it cannot be read. *row holds the row's bytes
 * and grows as needed. */
static hsize_t read_row(const char *path, hsize_t k, void **row, hsize_t *room)
{
	hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
	hid_t set = H5Dopen2(file, "records_0", H5P_DEFAULT);
	hid_t all = H5Dget_space(set), one;
	hsize_t shape[2] = {0, 0}, from[2] = {k, 0}, count[2];

	if (file < 0 || set < 0 || H5Sget_simple_extent_dims(all, shape, NULL) != 2)
		return 0;
	if (*room < shape[1]) {
		free(*row);
		*row = malloc(shape[1]);
		*room = shape[1];
	}
	count[0] = 1;
	count[1] = shape[1];
	one = H5Screate_simple(2, count, NULL);
	H5Sselect_hyperslab(all, H5S_SELECT_SET, from, NULL, count, NULL);
	if (!*row || H5Dread(set, H5T_NATIVE_UCHAR, one, all, H5P_DEFAULT, *row) < 0)
		return 0;
	H5Sclose(one);
	H5Sclose(all);
	H5Dclose(set);
	H5Fclose(file);
	return shape[0];
}

int main(int argc, char **argv)
{
	unsigned long samples = 0;
	double cpu, began;
	hsize_t room = 0;
	void *row = NULL;

	if (argc < 3) {
		fprintf(stderr, "bench_hdf5 EPOCHS FILE...\n");
		return 2;
	}
	H5open();
	cpu = processor_seconds();
	began = (double)clock_kernel_ns();
	for (int epoch = 0; epoch < atoi(argv[1]); epoch++)
		for (int i = 2; i < argc; i++) {
			hsize_t rows = 1;

			for (hsize_t k = 0; k < rows; k++, samples++) {
				rows = read_row(argv[i], k, &row, &room);
				if (!rows)
					return 1;
			}
		}
	printf("%lu %.6f %.6f\n", samples, ((double)clock_kernel_ns() - began) * 1e-9,
	       processor_seconds() - cpu);
	free(row);
	return 0;
}

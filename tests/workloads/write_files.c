/* Writes files of all formats and awkward sizes into a folder, for the check_*.py beside it:
 * FORMAT-SAMPLES-SAMPLEBYTES.FORMAT, their first id 1000 * SAMPLES; of hdf5 also
 * hdf5-SAMPLES-SAMPLEBYTES.DATASETS.CHUNKSAMPLES.CHUNKBYTES.hdf5. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fill.h"
#include "workloads/formats/format.h"

enum { PIECE = 1000003 };

static const uint64_t sizes[] = {
	1,     3,     4,       5,   7,   8,   9,   11,  12,   15,   1000, 65535,  65536,  65537,
	65540, 65552, 1234567, 116, 24,  25,  26,  27,  28,   29,   117,  245,    246,    247,
	256,   257,   258,     268, 269, 270, 300, 333, 8325, 8326, 8327, 322957, 9000000};
static const uint64_t counts[] = {1, 2, 3, 7, 1000};

static const struct format_options variants[] = {
	{.hdf5 = {.datasets = 1}, .parquet = {.row_group = 3}},
	{.hdf5 = {.datasets = 3}},
	{.hdf5 = {.datasets = 1, .chunk_samples = 2}},
	{.hdf5 = {.datasets = 8, .chunk_samples = 3}},
	{.hdf5 = {.datasets = 1, .chunk_bytes = 1000}},
	{.hdf5 = {.datasets = 2, .chunk_bytes = 7}},
};

static int write_file(const char *folder, const struct format_ops *format,
		      const struct format_options *options, uint64_t samples, uint64_t sample_bytes)
{
	struct layout l = {.format = format,
			   .options = options,
			   .file = 1000,
			   .key = fill_key(7, samples),
			   .first_id = 1000 * samples,
			   .samples = samples,
			   .sample_bytes = sample_bytes};
	static uint8_t piece[PIECE];
	char path[512], more[64] = "";
	FILE *f;
	int rc = 0;

	format->layout(&l);
	if (options != variants)
		snprintf(more, sizeof(more), ".%" PRIu64 ".%" PRIu64 ".%" PRIu64,
			 options->hdf5.datasets, options->hdf5.chunk_samples,
			 options->hdf5.chunk_bytes);
	snprintf(path, sizeof(path), "%s/%s-%" PRIu64 "-%" PRIu64 "%s.%s", folder, format->name,
		 samples, sample_bytes, more, format->name);
	f = fopen(path, "wb");
	if (!f) {
		perror(path);
		return -1;
	}
	for (uint64_t at = 0; at < l.size; at += PIECE) {
		uint64_t n = l.size - at < PIECE ? l.size - at : PIECE;

		layout_image(&l, at, piece, n);
		if (fwrite(piece, 1, n, f) != n)
			rc = -1;
	}
	if (fclose(f) || rc) {
		perror(path);
		return -1;
	}
	return 0;
}

static int write_all(const char *folder, const struct format_ops *format,
		     const struct format_options *options)
{
	struct err err = {0};
	int rc = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++)
			if (sizes[i] * counts[k] < (options == variants ? 10 << 20 : 1 << 16) &&
			    (!format->check ||
			     format->check(options, counts[k], sizes[i], sizes[i], &err) == 0))
				rc |= write_file(folder, format, options, counts[k], sizes[i]);
	return rc;
}

/* write_files FOLDER            all of them
 * write_files FOLDER BYTES      one npz with one sample of that size (zip64 from 4 GiB) */
int main(int argc, char **argv)
{
	const struct format_ops *hdf5 = format_table()[FORMAT_HDF5];
	int rc = 0;

	if (argc == 3)
		return write_file(argv[1], format_table()[FORMAT_NPZ], variants, 1,
				  strtoull(argv[2], NULL, 10))
			       ? 1
			       : 0;
	if (argc != 2) {
		fprintf(stderr, "write_files FOLDER [BYTES]\n");
		return 2;
	}
	for (const struct format_ops *const *f = format_table(); *f; f++)
		rc |= write_all(argv[1], *f, variants);
	for (size_t v = 1; v < sizeof(variants) / sizeof(variants[0]); v++)
		rc |= write_all(argv[1], hdf5, &variants[v]);
	return rc ? 1 : 0;
}

/* Writes files of all formats and awkward sizes into a folder, for the check_*.py beside it:
 * FORMAT-SAMPLES-SAMPLEBYTES.FORMAT, their first id 1000 * SAMPLES; of hdf5 also
 * hdf5-SAMPLES-SAMPLEBYTES.DATASETS.CHUNKSAMPLES.CHUNKBYTES.hdf5, and of parquet
 * parquet-SAMPLES-SAMPLEBYTES.wide.parquet with columns of several types. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/fill.h"
#include "workloads/formats/format.h"

enum { PIECE = 1000003 };

static char *wide_columns[] = {"2 float64", "int64 read", "3 int32 read",
			       "4 float32", "4 float16",  "bytes:3"};
enum { WIDE_BYTES = 2 * 8 + 8 + 3 * 4 + 4 * 4 + 4 * 2 + 3 };

static const uint64_t sizes[] = {1,   3,          4,     5,     7,      8,      9,     11,      12,
				 15,  1000,       65535, 65536, 65537,  65540,  65552, 1234567, 116,
				 24,  25,         26,    27,    28,     29,     117,   245,     246,
				 247, WIDE_BYTES, 256,   257,   258,    268,    269,   270,     300,
				 333, 8325,       8326,  8327,  322957, 9000000};
static const uint64_t counts[] = {1, 2, 3, 7, 1000};

/* What formats may be told: the first for all of them. */
static const struct variant {
	enum format_index format;
	const char *name;
	struct format_options options;
} variants[] = {
	{FORMAT_RAW, "", {.hdf5 = {.datasets = 1}, .parquet = {.row_group = 3}}},
	{FORMAT_HDF5, ".3.0.0", {.hdf5 = {.datasets = 3}}},
	{FORMAT_HDF5, ".1.2.0", {.hdf5 = {.datasets = 1, .chunk_samples = 2}}},
	{FORMAT_HDF5, ".8.3.0", {.hdf5 = {.datasets = 8, .chunk_samples = 3}}},
	{FORMAT_HDF5, ".1.0.1000", {.hdf5 = {.datasets = 1, .chunk_bytes = 1000}}},
	{FORMAT_HDF5, ".2.0.7", {.hdf5 = {.datasets = 2, .chunk_bytes = 7}}},
	{FORMAT_PARQUET,
	 ".wide",
	 {.parquet = {.columns = {sizeof(wide_columns) / sizeof(wide_columns[0]), wide_columns},
		      .row_group = 3}}},
};

static int write_object(const char *path, const struct layout *l)
{
	static uint8_t piece[PIECE];
	FILE *f = fopen(path, "wb");
	int rc = 0;

	if (!f) {
		perror(path);
		return -1;
	}
	for (uint64_t at = 0; at < l->size; at += PIECE) {
		uint64_t n = l->size - at < PIECE ? l->size - at : PIECE;

		layout_image(l, at, piece, n);
		if (fwrite(piece, 1, n, f) != n)
			rc = -1;
	}
	if (fclose(f) || rc) {
		perror(path);
		return -1;
	}
	return 0;
}

static int write_file(const char *folder, const struct format_ops *format,
		      const struct variant *variant, uint64_t samples, uint64_t sample_bytes)
{
	struct layout l = {.format = format,
			   .options = &variant->options,
			   .file = 1000,
			   .key = fill_key(7, samples),
			   .first_id = 1000 * samples,
			   .samples = samples,
			   .sample_bytes = sample_bytes};
	struct layout object;
	char path[512];
	int rc = 0;

	for (uint32_t i = 0; i < format_objects(format); i++) {
		snprintf(path, sizeof(path), "%s/%s-%" PRIu64 "-%" PRIu64 "%s.%s%s", folder,
			 format->name, samples, sample_bytes, variant->name, format->name,
			 i ? format->beside[i - 1] : "");
		layout_beside(&l, i, &object);
		rc |= write_object(path, &object);
	}
	return rc;
}

static int write_all(const char *folder, const struct format_ops *format,
		     const struct variant *variant)
{
	uint64_t most = variant == variants ? 10 << 20 : 1 << 16;
	struct err err = {0};
	int rc = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++)
			if (sizes[i] * counts[k] < most &&
			    (!format->check || format->check(&variant->options, counts[k], sizes[i],
							     sizes[i], &err) == 0))
				rc |= write_file(folder, format, variant, counts[k], sizes[i]);
	return rc;
}

/* write_files FOLDER            all of them
 * write_files FOLDER FORMAT     those of that format
 * write_files FOLDER BYTES      one npz with one sample of that size (zip64 from 4 GiB) */
int main(int argc, char **argv)
{
	const char *only = argc == 3 ? argv[2] : NULL;
	int rc = 0;

	if (argc != 2 && argc != 3) {
		fprintf(stderr, "write_files FOLDER [FORMAT | BYTES]\n");
		return 2;
	}
	if (only && *only >= '0' && *only <= '9')
		return write_file(argv[1], format_table()[FORMAT_NPZ], variants, 1,
				  strtoull(only, NULL, 10))
			       ? 1
			       : 0;
	for (const struct format_ops *const *f = format_table(); *f; f++)
		if (!only || strcmp(only, (*f)->name) == 0)
			rc |= write_all(argv[1], *f, variants);
	for (size_t v = 1; v < sizeof(variants) / sizeof(variants[0]); v++) {
		const struct format_ops *format = format_table()[variants[v].format];

		if (!only || strcmp(only, format->name) == 0)
			rc |= write_all(argv[1], format, &variants[v]);
	}
	return rc ? 1 : 0;
}

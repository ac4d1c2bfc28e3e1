/* SPDX-License-Identifier: Apache-2.0 */
/* Writes files of all formats and of unusual sizes into a folder, for the check_*.py beside it:
 * FORMAT-SAMPLES-SAMPLEBYTES.FORMAT, whose first id is 1000 * SAMPLES. For hdf5 also
 * hdf5-SAMPLES-SAMPLEBYTES.DATASETS.CHUNKSAMPLES.CHUNKBYTES.hdf5, and for parquet
 * parquet-SAMPLES-SAMPLEBYTES.wide.parquet with columns of several types. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/fill.h"
#include "tests/workloads/formats/variants.h"

enum { PIECE = 1000003, WIDE_BYTES = 2 * 8 + 8 + 3 * 4 + 4 * 4 + 4 * 2 + 3 };

static const uint64_t sizes[] = {1,   3,          4,     5,     7,      8,      9,     11,      12,
				 15,  1000,       65535, 65536, 65537,  65540,  65552, 1234567, 116,
				 24,  25,         26,    27,    28,     29,     117,   245,     246,
				 247, WIDE_BYTES, 256,   257,   258,    268,    269,   270,     300,
				 333, 8325,       8326,  8327,  322957, 9000000};
static const uint64_t counts[] = {1, 2, 3, 7, 1000};

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

static int write_file(const char *folder, const struct variant *v, uint64_t samples,
		      uint64_t sample_bytes)
{
	struct layout l, object;
	char path[512];
	int rc = 0;

	variant_layout(v, samples, sample_bytes, &l);
	l.file = 1000;
	l.key = fill_key(7, samples);
	l.first_id = 1000 * samples;
	for (uint32_t i = 0; i < format_objects(l.format); i++) {
		snprintf(path, sizeof(path), "%s/%s-%" PRIu64 "-%" PRIu64 "%s.%s%s", folder,
			 format_names[v->format], samples, sample_bytes, v->suffix,
			 format_extension(v->format), i ? l.format->beside[i - 1] : "");
		layout_beside(&l, i, &object);
		rc |= write_object(path, &object);
	}
	return rc;
}

static int write_all(const char *folder, const struct variant *v)
{
	uint64_t most = v->suffix[0] ? 1 << 16 : 10 << 20;
	int rc = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++)
			if (sizes[i] * counts[k] < most && variant_holds(v, counts[k], sizes[i]))
				rc |= write_file(folder, v, counts[k], sizes[i]);
	return rc;
}

/* write_files FOLDER            writes all files
 * write_files FOLDER FORMAT     writes those of the format
 * write_files FOLDER BYTES      writes one npz with one sample of that size (zip64 from 4 GiB) */
int main(int argc, char **argv)
{
	const char *only = argc == 3 ? argv[2] : NULL;
	const struct variant *all;
	unsigned n = variants(&all);
	int rc = 0;

	if (argc != 2 && argc != 3) {
		fprintf(stderr, "write_files FOLDER [FORMAT | BYTES]\n");
		return 2;
	}
	if (only && *only >= '0' && *only <= '9')
		return write_file(argv[1], &all[FORMAT_NPZ], 1, strtoull(only, NULL, 10)) ? 1 : 0;
	for (unsigned i = 0; i < n; i++)
		if (all[i].suffix && (!only || strcmp(only, format_names[all[i].format]) == 0))
			rc |= write_all(argv[1], &all[i]);
	return rc ? 1 : 0;
}

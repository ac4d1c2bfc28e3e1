/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the counters of samples in files that others made. The first byte selects the format and
 * says whether DLIO made the file, the second how many samples are expected; any bytes are the
 * file. Nothing may crash or read outside the file, each counter ends after few reads, and what is
 * damaged has no samples. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/formats/count.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DLIO = 128, HEAD_BYTES = 2, READS_MAX = 8192 };

struct input {
	const uint8_t *data;
	uint64_t size;
	unsigned reads;
};

static void must(int holds)
{
	if (!holds)
		abort();
}

static int input_read(void *user, uint64_t offset, uint8_t *out, uint32_t n)
{
	struct input *in = user;

	must(n <= COUNT_PIECE_BYTES && offset <= in->size && n <= in->size - offset);
	must(++in->reads < READS_MAX);
	memcpy(out, in->data + offset, n);
	return 0;
}

/* The first eight bytes also give the size of what lies beside the file. */
static int input_beside(void *user, unsigned side, const char *suffix, bool instead,
			uint64_t *bytes)
{
	const struct input *in = user;

	(void)instead;
	must(suffix[0] != 0 && side < COUNT_SIDES);
	if (in->size < sizeof(*bytes))
		return -ENOENT;
	memcpy(bytes, in->data, sizeof(*bytes));
	*bytes %= in->size + 1;
	return 0;
}

/* What lies beside the file is the file's beginning. */
static int input_read_side(void *user, unsigned side, uint64_t offset, uint8_t *out, uint32_t n)
{
	must(side < COUNT_SIDES);
	return input_read(user, offset, out, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static format_count *const counters[] = {npy_count,      npz_count,     hdf5_count,
						 tfrecord_count, csv_count,     parquet_count,
						 indexed_count,  picture_count, safetensors_count};
	struct input in;
	struct count_file file = {.read = input_read,
				  .beside = input_beside,
				  .read_side = input_read_side,
				  .user = &in};
	const char *wrong;
	uint64_t samples;

	if (size <= HEAD_BYTES)
		return 0;
	in = (struct input){.data = data + HEAD_BYTES, .size = size - HEAD_BYTES};
	file.size = in.size;
	file.dlio = data[0] & DLIO;
	file.expected = data[1];
	must(counters[(data[0] & 127) % 9](&file, &samples, &wrong) == 0);
	must(!wrong || (wrong[0] && !samples));
	return 0;
}

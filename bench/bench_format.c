/* SPDX-License-Identifier: Apache-2.0 */
/* Cost of data formats, for the sample sizes of the catalogue's jobs: GB/s per core of files made
 * and of files verified completely (made again and compared); nanoseconds to lay out a file, and to
 * verify its header and trailer. Each figure is the median of seven rounds, on one thread that is
 * bound to one core.
 *
 *	bench_format */
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/content/fill.h"
#include "workloads/dataset/dataset.h"

enum { REPEATS = 7, PIECE = 1 << 20, BYTES = 128 << 20, SAMPLES = 8 };

static const uint64_t sizes[] = {65536, 114660, 322957, 2828486, 146600628};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* GB/s of files made one after the other in pieces, as generate does it; or of pieces verified. */
static double rate(const struct layout *l, uint8_t *data, void *scratch, bool verify)
{
	double rates[REPEATS];

	for (int r = 0; r < REPEATS; r++) {
		uint64_t done = 0, start = clock_kernel_ns();

		while (done < BYTES || done % l->size) { /* whole files: headers cost more */
			uint64_t at = done % l->size;
			uint64_t n = l->size - at < PIECE ? l->size - at : PIECE;

			if (!verify)
				layout_image(l, at, data, n);
			else if (layout_verify(l, at, data + at, n, scratch) != n)
				abort();
			__asm__ volatile("" : : "r"(data) : "memory");
			done += n;
		}
		rates[r] = (double)done / (double)(clock_kernel_ns() - start);
	}
	qsort(rates, REPEATS, sizeof(*rates), compare);
	return rates[REPEATS / 2];
}

/* Nanoseconds to lay out one file, and to verify only its header and trailer. These times are
 * short, so each is the minimum of many tries. */
static void small_costs(struct layout *l, const uint8_t *data, void *scratch, double *laid_out,
			double *ends)
{
	enum { TRIES = 40, TIMES = 500 };
	uint64_t head = l->data_offset, tail = l->data_offset + l->data_bytes;

	*laid_out = *ends = 1e9;
	for (int i = 0; i < TRIES; i++) {
		uint64_t start = clock_kernel_ns(), middle, end;

		for (int k = 0; k < TIMES; k++) {
			layout_make(l);
			__asm__ volatile("" : : "r"(l) : "memory");
		}
		middle = clock_kernel_ns();
		for (int k = 0; k < TIMES; k++)
			if (layout_verify(l, 0, data, head, scratch) != head ||
			    layout_verify(l, tail, data + tail, l->size - tail, scratch) !=
				    l->size - tail)
				abort();
		end = clock_kernel_ns();
		*laid_out = fmin(*laid_out, (double)(middle - start) / TIMES);
		*ends = fmin(*ends, (double)(end - middle) / TIMES);
	}
}

static int measure(unsigned format, uint64_t sample_bytes)
{
	const struct format_ops *ops = format_table()[format];
	struct dataset_options defaults;
	struct layout l = {.format = ops, .key = fill_key(42, 1), .sample_bytes = sample_bytes};
	uint8_t *data, *piece;
	double laid_out, ends;
	void *scratch;

	if (options_parse(dataset_section.tables, &defaults, NULL, "", NULL, NULL) < 0)
		return 1;
	l.options = defaults.formats.of[format];
	l.samples = sample_bytes < PIECE ? SAMPLES : 1;
	if (ops->check && ops->check(l.options, l.samples, sample_bytes, sample_bytes, NULL) < 0)
		l.samples = 1; /* pictures */
	layout_make(&l);
	data = malloc(l.size);
	piece = malloc(PIECE);
	scratch = malloc(LAYOUT_SCRATCH_BYTES);
	if (!data || !piece || !scratch)
		return 1;
	memset(piece, 1, PIECE);
	layout_image(&l, 0, data, l.size);
	small_costs(&l, data, scratch, &laid_out, &ends);
	printf("%-19s %11" PRIu64 " %8.1f %8.1f %8.0f %8.0f\n", format_names[format], sample_bytes,
	       rate(&l, piece, scratch, false), rate(&l, data, scratch, true), laid_out, ends);
	free(scratch);
	free(piece);
	free(data);
	return 0;
}

int main(void)
{
	cpu_set_t one;
	int rc = 0;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	printf("%-19s %11s %8s %8s %8s %8s   GB/s per core, ns per file\n", "format", "sample",
	       "made", "verified", "laid out", "ends");
	for (unsigned f = 0; f < FORMATS_COUNT; f++)
		for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			rc |= measure(f, sizes[i]);
	return rc;
}

/* What data formats cost: GB/s a core of files made, and of files verified whole (made again and
 * compared), for the sizes of samples of the ready jobs. Medians of seven; one thread, kept on one
 * core.
 *
 *	bench_format */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/content/fill.h"
#include "workloads/formats/format.h"

enum { REPEATS = 7, PIECE = 1 << 20, BYTES = 128 << 20, SAMPLES = 8 };

static const uint64_t sizes[] = {65536, 114660, 322957, 2828486, 146600628};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* One file after the other, piece by piece, as generate does; or one piece of it verified. */
static double rate(const struct layout *l, uint8_t *data, void *scratch, bool verify)
{
	double rates[REPEATS];

	for (int r = 0; r < REPEATS; r++) {
		uint64_t done = 0, start = clock_kernel_ns();

		while (done < BYTES || done % l->size) { /* whole files: ends cost more */
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

static int measure(const struct format_ops *format, uint64_t sample_bytes)
{
	static const struct format_options plain = {.hdf5 = {.datasets = 1},
						    .parquet = {.row_group = 1024}};
	struct layout l = {.format = format,
			   .options = &plain,
			   .key = fill_key(42, 1),
			   .sample_bytes = sample_bytes};
	uint8_t *data, *piece;
	void *scratch;

	l.samples = sample_bytes < PIECE ? SAMPLES : 1;
	if (format->check && format->check(&plain, l.samples, sample_bytes, sample_bytes, NULL) < 0)
		l.samples = 1; /* pictures */
	layout_make(&l);
	data = malloc(l.size);
	piece = malloc(PIECE);
	scratch = malloc(LAYOUT_SCRATCH_BYTES);
	if (!data || !piece || !scratch)
		return 1;
	memset(piece, 1, PIECE);
	layout_image(&l, 0, data, l.size);
	printf("%-9s %11" PRIu64 " %8.1f %8.1f\n", format->name, sample_bytes,
	       rate(&l, piece, scratch, false), rate(&l, data, scratch, true));
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
	printf("%-9s %11s %8s %8s   GB/s a core\n", "format", "sample", "made", "verified");
	for (const struct format_ops *const *f = format_table(); *f; f++)
		for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			rc |= measure(*f, sizes[i]);
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Cost of core: payload in GB/s per core for each code path; ns per recorded latency, per position
 * of a permutation, per draw. Each figure is the median of seven rounds, on one thread that is
 * bound to one core.
 *
 *	bench_core */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/buffers.h"
#include "core/clock.h"
#include "core/content/fill.h"
#include "core/content/permutation.h"
#include "core/content/random.h"
#include "core/measure/hist.h"

enum { REPEATS = 7, VALUES = 1 << 16 };

static const uint64_t fill_bytes = 256 << 20; /* bytes made in one round */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double values[REPEATS])
{
	qsort(values, REPEATS, sizeof(*values), compare);
	return values[REPEATS / 2];
}

/* Keeps the compiler from dropping or moving the computation. */
static void keep(const void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

static double fill_rate(enum fill_path path, void *data, uint64_t bytes, uint64_t offset)
{
	double rates[REPEATS];

	for (int r = 0; r < REPEATS; r++) {
		uint64_t done = 0, start = clock_kernel_ns();

		for (; done < fill_bytes; done += bytes) {
			fill_by(path, 42, done + offset, data, bytes);
			keep(data);
		}
		rates[r] = (double)done / (double)(clock_kernel_ns() - start);
	}
	return median(rates);
}

static double verify_rate(void *data, uint64_t bytes)
{
	double rates[REPEATS];

	fill(42, 0, data, bytes);
	for (int r = 0; r < REPEATS; r++) {
		uint64_t done = 0, start = clock_kernel_ns();

		for (; done < fill_bytes; done += bytes) {
			if (fill_verify(42, 0, data, bytes) != bytes)
				return -1;
		}
		rates[r] = (double)done / (double)(clock_kernel_ns() - start);
	}
	return median(rates);
}

static int bench_fill(void)
{
	static const uint64_t sizes[] = {256 << 10, 1 << 20, 64 << 20};
	struct buffers b;
	struct err err = {0};
	uint8_t *data;

	if (buffers_init(&b, 1, (64 << 20) + 4096, &err) < 0) {
		fprintf(stderr, "bench_core: %s\n", err.text);
		return 1;
	}
	data = buffers_take(&b);
	printf("payload, GB/s per core    256 KiB    1 MiB   64 MiB\n");
	for (int path = 0; path < FILL_PATHS; path++) {
		if (fill_by((enum fill_path)path, 0, 0, data, 1) < 0) {
			printf("%-22s not on this processor\n",
			       fill_path_name((enum fill_path)path));
			continue;
		}
		printf("%-22s", fill_path_name((enum fill_path)path));
		for (int s = 0; s < 3; s++)
			printf(" %8.2f", fill_rate((enum fill_path)path, data, sizes[s], 0));
		printf("\n%-22s", "  unaligned by 3");
		for (int s = 0; s < 3; s++)
			printf(" %8.2f", fill_rate((enum fill_path)path, data + 3, sizes[s], 5));
		printf("\n");
	}
	printf("%-22s", "verify");
	for (int s = 0; s < 3; s++)
		printf(" %8.2f", verify_rate(data, sizes[s]));
	printf("\n");
	buffers_free(&b);
	return 0;
}

static double hist_cost(const uint64_t *values)
{
	static struct hist h;
	double costs[REPEATS];

	for (int r = 0; r < REPEATS; r++) {
		uint64_t start = clock_kernel_ns();

		for (int k = 0; k < 100; k++) {
			for (unsigned i = 0; i < VALUES; i++)
				hist_record(&h, values[i]);
		}
		keep(&h);
		costs[r] = (double)(clock_kernel_ns() - start) / (100.0 * VALUES);
	}
	return median(costs);
}

static double permutation_cost(uint64_t n)
{
	struct permutation p;
	double costs[REPEATS];

	permutation_init(&p, n, 42);
	for (int r = 0; r < REPEATS; r++) {
		uint64_t start = clock_kernel_ns(), sum = 0;

		for (uint64_t i = 0; i < 1000000; i++)
			sum += permutation_at(&p, i % n);
		keep(&sum);
		costs[r] = (double)(clock_kernel_ns() - start) / 1e6;
	}
	return median(costs);
}

static double draw_cost(const struct draw *d)
{
	struct random random = {.key = 42};
	double costs[REPEATS];

	for (int r = 0; r < REPEATS; r++) {
		uint64_t start = clock_kernel_ns(), sum = 0;

		for (int i = 0; i < 300000; i++)
			sum += draw_next(d, &random);
		keep(&sum);
		costs[r] = (double)(clock_kernel_ns() - start) / 3e5;
	}
	return median(costs);
}

static double clock_cost(void)
{
	struct clock c;
	double costs[REPEATS];

	clock_init(&c);
	for (int r = 0; r < REPEATS; r++) {
		uint64_t start = clock_kernel_ns(), sum = 0;

		for (int i = 0; i < 1000000; i++)
			sum += clock_now(&c);
		keep(&sum);
		costs[r] = (double)(clock_kernel_ns() - start) / 1e6;
	}
	return median(costs);
}

int main(void)
{
	static const uint64_t sizes[] = {8400, 1000000, 4300800, 160000000};
	static const struct {
		const char *name;
		struct draw draw;
	} draws[] = {{"normal", {DRAW_NORMAL, 5e6, 1e6}},
		     {"uniform", {DRAW_UNIFORM, 1e6, 2e6}},
		     {"gamma", {DRAW_GAMMA, 2, 1e6}},
		     {"exponential", {DRAW_EXPONENTIAL, 1e6, 0}},
		     {"poisson", {DRAW_POISSON, 100, 1e4}}};
	static uint64_t values[VALUES];
	cpu_set_t one;
	int cpu = sched_getcpu();

	CPU_ZERO(&one);
	CPU_SET(cpu < 0 ? 0 : (unsigned)cpu, &one);
	sched_setaffinity(0, sizeof(one), &one); /* if it is refused, the figures vary more */
	if (bench_fill() != 0)
		return 1;
	/* Latencies up to 17 ms over all octaves, in random order. */
	for (unsigned i = 0; i < VALUES; i++)
		values[i] = (random_at(1, 0, i) & 4095) << (random_at(2, 0, i) % 13);
	printf("\nns each\n%-22s %8.2f\n", "hist_record", hist_cost(values));
	printf("%-22s %8.2f\n", "clock_now", clock_cost());
	for (int i = 0; i < 4; i++)
		printf("permutation_at %-9llu%7.2f\n", (unsigned long long)sizes[i],
		       permutation_cost(sizes[i]));
	for (unsigned i = 0; i < sizeof(draws) / sizeof(*draws); i++)
		printf("draw %-17s %8.2f\n", draws[i].name, draw_cost(&draws[i].draw));
	return 0;
}

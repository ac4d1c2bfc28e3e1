/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the latency histogram: its error bounds, its quantiles, and that merging equals
 * recording all. */
#include <CUnit/CUnit.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/random.h"
#include "core/measure/hist.h"
#include "tests/unit.h"

enum { SAMPLES = 20000 };

/* A sample from any octave below 2^42, as latencies are. */
static uint64_t sample(uint64_t key, uint64_t i)
{
	uint64_t bits = random_at(key, 0, i);

	return bits >> (22 + (bits & 31));
}

static void edges_and_index_agree(void)
{
	CU_ASSERT_EQUAL(hist_edge(0), 0);
	CU_ASSERT_EQUAL(hist_edge(HIST_BUCKETS), UINT64_C(1) << 42);
	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		uint64_t low = hist_edge(i), next = hist_edge(i + 1);

		CU_ASSERT_TRUE(low < next);
		CU_ASSERT_EQUAL(hist_index(low), i);
		CU_ASSERT_EQUAL(hist_index(next - 1), i);
	}
	CU_ASSERT_EQUAL(hist_index(UINT64_MAX), HIST_BUCKETS - 1);
	CU_ASSERT_EQUAL(hist_index(UINT64_C(1) << 42), HIST_BUCKETS - 1);
}

static void midpoint_error_is_small(void)
{
	double worst = 0;

	for (unsigned i = 1; i < HIST_BUCKETS; i++) {
		uint64_t low = hist_edge(i), high = hist_edge(i + 1) - 1;
		double middle = (double)(low + (high - low) / 2);
		double error = fmax((middle - (double)low) / (double)low,
				    ((double)high - middle) / (double)high);

		if (i < 128)
			CU_ASSERT_EQUAL(low, high);
		worst = fmax(worst, error);
	}
	CU_ASSERT_TRUE(worst <= 0.0079);
	CU_ASSERT_TRUE(worst >= 0.007); /* the claimed bound is tight */
}

static void merge_equals_recording_all(void)
{
	struct hist all, part[7], merged;

	hist_clear(&all);
	hist_clear(&merged);
	for (int p = 0; p < 7; p++)
		hist_clear(&part[p]);
	for (uint64_t i = 0; i < SAMPLES; i++) {
		uint64_t ns = sample(1, i);

		hist_record(&all, ns);
		hist_record(&part[random_at(2, 0, i) % 7], ns);
	}
	for (int p = 6; p >= 0; p--)
		hist_merge(&merged, &part[p]);
	CU_ASSERT_EQUAL(memcmp(&all, &merged, sizeof(all)), 0);
	CU_ASSERT_EQUAL(hist_count(&merged), SAMPLES);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void quantiles_are_those_of_the_samples(void)
{
	static const double qs[] = {0, 0.001, 0.07, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1};
	static uint64_t sorted[SAMPLES];
	struct hist h;
	double sum = 0;

	hist_clear(&h);
	for (uint64_t i = 0; i < SAMPLES; i++) {
		sorted[i] = sample(3, i);
		sum += (double)sorted[i];
		hist_record(&h, sorted[i]);
	}
	qsort(sorted, SAMPLES, sizeof(*sorted), compare);
	for (unsigned k = 0; k < sizeof(qs) / sizeof(*qs); k++) {
		double rank = ceil(qs[k] * SAMPLES - 1e-6);
		uint64_t exact = sorted[rank < 1 ? 0 : (size_t)rank - 1];
		uint64_t found = hist_quantile_ns(&h, qs[k]);

		CU_ASSERT_TRUE(fabs((double)found - (double)exact) <= 0.0079 * (double)exact);
	}
	CU_ASSERT_TRUE(hist_quantile_ns(&h, 1) <= sorted[SAMPLES - 1]);
	CU_ASSERT_EQUAL(h.max_ns, sorted[SAMPLES - 1]);
	CU_ASSERT_EQUAL(~h.min_not_ns, sorted[0]);
	CU_ASSERT_DOUBLE_EQUAL(hist_mean_ns(&h), sum / SAMPLES, sum / SAMPLES * 1e-9);
}

static void quantile_ranks_are_exact(void)
{
	struct hist h;

	hist_clear(&h);
	for (uint64_t ns = 1; ns <= 100; ns++)
		hist_record(&h, ns);
	for (unsigned p = 1; p <= 100; p++)
		CU_ASSERT_EQUAL(hist_quantile_ns(&h, p / 100.0), p);
	CU_ASSERT_EQUAL(hist_quantile_ns(&h, 0), 1);
	CU_ASSERT_EQUAL(hist_quantile_ns(&h, -1), 1);
	CU_ASSERT_EQUAL(hist_quantile_ns(&h, 2), 100);
	CU_ASSERT_EQUAL(hist_quantile_ns(&h, NAN), 1);
}

/* With one sample, every quantile is that sample and not the midpoint of its bucket. */
static void quantile_stays_within_the_extremes(void)
{
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t ns = sample(4, i);
		struct hist h;

		hist_clear(&h);
		hist_record(&h, ns);
		CU_ASSERT_EQUAL(hist_quantile_ns(&h, 0.5), ns);
	}
}

static void long_times_are_clipped_and_counted(void)
{
	struct hist h, all;

	hist_clear(&h);
	hist_record(&h, (UINT64_C(1) << 42) - 1);
	CU_ASSERT_EQUAL(h.clipped, 0);
	hist_record(&h, UINT64_C(1) << 42);
	hist_record(&h, UINT64_C(1) << 50);
	CU_ASSERT_EQUAL(h.clipped, 2);
	CU_ASSERT_EQUAL(h.bucket[HIST_BUCKETS - 1], 3);
	CU_ASSERT_EQUAL(h.max_ns, UINT64_C(1) << 50);
	hist_clear(&all);
	hist_record(&all, UINT64_C(1) << 43);
	hist_merge(&all, &h);
	CU_ASSERT_EQUAL(all.clipped, 3);
	CU_ASSERT_EQUAL(all.bucket[HIST_BUCKETS - 1], 4);
}

static void empty(void)
{
	struct hist h;
	unsigned first, last;

	hist_clear(&h);
	CU_ASSERT_EQUAL(hist_count(&h), 0);
	CU_ASSERT_TRUE(isnan(hist_mean_ns(&h)));
	CU_ASSERT_EQUAL(hist_quantile_ns(&h, 0.5), 0);
	CU_ASSERT_EQUAL(hist_range(&h, &first, &last), -ENOENT);
	hist_record(&h, 0);
	CU_ASSERT_EQUAL(hist_quantile_ns(&h, 0.5), 0);
	CU_ASSERT_EQUAL(hist_range(&h, &first, &last), 0);
	CU_ASSERT_EQUAL(first, 0);
	CU_ASSERT_EQUAL(last, 0);
	hist_record(&h, 1 << 20);
	CU_ASSERT_EQUAL(hist_range(&h, &first, &last), 0);
	CU_ASSERT_EQUAL(first, 0);
	CU_ASSERT_EQUAL(last, hist_index(1 << 20));
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"edges and index agree", edges_and_index_agree},
		{"a midpoint is at most 0.79 % off", midpoint_error_is_small},
		{"merging equals recording all", merge_equals_recording_all},
		{"quantiles are those of the samples", quantiles_are_those_of_the_samples},
		{"ranks of quantiles are exact", quantile_ranks_are_exact},
		{"quantiles stay within the extremes", quantile_stays_within_the_extremes},
		{"long times are clipped and counted", long_times_are_clipped_and_counted},
		{"empty", empty},
		CU_TEST_INFO_NULL,
	};

	return unit_main("hist", tests);
}

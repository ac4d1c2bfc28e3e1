/* SPDX-License-Identifier: Apache-2.0 */
/* Fence around like values: see fence.h. */
#include "report/fence.h"

#include <math.h>
#include <stdlib.h>

static const double mad_to_deviation = 1.4826, reach_least = 3, worse_least = 1.25;
/* Phases without a slow rank in which one is named; how much wider the fence of few values is. */
static const double false_share = 0.01, few_values = 16;

static int fence_order(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

double fence_middle(double *values, uint64_t n)
{
	qsort(values, n, sizeof(*values), fence_order);
	return values[(n - 1) / 2];
}

double fence_median(double *values, uint64_t n)
{
	return n ? (fence_middle(values, n) + values[n / 2]) / 2 : NAN;
}

/* The number of standard deviations that chance exceeds in one of the tests, in false_share of all
 * phases: for a normal distribution P(Z > k) is below exp(-k^2 / 2) / 2. */
static double fence_deviations(uint64_t tests)
{
	double k = sqrt(2 * log((double)(tests ? tests : 1) / (2 * false_share)));

	return k > reach_least ? k : reach_least;
}

bool fence_of(struct fence *f, const double *values, uint64_t n, uint64_t tests)
{
	double *logs = calloc(n + 1, sizeof(*logs)), wider;
	uint64_t kept = 0;

	for (uint64_t i = 0; logs && i < n; i++)
		if (values[i] > 0)
			logs[kept++] = log(values[i]);
	if (!logs || kept < FENCE_LEAST) {
		free(logs);
		return false;
	}
	f->median = fence_median(logs, kept);
	for (uint64_t i = 0; i < kept; i++)
		logs[i] = fabs(logs[i] - f->median);
	f->mad = fence_median(logs, kept);
	wider = 1 + few_values / (double)kept;
	f->reach = fence_deviations(tests) * wider * mad_to_deviation * f->mad;
	free(logs);
	return true;
}

double fence_reach(const struct fence *f)
{
	return f->reach > log(worse_least) ? f->reach : log(worse_least);
}

bool fence_beyond(const struct fence *f, double value, double sure)
{
	return log(value) - f->median > f->reach && log(sure) - f->median > log(worse_least);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of repeated measurements. Pure functions, any thread. */
#ifndef HAUL_CORE_STATS_H
#define HAUL_CORE_STATS_H

#include <stdint.h>

/* Statistics of n values, without NaN. stdev is that of a sample (n - 1). low and high are the 95 %
 * confidence interval of the mean by Student's t. cv is stdev / mean. Figures that n does not allow
 * are NaN: all of them for no value; stdev, cv and the interval for one value. */
struct stats {
	uint32_t n;
	double mean, stdev, low, high, cv, min, max;
};
struct stats stats_of(const double *values, uint32_t n);

/* Cuts the interval to possible values, which Student's t does not know: no rate or time is below
 * 0, no AU above most = 1. */
struct stats stats_possible(struct stats s, double most);

/* Student's t for a two-sided interval of that level: 0.95, 0.99 … freedom need not be whole, as in
 * Welch's interval; more than STATS_FREEDOM_MAX counts as that. NaN where freedom or level allow
 * none. */
enum { STATS_FREEDOM_MAX = 100000 };
double stats_t(double level, double freedom);

/* The same for a 95 % interval: 12.706 at 1 degree of freedom, 1.960 at very many. */
double stats_t95(uint32_t freedom);

#endif

/* What several measurements of one thing say of it. Pure functions, any thread. */
#ifndef HAUL_REPORT_STATS_H
#define HAUL_REPORT_STATS_H

#include <stdint.h>

/* Of n values, NaN left out. stdev: of a sample (n - 1). low, high: the 95 % confidence interval of the
 * mean by Student's t. cv: stdev / mean. What n does not allow is NaN: all of none, and of one value
 * stdev, cv and the interval. */
struct stats {
	uint32_t n;
	double mean, stdev, low, high, cv, min, max;
};
struct stats stats_of(const double *values, uint32_t n);

/* Student's t for 95 % on both sides: 12.706 at 1 degree of freedom, 1.960 at very many. */
double stats_t95(uint32_t freedom);

#endif

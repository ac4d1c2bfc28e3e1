/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes drawn from a distribution by inversion: a size is a function of a number between 0 and
 * 2^64. A caller that draws at the middles of as many equal strata as there are objects gets the
 * right mean and deviation also for few objects, and knows the largest size. Plain data; any
 * thread. */
#ifndef HAUL_CORE_CONTENT_SIZE_DRAW_H
#define HAUL_CORE_CONTENT_SIZE_DRAW_H

#include <stdint.h>

enum size_kind { SIZE_FIXED, SIZE_UNIFORM, SIZE_LOG_NORMAL };

struct size_draw {
	enum size_kind kind;
	double mean;
	double half;                /* uniform: mean - half ... mean + half */
	double log_mean, log_sigma; /* log-normal: mean and deviation of the logarithm */
};

struct size_draw size_fixed(double mean);
struct size_draw size_uniform(double mean, double half);
/* stdev > 0 is the deviation of the sizes. */
struct size_draw size_log_normal(double mean, double stdev);

/* The quantile of at / 2^64: at least 1, at most 2^62. */
uint64_t size_draw_at(const struct size_draw *d, uint64_t at);

/* The middle of stratum number i of n, as a fraction of 2^64. */
uint64_t size_stratum(uint64_t i, uint64_t n);

#endif

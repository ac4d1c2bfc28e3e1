/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes drawn from a distribution: see size_draw.h. */
#include "core/content/size_draw.h"

#include <math.h>

#include "core/content/random.h"

struct size_draw size_fixed(double mean)
{
	return (struct size_draw){.kind = SIZE_FIXED, .mean = mean};
}

struct size_draw size_uniform(double mean, double half)
{
	return (struct size_draw){.kind = SIZE_UNIFORM, .mean = mean, .half = half};
}

struct size_draw size_log_normal(double mean, double stdev)
{
	double sigma = sqrt(log1p(stdev / mean * (stdev / mean)));

	return (struct size_draw){.kind = SIZE_LOG_NORMAL,
				  .mean = mean,
				  .log_mean = log(mean) - sigma * sigma / 2,
				  .log_sigma = sigma};
}

uint64_t size_stratum(uint64_t i, uint64_t n)
{
	/* (i + 1/2) / n */
	return (uint64_t)(((unsigned __int128)(2 * i + 1) << 63) / n);
}

/* random_normal takes a sign and 63 bits of the tail's probability. The upper half is mirrored, so
 * that the result is the quantile of at / 2^64. */
static double size_normal_quantile(uint64_t at)
{
	return random_normal(at >> 63 ? ~at | (uint64_t)1 << 63 : at);
}

uint64_t size_draw_at(const struct size_draw *d, uint64_t at)
{
	double size = d->mean;

	if (d->kind == SIZE_UNIFORM)
		size = d->mean + d->half * (2 * random_unit(at) - 1);
	else if (d->kind == SIZE_LOG_NORMAL)
		size = exp(d->log_mean + d->log_sigma * size_normal_quantile(at));
	if (size >= 0x1p62)
		return (uint64_t)1 << 62;
	return size < 1 ? 1 : (uint64_t)(size + 0.5);
}

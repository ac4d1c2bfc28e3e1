/* SPDX-License-Identifier: Apache-2.0 */
/* Log-linear histogram: see hist.h for the layout. */
#include "core/measure/hist.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static uint64_t quantile_rank(uint64_t count, double q);

void hist_clear(struct hist *h)
{
	memset(h, 0, sizeof(*h));
}

void hist_merge(struct hist *into, const struct hist *from)
{
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
	into->sum_ns += from->sum_ns;
	into->clipped += from->clipped;
	if (from->max_ns > into->max_ns)
		into->max_ns = from->max_ns;
	if (from->min_not_ns > into->min_not_ns)
		into->min_not_ns = from->min_not_ns;
}

uint64_t hist_edge(unsigned i)
{
	if (i < 128)
		return i;
	return (uint64_t)(64 + (i & 63)) << ((i >> 6) - 1);
}

uint64_t hist_count(const struct hist *h)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		count += h->bucket[i];
	return count;
}

double hist_mean_ns(const struct hist *h)
{
	uint64_t count = hist_count(h);

	return count ? (double)h->sum_ns / (double)count : NAN;
}

uint64_t hist_quantile_ns(const struct hist *h, double q)
{
	uint64_t count = hist_count(h), rank, seen = 0, value;
	unsigned i;

	if (count == 0)
		return 0;
	rank = quantile_rank(count, q);
	for (i = 0; i < HIST_BUCKETS - 1; i++) {
		seen += h->bucket[i];
		if (seen >= rank)
			break;
	}
	value = hist_edge(i) + (hist_edge(i + 1) - hist_edge(i) - 1) / 2;
	if (value > h->max_ns)
		value = h->max_ns;
	if (value < ~h->min_not_ns)
		value = ~h->min_not_ns;
	return value;
}

/* ceil(q * count), at least 1, at most count. A product that is a whole number except for rounding
 * (0.07 * 100 is 7.000000000000001) must not step to the next sample. */
static uint64_t quantile_rank(uint64_t count, double q)
{
	double product = q * (double)count;

	if (!(q > 0))
		return 1;
	if (q >= 1)
		return count;
	product = ceil(product - product * 1e-12);
	if (product < 1)
		return 1;
	return product < (double)count ? (uint64_t)product : count;
}

int hist_range(const struct hist *h, unsigned *first, unsigned *last)
{
	unsigned a = 0, b = HIST_BUCKETS - 1;

	while (a < HIST_BUCKETS && h->bucket[a] == 0)
		a++;
	if (a == HIST_BUCKETS)
		return -ENOENT;
	while (h->bucket[b] == 0)
		b--;
	*first = a;
	*last = b;
	return 0;
}

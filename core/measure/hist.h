/* SPDX-License-Identifier: Apache-2.0 */
/* Log-linear latency histogram: 2,368 counters, exact below 128 ns, 64 sub-buckets per octave above
 * (<= 0.79 % error), up to 2^42 - 1 ns (73 min).
 *
 *   v < 128          index = v
 *   m = 63 - clz(v)  index = ((m - 5) << 6) + ((v >> (m - 6)) & 63)
 *   lower edge of i  i < 128 ? i : (64 + (i & 63)) << ((i >> 6) - 1)
 *
 * Plain uint64_t, so that merging is adding: the first HIST_SUM_WORDS words are merged by addition
 * (MPI_SUM), the last HIST_MAX_WORDS by maximum. A histogram belongs to one thread at a time. */
#ifndef HAUL_CORE_MEASURE_HIST_H
#define HAUL_CORE_MEASURE_HIST_H

#include <stdint.h>

/* A quantile is the middle of a bucket, which is at most this share of it away from either edge. */
#define HIST_BLUR (1.0 / 128)

enum { HIST_BUCKETS = 2368, HIST_SUM_WORDS = HIST_BUCKETS + 2, HIST_MAX_WORDS = 2 };

struct hist {
	uint64_t bucket[HIST_BUCKETS];
	uint64_t sum_ns;
	uint64_t clipped;    /* values of 2^42 ns and more: counted in the last bucket */
	uint64_t max_ns;     /* merged by maximum */
	uint64_t min_not_ns; /* ~minimum, merged by maximum; 0 while empty */
};
_Static_assert(sizeof(struct hist) == 8 * (HIST_SUM_WORDS + HIST_MAX_WORDS), "a plain array");

static inline unsigned hist_index(uint64_t ns)
{
	unsigned m;

	if (ns < 128)
		return (unsigned)ns;
	if (ns >> 42)
		return HIST_BUCKETS - 1;
	m = 63 - (unsigned)__builtin_clzll(ns);
	return ((m - 5) << 6) + (unsigned)((ns >> (m - 6)) & 63);
}

/* Adds one sample. Wait-free, with no branch except for clipping. */
static inline void hist_record(struct hist *h, uint64_t ns)
{
	h->bucket[hist_index(ns)]++;
	h->sum_ns += ns;
	h->clipped += ns >> 42 ? 1 : 0;
	h->max_ns = ns > h->max_ns ? ns : h->max_ns;
	h->min_not_ns = ~ns > h->min_not_ns ? ~ns : h->min_not_ns;
}

void hist_clear(struct hist *h);
void hist_merge(struct hist *into, const struct hist *from);

/* The lower edge of bucket i in ns. hist_edge(HIST_BUCKETS) is the upper end, 2^42. */
uint64_t hist_edge(unsigned i);

uint64_t hist_count(const struct hist *h);
double hist_mean_ns(const struct hist *h); /* NaN when empty */

/* The value at or below which the fraction q (0..1) of the samples lies: the midpoint of the bucket
 * that holds the ceil(q * count)-th sample, never above the exact maximum, never below the exact
 * minimum. 0 when empty. */
uint64_t hist_quantile_ns(const struct hist *h, double q);

/* Gives the first and last non-empty bucket. Returns -ENOENT when empty. */
int hist_range(const struct hist *h, unsigned *first, unsigned *last);

/* Coarse latency histogram: log-linear like hist.h, but with 8 sub-buckets per octave (<= 6.3 %
 * error), so that thousands of them fit in memory and in a results file. It has 320 counters, is
 * exact below 16 ns, and reaches up to 2^42 - 1 ns. Plain uint64_t: merging is adding. A histogram
 * belongs to one thread at a time. */

enum { COARSE_BUCKETS = 320 };

struct coarse_hist {
	uint64_t bucket[COARSE_BUCKETS];
};

static inline unsigned coarse_index(uint64_t ns)
{
	unsigned m;

	if (ns < 16)
		return (unsigned)ns;
	if (ns >> 42)
		return COARSE_BUCKETS - 1;
	m = 63 - (unsigned)__builtin_clzll(ns);
	return ((m - 2) << 3) + (unsigned)((ns >> (m - 3)) & 7);
}

static inline void coarse_record(struct coarse_hist *h, uint64_t ns)
{
	h->bucket[coarse_index(ns)]++;
}

/* The lower edge of bucket i. For COARSE_BUCKETS it is the upper end, 2^42. */
static inline uint64_t coarse_edge(unsigned i)
{
	if (i < 16)
		return i;
	if (i >= COARSE_BUCKETS)
		return UINT64_C(1) << 42;
	return (uint64_t)(8 + (i & 7)) << ((i >> 3) - 1);
}

#endif

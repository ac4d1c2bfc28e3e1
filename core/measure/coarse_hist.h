/* SPDX-License-Identifier: Apache-2.0 */
/* Coarse latency histogram: log-linear like hist.h, but with 8 sub-buckets per octave (<= 6.3 %
 * error), so that thousands of them fit in memory and in a results file. It has 320 counters, is
 * exact below 16 ns, and reaches up to 2^42 - 1 ns. Plain uint64_t: merging is adding. A histogram
 * belongs to one thread at a time. */
#ifndef HAUL_CORE_MEASURE_COARSE_HIST_H
#define HAUL_CORE_MEASURE_COARSE_HIST_H

#include <stdint.h>

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

/* SPDX-License-Identifier: Apache-2.0 */
/* Fence: which of many like values stand out from the others.
 *
 * The rule is the usual one, median + 3 · 1.4826 · MAD (the median absolute deviation, scaled to a
 * standard deviation), made so that values that differ by chance alone are seldom named. See
 * docs/client.md for the reasons:
 *
 * - Values are compared as logarithms, since waits and latencies are skewed to the right.
 * - In place of 3 stands what chance exceeds once in a hundred phases: the more values are looked
 *   at, the further.
 * - Few values give a poor estimate of the spread, so the fence of n values is wider by 1 + 16 /
 *   n.
 * - Whoever is named is also worse than the median by a quarter at least. Equal values have a MAD
 *   of 0.
 *
 * Pure functions, any thread. */
#ifndef HAUL_REPORT_FENCE_H
#define HAUL_REPORT_FENCE_H

#include <stdbool.h>
#include <stdint.h>

/* Of fewer values, none can be told to stand out. */
enum { FENCE_LEAST = 4 };

struct fence {
	double median, mad; /* of the logarithms */
	double reach;       /* how far beyond the median a logarithm must lie for its spread */
};

/* The middle value, or the mean of the two in the middle. Sorts values. NaN where n is 0. */
double fence_median(double *values, uint64_t n);

/* The middle value, or the smaller of the two in the middle. Sorts values; n is at least 1. */
double fence_middle(double *values, uint64_t n);

/* The fence of n positive values, of which those that are NaN are left out. tests: how many values
 * are looked at in all, of which at most one in a hundred phases shall be named by chance. Returns
 * false where there are too few values, or no memory. */
bool fence_of(struct fence *f, const double *values, uint64_t n, uint64_t tests);

/* How far beyond the median a logarithm must lie, to be a quarter worse as well. */
double fence_reach(const struct fence *f);

/* Whether the value lies beyond the fence. sure: what the value is at least, where it was found
 * from a sample; else the value itself. Larger is worse. NaN never lies beyond. */
bool fence_beyond(const struct fence *f, double value, double sure);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Ratio of two sides that were measured several times, with its confidence interval. The repeat is
 * the unit.
 *
 * Logarithms of the values are compared, so the ratio is one of geometric means. Reasons:
 *
 * - What disturbs a measurement of speed multiplies it, so logarithms are nearer to normal than values are.
 * - It does not matter which side is the denominator, nor whether rates or times are compared: the results are
 *   reciprocals of each other, with intervals that are reciprocals, too. This does not hold for arithmetic means (Fleming
 *   and Wallace, "How not to lie with statistics: the correct way to summarize benchmark results", CACM 29(3), 1986).
 * - The interval is always finite and positive. Fieller's interval of a quotient of arithmetic means (Biometrics 10, 1954)
 *   can be unbounded.
 *
 * Repeats of both sides that were taken in turn (A B A B …) are compared in pairs: what changes
 * slowly is then the same for both of a pair. The second one of each pair was measured a little
 * later, though. So the pairs' means over time tell how fast everything drifted (a straight line by
 * least squares). If each side alone shows at least a quarter of it, that part of the difference is
 * taken off; its uncertainty is added. What only one side shows is no drift: then the ratio is that
 * of the pairs. Other repeats are compared by Welch's interval (Biometrika 34, 1947), which does
 * not assume equal variances. In both cases degrees of freedom follow Satterthwaite (Biometrics
 * Bulletin 2, 1946).
 *
 * With five repeats that vary by 3 % (CV), a difference of 10 % is found in 99 of 100 comparisons
 * by Welch's interval, and in 95 of 100 by pairs, whose interval has half as many degrees of
 * freedom.
 *
 * Repeats that were not taken in turn show a drift only within each side: one straight line for
 * both, with a level for each side. If its slope is not 0 at the level of 99 %, and each side alone
 * shows at least a quarter of it, the interval is widened by what the drift comes to between the
 * middles of the two sides, since a drift could then be all of the difference.
 *
 * Pure functions, any thread. */
#ifndef HAUL_CORE_RATIO_H
#define HAUL_CORE_RATIO_H

#include <stdbool.h>
#include <stdint.h>

/* n values with the times when they were measured, in the order of time. A value that is not
 * positive or not finite has no logarithm: then there is no interval. when_s may be NULL: not
 * known. */
struct ratio_side {
	const double *values;
	const double *when_s;
	uint32_t n;
};

struct ratio {
	double mean[2]; /* geometric means; NaN: there are none */
	double ratio; /* of the first side to the second; of pairs with a drift of both taken off */
	double low, high; /* its interval; NaN where there are too few repeats */
	bool paired;      /* the repeats were taken in turn */
	/* By which factor all values changed from the first measurement to the last one. NaN:
	 * unknown, or no drift of both sides was found. */
	double drift;
	bool widened; /* by a drift between repeats that were not taken in turn */
	/* 1: the first side is larger, -1: the second one is, 0: the interval contains 1, or there
	 * is none. */
	int verdict;
};

/* An interval that has both a tenth and ten times tells next to nothing: two repeats easily have
 * one of many digits. Then people read only that it is RATIO_VAGUE_LEAST to RATIO_VAGUE_MOST, or
 * wider. */
#define RATIO_VAGUE_LEAST 0.1
#define RATIO_VAGUE_MOST  10.0
bool ratio_is_vague(const struct ratio *r);

/* level: of the interval, 0.95 … */
struct ratio ratio_of(const struct ratio_side *a, const struct ratio_side *b, double level);

#endif

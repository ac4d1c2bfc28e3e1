/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of repeated measurements: see stats.h. */
#include "core/stats.h"

#include <math.h>

struct stats stats_of(const double *values, uint32_t n)
{
	struct stats s = {0, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
	double sum = 0, squares = 0, half;

	for (uint32_t i = 0; i < n; i++) {
		if (isnan(values[i]))
			continue;
		s.n++;
		sum += values[i];
		s.min = fmin(s.min, values[i]);
		s.max = fmax(s.max, values[i]);
	}
	if (!s.n)
		return s;
	s.mean = sum / s.n;
	if (s.n < 2)
		return s;
	for (uint32_t i = 0; i < n; i++)
		if (!isnan(values[i]))
			squares += (values[i] - s.mean) * (values[i] - s.mean);
	s.stdev = sqrt(squares / (s.n - 1));
	s.cv = s.stdev / s.mean;
	half = stats_t95(s.n - 1) * s.stdev / sqrt(s.n);
	s.low = s.mean - half;
	s.high = s.mean + half;
	return s;
}

struct stats stats_possible(struct stats s, double most)
{
	if (s.low < 0)
		s.low = 0;
	if (s.high > most)
		s.high = most;
	return s;
}

/* The regularised incomplete beta function I_x(a, b) with y = 1 - x, for x below (a + 1) / (a + b +
 * 2): the continued fraction DLMF 8.17.22 (https://dlmf.nist.gov/8.17#v), from its last term. It
 * needs about as many terms as the root of a or b, times a few. */
static double beta_fraction(double a, double b, double x, double y)
{
	int terms = 40 + (int)(4 * sqrt(a + b)), sign;
	double fraction = 1;

	for (int i = terms; i > 0; i--) {
		double m = floor(i / 2.0), term;

		if (i % 2)
			term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		else
			term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		fraction = 1 + term / fraction;
	}
	return exp(a * log(x) + b * log(y) + lgamma_r(a + b, &sign) - lgamma_r(a, &sign) -
		   lgamma_r(b, &sign)) /
	       (a * fraction);
}

/* The share of Student's distribution within +-tan(angle) * sqrt(freedom): 1 - I_x(freedom / 2, 1 /
 * 2) with x = cos(angle)^2 (Abramowitz and Stegun, 26.7.1). */
static double t_within(double angle, double freedom)
{
	double x = cos(angle) * cos(angle), y = sin(angle) * sin(angle), a = freedom / 2, b = 0.5;

	if (x < (a + 1) / (a + b + 2))
		return 1 - beta_fraction(a, b, x, y);
	return beta_fraction(b, a, y, x);
}

double stats_t(double level, double freedom)
{
	double low = 0, high = M_PI_2;

	if (!(freedom > 0 && level > 0 && level < 1))
		return NAN;
	freedom = fmin(freedom, STATS_FREEDOM_MAX);
	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (t_within(middle, freedom) < level)
			low = middle;
		else
			high = middle;
	}
	return tan(low) * sqrt(freedom);
}

double stats_t95(uint32_t freedom)
{
	return stats_t(0.95, freedom);
}

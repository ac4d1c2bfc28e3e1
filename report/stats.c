/* Statistics of repeated measurements: see stats.h. */
#include "report/stats.h"

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

/* The share of Student's distribution within +-tan(angle) * sqrt(freedom): the finite series for whole
 * degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4). */
static double t_within(double angle, uint32_t freedom)
{
	double c = cos(angle), term, sum;

	if (freedom == 1)
		return angle * M_2_PI;
	term = freedom % 2 ? c : 1;
	sum = term;
	for (uint32_t k = 2 + freedom % 2; k < freedom; k += 2) {
		term *= c * c * (k - 1) / k;
		sum += term;
	}
	sum *= sin(angle);
	return freedom % 2 ? (angle + sum) * M_2_PI : sum;
}

double stats_t95(uint32_t freedom)
{
	double low = 0, high = M_PI_2;

	if (!freedom)
		return NAN;
	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (t_within(middle, freedom) < 0.95)
			low = middle;
		else
			high = middle;
	}
	return tan(low) * sqrt(freedom);
}

/* Spread of a figure over the ranks: see spread.h. */
#include "report/spread.h"

#include <math.h>

struct spread spread_of(const struct results_table *ranks, enum role role)
{
	struct spread s = {NAN, NAN, NAN};
	int column = results_role(ranks, role);
	double sum = 0;
	uint64_t n = 0;

	for (uint64_t i = 0; i < ranks->row_count; i++) {
		double v = results_cell(ranks, i, column);

		if (isnan(v))
			continue;
		s.min = n && s.min < v ? s.min : v;
		s.max = n && s.max > v ? s.max : v;
		sum += v;
		n++;
	}
	if (n)
		s.mean = sum / (double)n;
	return s;
}

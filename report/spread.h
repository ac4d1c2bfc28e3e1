/* Spread of a figure over the ranks. All values are NaN where no rank has the figure. */
#ifndef HAUL_REPORT_SPREAD_H
#define HAUL_REPORT_SPREAD_H

#include "results-schema/results_read.h"

struct spread {
	double mean, min, max;
};
struct spread spread_of(const struct results_table *ranks, enum role role);

#endif

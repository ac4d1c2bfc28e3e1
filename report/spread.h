/* How a figure is spread over the ranks; all NaN where no rank has it. */
#ifndef HAUL_REPORT_SPREAD_H
#define HAUL_REPORT_SPREAD_H

#include "results-schema/results_read.h"

struct spread {
	double mean, min, max;
};
struct spread spread_of(const struct results_table *ranks, enum role role);

#endif

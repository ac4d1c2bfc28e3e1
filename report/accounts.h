/* Where the time of a training phase went, from its columns by name. */
#ifndef HAUL_REPORT_ACCOUNTS_H
#define HAUL_REPORT_ACCOUNTS_H

#include <stdbool.h>

#include "results-schema/results_read.h"

enum account {
	ACCOUNT_COMPUTE,
	ACCOUNT_OPEN,
	ACCOUNT_FIRST_BYTE,
	ACCOUNT_TRANSFER,
	ACCOUNT_QUEUE,
	ACCOUNT_RANKS,
	ACCOUNT_DECODE,
	ACCOUNT_COPY,
	ACCOUNT_HAUL,
	ACCOUNTS
};

struct accounts {
	double seconds[ACCOUNTS]; /* mean over the ranks */
	double total;
};

/* false: the phase keeps no accounts. */
bool accounts_of(const struct results_phase_read *p, struct accounts *a);

/* What is not compute, in tenths of a percent of total, rounded. */
int accounts_lost(const struct accounts *a);

/* Shares in tenths of a percent, so rounded (largest remainders) that what is not compute adds up to
 * whole: accounts_lost's, or one tenth beside it where another figure was rounded so. */
void accounts_tenths(const struct accounts *a, int whole, int tenths[ACCOUNTS]);

/* Utilisation over the ranks; all NaN where there is none. */
struct spread {
	double mean, min, max;
};
struct spread spread_of(const struct results_table *ranks, const char *column);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts of a training phase: where its time went, from the columns that have an account's role.
 * The accounts of core/measure/account.h come first, in their order (0 where a file has none of
 * them), then any that a newer haul has added. */
#ifndef HAUL_REPORT_ACCOUNTS_H
#define HAUL_REPORT_ACCOUNTS_H

#include <stdbool.h>

#include "core/measure/account.h"
#include "results-schema/results_read.h"

enum { ACCOUNTS_MAX = 32 };

struct account_share {
	char name[RESULTS_NAME_BYTES];  /* "first_byte" */
	char words[RESULTS_NAME_BYTES]; /* "first byte" */
	enum role role;                 /* ROLE_ACCOUNT_COMPUTE, _STORAGE, _OTHER */
	double seconds;                 /* mean over the ranks */
};

struct account_shares {
	uint32_t count;
	struct account_share list[ACCOUNTS_MAX];
	double total;
};

/* Returns false where the phase keeps no accounts. */
bool accounts_of(const struct results_phase_read *p, struct account_shares *a);

/* The time of a training, in parts of 1: the steps that AU counts, checkpoints, which it leaves out, and the warm-up. Where the file
 * does not say, AU counts all of it. */
struct time_parts {
	double measured, checkpoints, warmup;
};
struct time_parts accounts_parts(const struct results_phase_read *p);

/* The sum of the accounts with that role. */
double accounts_seconds(const struct account_shares *a, enum role role);

/* All that is not compute, in tenths of a percent of total, rounded. */
int accounts_lost(const struct account_shares *a);

/* Shares in tenths of a percent, rounded by largest remainders so that what is not compute adds up
 * to whole. whole is accounts_lost, or a tenth more or less where another figure was rounded that
 * way. */
void accounts_tenths(const struct account_shares *a, int whole, int tenths[ACCOUNTS_MAX]);

#endif

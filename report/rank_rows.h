/* Figures of ranks, or of nodes, a row for each. Where there are more than a reader wants, a row holds several ranks (or
 * nodes) of consecutive numbers: their mean, and the worst of them. So what is read is bounded, whatever the file holds. */
#ifndef HAUL_REPORT_RANK_ROWS_H
#define HAUL_REPORT_RANK_ROWS_H

#include <stdbool.h>

#include "report/accounts.h"
#include "results-schema/results_read.h"

/* X(enum, key in JSON of the mean, key of the worst, whether less is worse). An empty key: it is not given. A mean of
 * percentiles would mean nothing. */
/* clang-format off */
#define RANK_FIGURE_LIST(X) \
	X(AU, "au", "au_min", true) \
	X(RATE, "bytes_per_second", "bytes_per_second_min", true) \
	X(WAIT, "storage_wait_s", "storage_wait_s_max", false) \
	X(P99, "", "p99_ns", false)
/* clang-format on */

enum rank_figure {
#define RANK_ENUM(id, mean, worst, less) RANK_##id,
	RANK_FIGURE_LIST(RANK_ENUM)
#undef RANK_ENUM
		RANK_FIGURES
};
extern const struct rank_figure_kind {
	const char *mean, *worst;
	bool less_is_worse;
} rank_figures[RANK_FIGURES];

struct rank_row {
	uint64_t ranks;      /* how many it holds; 0: such a node had none */
	uint64_t rank, node; /* the first of them, and its node */
	/* NaN where no rank has the figure. */
	double mean[RANK_FIGURES], worst[RANK_FIGURES];
	double accounts[ACCOUNTS_MAX]; /* mean seconds */
};

struct rank_rows {
	uint64_t units_per_row; /* ranks, or nodes */
	uint64_t count;
	struct rank_row *rows;
	bool has_accounts;
	struct account_shares accounts; /* names of the accounts, in the order of the rows' */
};

/* At most rows_max rows. Returns false where the phase has no ranks, or there is no memory. Free it in either case. */
bool rank_rows_of(const struct results_file *f, const struct results_phase_read *p, bool of_nodes,
		  uint32_t rows_max, struct rank_rows *out);
void rank_rows_free(struct rank_rows *r);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Skew over ranks: see skew.h. */
#include "report/skew.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/measure/account.h"

/* A rank stands out if it waits half as long as the median rank, or is done a quarter later, unless
 * the difference is too short to matter or every fourth rank does so. */
static const double waits_less = 0.5, done_later = 1.25, least_share = 0.01;
enum { CROWD = 4 };

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The upper median of a column over the ranks, or NaN where there is no such column. *most is its
 * largest value. */
static double median_of(const struct results_table *ranks, int column, double *most)
{
	double *values = column < 0 ? NULL : calloc(ranks->row_count + 1, sizeof(*values)), median;

	*most = NAN;
	if (!values || !ranks->row_count) {
		free(values);
		return NAN;
	}
	for (uint64_t i = 0; i < ranks->row_count; i++)
		values[i] = results_cell(ranks, i, column);
	qsort(values, ranks->row_count, sizeof(*values), by_value);
	median = values[ranks->row_count / 2];
	*most = values[ranks->row_count - 1];
	free(values);
	return median;
}

/* The account of the time in which ranks wait for each other. */
static int waited_column(const struct results_table *ranks)
{
	char name[RESULTS_NAME_BYTES];

	snprintf(name, sizeof(name), "%s_ns", account_kinds[ACCOUNT_RANKS].name);
	return results_role(ranks, ROLE_ACCOUNT_COMPUTE) < 0 ? -1 : results_column(ranks, name);
}

struct standing_out {
	uint64_t count;
	double rank, node; /* of the first rank that stands out */
	bool one_node;
};

static void stand_out(struct standing_out *s, const struct results_table *ranks, uint64_t row)
{
	double node = results_value(ranks, row, "node");

	if (!s->count) {
		s->rank = results_value(ranks, row, "rank");
		s->node = node;
		s->one_node = true;
	}
	s->one_node = s->one_node && node >= s->node && node <= s->node;
	s->count++;
}

bool skew_done(const struct results_phase_read *p, double *median_ns, double *last_ns)
{
	const struct results_table *ranks = results_ranks(p);

	*median_ns = median_of(ranks, results_role(ranks, ROLE_RANK_DONE), last_ns);
	return !isnan(*median_ns);
}

bool skew_of(const struct results_file *f, const struct results_phase_read *p,
	     char who[SKEW_TEXT_BYTES])
{
	const struct results_table *ranks = results_ranks(p);
	int waited = waited_column(ranks), done = results_role(ranks, ROLE_RANK_DONE);
	double most, median = median_of(ranks, waited >= 0 ? waited : done, &most);
	struct standing_out s = {0};
	const char *host = "?";

	if (ranks->row_count < 2 || !(median > least_share * p->record.seconds * 1e9))
		return false;
	for (uint64_t i = 0; i < ranks->row_count; i++) {
		double value = results_cell(ranks, i, waited >= 0 ? waited : done);

		if (waited >= 0 ? value < waits_less * median : value > done_later * median)
			stand_out(&s, ranks, i);
	}
	if (!s.count || (s.count > 1 && (!s.one_node || s.count * CROWD > ranks->row_count)))
		return false;
	if (s.node >= 0 && s.node < (double)f->nodes)
		host = f->hosts[(uint64_t)s.node];
	if (s.count == 1)
		snprintf(who, SKEW_TEXT_BYTES, "rank %.0f on %s", s.rank, host);
	else
		snprintf(who, SKEW_TEXT_BYTES, "%llu ranks on %s", (unsigned long long)s.count,
			 host);
	return true;
}

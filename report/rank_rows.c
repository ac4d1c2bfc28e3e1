/* Figures of ranks or nodes: see rank_rows.h. */
#include "report/rank_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/slow.h"

#define RANK_KIND(id, mean, worst, less) [RANK_##id] = {(mean), (worst), (less)},
const struct rank_figure_kind rank_figures[RANK_FIGURES] = {RANK_FIGURE_LIST(RANK_KIND)};
#undef RANK_KIND

/* How many ranks of a row had each figure. */
struct rank_counts {
	uint64_t figure[RANK_FIGURES];
};

static double rank_value(const struct results_phase_read *p, uint64_t i, uint64_t rank,
			 enum rank_figure figure)
{
	const struct results_table *ranks = results_ranks(p);
	const struct results_latency_row *l;

	switch (figure) {
	case RANK_AU:
		return results_role_value(ranks, i, ROLE_UTILISATION);
	case RANK_RATE:
		return results_role_value(ranks, i, ROLE_BYTE_RATE);
	case RANK_WAIT:
		return slow_wait_s(ranks, i);
	case RANK_P99:
		l = slow_latency(p, false, rank);
		return l ? l->p99_ns : NAN;
	case RANK_FIGURES:
		break;
	}
	return NAN;
}

static void rank_add(struct rank_row *row, struct rank_counts *n, enum rank_figure figure,
		     double value)
{
	bool less = rank_figures[figure].less_is_worse;

	if (isnan(value))
		return;
	if (!n->figure[figure] || (less ? value < row->worst[figure] : value > row->worst[figure]))
		row->worst[figure] = value;
	row->mean[figure] += value;
	n->figure[figure]++;
}

/* The columns of the ranks that hold the accounts; -1: the file lacks one. */
static void rank_account_columns(const struct results_phase_read *p, const struct account_shares *a,
				 int column[ACCOUNTS_MAX])
{
	const struct results_table *ranks = results_ranks(p);
	char name[RESULTS_NAME_BYTES + 4];

	for (uint32_t i = 0; i < a->count; i++) {
		snprintf(name, sizeof(name), "%s_ns", a->list[i].name);
		column[i] = results_column(ranks, name);
	}
}

/* Percentiles of whole nodes, where the file has no others. */
static void rank_node_latencies(const struct results_phase_read *p, struct rank_rows *out,
				struct rank_counts *counts)
{
	uint64_t rows = results_whole(p)->latencies.rows;

	for (uint64_t n = 0; n < rows; n++) {
		const struct results_latency_row *l = slow_latency(p, true, n);

		if (l && n / out->units_per_row < out->count)
			rank_add(&out->rows[n / out->units_per_row],
				 &counts[n / out->units_per_row], RANK_P99, l->p99_ns);
	}
}

static void rank_fill(const struct results_phase_read *p, bool of_nodes, struct rank_rows *out,
		      struct rank_counts *counts)
{
	const struct results_table *ranks = results_ranks(p);
	int column[ACCOUNTS_MAX];

	rank_account_columns(p, &out->accounts, column);
	for (uint64_t i = 0; i < ranks->row_count; i++) {
		uint64_t rank = (uint64_t)results_value(ranks, i, "rank");
		uint64_t node = (uint64_t)results_value(ranks, i, "node");
		uint64_t at = (of_nodes ? node : i) / out->units_per_row;
		struct rank_row *row;

		if (at >= out->count)
			continue;
		row = &out->rows[at];
		if (!row->ranks++) {
			row->rank = rank;
			row->node = node;
		}
		for (int k = 0; k < RANK_FIGURES; k++)
			rank_add(row, &counts[at], (enum rank_figure)k,
				 rank_value(p, i, rank, (enum rank_figure)k));
		for (uint32_t a = 0; out->has_accounts && a < out->accounts.count; a++)
			row->accounts[a] +=
				column[a] < 0 ? 0 : results_cell(ranks, i, column[a]) / 1e9;
	}
	if (of_nodes && results_whole(p)->latencies.by_node)
		rank_node_latencies(p, out, counts);
}

static void rank_divide(struct rank_rows *out, const struct rank_counts *counts)
{
	for (uint64_t i = 0; i < out->count; i++) {
		struct rank_row *row = &out->rows[i];

		for (int k = 0; k < RANK_FIGURES; k++) {
			uint64_t n = counts[i].figure[k];

			row->mean[k] = n ? row->mean[k] / (double)n : NAN;
			row->worst[k] = n ? row->worst[k] : NAN;
		}
		for (uint32_t a = 0; row->ranks && a < out->accounts.count; a++)
			row->accounts[a] /= (double)row->ranks;
	}
}

bool rank_rows_of(const struct results_file *f, const struct results_phase_read *p, bool of_nodes,
		  uint32_t rows_max, struct rank_rows *out)
{
	const struct results_table *ranks = results_ranks(p);
	uint64_t units = of_nodes ? f->nodes : ranks->row_count;
	struct rank_counts *counts;
	bool whole;

	*out = (struct rank_rows){.units_per_row = (units + rows_max - 1) / rows_max};
	if (!units || !ranks->row_count || results_column(ranks, "rank") < 0 ||
	    results_column(ranks, "node") < 0)
		return false;
	out->count = (units + out->units_per_row - 1) / out->units_per_row;
	out->rows = calloc(out->count, sizeof(*out->rows));
	counts = calloc(out->count, sizeof(*counts));
	whole = out->rows && counts;
	if (whole) {
		out->has_accounts = accounts_of(p, &out->accounts);
		rank_fill(p, of_nodes, out, counts);
		rank_divide(out, counts);
	}
	free(counts);
	return whole;
}

void rank_rows_free(struct rank_rows *r)
{
	free(r->rows);
	r->rows = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Values of criteria in one repeat: see accept.h. */
#include <math.h>
#include <stdlib.h>

#include "core/measure/quantile.h"
#include "report/accept.h"
#include "report/client_side.h"
#include "report/doubt.h"
#include "report/fence.h"
#include "report/phase.h"

static double accept_p99(const struct results_phase_read *p, const struct accept_rule *rule)
{
	const struct hist *h =
		results_find_hist(p, *rule->histogram ? rule->histogram : p->record.main_hist);

	return h ? (double)hist_quantile_ns(h, quantile_kinds[QUANTILE_P99].share) : NAN;
}

/* The least rate of a node as a share of the median. A node's rate is the sum of its ranks' rates.
 * NaN of fewer than two nodes, and of phases whose ranks have no rates. */
static double accept_nodes(const struct results_file *f, const struct results_phase_read *p)
{
	const struct results_table *ranks = results_ranks(p);
	int node_column = results_column(ranks, "node");
	double *rates = f->nodes > 1 ? calloc(f->nodes, sizeof(*rates)) : NULL;
	double least = INFINITY, median;

	if (!rates || node_column < 0 || results_role(ranks, ROLE_BYTE_RATE) < 0) {
		free(rates);
		return NAN;
	}
	for (uint64_t i = 0; i < ranks->row_count; i++) {
		double node = results_cell(ranks, i, node_column);

		if (node >= 0 && node < (double)f->nodes)
			rates[(uint64_t)node] += results_role_value(ranks, i, ROLE_BYTE_RATE);
	}
	for (uint64_t i = 0; i < f->nodes; i++)
		least = isnan(rates[i]) ? NAN : fmin(least, rates[i]);
	median = fence_median(rates, f->nodes);
	free(rates);
	return median > 0 ? least / median : NAN;
}

/* 1: the client was the limit. NaN where that is not known. */
static double accept_client(const struct results_file *f, const struct results_phase_read *p)
{
	struct client_side c;
	double limit;

	if (p->record.seconds < client_shortest_s || !client_side_of(f, p, &c))
		return NAN;
	limit = c.limit != CLIENT_LIMIT_NONE;
	client_side_free(&c);
	return limit;
}

/* How many doubts make the figures void. */
static double accept_doubts(const struct results_file *f, const struct results_phase_read *p)
{
	struct doubts d;
	unsigned n = 0;

	if (isnan(phase_common(p, TALLY_ERRORS)))
		return NAN;
	doubts_of(&d, f, p);
	for (int i = 0; i < DOUBTS; i++)
		n += d.raised[i] && doubt_kinds[i].voids;
	return n;
}

/* The mean of a column over the checkpoints that have it. */
static double accept_checkpoints(const struct results_phase_read *p, const char *column)
{
	const struct results_rows *rows = results_find_table(p, "checkpoints");
	double sum = 0;
	uint64_t n = 0;

	for (uint64_t i = 0; rows && i < rows->table.row_count; i++) {
		double ns = results_value(&rows->table, i, column);

		if (ns > 0) {
			sum += ns;
			n++;
		}
	}
	return n ? sum / (double)n : NAN;
}

double accept_value(const struct results_file *f, const struct results_phase_read *p,
		    const struct accept_rule *rule, enum accept_criterion criterion)
{
	switch (criterion) {
	case ACCEPT_RATE:
		return series_figure_of(p, SERIES_BYTES);
	case ACCEPT_WRITE:
		return series_figure_of(p, SERIES_WRITE);
	case ACCEPT_READ:
		return series_figure_of(p, SERIES_READ);
	case ACCEPT_OPERATIONS:
		return series_figure_of(p, SERIES_OPERATIONS);
	case ACCEPT_SAMPLES:
		return series_figure_of(p, SERIES_SAMPLES);
	case ACCEPT_AU:
		return series_figure_of(p, SERIES_AU);
	case ACCEPT_P99:
		return accept_p99(p, rule);
	case ACCEPT_NODES:
		return accept_nodes(f, p);
	case ACCEPT_CV:
		return series_figure_of(p, series_main(p));
	case ACCEPT_ERRORS:
		return phase_common(p, TALLY_ERRORS);
	case ACCEPT_CACHED:
		return results_role_value(&p->merged, 0, ROLE_CACHED);
	case ACCEPT_CLIENT:
		return accept_client(f, p);
	case ACCEPT_DOUBT:
		return accept_doubts(f, p);
	case ACCEPT_CHECKPOINT:
		return accept_checkpoints(p, "write_ns");
	case ACCEPT_RESTORE:
		return accept_checkpoints(p, "read_ns");
	case ACCEPT_CRITERIA:
		break;
	}
	return NAN;
}

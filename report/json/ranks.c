/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks and nodes of a phase as JSON. How they differ: columns of equal length under "by_rank" and
 * "by_node", with a row for each rank or node; null where nothing is known, and for a single node.
 * Where there are more than a reader wants, a row holds several ranks (or nodes) of consecutive
 * numbers: their mean, and the worst of them. So what is read is bounded, whatever the file holds.
 * Those that were slower than the others: null where there is none. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/numbers.h"
#include "report/accounts.h"
#include "report/json/json.h"
#include "report/slow.h"

/* X(enum, key in JSON of the mean, key of the worst, whether less is worse). An empty key: it is
 * not given. A mean of percentiles would mean nothing. */
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
static const struct rank_figure_kind {
	const char *mean, *worst;
	bool less_is_worse;
} rank_figures[RANK_FIGURES] = {
#define RANK_KIND(id, mean, worst, less) [RANK_##id] = {(mean), (worst), (less)},
	RANK_FIGURE_LIST(RANK_KIND)
#undef RANK_KIND
};

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

/* At most rows_max rows. Returns false where the phase has no ranks, or there is no memory. Free it
 * in either case. */
static bool rank_rows_of(const struct results_file *f, const struct results_phase_read *p,
			 bool of_nodes, uint32_t rows_max, struct rank_rows *out)
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

/* A column of all rows: a number at that offset of each. */
static void units_column(cJSON *to, const char *key, const struct rank_rows *r,
			 enum column_type type, size_t offset)
{
	const struct column column = {.type = type, .offset = offset};
	cJSON *list = cJSON_AddArrayToObject(to, key);

	for (uint64_t i = 0; i < r->count; i++)
		cJSON_AddItemToArray(list, json_number(column_number(&column, &r->rows[i])));
}

static cJSON *units_object(const struct rank_rows *r, const char *per_row)
{
	cJSON *o = cJSON_CreateObject(), *accounts;

	json_add_number(o, per_row, (double)r->units_per_row);
	units_column(o, "rank", r, COLUMN_U64, offsetof(struct rank_row, rank));
	units_column(o, "node", r, COLUMN_U64, offsetof(struct rank_row, node));
	units_column(o, "ranks", r, COLUMN_U64, offsetof(struct rank_row, ranks));
	for (int k = 0; k < RANK_FIGURES; k++) {
		if (*rank_figures[k].mean)
			units_column(o, rank_figures[k].mean, r, COLUMN_REAL,
				     offsetof(struct rank_row, mean[k]));
		units_column(o, rank_figures[k].worst, r, COLUMN_REAL,
			     offsetof(struct rank_row, worst[k]));
	}
	if (!r->has_accounts) {
		cJSON_AddNullToObject(o, "accounts");
		return o;
	}
	accounts = cJSON_AddObjectToObject(o, "accounts");
	for (uint32_t a = 0; a < r->accounts.count; a++)
		units_column(accounts, r->accounts.list[a].name, r, COLUMN_REAL,
			     offsetof(struct rank_row, accounts[a]));
	return o;
}

void json_units(cJSON *to, const struct results_file *f, const struct results_phase_read *p,
		uint32_t rows_max)
{
	static const struct {
		const char *key, *per_row;
		bool nodes;
	} kinds[] = {{"by_rank", "ranks_per_row", false}, {"by_node", "nodes_per_row", true}};

	for (size_t i = 0; i < COUNT(kinds); i++) {
		bool alone = kinds[i].nodes && f->nodes < 2;
		struct rank_rows r = {.count = 0};

		if (!alone && rank_rows_of(f, p, kinds[i].nodes, rows_max, &r))
			cJSON_AddItemToObject(to, kinds[i].key, units_object(&r, kinds[i].per_row));
		else
			cJSON_AddNullToObject(to, kinds[i].key);
		free(r.rows);
	}
}

static void add_measures(cJSON *to, const struct slow_unit *u)
{
	cJSON *all = cJSON_AddObjectToObject(to, "measures"), *one;

	for (unsigned m = 0; m < SLOW_MEASURES; m++) {
		if (isnan(u->value[m]))
			continue;
		one = cJSON_AddObjectToObject(all, slow_names[m]);
		json_add_number(one, "value", u->value[m]);
		json_add_number(one, "median", u->median[m]);
		json_add_number(one, "limit", u->limit[m]);
		cJSON_AddBoolToObject(one, "beyond", u->beyond[m]);
	}
}

static cJSON *slow_object(const struct results_file *f, const struct slow_unit *u)
{
	cJSON *one = cJSON_CreateObject();
	char who[SLOW_WHO_BYTES];

	slow_who(f, u, who);
	cJSON_AddStringToObject(one, "who", who);
	cJSON_AddStringToObject(one, "unit", u->ranks > 1 ? "node" : "rank");
	json_add_number(one, "rank", (double)u->rank);
	json_add_number(one, "ranks", (double)u->ranks);
	json_add_number(one, "node", (double)u->node);
	if (u->node < f->nodes)
		cJSON_AddStringToObject(one, "host", f->hosts[u->node]);
	add_measures(one, u);
	return one;
}

void json_slow(cJSON *to, const struct results_file *f, const struct results_phase_read *p)
{
	struct slow s;
	cJSON *slow, *units;

	if (!slow_of(p, &s)) {
		cJSON_AddNullToObject(to, "slow");
		return;
	}
	slow = cJSON_AddObjectToObject(to, "slow");
	cJSON_AddStringToObject(slow, "latency", s.latency);
	units = cJSON_AddArrayToObject(slow, "units");
	for (uint32_t i = 0; i < s.count; i++)
		cJSON_AddItemToArray(units, slow_object(f, &s.units[i]));
	slow_free(&s);
}

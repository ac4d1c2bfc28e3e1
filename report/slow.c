/* SPDX-License-Identifier: Apache-2.0 */
/* Slow ranks and nodes: see slow.h. */
#include "report/slow.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/fence.h"
#include "report/phase.h"

#define SLOW_NAME(id, name, unit) [SLOW_##id] = (name),
const char *const slow_names[SLOW_MEASURES] = {SLOW_LIST(SLOW_NAME)};
#undef SLOW_NAME

/* This share of the phase is added to all waits before they are compared: to wait twice as long as
 * next to nothing does not make a rank slow. */
static const double wait_floor = 0.05;

/* A rank, or the middle rank of a node. Larger is worse in all of them. */
struct slow_row {
	uint64_t rank, node, ranks, last_rank;
	double worse[SLOW_MEASURES];
	double sure[SLOW_MEASURES]; /* see fence_beyond */
	bool beyond[SLOW_MEASURES];
	bool named;
};

struct slow_rows {
	struct slow_row *row;
	uint64_t count;
	struct fence fence[SLOW_MEASURES];
	bool fenced[SLOW_MEASURES];
};

double slow_wait_s(const struct results_table *ranks, uint64_t row)
{
	double sum = NAN;

	for (uint32_t c = 0; c < ranks->column_count; c++)
		if (ranks->columns[c].role == ROLE_ACCOUNT_STORAGE)
			sum = (isnan(sum) ? 0 : sum) + results_cell(ranks, row, (int)c) / 1e9;
	return sum;
}

/* Bytes per second of a rank, where that tells how fast it was: in phases that give all ranks the
 * same work and know when each had done it, or in which all ranks keep step. */
static double slow_rate(const struct results_table *ranks, uint64_t row)
{
	bool apart = results_role(ranks, ROLE_RANK_DONE) >= 0;
	bool together = results_role(ranks, ROLE_ACCOUNT_COMPUTE) >= 0;

	return apart || together ? results_role_value(ranks, row, ROLE_BYTE_RATE) : NAN;
}

const struct results_latency_row *slow_latency(const struct results_phase_read *p, bool of_node,
					       uint64_t number)
{
	const struct results_latencies *l = &results_whole(p)->latencies;

	if (of_node != l->by_node || number >= l->rows || !l->row[number].count)
		return NULL;
	return &l->row[number];
}

static void slow_set_latency(struct slow_row *r, const struct results_latency_row *l)
{
	r->worse[SLOW_P99] = l ? l->p99_ns : NAN;
	r->sure[SLOW_P99] = l ? l->p99_least_ns : NAN;
}

static void slow_fill(const struct results_phase_read *p, uint64_t i, struct slow_row *r)
{
	const struct results_table *ranks = results_ranks(p);
	double rate = slow_rate(ranks, i);

	r->rank = r->last_rank = (uint64_t)results_value(ranks, i, "rank");
	r->node = (uint64_t)results_value(ranks, i, "node");
	r->ranks = 1;
	r->worse[SLOW_STORAGE] = slow_wait_s(ranks, i) + wait_floor * p->record.seconds;
	r->worse[SLOW_RATE] = rate > 0 ? 1 / rate : NAN;
	memcpy(r->sure, r->worse, sizeof(r->sure));
	slow_set_latency(r, slow_latency(p, false, r->rank));
}

/* The ranks that had requests of their own. In a training with replicas, others get their batches
 * from them. */
static bool slow_ranks(const struct results_phase_read *p, struct slow_rows *to)
{
	const struct results_table *ranks = results_ranks(p);
	int requests =
		results_column(ranks, tally_common_columns.measures[TALLY_STORE_REQUESTS].name);

	/* Older files count them under another name. */
	if (requests < 0)
		requests =
			results_column(ranks, tally_common_columns.measures[TALLY_OPERATIONS].name);
	to->row = calloc(ranks->row_count + 1, sizeof(*to->row));
	if (!to->row || results_column(ranks, "rank") < 0 || results_column(ranks, "node") < 0)
		return false;
	for (uint64_t i = 0; i < ranks->row_count; i++)
		if (results_cell(ranks, i, requests) > 0)
			slow_fill(p, i, &to->row[to->count++]);
	return true;
}

static int slow_by_node(const void *a, const void *b)
{
	const struct slow_row *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* The middle of a measure over some ranks of a node, of two in the middle the better: so it is bad
 * only where more than half of the ranks are. NaN where a rank does not have it. */
static double slow_middle(const struct slow_row *from, uint64_t n, unsigned measure, bool sure,
			  double *scratch)
{
	for (uint64_t i = 0; i < n; i++) {
		scratch[i] = sure ? from[i].sure[measure] : from[i].worse[measure];
		if (isnan(scratch[i]))
			return NAN;
	}
	return fence_middle(scratch, n);
}

/* One row for each node, from the rows of its ranks. ranks is sorted by node. */
static bool slow_nodes(const struct results_phase_read *p, const struct slow_rows *ranks,
		       struct slow_rows *to)
{
	double *scratch = calloc(ranks->count + 1, sizeof(*scratch));

	to->row = calloc(ranks->count + 1, sizeof(*to->row));
	for (uint64_t i = 0, n; scratch && to->row && i < ranks->count; i += n) {
		const struct slow_row *first = &ranks->row[i];
		struct slow_row *r = &to->row[to->count++];

		for (n = 1; i + n < ranks->count && first[n].node == first->node;)
			n++;
		*r = (struct slow_row){.rank = first->rank,
				       .last_rank = first[n - 1].rank,
				       .node = first->node,
				       .ranks = n};
		for (unsigned m = 0; m < SLOW_MEASURES; m++) {
			r->worse[m] = slow_middle(first, n, m, false, scratch);
			r->sure[m] = slow_middle(first, n, m, true, scratch);
		}
		if (results_whole(p)->latencies.by_node)
			slow_set_latency(r, slow_latency(p, true, r->node));
	}
	free(scratch);
	return scratch && to->row;
}

/* How many values there are. */
static uint64_t slow_tests(const struct slow_rows *rows)
{
	uint64_t tests = 0;

	for (uint64_t i = 0; i < rows->count; i++)
		for (unsigned m = 0; m < SLOW_MEASURES; m++)
			tests += rows->row[i].worse[m] > 0;
	return tests;
}

/* Puts a fence around each measure, and finds the rows beyond. */
static bool slow_judge(struct slow_rows *rows, uint64_t tests)
{
	double *values = calloc(rows->count + 1, sizeof(*values));

	for (unsigned m = 0; values && m < SLOW_MEASURES; m++) {
		for (uint64_t i = 0; i < rows->count; i++)
			values[i] = rows->row[i].worse[m];
		rows->fenced[m] = fence_of(&rows->fence[m], values, rows->count, tests);
		for (uint64_t i = 0; rows->fenced[m] && i < rows->count; i++) {
			struct slow_row *r = &rows->row[i];

			r->beyond[m] = fence_beyond(&rows->fence[m], r->worse[m], r->sure[m]);
			r->named = r->named || r->beyond[m];
		}
	}
	free(values);
	return values;
}

/* A node is also named where most of its ranks are, and its ranks are not named beside it. Both are
 * sorted by node. Where there are too few nodes for a fence, the one of the ranks tells how far
 * away they are. */
static void slow_fold(struct slow_rows *ranks, struct slow_rows *nodes)
{
	uint64_t at = 0;

	for (unsigned m = 0; m < SLOW_MEASURES; m++) {
		if (nodes->fenced[m])
			continue;
		nodes->fenced[m] = ranks->fenced[m];
		nodes->fence[m] = ranks->fence[m];
	}
	for (uint64_t i = 0; i < nodes->count; i++) {
		struct slow_row *n = &nodes->row[i], *first = &ranks->row[at];
		uint64_t named = 0;

		at += n->ranks;
		for (uint64_t k = 0; k < n->ranks; k++)
			named += first[k].named;
		n->named = n->named || 2 * named > n->ranks;
		for (uint64_t k = 0; n->named && k < n->ranks; k++) {
			for (unsigned m = 0; m < SLOW_MEASURES; m++)
				n->beyond[m] = n->beyond[m] ||
					       (first[k].beyond[m] && 2 * named > n->ranks);
			first[k].named = false;
		}
	}
}

/* The value that people are shown, of one that was made to be compared. */
static double slow_shown(const struct results_phase_read *p, unsigned measure, double worse)
{
	if (measure == SLOW_STORAGE)
		return worse - wait_floor * p->record.seconds;
	return measure == SLOW_RATE ? 1 / worse : worse;
}

/* What is known of a unit by one measure. */
static void slow_tell(struct slow_unit *u, const struct results_phase_read *p, unsigned measure,
		      const struct slow_row *r, const struct slow_rows *rows)
{
	const struct fence *f = &rows->fence[measure];
	double far = log(r->worse[measure]) - f->median;

	u->beyond[measure] = r->beyond[measure];
	u->value[measure] = u->median[measure] = u->limit[measure] = NAN;
	if (!rows->fenced[measure])
		return;
	u->value[measure] = slow_shown(p, measure, r->worse[measure]);
	u->median[measure] = slow_shown(p, measure, exp(f->median));
	u->limit[measure] = slow_shown(p, measure, exp(f->median + fence_reach(f)));
	if (r->beyond[measure] && far > u->distance)
		u->distance = far;
}

static void slow_add(struct slow *to, const struct results_phase_read *p,
		     const struct slow_rows *rows)
{
	for (uint64_t i = 0; i < rows->count; i++) {
		const struct slow_row *r = &rows->row[i];
		struct slow_unit *u = &to->units[to->count];

		if (!r->named)
			continue;
		*u = (struct slow_unit){.rank = r->rank,
					.node = r->node,
					.ranks = r->ranks,
					.last_rank = r->last_rank};
		for (unsigned m = 0; m < SLOW_MEASURES; m++)
			slow_tell(u, p, m, r, rows);
		to->count++;
	}
}

static int slow_by_distance(const void *a, const void *b)
{
	const struct slow_unit *x = a, *y = b;

	if (x->distance < y->distance || x->distance > y->distance)
		return x->distance > y->distance ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

bool slow_of(const struct results_phase_read *p, struct slow *out)
{
	struct slow_rows ranks = {0}, nodes = {0};
	uint64_t tests;
	bool whole = slow_ranks(p, &ranks);

	*out = (struct slow){.latency = results_whole(p)->latencies.name};
	if (whole && ranks.count)
		qsort(ranks.row, ranks.count, sizeof(*ranks.row), slow_by_node);
	whole = whole && slow_nodes(p, &ranks, &nodes);
	if (whole) {
		tests = slow_tests(&ranks) + slow_tests(&nodes);
		whole = slow_judge(&ranks, tests) && slow_judge(&nodes, tests);
	}
	if (whole) {
		slow_fold(&ranks, &nodes);
		out->units = calloc(ranks.count + nodes.count + 1, sizeof(*out->units));
	}
	if (out->units) {
		slow_add(out, p, &nodes);
		slow_add(out, p, &ranks);
		qsort(out->units, out->count, sizeof(*out->units), slow_by_distance);
	}
	free(ranks.row);
	free(nodes.row);
	if (!out->count)
		slow_free(out);
	return out->count > 0;
}

void slow_free(struct slow *s)
{
	free(s->units);
	s->units = NULL;
	s->count = 0;
}

/* Whether another node has the same host name, as nodes that a test has made of one machine
 * have. */
static bool slow_host_is_shared(const struct results_file *f, uint64_t node)
{
	for (uint64_t i = 0; i < f->nodes; i++)
		if (i != node && strcmp(f->hosts[i], f->hosts[node]) == 0)
			return true;
	return false;
}

void slow_who(const struct results_file *f, const struct slow_unit *u, char who[SLOW_WHO_BYTES])
{
	const char *host = u->node < f->nodes ? f->hosts[u->node] : "?";
	bool shared = u->node < f->nodes && slow_host_is_shared(f, u->node);
	char name[SLOW_WHO_BYTES / 2 + 8];

	if (u->ranks == 1) {
		snprintf(who, SLOW_WHO_BYTES, "rank %llu on %s", (unsigned long long)u->rank, host);
		return;
	}
	if (shared)
		snprintf(name, sizeof(name), "node %llu on %s", (unsigned long long)u->node, host);
	else
		snprintf(name, sizeof(name), "node %s", host);
	if (u->last_rank - u->rank + 1 == u->ranks)
		snprintf(who, SLOW_WHO_BYTES, "%s (ranks %llu to %llu)", name,
			 (unsigned long long)u->rank, (unsigned long long)u->last_rank);
	else
		snprintf(who, SLOW_WHO_BYTES, "%s (%llu ranks, of which %llu is the first)", name,
			 (unsigned long long)u->ranks, (unsigned long long)u->rank);
}

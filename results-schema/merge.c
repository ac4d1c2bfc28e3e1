/* SPDX-License-Identifier: Apache-2.0 */
/* Merge of a phase's tallies over all ranks: see merge.h. */
#include "results-schema/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"

static int merged_room(struct merged *m, struct err *err);
static int merge_rank_row(struct merged *m, struct group *group);

static int merge_timeline(struct merged *m, struct group *group, struct err *err);
static int merge_steps(struct merged *m, struct group *group, struct err *err);
static int merge_client(struct merged *m, uint32_t nodes_max, struct group *group, struct err *err);
static int merge_failures(struct merged *m, struct group *group, struct err *err);
static int merge_hists(struct merged *m, struct group *group, struct group *node, struct err *err);

int merged_make(struct merged *m, const struct results_phase *phase, uint32_t client_nodes_max,
		struct group *group, struct group *node, struct err *err)
{
	int rc;

	memset(m, 0, sizeof(*m));
	m->phase = phase;
	m->schema = phase->tally->schema;
	m->main_hist = m->rank_hist = -1;
	rc = group_agree(group, merged_room(m, err), err);
	if (rc == 0)
		rc = merge_rank_row(m, group);
	if (rc == 0)
		rc = merge_hists(m, group, node, err);
	if (rc == 0)
		rc = merge_tables(m, group, err);
	if (rc == 0)
		rc = merge_timeline(m, group, err);
	if (rc == 0)
		rc = merge_steps(m, group, err);
	if (rc == 0)
		rc = merge_client(m, client_nodes_max, group, err);
	if (rc == 0)
		rc = merge_failures(m, group, err);
	return rc;
}

void merged_free(struct merged *m)
{
	free(m->row);
	free(m->range);
	for (uint32_t i = 0; m->hists && i < m->hist_count; i++)
		free(m->hists[i].whole);
	free(m->hists);
	free(m->hist_row);
	for (uint32_t i = 0; m->tables && i < m->schema->table_count; i++) {
		free(m->tables[i].words);
		free(m->tables[i].own);
	}
	free(m->tables);
	free(m->timeline);
	free(m->steps);
	free(m->client.over);
	free(m->failures);
	memset(m, 0, sizeof(*m));
}

/* What all phases need, so that ranks need to agree once that they have it. */
static int merged_room(struct merged *m, struct err *err)
{
	const struct tally_schema *s = m->schema;

	m->row = calloc(s->rank.measure_count, sizeof(*m->row));
	m->range = calloc(2 * s->hist_count + 1, sizeof(*m->range));
	m->hists = calloc(s->hist_count + 1, sizeof(*m->hists));
	m->tables = calloc(s->table_count + 1, sizeof(*m->tables));
	m->hist_row = calloc(HIST_ROW_BUCKETS, sizeof(*m->hist_row));
	if (!m->row || !m->range || !m->hists || !m->tables || !m->hist_row)
		return err_set(err, -ENOMEM, "no memory for the results of a phase");
	return 0;
}

static int merge_rank_row(struct merged *m, struct group *group)
{
	size_t bytes = m->schema->rank.measure_count * sizeof(uint64_t);

	memcpy(m->row, m->phase->tally->rank_row, bytes);
	for (uint32_t i = 0; m->phase->tally->absent && i < m->schema->rank.measure_count; i++)
		m->row[i] = m->schema->rank.measures[i].merge == MERGE_MIN ? UINT64_MAX : 0;
	return columns_reduce(&m->schema->rank, group, m->row);
}

static int merge_timeline(struct merged *m, struct group *group, struct err *err)
{
	struct timeline *t = m->phase->tally->timeline;
	uint64_t interval = t->interval_ns, rows;
	int rc = group_allreduce(group, MERGE_MAX, &interval, 1);

	if (rc < 0)
		return rc;
	timeline_fold(t, interval);
	rows = t->rows;
	rc = group_allreduce(group, MERGE_MAX, &rows, 1);
	if (rc < 0 || !rows)
		return rc;
	m->timeline = malloc(sizeof(*m->timeline));
	if (!m->timeline)
		err_set(err, -ENOMEM, "no memory for the timeline of a phase");
	rc = group_agree(group, m->timeline ? 0 : -ENOMEM, err);
	if (rc < 0)
		return rc;
	timeline_copy(m->timeline, t, (uint32_t)rows);
	return group_reduce(group, MERGE_SUM, &m->timeline->row[0][0], rows * SECOND_WORDS);
}

/* All rows at once: sums in one reduction, maxima in another. */
static int reduce_steps(struct steps *s, struct group *group)
{
	enum { SUMS = 1 + STEP_PARTS };
	uint64_t *sums = malloc(s->rows * SUMS * sizeof(*sums));
	uint64_t *most = malloc(s->rows * STEP_PARTS * sizeof(*most));
	int rc = group_agree(group, sums && most ? 0 : -ENOMEM, NULL);

	for (uint32_t i = 0; rc == 0 && i < s->rows; i++) {
		sums[i * SUMS] = s->row[i].count;
		memcpy(sums + i * SUMS + 1, s->row[i].sum_ns, sizeof(s->row[i].sum_ns));
		memcpy(most + i * STEP_PARTS, s->row[i].max_ns, sizeof(s->row[i].max_ns));
	}
	if (rc == 0)
		rc = group_reduce(group, MERGE_SUM, sums, (size_t)s->rows * SUMS);
	if (rc == 0)
		rc = group_reduce(group, MERGE_MAX, most, (size_t)s->rows * STEP_PARTS);
	for (uint32_t i = 0; rc == 0 && i < s->rows; i++) {
		s->row[i].count = sums[i * SUMS];
		memcpy(s->row[i].sum_ns, sums + i * SUMS + 1, sizeof(s->row[i].sum_ns));
		memcpy(s->row[i].max_ns, most + i * STEP_PARTS, sizeof(s->row[i].max_ns));
	}
	free(sums);
	free(most);
	return rc;
}

static int merge_steps(struct merged *m, struct group *group, struct err *err)
{
	struct steps *s = m->phase->tally->steps;
	uint64_t per_row = s ? s->steps_per_row : 0, rows;
	int rc;

	if (!s)
		return 0;
	rc = group_allreduce(group, MERGE_MAX, &per_row, 1);
	if (rc < 0)
		return rc;
	steps_fold(s, per_row);
	rows = s->rows;
	rc = group_allreduce(group, MERGE_MAX, &rows, 1);
	if (rc < 0 || !rows)
		return rc;
	m->steps = malloc(sizeof(*m->steps));
	if (!m->steps)
		err_set(err, -ENOMEM, "no memory for the steps of a phase");
	rc = group_agree(group, m->steps ? 0 : -ENOMEM, err);
	if (rc < 0)
		return rc;
	steps_copy(m->steps, s, (uint32_t)rows);
	return reduce_steps(m->steps, group);
}

const char *const client_stat_names[CLIENT_STATS] = {"sum", "min", "p50", "p95", "max"};

uint64_t merged_client_most(uint32_t nodes, uint32_t nodes_max)
{
	return nodes > nodes_max ? MERGED_CLIENT_LEAST
				 : max_u64(MERGED_CLIENT_LEAST, MERGED_CLIENT_ROWS / nodes);
}

/* Nodes fold their rows until they have the same interval, and no more rows than `most` each. */
static int fold_client(struct client_series *client, uint64_t most, struct group *group,
		       uint64_t *interval_ns, uint64_t *rows)
{
	int rc;

	*interval_ns = client ? client->interval_ns : 0;
	rc = group_allreduce(group, MERGE_MAX, interval_ns, 1);
	for (; rc == 0; *interval_ns *= 2) {
		if (client)
			client_series_fold(client, *interval_ns);
		*rows = client ? client->rows : 0;
		rc = group_allreduce(group, MERGE_MAX, rows, 1);
		if (*rows <= most)
			break;
	}
	return rc;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* nodes[count][CLIENT_COLUMNS]: what they did in interval i; sorted: room for count values. */
static void over_interval(struct client_over *over, uint32_t i, const uint64_t *nodes,
			  uint32_t count, uint64_t *sorted)
{
	for (unsigned c = 0; c < CLIENT_COLUMNS; c++) {
		uint64_t sum = 0;
		uint32_t n = 0;

		for (uint32_t k = 0; k < count; k++) {
			const uint64_t *row = nodes + (size_t)k * CLIENT_COLUMNS;

			/* A node without a reading in the interval has no values. */
			if (!row[CLIENT_COVERED_NS])
				continue;
			sorted[n++] = row[c];
			sum += row[c];
		}
		over->nodes[i] = n;
		if (!n)
			continue;
		qsort(sorted, n, sizeof(*sorted), by_value);
		over->row[CLIENT_SUM][i][c] = sum;
		over->row[CLIENT_MIN][i][c] = sorted[0];
		over->row[CLIENT_P50][i][c] = sorted[(n - 1) / 2];
		over->row[CLIENT_P95][i][c] = sorted[((uint64_t)n * 95 + 99) / 100 - 1];
		over->row[CLIENT_MAX][i][c] = sorted[n - 1];
	}
}

/* Among the first ranks of the nodes; rank 0 is one of them. */
static int gather_over(struct merged_client *c, const struct client_series *client,
		       struct group *leaders, struct err *err)
{
	static const uint64_t nothing[CLIENT_COLUMNS];
	uint64_t *nodes = NULL, *sorted = NULL;
	int rc = 0;

	if (leaders->rank == 0) {
		nodes = calloc(leaders->size, CLIENT_COLUMNS * sizeof(*nodes));
		sorted = calloc(leaders->size, sizeof(*sorted));
		c->over = calloc(1, sizeof(*c->over));
		if (!nodes || !sorted || !c->over)
			rc = err_set(err, -ENOMEM, "no memory for what %u nodes did",
				     leaders->size);
	}
	rc = group_agree(leaders, rc, err);
	for (uint32_t i = 0; rc == 0 && i < c->rows; i++) {
		const uint64_t *row = i < client->rows ? client->row[i] : nothing;

		rc = group_gather(leaders, row, sizeof(nothing), nodes);
		if (rc == 0 && nodes && sorted && c->over)
			over_interval(c->over, i, nodes, leaders->size, sorted);
	}
	if (c->over) {
		c->over->interval_ns = c->interval_ns;
		c->over->rows = c->rows;
	}
	free(nodes);
	free(sorted);
	return rc;
}

static int merge_over(struct merged_client *c, struct client_series *client, struct group *group,
		      struct err *err)
{
	struct group *some = NULL;
	uint64_t rows = 0;
	int rc = fold_client(client, CLIENT_OVER_ROWS, group, &c->interval_ns, &rows);

	c->rows = (uint32_t)rows;
	if (rc == 0)
		rc = group_split(group, client ? 0 : 1, &some, err);
	if (rc == 0 && client)
		rc = gather_over(c, client, some, err);
	if (some)
		group_free(some);
	return group_agree(group, rc, err);
}

static int merge_client(struct merged *m, uint32_t nodes_max, struct group *group, struct err *err)
{
	struct client_series *client = m->phase->client;
	uint64_t nodes = client ? 1 : 0, rows = 0;
	int rc = group_allreduce(group, MERGE_SUM, &nodes, 1);

	if (rc < 0 || !nodes)
		return rc;
	m->client = (struct merged_client){.nodes = (uint32_t)nodes, .own = client};
	if (nodes > nodes_max)
		rc = merge_over(&m->client, client, group, err);
	if (rc == 0)
		rc = fold_client(client, merged_client_most((uint32_t)nodes, nodes_max), group,
				 &m->client.interval_ns, &rows);
	m->client.rows = (uint32_t)rows;
	return rc;
}

static uint64_t failures_kept(const struct tally *t)
{
	return t->failure_count < TALLY_FAILURES ? t->failure_count : TALLY_FAILURES;
}

/* Rank 0: computes how many failures each rank gives, and puts that into has[ranks]. Returns the
 * sum. */
static uint32_t failures_share(uint64_t *has, uint32_t ranks)
{
	uint64_t wanted = 0, with = 0, most, total = 0;

	for (uint32_t r = 0; r < ranks; r++) {
		wanted += has[r];
		with += has[r] ? 1 : 0;
	}
	most = wanted <= MERGED_FAILURES_MAX ? TALLY_FAILURES : MERGED_FAILURES_MAX / with;
	most = most ? most : 1;
	for (uint32_t r = 0; r < ranks; r++) {
		has[r] = has[r] < most ? has[r] : most;
		if (total + has[r] > MERGED_FAILURES_MAX)
			has[r] = 0;
		total += has[r];
	}
	return (uint32_t)total;
}

static int by_time(const void *a, const void *b)
{
	const struct failure *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int failures_collect(struct merged *m, const struct tally *t, const uint64_t *shares,
			    struct group *group)
{
	struct failure *to = m->failures;

	for (uint64_t i = 0; i < shares[0]; i++)
		*to++ = t->failures[i];
	for (uint32_t r = 1; r < group->size; r++) {
		int rc = shares[r] ? group_receive(group, r, to, shares[r] * sizeof(*to)) : 0;

		if (rc < 0)
			return rc;
		to += shares[r];
	}
	qsort(m->failures, m->failure_rows, sizeof(*m->failures), by_time);
	return 0;
}

static int merge_failures(struct merged *m, struct group *group, struct err *err)
{
	const struct tally *t = m->phase->tally;
	uint64_t count = t->failure_count, share = failures_kept(t), rows = 0;
	uint64_t *shares = NULL; /* on rank 0 only */
	int rc = group_allreduce(group, MERGE_SUM, &count, 1);

	if (rc < 0 || !count)
		return rc;
	if (group->rank == 0) {
		shares = calloc(group->size, sizeof(*shares));
		m->failures = calloc(MERGED_FAILURES_MAX, sizeof(*m->failures));
		if (!shares || !m->failures)
			rc = err_set(err, -ENOMEM, "no memory for the errors of a phase");
	}
	rc = group_agree(group, rc, err);
	if (rc == 0)
		rc = group_gather(group, &share, sizeof(share), shares);
	if (rc == 0 && shares)
		rows = failures_share(shares, group->size);
	if (rc == 0)
		rc = group_broadcast(group, &rows, sizeof(rows));
	if (rc == 0)
		rc = group_scatter(group, shares, sizeof(share), &share);
	m->failure_count = count;
	m->failure_rows = (uint32_t)rows;
	if (rc == 0 && shares)
		rc = failures_collect(m, t, shares, group);
	else if (rc == 0 && share)
		rc = group_send(group, 0, t->failures, share * sizeof(t->failures[0]));
	free(shares);
	return rc;
}

/* Finds which histograms any rank has used, and in which buckets. */
static int find_ranges(struct merged *m, struct group *group)
{
	uint32_t kinds = m->schema->hist_count;
	uint64_t *range = m->range;
	int rc;

	for (uint32_t k = 0; k < kinds; k++) {
		unsigned first, last;

		if (hist_range(&m->phase->tally->hists[k], &first, &last) < 0)
			continue;
		range[2 * k] = last + 1;
		range[2 * k + 1] = HIST_BUCKETS - first;
	}
	rc = group_allreduce(group, MERGE_MAX, range, 2 * kinds);
	for (uint32_t k = 0; rc == 0 && k < kinds; k++) {
		struct merged_hist *h = &m->hists[m->hist_count];

		if (!range[2 * k])
			continue;
		h->kind = &m->schema->hists[k];
		h->first = HIST_BUCKETS - (unsigned)range[2 * k + 1];
		h->count = (unsigned)range[2 * k] - h->first;
		if (m->main_hist < 0 && k >= m->phase->tally->main_hist)
			m->main_hist = (int32_t)m->hist_count;
		if (m->rank_hist < 0 && h->kind->role == ROLE_READ_LATENCY)
			m->rank_hist = (int32_t)m->hist_count;
		m->hist_count++;
	}
	if (m->main_hist < 0 && m->hist_count)
		m->main_hist = 0;
	if (m->rank_hist < 0)
		m->rank_hist = m->main_hist;
	return rc;
}

static const struct hist *own_hist(const struct merged *m, const struct merged_hist *h)
{
	return &m->phase->tally->hists[h->kind - m->schema->hists];
}

static size_t packed_words(const struct merged *m)
{
	size_t words = 0;

	for (uint32_t i = 0; i < m->hist_count; i++)
		words += m->hists[i].count + 2;
	return words;
}

/* Packs every used histogram into one array: its buckets, sum and clipped. */
static void pack_hists(const struct merged *m, uint64_t *words)
{
	for (uint32_t i = 0; i < m->hist_count; i++) {
		const struct merged_hist *h = &m->hists[i];
		const struct hist *from = own_hist(m, h);

		memcpy(words, from->bucket + h->first, h->count * sizeof(*words));
		words += h->count;
		*words++ = from->sum_ns;
		*words++ = from->clipped;
	}
}

/* This rank's row of by_rank, or its node's row of by_node. Counts above 2^32 - 1 become 2^32 -
 * 1. */
static int own_row(struct merged *m, struct group *node)
{
	const struct hist *from = own_hist(m, &m->hists[m->rank_hist]);
	uint64_t words[HIST_ROW_BUCKETS] = {0};
	int rc = 0;

	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		words[i / HIST_ROW_MERGES] += from->bucket[i];
	if (node)
		rc = group_reduce(node, MERGE_SUM, words, HIST_ROW_BUCKETS);
	for (unsigned i = 0; rc == 0 && i < HIST_ROW_BUCKETS; i++)
		m->hist_row[i] = words[i] > UINT32_MAX ? UINT32_MAX : (uint32_t)words[i];
	return rc;
}

/* Unpacks the reduced words into whole histograms, which only rank 0 has. */
static void unpack_hists(struct merged *m, const uint64_t *words, const uint64_t *maxima)
{
	for (uint32_t i = 0; i < m->hist_count && m->hists[i].whole; i++) {
		struct merged_hist *h = &m->hists[i];

		memcpy(h->whole->bucket + h->first, words, h->count * sizeof(*words));
		h->whole->sum_ns = words[h->count];
		h->whole->clipped = words[h->count + 1];
		h->whole->max_ns = maxima[2 * i];
		h->whole->min_not_ns = maxima[2 * i + 1];
		words += h->count + 2;
	}
}

static int reduce_hists(struct merged *m, uint64_t *words, uint64_t *maxima, struct group *group)
{
	int rc;

	pack_hists(m, words);
	for (uint32_t i = 0; i < m->hist_count; i++) {
		maxima[2 * i] = own_hist(m, &m->hists[i])->max_ns;
		maxima[2 * i + 1] = own_hist(m, &m->hists[i])->min_not_ns;
	}
	rc = group_reduce(group, MERGE_SUM, words, packed_words(m));
	if (rc == 0)
		rc = group_reduce(group, MERGE_MAX, maxima, 2 * m->hist_count);
	if (rc == 0)
		unpack_hists(m, words, maxima);
	return rc;
}

/* Its parts, each in a file of its own. Collective; the same outcome on every rank. */
static int merge_hists(struct merged *m, struct group *group, struct group *node, struct err *err)
{
	uint64_t *words = NULL, *maxima = NULL;
	int rc = find_ranges(m, group);

	if (rc < 0 || !m->hist_count)
		return rc;
	words = calloc(packed_words(m), sizeof(*words));
	maxima = calloc(2 * m->hist_count, sizeof(*maxima));
	rc = words && maxima ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < m->hist_count && rc == 0; i++) {
		struct merged_hist *h = &m->hists[i];

		h->whole = group->rank == 0 ? calloc(1, sizeof(*h->whole)) : NULL;
		if (group->rank == 0 && !h->whole)
			rc = -ENOMEM;
	}
	if (rc < 0)
		err_set(err, rc, "no memory for the histograms of a phase");
	rc = group_agree(group, rc, err);
	if (rc == 0)
		rc = own_row(m, node);
	if (rc == 0)
		rc = reduce_hists(m, words, maxima, group);
	free(words);
	free(maxima);
	return rc;
}

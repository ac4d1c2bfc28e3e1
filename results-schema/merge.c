#include "results-schema/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "results-schema/merge_endpoints.h"
#include "results-schema/merge_failures.h"

static int merge_text(struct merged *m, const struct results_phase *phase, uint64_t run_seconds_ns,
		      struct group *group);
static int merge_rows(struct merged *m, const struct results_phase *phase, struct group *group,
		      struct err *err);
static int merge_hists(struct merged *m, const struct tally *t, struct group *group,
		       struct group *node, struct err *err);
static int merge_timeline(struct merged *m, struct timeline *t, struct group *group,
			  struct err *err);
static int merge_client(struct merged *m, struct client_series *client, struct group *group);

int merged_make(struct merged *m, const struct results_phase *phase, uint64_t run_seconds_ns,
		struct group *group, struct group *node, struct err *err)
{
	int rc;

	memset(m, 0, sizeof(*m));
	m->schema = phase->tally->schema;
	m->main_hist = -1;
	rc = merge_text(m, phase, run_seconds_ns, group);
	if (rc == 0)
		rc = merge_rows(m, phase, group, err);
	if (rc == 0)
		rc = merge_hists(m, phase->tally, group, node, err);
	if (rc == 0)
		rc = merge_timeline(m, phase->tally->timeline, group, err);
	if (rc == 0)
		rc = merge_client(m, phase->client, group);
	if (rc == 0)
		rc = merge_endpoints(m, phase->tally, group, err);
	if (rc == 0)
		rc = merge_failures(m, phase->tally, group, err);
	return group_agree(group, rc, err);
}

void merged_free(struct merged *m)
{
	free(m->row);
	free(m->own_epochs);
	free(m->epoch_rows);
	for (uint32_t i = 0; m->hists && i < m->hist_count; i++) {
		free(m->hists[i].buckets);
		free(m->hists[i].row);
	}
	free(m->hists);
	free(m->timeline);
	free(m->endpoints);
	free(m->failures);
	memset(m, 0, sizeof(*m));
}

/* Texts are cut at a character's beginning, so that they stay UTF-8. */
static void copy_text(char *to, size_t size, const char *from)
{
	size_t n = from ? strlen(from) : 0;

	if (n >= size) {
		n = size - 1;
		while (n > 0 && ((unsigned char)from[n] & 0xc0) == 0x80)
			n--;
	}
	if (n)
		memcpy(to, from, n);
	to[n] = '\0';
}

static void merge_run(struct merged_text *t, const struct results_run *run)
{
	t->run = run->run ? run->run : 1;
	t->combination = run->combination ? run->combination : 1;
	t->repeat = run->repeat ? run->repeat : 1;
	t->warmup = run->warmup;
	t->set_count = run->set_count < MERGED_SETS_MAX ? run->set_count : MERGED_SETS_MAX;
	for (uint32_t i = 0; i < t->set_count; i++)
		copy_text(t->sets[i], sizeof(t->sets[i]), run->sets[i]);
}

static int merge_text(struct merged *m, const struct results_phase *phase, uint64_t run_seconds_ns,
		      struct group *group)
{
	struct merged_text *t = &m->text;

	t->number = phase->number;
	t->seconds_ns = phase->seconds_ns;
	t->run_seconds_ns = run_seconds_ns;
	t->null_au = phase->null_au;
	t->target_au = phase->target_au;
	copy_text(t->kind, sizeof(t->kind), phase->kind);
	copy_text(t->name, sizeof(t->name),
		  phase->name && *phase->name ? phase->name : phase->kind);
	copy_text(t->store, sizeof(t->store), phase->store);
	copy_text(t->status, sizeof(t->status), phase->status);
	copy_text(t->message, sizeof(t->message), phase->message);
	copy_text(t->error, sizeof(t->error), phase->error);
	merge_run(t, &phase->run);
	return group_broadcast(group, t, sizeof(*t));
}

/* All epochs in one reduction: the columns of one, as often as there are epochs. */
static int reduce_epochs(const struct merged *m, uint64_t *rows, struct group *group)
{
	const struct columns *c = &m->schema->epoch;
	struct measure *measures = calloc((size_t)m->epochs * c->measure_count, sizeof(*measures));
	struct columns all = {.measures = measures, .measure_count = m->epochs * c->measure_count};
	int rc = group_agree(group, measures ? 0 : -ENOMEM, NULL);

	if (rc == 0) {
		for (uint32_t e = 0; e < m->epochs; e++)
			memcpy(measures + (size_t)e * c->measure_count, c->measures,
			       c->measure_count * sizeof(*measures));
		rc = tally_reduce_row(&all, group, rows);
	}
	free(measures);
	return rc;
}

static int merge_rows(struct merged *m, const struct results_phase *phase, struct group *group,
		      struct err *err)
{
	const struct tally *t = phase->tally;
	size_t rank_bytes = m->schema->rank.measure_count * sizeof(uint64_t);
	size_t epoch_bytes = m->schema->epoch.measure_count * sizeof(uint64_t);
	uint64_t epochs = epoch_bytes ? t->epochs : 0;
	int rc = group_allreduce(group, MERGE_MAX, &epochs, 1);

	if (rc < 0)
		return rc;
	m->epochs = (uint32_t)epochs;
	m->row = malloc(rank_bytes);
	m->own_epochs = calloc(m->epochs + 1, epoch_bytes + 1);
	m->epoch_rows = calloc(m->epochs + 1, epoch_bytes + 1);
	if (!m->row || !m->own_epochs || !m->epoch_rows)
		rc = err_set(err, -ENOMEM, "no memory for the results of a phase");
	rc = group_agree(group, rc, err);
	if (rc < 0)
		return rc;
	memcpy(m->row, t->rank_row, rank_bytes);
	rc = tally_reduce_row(&m->schema->rank, group, m->row);
	if (rc == 0)
		rc = group_broadcast(group, m->row, rank_bytes);
	if (rc < 0 || !m->epochs)
		return rc;
	memcpy(m->own_epochs, t->epoch_rows, epoch_bytes * t->epochs);
	memcpy(m->epoch_rows, m->own_epochs, epoch_bytes * m->epochs);
	return reduce_epochs(m, m->epoch_rows, group);
}

/* Which histograms any rank has used, and in which buckets. */
static int find_ranges(struct merged *m, const struct tally *t, struct group *group,
		       struct err *err)
{
	uint32_t kinds = m->schema->hist_count;
	uint64_t *range = calloc(2 * kinds + 1, sizeof(*range));
	int rc;

	m->hists = calloc(kinds + 1, sizeof(*m->hists));
	rc = group_agree(group, range && m->hists ? 0 : -ENOMEM, err);
	for (uint32_t k = 0; rc == 0 && k < kinds; k++) {
		unsigned first, last;

		if (hist_range(&t->hists[k], &first, &last) < 0)
			continue;
		range[2 * k] = last + 1;
		range[2 * k + 1] = HIST_BUCKETS - first;
	}
	if (rc == 0)
		rc = group_allreduce(group, MERGE_MAX, range, 2 * kinds);
	for (uint32_t k = 0; rc == 0 && k < kinds; k++) {
		struct merged_hist *h = &m->hists[m->hist_count];

		if (!range[2 * k])
			continue;
		h->kind = &m->schema->hists[k];
		h->first = HIST_BUCKETS - (unsigned)range[2 * k + 1];
		h->count = (unsigned)range[2 * k] - h->first;
		if (m->main_hist < 0 && k >= m->schema->main_hist)
			m->main_hist = (int32_t)m->hist_count;
		m->hist_count++;
	}
	if (m->main_hist < 0 && m->hist_count)
		m->main_hist = 0;
	free(range);
	return rc;
}

static const struct hist *tally_hist(const struct merged *m, const struct tally *t,
				     const struct merged_hist *h)
{
	return &t->hists[h->kind - m->schema->hists];
}

static size_t packed_words(const struct merged *m)
{
	size_t words = 0;

	for (uint32_t i = 0; i < m->hist_count; i++)
		words += m->hists[i].count + 2;
	return words;
}

/* Every used histogram in one array: its buckets, sum and clipped. */
static void pack_hists(const struct merged *m, const struct tally *t, uint64_t *words)
{
	for (uint32_t i = 0; i < m->hist_count; i++) {
		const struct merged_hist *h = &m->hists[i];
		const struct hist *from = tally_hist(m, t, h);

		memcpy(words, from->bucket + h->first, h->count * sizeof(*words));
		words += h->count;
		*words++ = from->sum_ns;
		*words++ = from->clipped;
	}
}

/* This rank's row of by_rank, or its node's of by_node. Counts above 2^32 - 1 stand at that. */
static int own_rows(struct merged *m, const struct tally *t, uint64_t *words, struct group *node)
{
	int rc = 0;

	pack_hists(m, t, words);
	if (node)
		rc = group_reduce(node, MERGE_SUM, words, packed_words(m));
	if (rc < 0 || (node && node->rank != 0))
		return rc;
	for (uint32_t i = 0; i < m->hist_count; i++) {
		struct merged_hist *h = &m->hists[i];

		for (unsigned b = 0; b < h->count; b++)
			h->row[b] = words[b] > UINT32_MAX ? UINT32_MAX : (uint32_t)words[b];
		words += h->count + 2;
	}
	return 0;
}

/* Rank 0: from the reduced words to buckets and facts. */
static void unpack_hists(struct merged *m, const uint64_t *words, const uint64_t *maxima,
			 struct hist *scratch)
{
	static const struct {
		enum hist_fact fact;
		double q;
	} quantiles[] = {
		{FACT_P50, 0.5},    {FACT_P95, 0.95},     {FACT_P99, 0.99},
		{FACT_P999, 0.999}, {FACT_P9999, 0.9999},
	};

	for (uint32_t i = 0; i < m->hist_count; i++) {
		struct merged_hist *h = &m->hists[i];

		memset(scratch, 0, sizeof(*scratch));
		memcpy(h->buckets, words, h->count * sizeof(*words));
		memcpy(scratch->bucket + h->first, words, h->count * sizeof(*words));
		scratch->sum_ns = words[h->count];
		scratch->clipped = words[h->count + 1];
		scratch->max_ns = maxima[2 * i];
		scratch->min_not_ns = maxima[2 * i + 1];
		words += h->count + 2;
		h->fact[FACT_COUNT] = hist_count(scratch);
		h->fact[FACT_SUM] = scratch->sum_ns;
		h->fact[FACT_CLIPPED] = scratch->clipped;
		h->fact[FACT_MAX] = scratch->max_ns;
		h->fact[FACT_MIN] = ~scratch->min_not_ns;
		for (size_t q = 0; q < sizeof(quantiles) / sizeof(*quantiles); q++)
			h->fact[quantiles[q].fact] = hist_quantile_ns(scratch, quantiles[q].q);
	}
}

static int reduce_hists(struct merged *m, const struct tally *t, uint64_t *words, uint64_t *maxima,
			struct hist *scratch, struct group *group)
{
	int rc;

	pack_hists(m, t, words);
	for (uint32_t i = 0; i < m->hist_count; i++) {
		maxima[2 * i] = tally_hist(m, t, &m->hists[i])->max_ns;
		maxima[2 * i + 1] = tally_hist(m, t, &m->hists[i])->min_not_ns;
	}
	rc = group_reduce(group, MERGE_SUM, words, packed_words(m));
	if (rc == 0)
		rc = group_reduce(group, MERGE_MAX, maxima, 2 * m->hist_count);
	if (rc < 0)
		return rc;
	if (group->rank == 0)
		unpack_hists(m, words, maxima, scratch);
	for (uint32_t i = 0; i < m->hist_count; i++)
		memcpy(words + (size_t)i * FACTS, m->hists[i].fact, sizeof(m->hists[i].fact));
	rc = group_broadcast(group, words, (size_t)m->hist_count * FACTS * sizeof(*words));
	for (uint32_t i = 0; rc == 0 && i < m->hist_count; i++)
		memcpy(m->hists[i].fact, words + (size_t)i * FACTS, sizeof(m->hists[i].fact));
	return rc;
}

static int merge_hists(struct merged *m, const struct tally *t, struct group *group,
		       struct group *node, struct err *err)
{
	uint64_t *words = NULL, *maxima = NULL;
	struct hist *scratch = NULL;
	int rc = find_ranges(m, t, group, err);

	if (rc < 0 || !m->hist_count)
		return rc;
	words = calloc(packed_words(m) + (size_t)m->hist_count * FACTS, sizeof(*words));
	maxima = calloc(2 * m->hist_count, sizeof(*maxima));
	scratch = calloc(1, sizeof(*scratch));
	if (!words || !maxima || !scratch)
		rc = -ENOMEM;
	for (uint32_t i = 0; i < m->hist_count && rc == 0; i++) {
		m->hists[i].buckets = calloc(m->hists[i].count, sizeof(uint64_t));
		m->hists[i].row = calloc(m->hists[i].count, sizeof(uint32_t));
		if (!m->hists[i].buckets || !m->hists[i].row)
			rc = -ENOMEM;
	}
	if (rc < 0)
		err_set(err, rc, "no memory for the histograms of a phase");
	rc = group_agree(group, rc, err);
	if (rc == 0)
		rc = own_rows(m, t, words, node);
	if (rc == 0)
		rc = reduce_hists(m, t, words, maxima, scratch, group);
	free(words);
	free(maxima);
	free(scratch);
	return rc;
}

static int merge_timeline(struct merged *m, struct timeline *t, struct group *group,
			  struct err *err)
{
	uint64_t interval = t ? t->interval_ns : 0, rows;
	int rc = group_allreduce(group, MERGE_MAX, &interval, 1);

	if (rc < 0 || !interval)
		return rc;
	if (t && t->interval_ns < interval)
		timeline_fold(t, interval);
	rows = t ? t->rows : 0;
	rc = group_allreduce(group, MERGE_MAX, &rows, 1);
	if (rc < 0 || !rows)
		return rc;
	m->interval_ns = interval;
	m->seconds = (uint32_t)rows;
	m->timeline = calloc(rows * SECOND_WORDS, sizeof(uint64_t));
	if (!m->timeline)
		err_set(err, -ENOMEM, "no memory for the timeline of a phase");
	rc = group_agree(group, m->timeline ? 0 : -ENOMEM, err);
	if (rc < 0)
		return rc;
	if (t)
		memcpy(m->timeline, t->row, (size_t)t->rows * sizeof(t->row[0]));
	return group_reduce(group, MERGE_SUM, m->timeline, rows * SECOND_WORDS);
}

/* All nodes' rows get one interval and one number. */
static int merge_client(struct merged *m, struct client_series *client, struct group *group)
{
	uint64_t nodes = client ? 1 : 0, interval = client ? client->interval_ns : 0, rows;
	int rc = group_allreduce(group, MERGE_SUM, &nodes, 1);

	if (rc == 0)
		rc = group_allreduce(group, MERGE_MAX, &interval, 1);
	if (rc < 0 || !nodes)
		return rc;
	if (client)
		client_series_fold(client, interval);
	rows = client ? client->rows : 0;
	rc = group_allreduce(group, MERGE_MAX, &rows, 1);
	m->client = (struct merged_client){.interval_ns = interval,
					   .nodes = (uint32_t)nodes,
					   .rows = (uint32_t)rows,
					   .own = client};
	return rc;
}

/* Bytes of data, and room for headers that no phase comes near: HDF5 asks for an object's header in
 * blocks, a column's description and its unit are some 100 bytes, an attribute up to 64 KiB. */
uint64_t merged_room(const struct merged *m, uint32_t ranks, uint32_t hist_rows)
{
	const struct columns *r = &m->schema->rank, *e = &m->schema->epoch;
	uint64_t rank_columns = 2ull + r->measure_count + r->figure_count;
	uint64_t epoch_columns = 1ull + e->measure_count + e->figure_count;
	uint64_t room = 256 << 10;

	room += 8 * rank_columns * ranks + 8 * epoch_columns * m->epochs * (1ull + ranks);
	room += 512 * (2 * rank_columns + 2 * epoch_columns);
	for (uint32_t i = 0; i < m->hist_count; i++)
		room += 16ull * (m->hists[i].count + 1) + 4ull * m->hists[i].count * hist_rows +
			(24 << 10);
	room += (uint64_t)m->seconds * (SECOND_WORDS + 1) * sizeof(uint64_t) + (32 << 10);
	room += (uint64_t)m->client.nodes * m->client.rows * (CLIENT_COLUMNS + 3) * 8 + (48 << 10);
	if (m->endpoint_count)
		room += (uint64_t)m->endpoint_count * sizeof(struct tally_endpoint) +
			24ull * m->status_rows + (64 << 10);
	room += m->failure_rows * sizeof(struct failure) + (8 << 10);
	return room;
}

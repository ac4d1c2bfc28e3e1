/* SPDX-License-Identifier: Apache-2.0 */
/* Merge of a phase's histograms over all ranks; and the row of each rank or node. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "results-schema/merge.h"

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
		m->hist_count++;
	}
	if (m->main_hist < 0 && m->hist_count)
		m->main_hist = 0;
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
static int own_rows(struct merged *m, uint64_t *words, struct group *node)
{
	int rc = 0;

	pack_hists(m, words);
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

int merge_hists(struct merged *m, struct group *group, struct group *node, struct err *err)
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

		h->row = calloc(h->count + 1, sizeof(*h->row));
		h->whole = group->rank == 0 ? calloc(1, sizeof(*h->whole)) : NULL;
		if (!h->row || (group->rank == 0 && !h->whole))
			rc = -ENOMEM;
	}
	if (rc < 0)
		err_set(err, rc, "no memory for the histograms of a phase");
	rc = group_agree(group, rc, err);
	if (rc == 0)
		rc = own_rows(m, words, node);
	if (rc == 0)
		rc = reduce_hists(m, words, maxima, group);
	free(words);
	free(maxima);
	return rc;
}

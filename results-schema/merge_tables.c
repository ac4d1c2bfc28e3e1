/* SPDX-License-Identifier: Apache-2.0 */
/* Merge of a phase's tables (core/measure/table.h) over all ranks. First all ranks agree on the
 * rows: numbers up to the largest that any rank has, or the texts of all ranks, the lowest rank's
 * first. Then each rank puts its rows where they belong, and one reduction adds them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "results-schema/merge.h"

/* Texts on which the ranks have agreed so far, the same on every rank. */
struct agreed_texts {
	uint32_t count;
	char (*text)[TABLE_TEXT_BYTES];
};

static const char *row_text(const struct table *t, uint32_t i)
{
	return (const char *)table_key(t->kind, table_row(t, i));
}

static int64_t find_name(const struct agreed_texts *n, const char *text)
{
	for (uint32_t i = 0; i < n->count; i++)
		if (strcmp(n->text[i], text) == 0)
			return i;
	return -1;
}

/* Counts the rows of this rank on whose texts the ranks have not agreed yet, and gives those texts
 * if there is room for them. */
static uint32_t missing_names(const struct table *t, const struct agreed_texts *n,
			      char (*texts)[TABLE_TEXT_BYTES])
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < t->rows; i++) {
		if (find_name(n, row_text(t, i)) >= 0)
			continue;
		if (texts)
			memcpy(texts[count], row_text(t, i), TABLE_TEXT_BYTES);
		count++;
	}
	return count;
}

/* Sends the texts that only one rank has from it to rank 0, and from there to all. */
static int add_names_of(struct agreed_texts *n, const struct table *t, uint32_t rank,
			struct group *group)
{
	uint32_t room = t->rows_max - n->count;
	uint64_t count = group->rank == rank ? missing_names(t, n, NULL) : 0;
	char(*all)[TABLE_TEXT_BYTES], (*texts)[TABLE_TEXT_BYTES];
	int rc = group_allreduce(group, MERGE_MAX, &count, 1);

	if (rc < 0)
		return rc;
	texts = calloc(count + 1, sizeof(*texts));
	all = texts ? realloc(n->text, (n->count + count) * sizeof(*all)) : NULL;
	if (all)
		n->text = all;
	rc = group_agree(group, all ? 0 : -ENOMEM, NULL);
	if (rc == 0 && group->rank == rank) {
		missing_names(t, n, texts);
		if (rank != 0)
			rc = group_send(group, 0, texts, count * sizeof(*texts));
	} else if (rc == 0 && group->rank == 0) {
		rc = group_receive(group, rank, texts, count * sizeof(*texts));
	}
	if (rc == 0)
		rc = group_broadcast(group, texts, count * sizeof(*texts));
	count = count < room ? count : room;
	if (rc == 0 && all) {
		memcpy(n->text + n->count, texts, count * sizeof(*texts));
		n->count += (uint32_t)count;
	}
	free(texts);
	return rc;
}

/* Repeats for each rank that has texts of its own. Usually this happens once, because all ranks
 * have the same rows. */
static int agree_names(struct agreed_texts *n, const struct table *t, struct group *group)
{
	int rc = 0;

	while (rc == 0 && n->count < t->rows_max) {
		uint64_t who = missing_names(t, n, NULL) ? group->size - group->rank : 0;

		rc = group_allreduce(group, MERGE_MAX, &who, 1);
		if (rc < 0 || !who)
			break;
		rc = add_names_of(n, t, group->size - (uint32_t)who, group);
	}
	return rc;
}

static int agree_rows(struct merged_table *mt, const struct table *t, struct agreed_texts *n,
		      struct group *group)
{
	uint64_t words[2] = {t->rows, t->left_out};
	int rc;

	if (mt->kind->key == TABLE_TEXT) {
		rc = agree_names(n, t, group);
		mt->rows = n->count;
		words[1] += missing_names(t, n, NULL);
	} else {
		rc = group_allreduce(group, MERGE_MAX, words, 1);
		mt->rows = (uint32_t)words[0];
	}
	if (rc == 0)
		rc = group_allreduce(group, MERGE_SUM, &words[1], 1);
	mt->left_out = words[1];
	return rc;
}

/* How each word of a row after its key is merged. */
static void word_merges(const struct table_kind *kind, enum merge *how)
{
	uint32_t words = table_hist_at(kind, kind->hist_count);

	for (uint32_t i = 0; i < words; i++)
		how[i] = i < kind->columns.measure_count ? kind->columns.measures[i].merge
							 : MERGE_SUM;
	for (uint32_t h = 0; h < kind->hist_count; h++)
		for (uint32_t i = 0; !kind->hists[h].coarse && i < HIST_MAX_WORDS; i++)
			how[table_hist_at(kind, h) + HIST_SUM_WORDS + i] = MERGE_MAX;
}

/* The two arrays of the reduction: sums, in the shape of the rows; and only the words that are
 * maxima or inverted minima. A row that a rank does not have is 0 in both and changes nothing. */
struct parts {
	uint32_t row_words, most_words; /* of a row, after the key */
	enum merge *how;
	uint64_t *sums, *most;
};

static void parts_put(struct parts *p, uint32_t row, const uint64_t *from)
{
	uint64_t *sums = p->sums + (size_t)row * p->row_words;
	uint64_t *most = p->most + (size_t)row * p->most_words;

	for (uint32_t i = 0; i < p->row_words; i++) {
		if (p->how[i] == MERGE_SUM)
			sums[i] = from[i];
		else
			*most++ = p->how[i] == MERGE_MIN ? ~from[i] : from[i];
	}
}

static void parts_take(const struct parts *p, uint32_t row, uint64_t *to)
{
	const uint64_t *sums = p->sums + (size_t)row * p->row_words;
	const uint64_t *most = p->most + (size_t)row * p->most_words;

	for (uint32_t i = 0; i < p->row_words; i++) {
		if (p->how[i] == MERGE_SUM)
			to[i] = sums[i];
		else
			to[i] = p->how[i] == MERGE_MIN ? ~*most++ : *most++;
	}
}

static void parts_free(struct parts *p)
{
	free(p->how);
	free(p->sums);
	free(p->most);
}

static bool parts_make(struct parts *p, const struct table_kind *kind, uint32_t rows)
{
	p->row_words = table_row_words(kind) - table_key_words(kind);
	p->how = calloc(p->row_words + 1, sizeof(*p->how));
	if (!p->how)
		return false;
	word_merges(kind, p->how);
	for (uint32_t i = 0; i < p->row_words; i++)
		p->most_words += p->how[i] != MERGE_SUM;
	p->sums = calloc((size_t)rows * p->row_words + 1, sizeof(*p->sums));
	p->most = calloc((size_t)rows * p->most_words + 1, sizeof(*p->most));
	return p->sums && p->most;
}

/* Where row i of this rank belongs; -1: it is left out. */
static int64_t place_of(const struct table *t, uint32_t i, const struct agreed_texts *n)
{
	return t->kind->key == TABLE_TEXT ? find_name(n, row_text(t, i)) : (int64_t)i;
}

static void put_own(struct merged_table *mt, const struct table *t, const struct agreed_texts *n,
		    struct parts *p)
{
	uint32_t key = table_key_words(mt->kind);

	for (uint32_t i = 0; i < mt->rows; i++) {
		uint64_t *row = mt->words + (size_t)i * (key + p->row_words);

		if (mt->kind->key == TABLE_TEXT)
			memcpy(row, n->text[i], TABLE_TEXT_BYTES);
		else
			*row = i + 1;
	}
	if (mt->own)
		memcpy(mt->own, mt->words,
		       (size_t)mt->rows * (key + p->row_words) * sizeof(*mt->own));
	for (uint32_t i = 0; i < t->rows; i++) {
		int64_t place = place_of(t, i, n);

		if (place < 0)
			continue;
		parts_put(p, (uint32_t)place, table_row(t, i));
		if (mt->own)
			memcpy(mt->own + (size_t)place * (key + p->row_words) + key,
			       table_row(t, i), p->row_words * sizeof(*mt->own));
	}
}

static int reduce_rows(struct merged_table *mt, const struct parts *p, struct group *group)
{
	uint32_t key = table_key_words(mt->kind);
	int rc = group_reduce(group, MERGE_SUM, p->sums, (size_t)mt->rows * p->row_words);

	if (rc == 0 && p->most_words)
		rc = group_reduce(group, MERGE_MAX, p->most, (size_t)mt->rows * p->most_words);
	for (uint32_t i = 0; rc == 0 && group->rank == 0 && i < mt->rows; i++)
		parts_take(p, i, mt->words + (size_t)i * (key + p->row_words) + key);
	return rc;
}

static int merge_table(struct merged_table *mt, const struct table *t, struct group *group,
		       struct err *err)
{
	size_t words = table_row_words(t->kind);
	struct parts p = {0};
	struct agreed_texts n = {0};
	bool whole;
	int rc;

	mt->kind = t->kind;
	rc = agree_rows(mt, t, &n, group);
	if (rc < 0 || !mt->rows)
		goto out_free;
	whole = parts_make(&p, t->kind, mt->rows);
	mt->words = calloc(mt->rows * words, sizeof(*mt->words));
	if (mt->kind->rank_rows)
		mt->own = calloc(mt->rows * words, sizeof(*mt->own));
	if (!whole || !mt->words || (mt->kind->rank_rows && !mt->own))
		rc = err_set(err, -ENOMEM, "no memory for %u rows of %s", mt->rows, t->kind->name);
	rc = group_agree(group, rc, err);
	if (rc < 0)
		goto out_free;
	put_own(mt, t, &n, &p);
	rc = reduce_rows(mt, &p, group);
out_free:
	parts_free(&p);
	free(n.text);
	return rc;
}

int merge_tables(struct merged *m, struct group *group, struct err *err)
{
	const struct tally *t = m->phase->tally;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < m->schema->table_count; i++)
		rc = merge_table(&m->tables[i], &t->tables[i], group, err);
	return rc;
}

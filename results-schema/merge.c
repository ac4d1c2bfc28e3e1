/* SPDX-License-Identifier: Apache-2.0 */
/* Merge of a phase's tallies over all ranks: see merge.h. */
#include "results-schema/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int merged_room(struct merged *m, struct err *err);
static int merge_rank_row(struct merged *m, struct group *group);

int merged_make(struct merged *m, const struct results_phase *phase, uint32_t client_nodes_max,
		struct group *group, struct group *node, struct err *err)
{
	int rc;

	memset(m, 0, sizeof(*m));
	m->phase = phase;
	m->schema = phase->tally->schema;
	m->main_hist = -1;
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
	for (uint32_t i = 0; m->hists && i < m->hist_count; i++) {
		free(m->hists[i].whole);
		free(m->hists[i].row);
	}
	free(m->hists);
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
	if (!m->row || !m->range || !m->hists || !m->tables)
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

int merge_timeline(struct merged *m, struct group *group, struct err *err)
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

int merge_steps(struct merged *m, struct group *group, struct err *err)
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

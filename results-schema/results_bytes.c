/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of results, beforehand: see results_bytes.h. */
#include "results-schema/results_bytes.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/group/lone.h"
#include "core/time_ns.h"
#include "core/utf8.h"
#include "results-schema/blocks.h"
#include "results-schema/file_head.h"
#include "results-schema/phase.h"
#include "results-schema/phase_tables.h"
#include "results-schema/rows.h"

enum { WORD_BYTES = sizeof(uint64_t) };
/* Buckets of a histogram in a draft: packed, others differ by some hundred bytes. */
enum { DRAFT_FIRST = 700, DRAFT_BUCKETS = 300, DRAFT_SHIFT = 54, DRAFT_NAME_BYTES = 16 };

static uint64_t record_bytes(const struct record_shape *shape)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < shape->count; i++) {
		enum member_kind kind = shape->members[i].kind;

		sum += kind == MEMBER_TEXT                        ? shape->members[i].bytes
		       : kind == MEMBER_U32 || kind == MEMBER_I32 ? sizeof(uint32_t)
								  : WORD_BYTES;
	}
	return sum;
}

bool results_bytes_apart(uint32_t phases)
{
	return phases > PHASES_IN_ONE;
}

static uint64_t rank_words(const struct results_draft *d)
{
	const struct tally_schema *s = d->schema;
	uint64_t words =
		rows_words(&(struct row_shape){phase_rank_keys, PHASE_RANK_KEYS, &s->rank});

	for (uint32_t i = 0; i < s->table_count; i++) {
		struct row_shape shape;

		phase_table_shape(s->tables[i], &shape);
		if (s->tables[i]->rank_rows)
			words += d->rows[i] * rows_words(&shape);
	}
	return words;
}

/* Rows of what nodes did: one a second, folded in pairs until there are no more than fit. */
static uint32_t client_rows(double seconds, uint64_t most)
{
	uint64_t rows = seconds > 1 ? (uint64_t)ceil(seconds) : 1;

	while (rows > most || rows > CLIENT_ROWS)
		rows = (rows + 1) / 2;
	return (uint32_t)rows;
}

static void draft_hist(struct hist *h)
{
	uint64_t draw = 1;

	for (unsigned i = 0; i < DRAFT_BUCKETS; i++) {
		draw = draw * 6364136223846793005u + 1442695040888963407u;
		h->bucket[DRAFT_FIRST + i] = draw >> DRAFT_SHIFT;
	}
}

static void draft_named(struct table *t, uint32_t number)
{
	char name[DRAFT_NAME_BYTES];
	uint64_t *row;

	snprintf(name, sizeof(name), "%u", number);
	row = table_named(t, name);
	for (uint32_t i = 0; row && i < t->kind->hist_count; i++)
		if (!t->kind->hists[i].coarse)
			draft_hist(table_hist(t->kind, row, i));
}

/* A tally with as many rows as the phase will have. */
static int draft_tally(const struct results_draft *d, struct tally *t, struct err *err)
{
	int rc = tally_init(t, d->schema, d->rows, err);

	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < d->schema->hist_count; i++) {
		enum hist_use use = d->schema->hists[i].use;

		if (d->hists >> i & 1 &&
		    (use == HIST_USUAL || (use == HIST_OF_COMMITS && d->commits)))
			draft_hist(&t->hists[i]);
	}
	for (uint32_t i = 0; i < d->schema->table_count; i++) {
		bool texts = d->schema->tables[i]->key == TABLE_TEXT;

		for (uint32_t k = 0; k < (texts ? d->named : d->rows)[i]; k++)
			if (texts)
				draft_named(&t->tables[i], k);
			else
				table_numbered(&t->tables[i], k + 1);
	}
	t->timeline->rows = client_rows(d->seconds, TIMELINE_ROWS);
	if (!t->steps)
		return 0;
	while (d->steps > STEPS_ROWS * t->steps->steps_per_row)
		t->steps->steps_per_row *= 2;
	t->steps->rows =
		(uint32_t)((d->steps + t->steps->steps_per_row - 1) / t->steps->steps_per_row);
	return 0;
}

static void draft_record(const struct results_draft *d, struct phase_record *r)
{
	phase_record_init(r);
	utf8_copy(r->kind, sizeof(r->kind), d->kind);
	utf8_copy(r->name, sizeof(r->name), d->name);
	utf8_copy(r->status, sizeof(r->status), "done");
}

static int draft_phase(const struct results_draft *d, struct h5_writer *w, struct err *err)
{
	const struct phase_writer writer = {.ranks = 1, .nodes = 1, .first = true, .rows = 1};
	struct client_series *client = calloc(1, sizeof(*client));
	struct tally tally = {0};
	struct results_phase phase = {.tally = &tally, .client = client};
	struct lone_group lone;
	struct group *group = lone_group_init(&lone, 0, 1);
	struct blocks blocks = {0};
	struct merged m = {0};
	int rc = client ? draft_tally(d, &tally, err)
			: err_set(err, -ENOMEM, "no memory for a draft of results");

	draft_record(d, &phase.record);
	if (rc == 0) {
		client->interval_ns = NS_PER_S;
		client->rows =
			client_rows(d->seconds, merged_client_most(d->nodes, CLIENT_NODES_MAX));
		rc = merged_make(&m, &phase, CLIENT_NODES_MAX, group, NULL, err);
	}
	if (rc == 0)
		rc = blocks_make(&blocks, &m, &writer, err);
	if (rc == 0)
		rc = blocks_gather(&blocks, UINT64_MAX, group, err);
	if (rc == 0)
		phase_write(w, &m, &writer, &blocks);
	blocks_free(&blocks);
	merged_free(&m);
	tally_free(&tally);
	free(client);
	return rc;
}

/* Bytes of the file that a run of one rank would write. */
static int draft_bytes(const struct results_draft *d, const char *path, uint64_t *bytes,
		       struct err *err)
{
	const struct results_head head = {.job_name = d->job_name,
					  .job_text = d->job_text,
					  .name_bytes = DRAFT_NAME_BYTES,
					  .sweep_bytes = 1,
					  .ranks = 1,
					  .nodes = 1};
	struct store_facts *stores = calloc(d->stores + 1, sizeof(*stores));
	struct summary_row summary = {.phase = ""};
	const struct own_times own = {{0}};
	struct node_row node = {.host = ""};
	struct rank_row rank = {.run_ns = 0};
	struct h5_writer w;
	struct stat st;
	int rc;

	if (!stores)
		return err_set(err, -ENOMEM, "no memory for a draft of results");
	h5w_open(&w, path, true, err);
	file_head_fill(&w, &head, "", &node, &rank);
	file_head_stores(&w, stores, d->stores);
	records_grow(&w, "/summary", &rows_summary, 0, 1, &summary);
	h5w_record(&w, own_time_members, OWN_TIMES, &own);
	rc = d->schema ? draft_phase(d, &w, err) : 0;
	free(stores);
	if (h5w_finish(&w) < 0 && rc == 0)
		rc = err->code;
	if (rc == 0 && stat(path, &st) < 0)
		rc = err_set(err, -errno, "a draft of results cannot be looked at");
	*bytes = rc == 0 ? (uint64_t)st.st_size : 0;
	return rc;
}

static void bytes_by_rank(const struct results_draft *d, struct results_bytes *out)
{
	const struct row_shape shape = {client_keys, CLIENT_KEYS, &client_columns};
	uint64_t hist = HIST_ROW_BUCKETS * sizeof(uint32_t), row = rows_words(&shape) * WORD_BYTES;
	uint64_t rows = client_rows(d->seconds, merged_client_most(d->nodes, CLIENT_NODES_MAX));
	bool by_node = d->ranks > RANK_ROWS_MAX;

	out->per_rank = rank_words(d) * WORD_BYTES;
	out->per_node = rows * (row + sizeof(double));
	/* The draft is of one rank and one node. */
	out->rest -= out->per_rank + hist + out->per_node;
	*(by_node ? &out->per_node : &out->per_rank) += hist;
	if (d->nodes > CLIENT_NODES_MAX)
		out->rest += CLIENT_STATS * row * client_rows(d->seconds, CLIENT_OVER_ROWS);
}

int results_bytes_of(const struct results_draft *d, const struct results_bytes *head,
		     struct results_bytes *out, struct err *err)
{
	char path[] = P_tmpdir "/haul-draft-XXXXXX";
	int file = mkstemp(path), rc;

	*out = (struct results_bytes){0};
	if (file < 0)
		return err_set(err, -errno, "a draft of results cannot be made in %s: %s", P_tmpdir,
			       strerror(errno));
	rc = draft_bytes(d, path, &out->rest, err);
	close(file);
	unlink(path);
	if (rc < 0)
		return rc;
	if (head)
		out->rest -= results_bytes_all(head, 1, 1);
	if (d->schema) {
		bytes_by_rank(d, out);
		return 0;
	}
	out->per_rank = record_bytes(&rows_rank);
	out->per_node = record_bytes(&rows_node);
	out->rest -= out->per_rank + out->per_node;
	return 0;
}

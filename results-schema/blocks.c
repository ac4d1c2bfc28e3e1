/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that each rank writes: see blocks.h. */
#include "results-schema/blocks.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/invariant.h"
#include "results-schema/h5.h"
#include "results-schema/phase_tables.h"

static int add_ranks(struct blocks *b, const struct merged *m, const struct phase_writer *w);
static int add_all_ranks(struct blocks *b, const struct merged *m, const struct phase_writer *w);
static int add_tables(struct blocks *b, const struct merged *m, const struct phase_writer *w);
static int add_hist(struct blocks *b, const struct merged *m, const struct phase_writer *w);
static int add_client(struct blocks *b, const struct merged *m, const struct phase_writer *w);

int blocks_make(struct blocks *b, const struct merged *m, const struct phase_writer *w,
		struct err *err)
{
	int rc;

	*b = (struct blocks){0};
	if (m->phase->rank_rows) {
		rc = add_all_ranks(b, m, w);
		return rc < 0 ? err_set(err, rc, "no memory for the rows of %u ranks", w->ranks)
			      : 0;
	}
	rc = add_ranks(b, m, w);
	if (rc == 0)
		rc = add_tables(b, m, w);
	if (rc == 0)
		rc = add_hist(b, m, w);
	if (rc == 0)
		rc = add_client(b, m, w);
	return rc < 0 ? err_set(err, rc, "no memory for a rank's rows of results") : 0;
}

void blocks_free(struct blocks *b)
{
	for (uint32_t i = 0; i < b->count; i++) {
		free(b->list[i].data);
		free(b->list[i].whole);
	}
	free(b->list);
	*b = (struct blocks){0};
}

/* Takes over the data, also on failure. */
static int add_block(struct blocks *b, struct block one)
{
	uint32_t capacity = b->capacity ? 2 * b->capacity : 16;
	struct block *list = b->list;

	if (one.data && b->count == b->capacity) {
		list = realloc(b->list, capacity * sizeof(*list));
		if (list) {
			b->list = list;
			b->capacity = capacity;
		}
	}
	if (!one.data || !list) {
		free(one.data);
		return -ENOMEM;
	}
	for (int i = 0; i < one.rank && one.has_part; i++)
		INVARIANT(one.start[i] + one.part[i] <= one.dims[i],
			  "each rank writes rows of its own data set");
	b->list[b->count++] = one;
	return 0;
}

const char *const phase_rank_keys[PHASE_RANK_KEYS] = {"rank", "node", PHASE_PRESENT};

static int add_ranks(struct blocks *b, const struct merged *m, const struct phase_writer *w)
{
	struct block one = {.path = "ranks",
			    .shape = {phase_rank_keys, PHASE_RANK_KEYS, &m->schema->rank},
			    .rank = 1,
			    .dims = {w->ranks, 1},
			    .start = {w->rank},
			    .part = {1, 1},
			    .every = true,
			    .has_part = true};
	uint64_t keys[] = {w->rank, w->node, !m->phase->tally->absent};

	one.data = calloc(rows_words(&one.shape), sizeof(uint64_t));
	if (one.data)
		rows_fill(&one.shape, keys, m->phase->tally->rank_row, one.data);
	return add_block(b, one);
}

/* Of a simulation: the rows of all ranks, which one process has. */
static int add_all_ranks(struct blocks *b, const struct merged *m, const struct phase_writer *w)
{
	uint32_t measures = m->schema->rank.measure_count;
	struct block one = {.path = "ranks",
			    .shape = {phase_rank_keys, PHASE_RANK_KEYS, &m->schema->rank},
			    .rank = 1,
			    .dims = {w->ranks, 1},
			    .part = {w->ranks, 1},
			    .has_part = true};
	size_t words = rows_words(&one.shape);
	uint64_t *rows = calloc(w->ranks * words, sizeof(*rows));

	for (uint32_t i = 0; rows && i < w->ranks; i++) {
		const uint64_t keys[] = {i, w->rank_nodes[i], 1};

		rows_fill(&one.shape, keys, m->phase->rank_rows + (size_t)i * measures,
			  rows + i * words);
	}
	one.data = rows;
	return add_block(b, one);
}

/* [row][rank]: this rank's rows of a table. */
static int add_rank_rows(struct blocks *b, const struct merged_table *t,
			 const struct phase_writer *w)
{
	struct block one = {.rank = 2,
			    .dims = {t->rows, w->ranks},
			    .start = {0, w->rank},
			    .part = {t->rows, 1},
			    .every = true,
			    .has_part = true};

	phase_table_shape(t->kind, &one.shape);
	snprintf(one.path, sizeof(one.path), "%s%s%s",
		 phase_table_is_group(t->kind) ? t->kind->name : "",
		 phase_table_is_group(t->kind) ? "/" : "", t->kind->rank_rows);
	one.data = phase_table_rows(t, t->own);
	return add_block(b, one);
}

static int add_tables(struct blocks *b, const struct merged *m, const struct phase_writer *w)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < m->schema->table_count; i++)
		if (m->tables[i].rows && m->tables[i].kind->rank_rows)
			rc = add_rank_rows(b, &m->tables[i], w);
	return rc;
}

static int add_hist(struct blocks *b, const struct merged *m, const struct phase_writer *w)
{
	bool writes = w->row < w->rows;
	struct block one = {.rank = 2,
			    .dims = {w->rows, HIST_ROW_BUCKETS},
			    .start = {writes ? w->row : 0, 0},
			    .part = {1, HIST_ROW_BUCKETS},
			    .element = ELEMENT_COUNT,
			    .every = !w->by_node,
			    .has_part = writes};

	if (m->rank_hist < 0)
		return 0;
	snprintf(one.path, sizeof(one.path), "histograms/%s/%s", m->hists[m->rank_hist].kind->name,
		 w->by_node ? "by_node" : "by_rank");
	one.data = calloc(HIST_ROW_BUCKETS, sizeof(*m->hist_row));
	if (one.data)
		memcpy(one.data, m->hist_row, HIST_ROW_BUCKETS * sizeof(*m->hist_row));
	return add_block(b, one);
}

const char *const client_keys[CLIENT_KEYS] = {"node", "time_ns"};

/* One data set for all nodes and columns, because a collective write is expensive where ranks
 * outnumber cores. */
static int add_client_rows(struct blocks *b, const struct merged_client *c,
			   const struct phase_writer *w)
{
	struct block one = {.path = "client/rows",
			    .shape = {client_keys, CLIENT_KEYS, &client_columns},
			    .rank = 1,
			    .dims = {(hsize_t)c->nodes * c->rows, 1},
			    .part = {c->rows, 1},
			    .has_part = c->own};
	size_t words = rows_words(&one.shape);
	uint64_t *rows = calloc(c->rows * words, sizeof(*rows));

	for (uint32_t i = 0; rows && c->own && i < c->rows; i++) {
		uint64_t key[] = {w->node, i * c->interval_ns};

		rows_fill(&one.shape, key, c->own->row[i], rows + i * words);
	}
	if (c->own)
		one.start[0] = (hsize_t)w->node * c->rows;
	one.data = rows;
	return add_block(b, one);
}

/* The data set to plot: how busy the ranks' cores were, by node and time. */
static int add_client_busy(struct blocks *b, const struct merged_client *c,
			   const struct phase_writer *w)
{
	struct block one = {.path = "client/cores_busy",
			    .rank = 2,
			    .dims = {c->nodes, c->rows},
			    .start = {c->own ? w->node : 0, 0},
			    .part = {1, c->rows},
			    .has_part = c->own,
			    .element = ELEMENT_NUMBER,
			    .units = "fraction"};
	double *busy = calloc(c->rows, sizeof(*busy));

	for (uint32_t i = 0; busy && c->own && i < c->rows; i++) {
		const uint64_t *row = c->own->row[i];

		busy[i] = row[CLIENT_RANK_CORES_NS] ? (double)row[CLIENT_RANK_CORES_BUSY_NS] /
							      (double)row[CLIENT_RANK_CORES_NS]
						    : NAN;
	}
	one.data = busy;
	return add_block(b, one);
}

static int add_client(struct blocks *b, const struct merged *m, const struct phase_writer *w)
{
	int rc;

	if (!merged_has_client(m, w->nodes))
		return 0;
	rc = add_client_rows(b, &m->client, w);
	return rc < 0 ? rc : add_client_busy(b, &m->client, w);
}

static size_t element_bytes(const struct block *one)
{
	switch (one->element) {
	case ELEMENT_COUNT:
		return sizeof(uint32_t);
	case ELEMENT_NUMBER:
		return sizeof(double);
	case ELEMENT_ROW:
		break;
	}
	return rows_words(&one->shape) * sizeof(uint64_t);
}

/* Made where a block is written, since ranks that only hand on their parts do not need HDF5. The caller closes it. */
static hid_t element_type(const struct block *one)
{
	switch (one->element) {
	case ELEMENT_COUNT:
		return H5Tcopy(H5T_NATIVE_UINT32);
	case ELEMENT_NUMBER:
		return H5Tcopy(H5T_NATIVE_DOUBLE);
	case ELEMENT_ROW:
		break;
	}
	return rows_type(&one->shape);
}

void blocks_create(const struct blocks *b, struct h5_writer *w)
{
	for (uint32_t i = 0; i < b->count; i++) {
		const struct block *one = &b->list[i];
		hid_t type = element_type(one);

		h5w_dataset(w, one->path, type, one->rank, one->dims);
		if (one->shape.columns)
			rows_describe(w, &one->shape);
		if (one->units)
			h5w_text(w, "units", one->units);
		if (b->gathered)
			h5w_data(w, type, one->whole);
		h5w_leave(w);
		h5_close(type);
	}
}

/* All ranks agree before the write, so that either all or none take part, and again after it. */
static int write_block(const struct block *one, hid_t file, const char *path, struct group *group,
		       struct err *err)
{
	char whole[2 * BLOCK_PATH_BYTES];
	hid_t dataset, type = element_type(one);
	int rc = 0;

	snprintf(whole, sizeof(whole), "%s/%s", path, one->path);
	dataset = H5Dopen2(file, whole, H5P_DEFAULT);
	if (dataset < 0 || type < 0)
		rc = h5_fail(err, "cannot open %s", whole);
	rc = group_agree(group, rc, err);
	if (rc == 0) {
		const hsize_t count[2] = {one->has_part ? one->part[0] : 0, one->part[1]};

		rc = h5_write_rows(dataset, type, one->rank, one->start, count, one->data, err);
		rc = group_agree(group, rc, err);
	}
	if (dataset >= 0)
		H5Dclose(dataset);
	h5_close(type);
	return rc;
}

static uint64_t block_bytes(const struct block *one)
{
	return element_bytes(one) * one->dims[0] * one->dims[1];
}

uint64_t blocks_bytes(const struct blocks *b)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < b->count; i++)
		sum += block_bytes(&b->list[i]);
	return sum;
}

static uint64_t part_bytes(const struct block *one)
{
	return element_bytes(one) * one->part[0] * one->part[1];
}

/* A rank sends, of each block of which every rank has a part, or of each other one, a word that
 * says whether it has a part, where the part begins, and the part. Nothing at all where it has
 * none. */
enum { MESSAGE_WORDS = 3 };

static uint64_t message_bytes(const struct blocks *b, bool every)
{
	uint64_t bytes = 0;
	bool some = false;

	for (uint32_t i = 0; i < b->count; i++) {
		const struct block *one = &b->list[i];

		if (one->every != every)
			continue;
		bytes += MESSAGE_WORDS * sizeof(uint64_t) + (one->has_part ? part_bytes(one) : 0);
		some = some || one->has_part;
	}
	return some ? bytes : 0;
}

static void pack_parts(const struct blocks *b, bool every, char *message)
{
	for (uint32_t i = 0; i < b->count; i++) {
		const struct block *one = &b->list[i];
		const uint64_t words[MESSAGE_WORDS] = {one->has_part, one->start[0], one->start[1]};

		if (one->every != every)
			continue;
		memcpy(message, words, sizeof(words));
		message += sizeof(words);
		if (one->has_part)
			memcpy(message, one->data, part_bytes(one));
		message += one->has_part ? part_bytes(one) : 0;
	}
}

/* Puts a rank's parts into the whole data sets. Both are arrays by rows. */
static void place_parts(const struct blocks *b, bool every, const char *message)
{
	for (uint32_t i = 0; i < b->count; i++) {
		const struct block *one = &b->list[i];
		size_t element = element_bytes(one), row = one->part[1] * element;
		uint64_t words[MESSAGE_WORDS];
		char *to;

		if (one->every != every)
			continue;
		memcpy(words, message, sizeof(words));
		message += sizeof(words);
		to = (char *)one->whole + (words[1] * one->dims[1] + words[2]) * element;
		for (uint64_t k = 0; words[0] && k < one->part[0]; k++, message += row)
			memcpy(to + k * one->dims[1] * element, message, row);
	}
}

static int whole_make(struct blocks *b)
{
	for (uint32_t i = 0; i < b->count; i++) {
		b->list[i].whole = calloc(1, block_bytes(&b->list[i]));
		if (!b->list[i].whole)
			return -ENOMEM;
	}
	return 0;
}

/* Of which every rank has a part: a gather, of messages of one size. */
static int gather_every(struct blocks *b, char *message, char *all, struct group *group)
{
	uint64_t bytes = message_bytes(b, true);
	int rc;

	pack_parts(b, true, message);
	rc = group_gather(group, message, bytes, all);
	for (uint32_t rank = 0; all && rank < group->size; rank++)
		place_parts(b, true, all + rank * bytes);
	return rc;
}

/* Of which few ranks have a part. rests: rank 0 has how much each of them sends. */
static int gather_rest(struct blocks *b, char *message, const uint64_t *rests, struct group *group)
{
	uint64_t mine = message_bytes(b, false);
	int rc = 0;

	pack_parts(b, false, message);
	if (group->rank)
		return mine ? group_send(group, 0, message, mine) : 0;
	if (mine)
		place_parts(b, false, message);
	for (uint32_t rank = 1; rests && rank < group->size && rc == 0; rank++) {
		if (!rests[rank])
			continue;
		rc = group_receive(group, rank, message, rests[rank]);
		if (rc == 0)
			place_parts(b, false, message);
	}
	return rc;
}

int blocks_gather(struct blocks *b, uint64_t bytes_max, struct group *group, struct err *err)
{
	uint64_t rest = message_bytes(b, false), room = 1, *rests = NULL;
	char *message, *all = NULL;
	int rc = 0;

	if (blocks_bytes(b) > bytes_max)
		return 0;
	/* No message is longer, and rank 0 takes each of them in this room. */
	for (uint32_t i = 0; i < b->count; i++)
		room += MESSAGE_WORDS * sizeof(uint64_t) + part_bytes(&b->list[i]);
	message = malloc(room);
	if (group->rank == 0) {
		all = malloc(message_bytes(b, true) * group->size + 1);
		rests = calloc(group->size, sizeof(*rests));
		rc = all && rests ? whole_make(b) : -ENOMEM;
	}
	if (!message)
		rc = -ENOMEM;
	/* A rank without memory fails alone, and the others must not wait for its message. */
	rc = group_agree(group, rc < 0 ? err_set(err, rc, "no memory for the rows of results") : 0,
			 err);
	if (rc == 0)
		rc = group_gather(group, &rest, sizeof(rest), rests);
	if (rc == 0)
		rc = gather_every(b, message, all, group);
	if (rc == 0)
		rc = gather_rest(b, message, rests, group);
	b->gathered = true;
	free(rests);
	free(message);
	free(all);
	return rc;
}

int blocks_write(const struct blocks *b, hid_t file, const char *path, struct group *group,
		 const struct results_watch *watch, struct err *err)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < b->count; i++) {
		results_step(watch, block_bytes(&b->list[i]));
		rc = write_block(&b->list[i], file, path, group, err);
	}
	return rc;
}

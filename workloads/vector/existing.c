/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/vector/existing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/queue/failure.h"
#include "core/numbers.h"
#include "workloads/common/small_object.h"
#include "workloads/vector/index.h"

/* The words of a header from the number of vectors on, but for the dimension. */
enum { MEDOID = 1, NODE_BYTES, PER_SECTOR, FROZEN, FROZEN_ID, REORDER, REORDER_FIRST, WORDS = 10 };
/* The words that Microsoft's form has at most here; without reorder data it has 9. */
enum { NAMED_LEAST = 9, NAMED_MOST = 64, DIMENSION_MAX = 32768 };

static uint64_t word_at(const void *sector, uint64_t i)
{
	uint64_t word;

	memcpy(&word, (const char *)sector + 8 * i, sizeof(word));
	return word;
}

/* Which of the two forms it is: where the words are, and the dimension. */
static int header_words(const void *sector, uint64_t file_bytes, uint64_t words[WORDS],
			uint64_t *dimension, struct err *err)
{
	uint64_t count = word_at(sector, 0) & UINT32_MAX, from = 1;

	*dimension = 0;
	if (word_at(sector, 0) >> 32 == 1 && count >= NAMED_LEAST && count <= NAMED_MOST &&
	    word_at(sector, count) == file_bytes) {
		*dimension = word_at(sector, 2);
		words[0] = word_at(sector, 1);
		if (*dimension < 1 || *dimension > DIMENSION_MAX)
			return err_set(err, -EINVAL, "its header has a dimension of %" PRIu64,
				       *dimension);
		from = 3;
	} else if (word_at(sector, 0) == file_bytes) {
		words[0] = word_at(sector, 1);
		from = 2;
	} else {
		return err_set(
			err, -EINVAL,
			"is no index file of DiskANN, or not all of one: its header does not "
			"say that it has %" PRIu64 " bytes",
			file_bytes);
	}
	for (uint64_t i = 1; i < WORDS; i++)
		words[i] = word_at(sector, from + i - 1);
	return 0;
}

static int header_nodes(const struct disk_header *h, uint64_t file_bytes, struct err *err)
{
	uint64_t per = VECTOR_SECTOR / h->node_bytes, sectors;

	if (h->per_sector != per)
		return err_set(err, -EINVAL,
			       "its header has %" PRIu64 " nodes per sector, and of %" PRIu64
			       " bytes there are %" PRIu64,
			       h->per_sector, h->node_bytes, per);
	sectors = per ? (h->vectors + per - 1) / per
		      : h->vectors * ((h->node_bytes + VECTOR_SECTOR - 1) / VECTOR_SECTOR);
	if (file_bytes / VECTOR_SECTOR < 1 + sectors)
		return err_set(err, -EINVAL,
			       "ends at byte %" PRIu64 ", and its %" PRIu64 " nodes take %" PRIu64,
			       file_bytes, h->vectors, (1 + sectors) * VECTOR_SECTOR);
	if (!h->reorder)
		return 0;
	if (h->reorder_sector < 1 + sectors || h->reorder_sector >= file_bytes / VECTOR_SECTOR ||
	    !h->reorder_per_sector || !h->reorder_dimension)
		return err_set(err, -EINVAL,
			       "its header has reorder data at sector %" PRIu64
			       ", where there are none",
			       h->reorder_sector);
	return 0;
}

int disk_header_read(struct disk_header *h, const void *sector, uint64_t file_bytes,
		     struct err *err)
{
	uint64_t words[WORDS] = {0}, dimension;
	int rc = header_words(sector, file_bytes, words, &dimension, err);

	if (rc < 0)
		return rc;
	*h = (struct disk_header){.vectors = words[0],
				  .medoid = words[MEDOID],
				  .node_bytes = words[NODE_BYTES],
				  .per_sector = words[PER_SECTOR],
				  .dimension = dimension,
				  .frozen = words[FROZEN],
				  .frozen_id = words[FROZEN_ID],
				  .reorder = words[REORDER] == 1};
	if (h->per_sector == UINT64_MAX)
		h->per_sector = 0;
	if (h->reorder) {
		h->reorder_sector = words[REORDER_FIRST];
		h->reorder_dimension = words[REORDER_FIRST + 1];
		h->reorder_per_sector = words[REORDER_FIRST + 2];
	}
	if (h->vectors < 2 || h->vectors > UINT32_MAX)
		return err_set(err, -EINVAL, "its header has %" PRIu64 " vectors", h->vectors);
	if (h->medoid >= h->vectors)
		return err_set(err, -EINVAL,
			       "its header begins searches at node %" PRIu64 " of %" PRIu64,
			       h->medoid, h->vectors);
	if (h->node_bytes < 9 || h->node_bytes > UINT32_MAX)
		return err_set(err, -EINVAL, "its header has nodes of %" PRIu64 " bytes",
			       h->node_bytes);
	if (h->frozen > 1 || (h->frozen && h->frozen_id >= h->vectors))
		return err_set(err, -EINVAL,
			       "its header has %" PRIu64 " frozen points, the first of id %" PRIu64,
			       h->frozen, h->frozen_id);
	return header_nodes(h, file_bytes, err);
}

int disk_header_degree(const struct disk_header *h, uint64_t vector_bytes, uint64_t *degree,
		       struct err *err)
{
	uint64_t rest = h->node_bytes > vector_bytes ? h->node_bytes - vector_bytes : 0;

	*degree = rest / 4 - (rest >= 4);
	if (rest % 4 == 0 && *degree >= 1 && *degree <= GRAPH_DEGREE_MAX)
		return 0;
	return err_set(err, -EINVAL,
		       "its nodes have %" PRIu64 " bytes, which are no vector of %" PRIu64
		       " bytes and up to %d neighbours; see dimension and type",
		       h->node_bytes, vector_bytes, GRAPH_DEGREE_MAX);
}

enum { WINDOW_BYTES = 4 << 20, PIVOTS_BYTES_MAX = 256 << 20 };

static void existing_key(const struct vector_options *o, const char *end, char *key)
{
	snprintf(key, OBJECT_KEY_BYTES, "%s%s%.*s%s", o->folder, o->folder[0] ? "/" : "",
		 (int)(strlen(o->file) - strlen(VECTOR_FILE_END)), o->file, end);
}

/* A file that is read from its first byte on. */
struct source {
	struct queue *q;
	struct object object;
	uint64_t size, at;
	char *window;
	struct request req; /* the last one */
};

static void source_close(struct source *s)
{
	if (s->window)
		queue_do(s->q, &(struct request){.op = REQ_CLOSE, .object = &s->object});
	free(s->window);
	s->window = NULL;
}

static int source_open(struct source *s, struct queue *q, const char *key, struct err *err)
{
	void *window = NULL;
	int rc;

	*s = (struct source){.q = q, .req = {.op = REQ_STAT, .object = &s->object}};
	snprintf(s->object.key, sizeof(s->object.key), "%s", key);
	rc = queue_do(q, &s->req);
	s->size = s->req.answer.done_bytes;
	if (rc == 0) {
		s->req = (struct request){.op = REQ_OPEN, .object = &s->object};
		rc = queue_do(q, &s->req);
	}
	if (rc < 0)
		return failure_set(err, rc, q->channel.store, &s->req, NULL);
	if (posix_memalign(&window, VECTOR_SECTOR,
			   queue_buffer_bytes(q->channel.store, WINDOW_BYTES)) != 0) {
		queue_do(q, &(struct request){.op = REQ_CLOSE, .object = &s->object});
		return err_set(err, -ENOMEM, "no memory to read %s", key);
	}
	s->window = window;
	return 0;
}

/* The next bytes, at most a window of them. */
static int source_next(struct source *s, uint64_t bytes, const char **data, struct err *err)
{
	int rc;

	s->req = (struct request){.op = REQ_READ,
				  .object = &s->object,
				  .offset = s->at,
				  .length = bytes,
				  .data = s->window};
	rc = queue_do(s->q, &s->req);
	s->at += bytes;
	*data = s->window + s->req.answer.lead;
	return rc < 0 ? failure_set(err, rc, s->q->channel.store, &s->req, NULL) : 0;
}

/* What is wrong with its bytes: the sentence of it. */
static int source_wrong(const struct source *s, int rc, struct err *err)
{
	return rc < 0 ? err_wrap(err, rc, "%s/%s", s->q->channel.store->uri, s->object.key) : 0;
}

static int existing_header(struct existing *x, const struct vector_options *o, struct queue *q,
			   struct err *err)
{
	char key[OBJECT_KEY_BYTES];
	const char *data = NULL;
	struct source s;
	int rc;

	existing_key(o, VECTOR_FILE_END, key);
	rc = source_open(&s, q, key, err);
	if (rc < 0)
		return rc;
	if (s.size < DISK_HEADER_BYTES)
		rc = source_wrong(
			&s,
			err_set(err, -EINVAL, "has %" PRIu64 " bytes, which are no header", s.size),
			err);
	if (rc == 0)
		rc = source_next(&s, DISK_HEADER_BYTES, &data, err);
	if (rc == 0)
		rc = source_wrong(&s, disk_header_read(&x->header, data, s.size, err), err);
	source_close(&s);
	return rc;
}

/* The shape that the header says, with the type of the job, and the dimension of the pivots where the header
 * has none. */
static int existing_shape(const struct existing *x, struct vector_options *o, const struct queue *q,
			  struct err *err)
{
	struct vector_shape *s = &o->shape;
	struct vector_index index;
	char key[OBJECT_KEY_BYTES];
	int rc;

	s->vectors = x->header.vectors;
	s->layout = VECTOR_SCATTERED;
	s->dimension = x->header.dimension ? x->header.dimension : x->codes.dimension;
	vector_index_of(&index, s, 0, 0);
	rc = disk_header_degree(&x->header, index.vector_bytes, &s->degree, err);
	existing_key(o, VECTOR_FILE_END, key);
	return rc < 0 ? err_wrap(err, rc, "%s/%s", q->channel.store->uri, key) : 0;
}

static int existing_pivots(struct existing *x, const struct vector_options *o, struct queue *q,
			   struct err *err)
{
	char key[OBJECT_KEY_BYTES], *text;
	size_t length;
	int rc;

	existing_key(o, "_pq_pivots.bin", key);
	rc = small_object_load(q, key, PIVOTS_BYTES_MAX, &text, &length, err);
	if (rc < 0)
		return rc;
	rc = codes_pivots(&x->codes, text, length, err);
	free(text);
	return rc < 0 ? err_wrap(err, rc, "%s/%s", q->channel.store->uri, key) : 0;
}

static int existing_codes(struct existing *x, const struct vector_options *o, struct queue *q,
			  struct err *err)
{
	char key[OBJECT_KEY_BYTES], head[CODES_HEAD] = {0};
	const char *data = head;
	struct source s;
	int rc;

	existing_key(o, "_pq_compressed.bin", key);
	rc = source_open(&s, q, key, err);
	if (rc < 0)
		return rc;
	if (s.size >= CODES_HEAD)
		rc = source_next(&s, CODES_HEAD, &data, err);
	if (rc == 0)
		rc = source_wrong(&s, codes_open(&x->codes, data, s.size, x->header.vectors, err),
				  err);
	while (rc == 0 && s.at < s.size) {
		uint64_t at = s.at - CODES_HEAD, part = min_u64(s.size - s.at, WINDOW_BYTES);

		rc = source_next(&s, part, &data, err);
		if (rc == 0)
			memcpy(x->codes.codes + at, data, part);
	}
	source_close(&s);
	return rc;
}

int existing_open(struct existing *x, struct vector_options *o, struct queue *q,
		  struct group *group, struct err *err)
{
	int rc = group->rank == 0 ? existing_header(x, o, q, err) : 0;

	rc = group_agree(group, rc, err);
	if (rc == 0)
		rc = group_broadcast(group, &x->header, sizeof(x->header));
	if (rc < 0)
		return rc;
	o->verify = VERIFY_NONE;
	rc = existing_pivots(x, o, q, err);
	if (rc == 0)
		rc = existing_codes(x, o, q, err);
	if (rc == 0)
		rc = existing_shape(x, o, q, err);
	if (rc == 0 && vector_cached(o) >= o->shape.vectors)
		rc = err_set(err, -EINVAL, "cache: holds all %" PRIu64 " nodes of %s",
			     o->shape.vectors, o->file);
	return group_agree(group, rc, err);
}

/* Reads a node, and keeps its neighbours beside it in the set, which has it. */
static int existing_keep(struct source *s, const struct vector_index *index, struct hot *hot,
			 uint32_t id, struct err *err)
{
	uint32_t *row = hot_links(hot, id, index->graph.degree);
	uint64_t within, length = vector_index_read(index, id, &s->at, &within);
	const char *data = NULL;
	int rc = source_next(s, length, &data, err), count;

	if (rc < 0)
		return rc;
	count = vector_index_neighbours(index, id, data + within, row + 1,
					(uint32_t)index->graph.degree);
	if (count < 0)
		return source_wrong(
			s, err_set(err, -EILSEQ, "names neighbours that are not in the index"),
			err);
	row[0] = (uint32_t)count;
	return 0;
}

int existing_hot(const struct existing *x, const struct vector_options *o,
		 const struct vector_index *index, struct queue *q, uint64_t count, struct hot *hot,
		 struct err *err)
{
	uint32_t *line = calloc(count, sizeof(*line));
	char key[OBJECT_KEY_BYTES];
	struct source s;
	int rc = count && line ? hot_open_links(hot, count, index->graph.degree) : 0;

	if (rc < 0 || (count && !line)) {
		free(line);
		return err_set(err, -ENOMEM, "no memory for a cache of %" PRIu64 " nodes", count);
	}
	existing_key(o, VECTOR_FILE_END, key);
	rc = count ? source_open(&s, q, key, err) : 0;
	if (rc < 0 || !count) {
		free(line);
		return rc;
	}
	line[0] = (uint32_t)x->header.medoid;
	hot_add(hot, line[0]);
	for (uint64_t i = 0; rc == 0 && i < hot->count; i++) {
		const uint32_t *row = hot_links(hot, line[i], index->graph.degree);

		rc = existing_keep(&s, index, hot, line[i], err);
		for (uint32_t j = 1; rc == 0 && j <= row[0] && hot->count < count; j++)
			if (hot_add(hot, row[j]))
				line[hot->count - 1] = row[j];
	}
	source_close(&s);
	free(line);
	return rc;
}

void existing_close(struct existing *x)
{
	codes_close(&x->codes);
}

void existing_index(const struct existing *x, struct vector_index *index)
{
	index->graph.entry = x->header.medoid;
}

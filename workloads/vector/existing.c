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

/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/vector/frontier.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"

/* Where the places of the tables are: in older files the third one is not that of the chunks. */
enum { PLACES = 4, PLACES_OLDER = 5, PLACE_PIVOTS = 0, PLACE_CHUNKS = 2, PLACE_CHUNKS_OLDER = 3 };
/* Above that, squares of floats have no meaning here. */
static const float value_most = 1e15F;
/* All distances together stay below 2^31. */
static const double distance_most = 2147483648.0;

/* A table of a file: rows and columns, then values of that many bytes. */
struct codes_table {
	uint64_t rows, columns;
	const char *values;
};

static int table_at(const void *data, size_t bytes, uint64_t at, uint64_t value_bytes,
		    struct codes_table *t, struct err *err)
{
	int32_t head[2];

	if (at > bytes || bytes - at < sizeof(head))
		return err_set(err, -EINVAL, "has a table at byte %" PRIu64 ", after its end", at);
	memcpy(head, (const char *)data + at, sizeof(head));
	if (head[0] < 1 || head[1] < 1 ||
	    (uint64_t)head[0] * (uint64_t)head[1] > (bytes - at - sizeof(head)) / value_bytes)
		return err_set(err, -EINVAL,
			       "has a table of %d x %d values at byte %" PRIu64
			       ", for which it is too short",
			       head[0], head[1], at);
	*t = (struct codes_table){(uint64_t)head[0], (uint64_t)head[1],
				  (const char *)data + at + sizeof(head)};
	return 0;
}

static uint64_t place_of(const struct codes_table *places, uint64_t i)
{
	uint64_t at;

	memcpy(&at, places->values + 8 * i, sizeof(at));
	return at;
}

/* Distances within a chunk are at most that of the corners of the box around its pivots. */
static int codes_scale(struct codes *c, struct err *err)
{
	double most = 0;

	for (uint64_t d = 0; d < c->dimension; d++) {
		float low = c->pivots[d], high = low;

		for (uint64_t k = 0; k < CODES_PIVOTS; k++) {
			float value = c->pivots[k * c->dimension + d];

			if (!(fabsf(value) < value_most))
				return err_set(err, -EINVAL, "has a pivot that is no number");
			low = value < low ? value : low;
			high = value > high ? value : high;
		}
		most += ((double)high - (double)low) * ((double)high - (double)low);
	}
	c->scale = most > 0 ? distance_most / most : 0;
	return 0;
}

static int codes_begins(struct codes *c, const struct codes_table *chunks, struct err *err)
{
	uint32_t last = 0;

	c->chunks = (uint32_t)(chunks->rows - 1);
	c->begins = malloc((c->chunks + 1) * sizeof(*c->begins));
	if (!c->begins)
		return err_set(err, -ENOMEM, "no memory for %u chunks", c->chunks);
	memcpy(c->begins, chunks->values, (c->chunks + 1) * sizeof(*c->begins));
	for (uint32_t i = 0; i <= c->chunks; i++) {
		if (c->begins[i] < last || c->begins[i] > c->dimension)
			return err_set(err, -EINVAL,
				       "has a chunk that begins at dimension %u of %u",
				       c->begins[i], c->dimension);
		last = c->begins[i];
	}
	return 0;
}

int codes_pivots(struct codes *c, const void *data, size_t bytes, struct err *err)
{
	struct codes_table places, pivots, chunks;
	uint64_t which;
	int rc = table_at(data, bytes, 0, 8, &places, err);

	if (rc == 0 &&
	    ((places.rows != PLACES && places.rows != PLACES_OLDER) || places.columns != 1))
		rc = err_set(err, -EINVAL,
			     "is no file of pivots: it begins with %" PRIu64 " places",
			     places.rows);
	if (rc < 0)
		return rc;
	which = places.rows == PLACES ? PLACE_CHUNKS : PLACE_CHUNKS_OLDER;
	rc = table_at(data, bytes, place_of(&places, PLACE_PIVOTS), 4, &pivots, err);
	if (rc == 0)
		rc = table_at(data, bytes, place_of(&places, which), 4, &chunks, err);
	if (rc < 0)
		return rc;
	if (pivots.rows != CODES_PIVOTS || pivots.columns > CODES_DIMENSION_MAX)
		return err_set(err, -EINVAL,
			       "has %" PRIu64 " pivots of %" PRIu64
			       " dimensions, not %d of up to %d",
			       pivots.rows, pivots.columns, CODES_PIVOTS, CODES_DIMENSION_MAX);
	if (chunks.columns != 1 || chunks.rows < 2 || chunks.rows > CODES_CHUNKS_MAX + 1)
		return err_set(err, -EINVAL, "has %" PRIu64 " chunks, not 1 to %d", chunks.rows - 1,
			       CODES_CHUNKS_MAX);
	c->dimension = (uint32_t)pivots.columns;
	c->pivots = malloc(CODES_PIVOTS * pivots.columns * sizeof(*c->pivots));
	if (!c->pivots)
		return err_set(err, -ENOMEM, "no memory for pivots");
	memcpy(c->pivots, pivots.values, CODES_PIVOTS * pivots.columns * sizeof(*c->pivots));
	rc = codes_scale(c, err);
	return rc < 0 ? rc : codes_begins(c, &chunks, err);
}

int codes_open(struct codes *c, const void *head, uint64_t file_bytes, uint64_t vectors,
	       struct err *err)
{
	int32_t words[2];

	memcpy(words, head, sizeof(words));
	if (words[0] < 0 || (uint64_t)(uint32_t)words[0] != vectors || words[1] < 0 ||
	    (uint32_t)words[1] != c->chunks)
		return err_set(err, -EINVAL,
			       "has codes of %d vectors in %d chunks, and the index has %" PRIu64
			       " in %u",
			       words[0], words[1], vectors, c->chunks);
	if (file_bytes < CODES_HEAD || file_bytes - CODES_HEAD != vectors * c->chunks)
		return err_set(err, -EINVAL, "has %" PRIu64 " bytes, not %" PRIu64, file_bytes,
			       CODES_HEAD + vectors * c->chunks);
	c->vectors = vectors;
	c->codes = malloc(vectors * c->chunks);
	return c->codes ? 0
			: err_set(err, -ENOMEM, "no memory for the codes of %" PRIu64 " vectors",
				  vectors);
}

void codes_close(struct codes *c)
{
	free(c->pivots);
	free(c->begins);
	free(c->codes);
	*c = (struct codes){0};
}

void codes_table(const struct codes *c, uint64_t id, uint32_t *table)
{
	const uint8_t *code = c->codes + id * c->chunks;

	for (uint32_t i = 0; i < c->chunks; i++) {
		const float *mine = &c->pivots[(uint64_t)code[i] * c->dimension];

		for (uint32_t k = 0; k < CODES_PIVOTS; k++) {
			const float *other = &c->pivots[(uint64_t)k * c->dimension];
			double sum = 0;

			for (uint32_t d = c->begins[i]; d < c->begins[i + 1]; d++) {
				double way = (double)mine[d] - (double)other[d];

				sum += way * way;
			}
			table[(uint64_t)i * CODES_PIVOTS + k] = (uint32_t)(sum * c->scale);
		}
	}
}

int frontier_open(struct frontier *w, uint32_t list, const struct codes *codes)
{
	*w = (struct frontier){
		.most = list, .list = calloc(list, sizeof(*w->list)), .codes = codes};
	if (codes)
		w->table = malloc(codes_table_words(codes) * sizeof(*w->table));
	return w->list && (!codes || w->table) ? 0 : -ENOMEM;
}

void frontier_close(struct frontier *w)
{
	free(w->list);
	free(w->table);
	*w = (struct frontier){0};
}

uint64_t frontier_bytes(uint32_t list)
{
	return list * sizeof(struct candidate);
}

/* The candidate, new or not; NULL: it is farther than all of a full list.
 * What has once left the list never comes back: the list only becomes nearer. So a candidate that is
 * there already is found at its place, and nothing else needs to be remembered. */
static struct candidate *frontier_add(struct frontier *w, uint32_t id)
{
	uint64_t distance = w->codes ? codes_distance(w->codes, w->table, id)
				     : graph_distance(w->graph, w->target, id);
	uint32_t low = 0, high = w->count;

	if (w->count == w->most && distance > w->list[w->count - 1].distance)
		return NULL;
	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (w->list[middle].distance < distance)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < w->count && w->list[low].distance == distance)
		return &w->list[low];
	if (w->count < w->most)
		w->count++;
	memmove(&w->list[low + 1], &w->list[low], (w->count - 1 - low) * sizeof(*w->list));
	w->list[low] = (struct candidate){.distance = distance, .id = id};
	w->next = min_u32(w->next, low);
	return &w->list[low];
}

/* A search without any candidate yet; and one that begins at the entry of the graph. */
static void frontier_aim(struct frontier *w, const struct graph *g, uint64_t target)
{
	w->graph = g;
	w->target = target;
	w->count = w->next = 0;
	if (w->codes)
		codes_table(w->codes, target, w->table);
}

void frontier_begin(struct frontier *w, const struct graph *g, uint64_t target)
{
	frontier_aim(w, g, target);
	frontier_add(w, (uint32_t)g->entry);
}

/* The same candidate as it is in the list, until that changes. NULL: there is none now. */
static const struct candidate *frontier_nearest(struct frontier *w)
{
	while (w->next < w->count && w->list[w->next].taken)
		w->next++;
	if (w->next == w->count)
		return NULL;
	w->list[w->next].taken = true;
	return &w->list[w->next++];
}

bool frontier_take(struct frontier *w, uint32_t *id)
{
	const struct candidate *c = frontier_nearest(w);

	if (c)
		*id = c->id;
	return c != NULL;
}

/* A node of which something is kept in a row that is free; the list has one row more than candidates.
 * Returns the row that is free now: that one, if others are nearer; else of what had to leave. */
static uint32_t frontier_put(struct frontier *w, uint32_t id, uint32_t row)
{
	uint32_t before = w->count, last = before ? w->list[before - 1].row : 0;
	uint32_t last_id = before ? w->list[before - 1].id : 0;
	struct candidate *c = frontier_add(w, id);

	/* Farther than the others, or in the list already. */
	if (!c || (w->count == before && w->list[before - 1].id == last_id))
		return row;
	c->row = row & 0x7fffffff;
	return w->count > before ? w->count : last;
}

bool frontier_claim(struct frontier *w, uint32_t id)
{
	struct candidate *c = frontier_add(w, id);

	if (!c || c->taken)
		return false;
	c->taken = true;
	return true;
}

void frontier_see(struct frontier *w, const uint32_t *neighbours, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		frontier_add(w, neighbours[i]);
}

/* Sample queries visit as many nodes as tell which are met most: so many times those that are kept, or
 * fewer where these are many. What they meet is counted for that many times those. */
enum { SAMPLE_WANTED = 32, SAMPLE_LEAST = 2, SAMPLE_USUAL = 4000000, SAMPLE_ROOM = 8 };
/* Sample queries are others than those of the phase. */
static const uint64_t hot_first_query = 1ull << 40;

/* How often sample queries have met a node. */
struct met {
	uint32_t id, times;
};

static uint64_t hot_room(uint64_t count)
{
	uint64_t room = 16;

	while (room < count * 2)
		room *= 2;
	return room;
}

uint64_t hot_bytes(uint64_t count)
{
	return count ? hot_room(count) * sizeof(uint32_t) +
			       hot_room(count * SAMPLE_ROOM) * sizeof(struct met)
		     : 0;
}

/* A set of nodes that is empty, with room for count: -ENOMEM. Memory of it: hot_room words of 32 bits. */
static int hot_open(struct hot *h, uint64_t count)
{
	*h = (struct hot){.mask = hot_room(count) - 1};
	h->ids = calloc(h->mask + 1, sizeof(*h->ids));
	return h->ids ? 0 : -ENOMEM;
}

void hot_free(struct hot *h)
{
	free(h->ids);
	free(h->rows);
	free(h->links);
	*h = (struct hot){0};
}

static void hot_clear(struct hot *h)
{
	memset(h->ids, 0, (h->mask + 1) * sizeof(*h->ids));
	h->count = 0;
}

bool hot_add(struct hot *h, uint32_t id)
{
	uint64_t at = hot_place(h, id);

	if (hot_has(h, id))
		return false;
	while (h->ids[at])
		at = (at + 1) & h->mask;
	h->ids[at] = id + 1;
	if (h->rows)
		h->rows[at] = (uint32_t)h->count;
	h->count++;
	return true;
}

int hot_open_links(struct hot *h, uint64_t count, uint64_t degree)
{
	int rc = hot_open(h, count);

	h->rows = calloc(h->mask + 1, sizeof(*h->rows));
	h->links = calloc(count, (1 + degree) * sizeof(*h->links));
	return rc == 0 && h->rows && h->links ? 0 : -ENOMEM;
}

uint32_t *hot_links(const struct hot *h, uint32_t id, uint64_t degree)
{
	uint64_t at = hot_place(h, id);

	while (h->ids[at] != id + 1)
		at = (at + 1) & h->mask;
	return h->links + h->rows[at] * (1 + degree);
}

int hot_breadth_first(struct hot *h, const struct graph *g, uint64_t count)
{
	uint32_t neighbours[GRAPH_DEGREE_MAX], *line;
	uint64_t most = min_u64(count, g->n);
	int rc;

	if (!most)
		return 0;
	rc = hot_open(h, most);
	line = rc == 0 ? calloc(most, sizeof(*line)) : NULL;
	if (!line)
		return -ENOMEM;
	line[0] = (uint32_t)g->entry;
	hot_add(h, line[0]);
	for (uint64_t i = 0; i < h->count && h->count < most; i++) {
		graph_neighbours(g, line[i], neighbours);
		for (uint64_t j = 0; j < g->degree && h->count < most; j++)
			if (hot_add(h, neighbours[j]))
				line[h->count - 1] = neighbours[j];
	}
	free(line);
	return 0;
}

struct sample {
	struct met *nodes; /* [mask + 1]; times 0: free */
	uint64_t count, most, mask, visits;
};

static void sample_add(struct sample *s, uint32_t id)
{
	const struct hot place = {.mask = s->mask};
	uint64_t at = hot_place(&place, id);

	while (s->nodes[at].times && s->nodes[at].id != id)
		at = (at + 1) & s->mask;
	s->count += s->nodes[at].times == 0;
	s->nodes[at].id = id;
	s->nodes[at].times++;
	s->visits++;
}

/* A query, without reading anything. */
static void sample_query(struct sample *s, struct frontier *f, const struct graph *g,
			 uint64_t target)
{
	uint32_t neighbours[GRAPH_DEGREE_MAX], id;

	frontier_begin(f, g, target);
	while (s->count < s->most && frontier_take(f, &id)) {
		sample_add(s, id);
		graph_neighbours(g, id, neighbours);
		frontier_see(f, neighbours, (uint32_t)g->degree);
	}
}

static int met_more(const void *a, const void *b)
{
	const struct met *x = a, *y = b;

	if (x->times != y->times)
		return x->times > y->times ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int hot_take_most(struct hot *h, struct sample *s, uint64_t count)
{
	int rc = hot_open(h, count);

	qsort(s->nodes, s->mask + 1, sizeof(*s->nodes), met_more);
	for (uint64_t i = 0; rc == 0 && i < min_u64(count, s->count); i++)
		hot_add(h, s->nodes[i].id);
	return rc;
}

int hot_sample(struct hot *h, const struct graph *g, uint64_t count, double skew)
{
	uint64_t keep = min_u64(count, g->n), visits;
	struct sample s = {.most = keep * SAMPLE_ROOM};
	struct frontier f = {0};
	int rc;

	if (!keep)
		return 0;
	s.mask = hot_room(s.most) - 1;
	s.nodes = calloc(s.mask + 1, sizeof(*s.nodes));
	rc = s.nodes ? frontier_open(&f, HOT_SAMPLE_LIST, NULL) : -ENOMEM;
	visits = max_u64(keep * SAMPLE_LEAST, min_u64(keep * SAMPLE_WANTED, SAMPLE_USUAL));
	for (uint64_t q = hot_first_query; rc == 0 && s.count < s.most && s.visits < visits; q++)
		sample_query(&s, &f, g, graph_target(g, q, skew));
	if (rc == 0)
		rc = hot_take_most(h, &s, keep);
	frontier_close(&f);
	free(s.nodes);
	return rc;
}

/* Nodes that a search reads beyond those that its list leads to, on its way. */
enum { WAY_NODES = 64 };

static uint64_t seen_room(uint32_t list, uint32_t degree, uint64_t n)
{
	return min_u64(((uint64_t)list + WAY_NODES) * degree, n);
}

static uint64_t links_words(uint32_t list, uint32_t degree)
{
	return ((uint64_t)list + 1) * ((uint64_t)degree + 1);
}

int base_level_open(struct base_level *b, uint32_t list, uint32_t degree, uint64_t n)
{
	*b = (struct base_level){.degree = degree, .room = seen_room(list, degree, n)};
	b->links = malloc(links_words(list, degree) * sizeof(*b->links));
	b->round = malloc((uint64_t)degree * sizeof(*b->round));
	if (!b->links || !b->round || hot_open(&b->seen, b->room) < 0)
		return -ENOMEM;
	return frontier_open(&b->frontier, list, NULL);
}

void base_level_close(struct base_level *b)
{
	frontier_close(&b->frontier);
	hot_free(&b->seen);
	free(b->links);
	free(b->round);
	*b = (struct base_level){0};
}

uint64_t base_level_bytes(uint32_t list, uint32_t degree, uint64_t n)
{
	return frontier_bytes(list) + links_words(list, degree) * sizeof(uint32_t) +
	       degree * sizeof(uint32_t) + hot_room(seen_room(list, degree, n)) * sizeof(uint32_t);
}

static bool base_level_new(struct base_level *b, uint32_t id)
{
	if (b->seen.count < b->room)
		return hot_add(&b->seen, id);
	return !hot_has(&b->seen, id);
}

void base_level_begin(struct base_level *b, const struct graph *g, uint64_t target)
{
	uint64_t every = max_u64(g->degree / 2, 1), at = (target + every / 2) / every * every;

	frontier_aim(&b->frontier, g, target);
	hot_clear(&b->seen);
	b->spare = b->next = 0;
	b->count = 1;
	b->round[0] = (uint32_t)graph_id(g, at < g->n ? at : 0);
	base_level_new(b, b->round[0]);
}

bool base_level_take(struct base_level *b, uint32_t *id)
{
	if (b->next == b->count)
		return false;
	*id = b->round[b->next++];
	return true;
}

bool base_level_round(struct base_level *b)
{
	const struct candidate *c;

	b->count = b->next = 0;
	while (!b->count && (c = frontier_nearest(&b->frontier))) {
		const uint32_t *row = b->links + (uint64_t)c->row * (b->degree + 1);

		for (uint32_t i = 1; i <= row[0]; i++)
			if (base_level_new(b, row[i]))
				b->round[b->count++] = row[i];
	}
	return b->count > 0;
}

void base_level_read(struct base_level *b, uint32_t id, uint32_t links)
{
	b->links[(uint64_t)b->spare * (b->degree + 1)] = links;
	b->spare = frontier_put(&b->frontier, id, b->spare);
}

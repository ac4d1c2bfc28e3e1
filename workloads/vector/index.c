/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/vector/index.h"

#include <math.h>
#include <string.h>

#include "core/content/fill.h"
#include "core/content/random.h"
#include "core/numbers.h"

static const uint64_t step_stream = 1, shift_stream = 2, query_stream = 3;
/* A step of that share of the ring spreads neighbours of a position most evenly. */
static const double golden = 0.6180339887498949;

static uint64_t graph_gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* The inverse of a, which is prime to n, by Euclid. */
static uint64_t graph_inverse(uint64_t a, uint64_t n)
{
	int64_t x = 1, other = 0;
	uint64_t r = a, next = n;

	while (next) {
		uint64_t quotient = r / next, rest = r % next;
		int64_t y = x - (int64_t)quotient * other;

		r = next;
		next = rest;
		x = other;
		other = y;
	}
	return (uint64_t)(x < 0 ? x + (int64_t)n : x); /* its amount is below n */
}

/* The distance along the ring of the two neighbours number 2 i and 2 i + 1. */
static uint64_t graph_hop(const struct graph *g, uint64_t i)
{
	uint64_t near = max_u64(g->degree / 16, 1), far = (g->degree + 1) / 2 - near;
	double grows;

	if (i < near)
		return i + 1;
	grows = pow((double)g->n / 2 / (double)(near + 1), 1 / (double)max_u64(far - 1, 1));
	return (uint64_t)llround((double)(near + 1) * pow(grows, (double)(i - near)));
}

/* To go d along the ring adds d * step to an id. */
static void graph_ways(struct graph *g)
{
	for (uint64_t j = 0; j < g->degree; j++) {
		uint64_t way = graph_hop(g, j / 2) % g->n * g->step % g->n;

		g->way[j] = (uint32_t)(j & 1 && way ? g->n - way : way);
	}
}

void graph_init(struct graph *g, uint64_t n, uint64_t degree, uint64_t key, bool scattered)
{
	uint64_t spread = (uint64_t)((double)n * golden);

	*g = (struct graph){.n = n, .degree = degree, .key = key};
	if (scattered)
		g->step = (spread + random_at(key, step_stream, 0) % (n / 16 + 1)) % n;
	g->step = max_u64(g->step, 1);
	while (graph_gcd(g->step, n) != 1)
		g->step = g->step % n + 1;
	g->back = graph_inverse(g->step, n);
	g->shift = random_at(key, shift_stream, 0) % n;
	g->entry = graph_id(g, n / 2);
	graph_ways(g);
}

void graph_neighbours(const struct graph *g, uint64_t id, uint32_t *out)
{
	for (uint64_t j = 0; j < g->degree; j++) {
		uint64_t at = id + g->way[j];

		out[j] = (uint32_t)(at < g->n ? at : at - g->n);
	}
}

uint64_t graph_target(const struct graph *g, uint64_t q, double skew)
{
	double share = pow(random_unit(random_at(g->key, query_stream, q)), 1 / (1 - skew));

	return min_u64((uint64_t)(share * (double)g->n), g->n - 1);
}

const char *const vector_kind_names[] = {"diskann", "aisaq", "spann", "ivf", "hnsw", NULL};
const char *const vector_layout_names[] = {"scattered", "near", NULL};
const char *const vector_type_names[] = {"float32", "float16", "int8", "uint8", NULL};

static const uint64_t type_bytes[] = {4, 2, 1, 1};
static const uint64_t codes_stream = 2;
static const uint64_t version_stream = 4;                /* after those of index.c */
static const uint64_t segment_stream = 0x7365676d656e74; /* "segment" */

/* SPANN's file begins with four numbers, and a row for each list. */
enum { SPANN_HEAD = 16, SPANN_ROW = 12, ID_BYTES = 4 };
/* hnswlib's: its header, the label behind a vector, the number before an element's upper levels. */
enum { HNSW_HEAD = 96, HNSW_LABEL = 8, HNSW_UPPER = 4, HNSW_BUILD_LIST = 200 };
/* The share of SPANN's vectors that head a list (its paper has 16 %). */
static const double spann_heads = 0.16;
/* An inverted file is usually made with 4 * sqrt(vectors) lists. */
static const uint64_t ivf_root_times = 4;

static uint64_t sectors(uint64_t bytes)
{
	return (bytes + VECTOR_SECTOR - 1) / VECTOR_SECTOR;
}

uint64_t vector_segment_vectors(const struct vector_shape *shape)
{
	return shape->vectors / shape->segments;
}

static uint64_t root(uint64_t value)
{
	uint64_t at = 1;

	while (at * at < value)
		at++;
	return at;
}

uint64_t vector_segment_lists(const struct vector_shape *shape)
{
	uint64_t vectors = vector_segment_vectors(shape);

	if (vector_is_graph(shape->index))
		return 0;
	if (shape->lists)
		return shape->lists;
	if (shape->index == VECTOR_SPANN)
		return max_u64((uint64_t)((double)vectors * spann_heads), 1);
	return min_u64(ivf_root_times * root(vectors), vectors);
}

static void vector_index_nodes(struct vector_index *x, const struct vector_shape *shape)
{
	if (shape->index == VECTOR_AISAQ)
		x->codes_bytes = shape->degree * shape->pq_bytes;
	x->item_bytes = x->vector_bytes + 4 * (shape->degree + 1) + x->codes_bytes;
	x->items = x->vectors;
	x->per_sector = VECTOR_SECTOR / x->item_bytes;
	x->stride = (x->per_sector ? 1 : sectors(x->item_bytes)) * VECTOR_SECTOR;
	x->size = VECTOR_SECTOR;
	x->size += x->per_sector ? (x->items + x->per_sector - 1) / x->per_sector * VECTOR_SECTOR
				 : x->items * x->stride;
	x->first = VECTOR_SECTOR;
}

static void vector_index_elements(struct vector_index *x, const struct vector_shape *shape)
{
	x->vector_at = 4 * (shape->degree + 1);
	x->item_bytes = x->vector_at + x->vector_bytes + HNSW_LABEL;
	x->items = x->vectors;
	x->stride = x->item_bytes;
	x->first = HNSW_HEAD;
	x->size = x->first + x->items * (x->stride + HNSW_UPPER);
}

static void vector_index_lists(struct vector_index *x, const struct vector_shape *shape)
{
	uint64_t entry = x->vector_bytes;

	x->items = vector_segment_lists(shape);
	x->first = VECTOR_SECTOR;
	x->entries = x->vectors / x->items;
	if (shape->index == VECTOR_SPANN) {
		entry += ID_BYTES;
		x->entries = min_u64(shape->list_pages * VECTOR_SECTOR / entry, x->vectors);
		x->first = sectors(SPANN_HEAD + x->items * SPANN_ROW) * VECTOR_SECTOR;
	}
	x->item_bytes = x->entries * entry;
	x->stride =
		shape->index == VECTOR_SPANN ? shape->list_pages * VECTOR_SECTOR : x->item_bytes;
	x->size = x->first + x->items * x->stride;
}

void vector_index_of(struct vector_index *x, const struct vector_shape *shape, uint64_t seed,
		     uint64_t segment)
{
	vector_index_at(x, shape, seed, segment, 0, vector_segment_vectors(shape));
}

void vector_index_at(struct vector_index *x, const struct vector_shape *shape, uint64_t seed,
		     uint64_t segment, uint64_t version, uint64_t vectors)
{
	*x = (struct vector_index){
		.kind = shape->index,
		.vectors = vectors,
		.vector_bytes = shape->dimension * type_bytes[shape->type],
		.key = random_at(seed ^ segment_stream, segment, 0),
	};
	if (version)
		x->key = random_at(x->key, version_stream, version);
	graph_init(&x->graph, x->vectors, shape->degree, x->key, shape->layout == VECTOR_SCATTERED);
	if (shape->index == VECTOR_HNSW) {
		vector_index_elements(x, shape);
		return;
	}
	x->links_at = x->vector_bytes;
	if (vector_is_graph(shape->index)) {
		vector_index_nodes(x, shape);
		return;
	}
	vector_index_lists(x, shape);
	graph_init(&x->order, x->items, 0, x->key + 1, true);
}

static uint64_t item_at(const struct vector_index *x, uint64_t item)
{
	if (!x->per_sector)
		return x->first + item * x->stride;
	return x->first + item / x->per_sector * x->stride + item % x->per_sector * x->item_bytes;
}

uint64_t vector_index_read(const struct vector_index *x, uint64_t item, uint64_t *offset,
			   uint64_t *within)
{
	uint64_t at = item_at(x, item);

	*within = x->per_sector ? at % VECTOR_SECTOR : 0;
	*offset = at - *within;
	return vector_index_unit(x);
}

uint64_t vector_index_beside(const struct vector_index *x, uint64_t item, uint64_t *first)
{
	*first = item;
	if (!x->per_sector)
		return 1;
	*first -= item % x->per_sector;
	return min_u64(x->per_sector, x->items - *first);
}

uint64_t vector_index_unit(const struct vector_index *x)
{
	if (x->kind == VECTOR_IVF || x->kind == VECTOR_HNSW)
		return x->item_bytes;
	return (x->per_sector ? 1 : sectors(x->item_bytes)) * VECTOR_SECTOR;
}

/* A part of the file that is to be made. */
struct piece {
	uint64_t at, bytes;
	char *to;
};

/* What of the piece lies in [start, start + length). Returns where, NULL: nothing. */
static char *piece_overlap(const struct piece *p, uint64_t start, uint64_t length, uint64_t *from,
			   uint64_t *bytes)
{
	uint64_t low = max_u64(p->at, start), high = min_u64(p->at + p->bytes, start + length);

	if (low >= high)
		return NULL;
	*from = low - start;
	*bytes = high - low;
	return p->to + (low - p->at);
}

static void piece_put(const struct piece *p, uint64_t start, const void *data, uint64_t length)
{
	uint64_t from, bytes;
	char *to = piece_overlap(p, start, length, &from, &bytes);

	if (to)
		memcpy(to, (const char *)data + from, bytes);
}

static void piece_put_vector(const struct piece *p, uint64_t start, const struct vector_index *x,
			     uint64_t id)
{
	uint64_t from, bytes;
	char *to = piece_overlap(p, start, x->vector_bytes, &from, &bytes);

	if (to)
		fill(fill_key(x->key, id), from, to, bytes);
}

/* Numbers are stored as they are in memory: the layouts are little-endian. */
static void node_put(const struct piece *p, uint64_t start, const struct vector_index *x,
		     uint64_t id)
{
	uint32_t words[1 + GRAPH_DEGREE_MAX];
	uint64_t from, bytes, length = 4 * (x->graph.degree + 1);
	uint64_t label = x->kind == VECTOR_HNSW ? HNSW_LABEL : 0;
	char *to;

	piece_put_vector(p, start + x->vector_at, x, id);
	piece_put(p, start + x->item_bytes - label, &id, label);
	to = piece_overlap(p, start + x->vector_bytes + length, x->codes_bytes, &from, &bytes);
	if (to)
		fill(fill_key(x->key + codes_stream, id), from, to, bytes);
	if (!piece_overlap(p, start + x->links_at, length, &from, &bytes))
		return;
	words[0] = (uint32_t)x->graph.degree;
	graph_neighbours(&x->graph, id, words + 1);
	piece_put(p, start + x->links_at, words, length);
}

/* The vectors of a list are those at positions beside each other. */
static uint64_t list_vector(const struct vector_index *x, uint64_t list, uint64_t entry)
{
	uint64_t first = graph_position(&x->order, list) * (x->vectors / x->items);

	return graph_id(&x->graph, (first + entry) % x->vectors);
}

uint64_t vector_index_list(const struct vector_index *x, uint64_t target, uint64_t i)
{
	uint64_t at = min_u64(target / (x->vectors / x->items), x->items - 1), way = (i + 1) / 2;

	return graph_id(&x->order, (i & 1 ? at + way : at + x->items - way) % x->items);
}

static void list_put(const struct piece *p, uint64_t start, const struct vector_index *x,
		     uint64_t list)
{
	uint64_t head = x->kind == VECTOR_SPANN ? ID_BYTES : 0, size = head + x->vector_bytes;
	uint64_t entry = p->at > start ? (p->at - start) / size : 0;

	for (; entry < x->entries && start + entry * size < p->at + p->bytes; entry++) {
		uint32_t id = (uint32_t)list_vector(x, list, entry);

		piece_put(p, start + entry * size, &id, head);
		piece_put_vector(p, start + entry * size + head, x, id);
	}
}

static void diskann_header(const struct piece *p, const struct vector_index *x)
{
	const uint64_t words[8] = {x->size, x->vectors, x->graph.entry, x->item_bytes,
				   x->per_sector ? x->per_sector : UINT64_MAX};

	piece_put(p, 0, words, sizeof(words));
}

static void spann_header(const struct piece *p, const struct vector_index *x)
{
	const uint32_t head[4] = {(uint32_t)x->items, (uint32_t)x->vectors,
				  (uint32_t)(x->item_bytes / x->entries),
				  (uint32_t)(x->first / VECTOR_SECTOR)};
	uint64_t pages = x->stride / VECTOR_SECTOR;
	uint64_t list = p->at > SPANN_HEAD ? (p->at - SPANN_HEAD) / SPANN_ROW : 0;

	piece_put(p, 0, head, sizeof(head));
	for (; list < x->items && SPANN_HEAD + list * SPANN_ROW < p->at + p->bytes; list++) {
		const uint32_t page = (uint32_t)(list * pages), count = (uint32_t)x->entries;
		const uint16_t none = 0, read = (uint16_t)sectors(x->item_bytes);
		uint64_t at = SPANN_HEAD + list * SPANN_ROW;

		piece_put(p, at, &page, sizeof(page));
		piece_put(p, at + 4, &none, sizeof(none));
		piece_put(p, at + 6, &count, sizeof(count));
		piece_put(p, at + 10, &read, sizeof(read));
	}
}

/* size_t of the level's offset, elements at most and now, bytes of one, where its label and its vector are;
 * i32 level, u32 where searches begin; size_t links of upper levels, of this one, M; f64, size_t of building. */
static void hnsw_header(const struct piece *p, const struct vector_index *x)
{
	const uint64_t m = x->graph.degree / 2;
	const double factor = 1 / log((double)m);
	uint64_t words[HNSW_HEAD / 8] = {
		[1] = x->vectors,
		x->vectors,
		x->item_bytes,
		x->item_bytes - HNSW_LABEL,
		x->vector_at,
		x->graph.entry << 32,
		m,
		x->graph.degree,
		m,
		0,
		HNSW_BUILD_LIST,
	};

	memcpy(&words[10], &factor, sizeof(factor));
	piece_put(p, 0, words, sizeof(words));
}

static void ivf_header(const struct piece *p, const struct vector_index *x)
{
	const uint64_t words[4] = {x->size, x->vectors, x->items, x->vector_bytes};

	piece_put(p, 0, words, sizeof(words));
}

void vector_index_image(const void *index, uint64_t at, void *to, uint64_t bytes)
{
	const struct vector_index *x = index;
	const struct piece p = {at, bytes, to};
	uint64_t item = at > x->first ? (at - x->first) / x->stride : 0;

	memset(to, 0, bytes);
	if (x->kind == VECTOR_HNSW)
		hnsw_header(&p, x);
	else if (vector_is_graph(x->kind))
		diskann_header(&p, x);
	else if (x->kind == VECTOR_SPANN)
		spann_header(&p, x);
	else
		ivf_header(&p, x);
	item *= max_u64(x->per_sector, 1);
	for (; item < x->items && item_at(x, item) < at + bytes; item++) {
		if (vector_is_graph(x->kind))
			node_put(&p, item_at(x, item), x, item);
		else
			list_put(&p, item_at(x, item), x, item);
	}
}

bool vector_index_bytes_same(const struct vector_index *x, uint64_t from, const void *data,
			     uint64_t length, uint64_t *at)
{
	char made[VECTOR_SECTOR];

	for (uint64_t done = 0; done < length;) {
		uint64_t part = min_u64(length - done, sizeof(made));
		const char *given = (const char *)data + done;

		vector_index_image(x, from + done, made, part);
		if (memcmp(made, given, part) != 0) {
			uint64_t i = 0;

			while (made[i] == given[i])
				i++;
			*at = from + done + i;
			return false;
		}
		done += part;
	}
	return true;
}

bool vector_index_same(const struct vector_index *x, uint64_t item, const void *data, uint64_t from,
		       uint64_t length, uint64_t *at)
{
	uint64_t start = item_at(x, item);
	bool same = vector_index_bytes_same(x, start + from, (const char *)data + from, length, at);

	*at -= same ? 0 : start;
	return same;
}

int vector_index_neighbours(const struct vector_index *x, uint64_t node, const void *data,
			    uint32_t *out, uint32_t most)
{
	uint32_t count;

	if (!data) {
		graph_neighbours(&x->graph, node, out);
		return (int)x->graph.degree;
	}
	memcpy(&count, (const char *)data + x->links_at, sizeof(count));
	/* The upper bytes of hnswlib's are marks. */
	if (x->kind == VECTOR_HNSW)
		count &= UINT16_MAX;
	if (count > x->graph.degree || count > most)
		return -1;
	memcpy(out, (const char *)data + x->links_at + sizeof(count), count * sizeof(*out));
	for (uint32_t i = 0; i < count; i++)
		if (out[i] >= x->vectors)
			return -1;
	return (int)count;
}

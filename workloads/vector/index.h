/* SPDX-License-Identifier: Apache-2.0 */
/* An index file: where what lies in it, and its bytes, which are a function of the shape, the seed and
 * the segment. So any range of it can be made and verified on its own, and a billion vectors need no
 * memory.
 *
 * diskann: a header of one sector (4 KiB), then nodes. A node is the vector, the number of its
 * neighbours (u32) and their ids (u32 each). Nodes lie several in a sector, none across two; a longer
 * node has sectors of its own. A node is read with the sectors that it lies in.
 *
 *	header, u64 each: file size, vectors, medoid, node bytes, nodes per sector (2^64-1 where a node
 *	is longer than a sector), frozen points, their id, whether reorder data follow
 *
 * aisaq: the same, and behind the ids of a node the compressed vectors (pq_bytes each) of its neighbours,
 * which diskann keeps in memory.
 *
 * spann: a header (lists, vectors, bytes of an entry, pages of the header: i32 each; then for each list its
 * page u32, an offset u16, entries i32, pages u16), then posting lists, each of which begins at a page and
 * has list_pages of them: entries of an id (i32) and a vector, as many as fit.
 * ivf: a header of one page, then lists side by side, of vectors / lists entries of a vector each.
 * hnsw: a header of 96 bytes, then elements side by side: the number of links (u32), links (u32 each), the
 * vector, a label (u64); then for each element the bytes of its upper levels (u32), which are none: a
 * search begins where these would lead.
 *
 * Layouts: nmslib/hnswlib (hnsw), microsoft/DiskANN and zilliztech/knowhere (diskann), microsoft/SPTAG (spann). Pure
 * functions on plain data; any thread. */
#ifndef HAUL_WORKLOADS_VECTOR_INDEX_H
#define HAUL_WORKLOADS_VECTOR_INDEX_H

#include <stdbool.h>
#include <stdint.h>

/* The numbers of a synthetic graph in which a greedy search converges as it does in one that was built
 * from real vectors: without memory, and so that anyone can compute it again.
 *
 * Vectors lie on a ring, each at a position. Its id is a permutation of that, so that vectors which are
 * near each other are far from each other in the file:
 *
 *	id = (position * step + shift) mod n        step is prime to n
 *
 * An eighth of a node's neighbours are the nearest on both sides; the others are, on both sides, at
 * distances that grow geometrically up to half of the ring. A query is a position, its target, and the
 * distance of a vector to it is the way along the ring. So a search comes near in a few hops, from
 * anywhere, and then finds exactly the nearest; the nodes of the first hops are met by many queries, as
 * the ones around a medoid are.
 *
 * The random values are random_at (core/content/random.h). Pure functions; any thread. */

enum { GRAPH_DEGREE_MAX = 512 };

struct graph {
	uint64_t n, degree, key;
	uint64_t step, back, shift; /* back * step mod n is 1 */
	uint64_t entry;             /* where searches begin: the medoid's id */
	uint32_t way
		[GRAPH_DEGREE_MAX]; /* from the id of a node to that of its neighbour, modulo n */
};

/* n at least 1 and below 2^32. scattered: see above; else the step is 1. */
void graph_init(struct graph *g, uint64_t n, uint64_t degree, uint64_t key, bool scattered);

static inline uint64_t graph_id(const struct graph *g, uint64_t position)
{
	return (position * g->step + g->shift) % g->n;
}

static inline uint64_t graph_position(const struct graph *g, uint64_t id)
{
	/* Below n before it is multiplied: so the product of two of them has 64 bits. */
	return (id >= g->shift ? id - g->shift : id + g->n - g->shift) * g->back % g->n;
}

/* The ids of the neighbours of a node: [degree]. */
void graph_neighbours(const struct graph *g, uint64_t id, uint32_t *out);

/* How far a vector is from a target: less is nearer, and no two vectors are equally far. */
static inline uint64_t graph_distance(const struct graph *g, uint64_t target, uint64_t id)
{
	uint64_t at = graph_position(g, id);
	uint64_t right = at >= target ? at - target : at + g->n - target, left = g->n - right;

	return right <= left ? right * 2 : left * 2 + 1;
}

/* The target of query vector q. skew s, 0 to below 1: queries prefer low positions, so that a share x of
 * the vectors gets a share x^(1-s) of the queries. */
uint64_t graph_target(const struct graph *g, uint64_t q, double skew);

enum vector_kind { VECTOR_DISKANN, VECTOR_AISAQ, VECTOR_SPANN, VECTOR_IVF, VECTOR_HNSW };
enum vector_type { VECTOR_FLOAT32, VECTOR_FLOAT16, VECTOR_INT8, VECTOR_UINT8 };
enum vector_layout { VECTOR_SCATTERED, VECTOR_NEAR };
enum { VECTOR_SECTOR = 4096 };

extern const char *const vector_kind_names[], *const vector_type_names[],
						      *const vector_layout_names[];

/* What an index is, as the job says; 0: not given. All segments have the same shape. */
struct vector_shape {
	uint32_t index, type, layout;
	uint64_t vectors; /* of all segments */
	uint64_t segments, dimension, degree, pq_bytes;
	uint64_t lists; /* of a segment */
	uint64_t list_pages;
};

/* A segment. */
struct vector_index {
	uint32_t kind;
	uint64_t vectors, vector_bytes; /* of a vector */
	uint64_t vector_at, links_at;   /* of a node: where they are in it */
	uint64_t codes_bytes;           /* of a node: of its neighbours' compressed vectors */
	uint64_t key;                   /* of its vectors' bytes */
	struct graph graph;             /* of its vectors */
	struct graph order;  /* of its lists: where those of neighbouring positions lie */
	uint64_t item_bytes; /* of a node, or of a list, without padding */
	uint64_t items,
		per_sector; /* per_sector 0: an item has sectors of its own, or none (ivf) */
	uint64_t stride;    /* from one item, or one sector of items, to the next */
	uint64_t first;     /* where the items begin */
	uint64_t entries;   /* of a list */
	uint64_t size;      /* of the file */
};

/* segment: of shape->segments. The shape has been checked. */
void vector_index_of(struct vector_index *x, const struct vector_shape *shape, uint64_t seed,
		     uint64_t segment);

/* The same of a file of that version, with so many vectors: a merge writes those above 0 (set.h). */
void vector_index_at(struct vector_index *x, const struct vector_shape *shape, uint64_t seed,
		     uint64_t segment, uint64_t version, uint64_t vectors);

/* Whether a search goes along a graph; else it reads lists. */
static inline bool vector_is_graph(uint32_t kind)
{
	return kind == VECTOR_DISKANN || kind == VECTOR_AISAQ || kind == VECTOR_HNSW;
}

/* Vectors, and lists, of a segment. */
uint64_t vector_segment_vectors(const struct vector_shape *shape);
uint64_t vector_segment_lists(const struct vector_shape *shape);

/* The list, as an item of the file, that is the i-th nearest to a target, a position of the graph. */
uint64_t vector_index_list(const struct vector_index *x, uint64_t target, uint64_t i);

/* What is read for an item. *within: where in it the item begins. */
uint64_t vector_index_read(const struct vector_index *x, uint64_t item, uint64_t *offset,
			   uint64_t *within);
/* The items that such a read brings: the first of them; returns how many. */
uint64_t vector_index_beside(const struct vector_index *x, uint64_t item, uint64_t *first);
/* The most bytes of such a read. */
uint64_t vector_index_unit(const struct vector_index *x);

/* Makes bytes [at, at + bytes) of the file. */
void vector_index_image(const void *index, uint64_t at, void *to, uint64_t bytes);

/* Whether `length` bytes of the file, from `from` on, are as they were made; else *at is the first that
 * is not. */
bool vector_index_bytes_same(const struct vector_index *x, uint64_t from, const void *data,
			     uint64_t length, uint64_t *at);

/* Whether bytes [from, from + length) of the item are as they were made; else *at is the first that is
 * not, within the item. data: of the item's first byte. */
bool vector_index_same(const struct vector_index *x, uint64_t item, const void *data, uint64_t from,
		       uint64_t length, uint64_t *at);

/* The neighbours of a node, from its bytes, or (data NULL) as they were made. Returns how many, at most
 * most; -1: the bytes are no node of this index. */
int vector_index_neighbours(const struct vector_index *x, uint64_t node, const void *data,
			    uint32_t *out, uint32_t most);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A search of a graph: best first, with a list of the nearest candidates. It asks for nodes, is told
 * their neighbours, and ends when all of its list have been looked at. It does no I/O, so that the way
 * of a search can be computed, counted and compared without any.
 *
 * One thread; nothing is allocated after frontier_open. */
#ifndef HAUL_WORKLOADS_VECTOR_FRONTIER_H
#define HAUL_WORKLOADS_VECTOR_FRONTIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "workloads/vector/index.h"

/* The compressed vectors of an index of DiskANN, by which a search tells what is near: product
 * quantisation. A vector is cut into chunks, and of each chunk a byte says which of 256 pivots is like it.
 *
 *	_pq_pivots.bin       tables, each: rows i32, columns i32, values. At 0 the places of the others (u64,
 *	                     4 rows; 5 in older files), then 256 pivots of all dimensions (float32), the
 *	                     centre, and where the chunks begin (u32, chunks + 1)
 *	_pq_compressed.bin   vectors i32, chunks i32, then the bytes of each vector
 *
 * A query is a vector of the index, as its codes give it. Its distance to another one is the sum of the
 * squared distances of their pivots, as a whole number: so two programs agree on which is nearer. Of
 * two that are equally far the lower id is nearer.
 *
 * Read-only once loaded; any thread. */

enum { CODES_PIVOTS = 256, CODES_CHUNKS_MAX = 4096, CODES_DIMENSION_MAX = 32768 };

struct codes {
	uint64_t vectors;
	uint32_t chunks, dimension;
	float *pivots;    /* [CODES_PIVOTS][dimension] */
	uint32_t *begins; /* [chunks + 1]: the dimensions of a chunk */
	double scale;     /* makes distances whole numbers, and all of them less than 2^32 */
	uint8_t *codes;   /* [vectors][chunks]; filled in by whoever loads them */
};

/* From the bytes of a file of pivots. -EINVAL with a sentence, -ENOMEM. Close it also after an error. */
int codes_pivots(struct codes *c, const void *data, size_t bytes, struct err *err);
/* From the first bytes of a file of codes, which has that size: memory for them. */
enum { CODES_HEAD = 8 };
int codes_open(struct codes *c, const void *head, uint64_t file_bytes, uint64_t vectors,
	       struct err *err);
void codes_close(struct codes *c);

/* What a search that looks for vector id keeps: [codes_table_words]. */
static inline uint64_t codes_table_words(const struct codes *c)
{
	return (uint64_t)c->chunks * CODES_PIVOTS;
}
void codes_table(const struct codes *c, uint64_t id, uint32_t *table);

static inline uint64_t codes_distance(const struct codes *c, const uint32_t *table, uint32_t id)
{
	const uint8_t *code = c->codes + (uint64_t)id * c->chunks;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < c->chunks; i++)
		sum += table[(uint64_t)i * CODES_PIVOTS + code[i]];
	return sum << 32 | id;
}

struct candidate {
	uint64_t distance;
	uint32_t id;
	uint32_t taken : 1, row : 31; /* row: see frontier_put */
};

struct frontier {
	const struct graph *graph;
	uint64_t target;
	/* Of an index that somebody else has built: distances are those of its codes. NULL: they are
	 * those of the graph. */
	const struct codes *codes;
	uint32_t *table;        /* of the target (codes_table); NULL without codes */
	uint32_t most, count;   /* candidates */
	uint32_t next;          /* none before it is still to be taken */
	struct candidate *list; /* [most], the nearest first */
};

/* codes: NULL, or as above; they outlive it. -ENOMEM. */
int frontier_open(struct frontier *w, uint32_t list, const struct codes *codes);
void frontier_close(struct frontier *w);
uint64_t frontier_bytes(uint32_t list);

void frontier_begin(struct frontier *w, const struct graph *g, uint64_t target);
/* The nearest candidate that nobody has taken. false: there is none now. */
bool frontier_take(struct frontier *w, uint32_t *id);
/* Takes this node, whose bytes are there without a read. false: others are nearer, or it was taken. */
bool frontier_claim(struct frontier *w, uint32_t id);
/* The neighbours of a node that was taken. */
void frontier_see(struct frontier *w, const uint32_t *neighbours, uint32_t count);

/* The nodes of a graph that a searcher keeps in memory: those nearest to where searches begin, breadth
 * first, or those that sample queries meet most often, as many as fit. Of haul's own index only which they
 * are is kept: their neighbours are a function of their ids. Of one that somebody else has built, their
 * neighbours are kept, too, as whoever fills the set has read them.
 *
 * Made by one thread, then read by all. */

struct hot {
	uint64_t count, mask;
	uint32_t *ids; /* by hash, id + 1; 0: free. NULL: none are kept */
	/* Of one that somebody else has built: the row of each of ids, and rows of 1 + degree words, how many
	 * neighbours and which. NULL: see above. */
	uint32_t *rows, *links;
};

/* Candidates of a sample query, as in knowhere. */
enum { HOT_SAMPLE_LIST = 15 };

/* At most count nodes. -ENOMEM. */
int hot_breadth_first(struct hot *h, const struct graph *g, uint64_t count);
/* skew: of the queries. */
int hot_sample(struct hot *h, const struct graph *g, uint64_t count, double skew);
void hot_free(struct hot *h);
/* Memory for that many nodes, while it is made. */
uint64_t hot_bytes(uint64_t count);

/* The same, with room for the neighbours of each. Close it also after an error. */
int hot_open_links(struct hot *h, uint64_t count, uint64_t degree);
/* Those of a node that the set has: how many, then which. */
uint32_t *hot_links(const struct hot *h, uint32_t id, uint64_t degree);
/* Whether it is new; there is room for it. */
bool hot_add(struct hot *h, uint32_t id);

static inline uint64_t hot_place(const struct hot *h, uint32_t id)
{
	return id * 0x9e3779b97f4a7c15u >> 20 & h->mask;
}

static inline bool hot_has(const struct hot *h, uint32_t id)
{
	if (!h->ids)
		return false;
	for (uint64_t at = hot_place(h, id); h->ids[at]; at = (at + 1) & h->mask)
		if (h->ids[at] == id + 1)
			return true;
	return false;
}

/* A search of the base level of HNSW, as hnswlib does it (searchBaseLayer), without any I/O: best first,
 * where the distance of a vector is known only when it has been read. So each round reads all neighbours
 * of the nearest node that has not been expanded, but for those that the search has read before, and
 * keeps the nearest of what it has read, with their links. It ends when all of these are expanded.
 *
 * It begins where the upper levels lead, which are in memory: at the nearest of every M-th vector.
 *
 * One thread; nothing is allocated after base_level_open. */

struct base_level {
	struct frontier frontier;
	uint32_t degree;
	/* Links of the nodes in the list, and of one more: rows of 1 + degree, the first is how many. */
	uint32_t *links, spare;
	struct hot seen; /* read in this search; what it has no room for is read again */
	uint64_t room;
	uint32_t *round, count, next; /* of this round: [degree] */
};

/* n vectors. -ENOMEM; close it also after an error. */
int base_level_open(struct base_level *b, uint32_t list, uint32_t degree, uint64_t n);
void base_level_close(struct base_level *b);
uint64_t base_level_bytes(uint32_t list, uint32_t degree, uint64_t n);

void base_level_begin(struct base_level *b, const struct graph *g, uint64_t target);
/* The next node to read in this round. false: it has no more. */
bool base_level_take(struct base_level *b, uint32_t *id);
/* The next round, when all of the last one has been read. false: the search has ended. */
bool base_level_round(struct base_level *b);
/* Where the links of the node that was read are to be put: [degree]. Then that it was. */
static inline uint32_t *base_level_links(struct base_level *b)
{
	return b->links + (uint64_t)b->spare * (b->degree + 1) + 1;
}
void base_level_read(struct base_level *b, uint32_t id, uint32_t links);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
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
#ifndef HAUL_WORKLOADS_VECTOR_GRAPH_H
#define HAUL_WORKLOADS_VECTOR_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

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

#endif

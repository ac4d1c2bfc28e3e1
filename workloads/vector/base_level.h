/* SPDX-License-Identifier: Apache-2.0 */
/* A search of the base level of HNSW, as hnswlib does it (searchBaseLayer), without any I/O: best first,
 * where the distance of a vector is known only when it has been read. So each round reads all neighbours
 * of the nearest node that has not been expanded, but for those that the search has read before, and
 * keeps the nearest of what it has read, with their links. It ends when all of these are expanded.
 *
 * It begins where the upper levels lead, which are in memory: at the nearest of every M-th vector.
 *
 * One thread; nothing is allocated after base_level_open. */
#ifndef HAUL_WORKLOADS_VECTOR_BASE_LEVEL_H
#define HAUL_WORKLOADS_VECTOR_BASE_LEVEL_H

#include "workloads/vector/frontier.h"
#include "workloads/vector/hot.h"

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

/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a graph that a searcher keeps in memory: those nearest to where searches begin, breadth
 * first, or those that sample queries meet most often, as many as fit. Of haul's own index only which they
 * are is kept: their neighbours are a function of their ids. Of one that somebody else has built, their
 * neighbours are kept, too, as whoever fills the set has read them.
 *
 * Made by one thread, then read by all. */
#ifndef HAUL_WORKLOADS_VECTOR_HOT_H
#define HAUL_WORKLOADS_VECTOR_HOT_H

#include <stdbool.h>
#include <stdint.h>

#include "workloads/vector/graph.h"

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

/* A set of nodes that is empty, with room for count: -ENOMEM. Memory of it: hot_room words of 32 bits. */
int hot_open(struct hot *h, uint64_t count);
uint64_t hot_room(uint64_t count);
void hot_clear(struct hot *h);
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

#endif

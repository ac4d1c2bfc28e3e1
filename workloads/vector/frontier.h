/* SPDX-License-Identifier: Apache-2.0 */
/* A search of a graph: best first, with a list of the nearest candidates. It asks for nodes, is told
 * their neighbours, and ends when all of its list have been looked at. It does no I/O, so that the way
 * of a search can be computed, counted and compared without any.
 *
 * One thread; nothing is allocated after frontier_open. */
#ifndef HAUL_WORKLOADS_VECTOR_FRONTIER_H
#define HAUL_WORKLOADS_VECTOR_FRONTIER_H

#include <stdbool.h>
#include <stdint.h>

#include "workloads/vector/codes.h"
#include "workloads/vector/graph.h"

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

/* A search without any candidate yet; and one that begins at the entry of the graph. */
void frontier_aim(struct frontier *w, const struct graph *g, uint64_t target);
void frontier_begin(struct frontier *w, const struct graph *g, uint64_t target);
/* The nearest candidate that nobody has taken. false: there is none now. */
bool frontier_take(struct frontier *w, uint32_t *id);
/* The same candidate as it is in the list, until that changes. NULL: there is none now. */
const struct candidate *frontier_nearest(struct frontier *w);
/* A node of which something is kept in a row that is free; the list has one row more than candidates.
 * Returns the row that is free now: that one, if others are nearer; else of what had to leave. */
uint32_t frontier_put(struct frontier *w, uint32_t id, uint32_t row);
/* Takes this node, whose bytes are there without a read. false: others are nearer, or it was taken. */
bool frontier_claim(struct frontier *w, uint32_t id);
/* The neighbours of a node that was taken. */
void frontier_see(struct frontier *w, const uint32_t *neighbours, uint32_t count);

#endif

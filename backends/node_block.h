/* SPDX-License-Identifier: Apache-2.0 */
/* Node blocks: memory that the ranks of a node share. There is one block for each store that asks
 * for one, found by the store's URI.
 *
 * The blocks belong to the run's node, not to the ranks that open a store: phases that run on a
 * part of the ranks find the same block, and it keeps its content from phase to phase. So all ranks
 * of the node reserve the blocks together before the first phase, and opening a store afterwards
 * needs no other rank. Reserved memory costs address space; pages are allocated when they are
 * touched. Main thread only. */
#ifndef HAUL_BACKENDS_NODE_BLOCK_H
#define HAUL_BACKENDS_NODE_BLOCK_H

#include "backends/backend.h"

/* Checks that stores with the same URI, which are one store, ask for blocks of the same size.
 * Returns -EINVAL. */
int node_blocks_check(const struct job_store *stores, uint32_t count, struct err *err);

/* Reserves the blocks of those stores that ask for one and do not have one of that size yet.
 * Collective over node, which has all ranks of the node that will open the stores. Groups that are
 * split from it later also find the blocks. Fails where node_blocks_check does. */
int node_blocks_reserve(struct group *node, const struct job_store *stores, uint32_t count,
			struct err *err);

/* The block of the store described, or NULL: none was reserved. node may be NULL. */
void *node_block_find(const struct group *node, const struct job_store *described);

/* Forgets this rank's list of blocks; the memory itself is freed with the group that reserved it.
 */
void node_blocks_free(struct group *node);

#endif

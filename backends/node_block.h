/* Node blocks: memory that all ranks of a node share, found by the name of the store that it belongs to. Not for
 * workloads. */
#ifndef HAUL_BACKENDS_NODE_BLOCK_H
#define HAUL_BACKENDS_NODE_BLOCK_H

#include "backends/backend.h"

/* A zeroed block of memory that all ranks of store->node share. The block belongs to the store's
 * first URI as the job writes it: opening the same store again, in a later phase, finds the same
 * block. It lives as long as the node's group; where there is none, until node_block_free.
 * Collective over store->node. *fresh says whether it was made by this call. */
int node_block_get(struct store *store, size_t bytes, void **block, bool *fresh, struct err *err);
void node_block_free(struct store *store, void *block);

#endif

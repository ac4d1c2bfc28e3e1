/* Rank shift: whose objects a rank reads, so that no node finds in its own cache what it wrote. */
#ifndef HAUL_WORKLOADS_COMMON_SHIFT_H
#define HAUL_WORKLOADS_COMMON_SHIFT_H

#include "core/group/group.h"
#include "core/rank_place.h"

enum shift { SHIFT_NODE, SHIFT_RANK, SHIFT_NONE };
extern const char *const shift_names[];

/* The shift from a rank to the owner of the objects that it reads, for ranks of which rank i is on
 * nodes[i]: as many ranks as a node has, or one, whichever leaves fewer ranks with objects of their
 * own node. So the ranks of a node may be numbered consecutively or in turn. */
uint32_t shift_between(const uint32_t *nodes, uint32_t ranks, uint32_t node_count);

/* The rank whose objects this rank reads. Collective. */
int shift_rank(enum shift how, const struct rank_place *place, struct group *g, uint64_t *rank);

#endif

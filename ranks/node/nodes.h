/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of a run: which ranks share a node, what each node is, and the offset of its clock from
 * node 0's. */
#ifndef HAUL_RANKS_NODE_NODES_H
#define HAUL_RANKS_NODE_NODES_H

#include "core/client/source.h"
#include "core/group/group.h"
#include "ranks/mpi/node_status.h"
#include "results-schema/results.h"

struct nodes {
	struct group *node;             /* the ranks of this node */
	struct group *leaders;          /* the first rank of each node; NULL on other ranks */
	struct node_status node_status; /* of all ranks */
	uint32_t index, count;          /* index of this node, and number of nodes */
	int64_t offset_ns;              /* add to this node's clock to get node 0's */
	uint64_t error_ns;              /* half the best round trip */
};

/* Collective over world. fake: for tests, splits each machine into this many nodes. */
int nodes_find(struct nodes *n, struct group *world, uint32_t fake, struct err *err);
void nodes_free(struct nodes *n);

/* Aligns the clocks along a binary tree of ping-pongs between leaders. Collective. */
int nodes_align(struct nodes *n, struct err *err);

/* This machine, for /nodes. */
void nodes_describe(const struct nodes *n, const struct client_facts *facts, struct node_row *row);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Status rounds of a group that spans nodes: the ranks of a node meet in shared memory, and the
 * first ranks of the nodes carry the round on by the status tree (core/group/status_tree.h).
 *
 * After some milliseconds of compute a collective of MPI is cold (25 us on a small virtual machine,
 * 2 us when it is repeated at once); a few shared cache lines are not (2 us). A waiting rank sleeps
 * on a futex until the round is complete. Only the first rank of a node among several keeps looking
 * for messages (wait_share.h), and naps between its looks until a neighbour wakes it
 * (leader_link.h).
 *
 * One board serves one group at a time. Main thread only, one round at a time. */
#ifndef HAUL_RANKS_MPI_NODE_STATUS_H
#define HAUL_RANKS_MPI_NODE_STATUS_H

#include "core/group/status_tree.h"
#include "ranks/mpi/leader_link.h"
#include "ranks/mpi/node_watch.h"
#include "ranks/mpi/wait.h"
#include "ranks/mpi/wait_share.h"

struct node_status_board;

struct node_status {
	struct node_status_board *board; /* shared by the node */
	/* NULL on a single node, and on ranks that are not the first of their node */
	struct leader_link *link;
	struct status_tree tree;
	bool alone;          /* this is the only node */
	bool carried;        /* leaders: the round is under way between them */
	uint32_t rank, size; /* within the node */
	uint64_t round;      /* the latest posted round, from 1 */
	/* add to this node's clock to get that of node 0; set by the code that aligns clocks */
	int64_t offset_ns;
	struct wait_share share;
	struct node_watch watch;
};

/* Collective over node. leaders: the first ranks of all nodes, count of them, with comm, the
 * MPI_Comm that they use; both NULL on other ranks. Both groups stay the caller's and outlive the
 * board; the board's memory belongs to node. crowded: the node has more ranks than cores. */
int node_status_open(struct node_status *m, struct group *node, struct group *leaders,
		     const void *comm, uint32_t count, struct err *err);
void node_status_close(struct node_status *m);
void node_status_set_crowded(struct node_status *m, bool crowded);

void node_status_post(struct node_status *m, const struct status *mine);

/* Whether the latest posted round is complete; then *merged is its result. Never blocks. */
bool node_status_look(struct node_status *m, struct status *merged);

/* Waits until the round is complete. how tells which log names a wait that takes long. */
void node_status_wait(struct node_status *m, struct waiting *how, struct status *merged);

/* With each look at a round, and while this rank does something else: tells that it is alive, and
 * takes messages. node_status_wait and node_status_stop_heard do so by themselves. */
void node_status_watch(struct node_status *m, uint64_t now_ns);

/* See group_stop_tell. */
void node_status_stop_tell(struct node_status *m, uint64_t reason);
uint64_t node_status_stop_heard(struct node_status *m);

#endif

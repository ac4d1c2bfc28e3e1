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
#include "core/log.h"
#include "ranks/mpi/leader_link.h"
#include "ranks/mpi/stall_watch.h"
#include "ranks/mpi/wait.h"
#include "ranks/mpi/wait_share.h"

/* Node watch: names ranks that stall, in the log of rank 0, while they do.
 *
 * The ranks of a node have seats in shared memory. A rank's beat grows whenever its main thread
 * looks at a status round or asks whether to stop, which it does every 10 ms, also while it
 * computes. The first rank of the node watches the seats. What it finds goes to rank 0 along the
 * tree of first ranks (leader_link.h). A first rank also sends its own beat to its parent, which
 * watches its children. Rank 0 has no parent: the second rank of its node watches it, and writes
 * into its own log.
 *
 * Main thread only. */

struct node_watch_seat;

/* A first rank of another node that reports to this one. */
struct node_watch_child {
	struct stall_seat seat;
	uint64_t beats;
	char who[STALL_WHO_BYTES];
};

struct node_watch {
	struct node_watch_seat *seats; /* shared by the node */
	uint32_t rank, size;           /* within the node */
	struct leader_link *link;      /* as in node_status */
	bool last;                     /* rank 0 of all: it logs */
	const struct log *log;
	struct stall_watch watch;
	struct stall_seat *seen; /* [size], on the first rank of the node */
	struct stall_seat first; /* on the second: of the first */
	uint32_t first_child, child_count;
	struct node_watch_child children[STATUS_TREE_FAN_OUT];
	uint64_t beat_ns; /* when this first rank has to send its next beat */
	/* Lines of the log in the current period, and those that did not fit. */
	uint64_t period_ns;
	uint32_t lines, left_out;
};

/* Collective over node. leaders: the first ranks of all nodes, NULL on other ranks; link: theirs,
 * NULL on a single node. The seats belong to node. */
int node_watch_open(struct node_watch *w, struct group *node, const struct group *leaders,
		    struct leader_link *link, struct err *err);
void node_watch_close(struct node_watch *w);

/* From now on ranks are named after limit_ns (0: none is), this one as who. log: of the group's
 * rank 0, and of the second rank of its node; else NULL. Ranks call it at about the same time,
 * before a phase. */
void node_watch_set(struct node_watch *w, const char *who, const struct log *log,
		    uint64_t limit_ns);

/* This rank is alive. Now and then the first rank of a node looks at the others. Returns true when
 * messages should be taken from the link. */
bool node_watch_poll(struct node_watch *w, uint64_t now_ns);

/* See group_wait_tell. */
void node_watch_tell(struct node_watch *w, const struct group_wait *wait);

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

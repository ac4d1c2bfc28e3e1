/* SPDX-License-Identifier: Apache-2.0 */
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
#ifndef HAUL_RANKS_MPI_NODE_WATCH_H
#define HAUL_RANKS_MPI_NODE_WATCH_H

#include "core/log.h"
#include "ranks/mpi/leader_link.h"
#include "ranks/mpi/stall_watch.h"

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

#endif

/* Where the ranks of a group meet for status rounds: those of a node in shared memory, the nodes by the
 * status rounds of their first ranks. After some milliseconds of compute a collective of MPI is cold (25 us
 * on a small virtual machine, 2 us when repeated at once); a few shared lines are not (2 us).
 *
 * On one node the last rank to come completes the round; else the first rank of each node carries it on
 * whenever it looks. Main thread only; a round at a time. */
#ifndef HAUL_RANKS_MPI_NODE_STATUS_H
#define HAUL_RANKS_MPI_NODE_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/group/group.h"

struct node_status_board;

struct node_status {
	struct node_status_board *board; /* the node's */
	struct group *leaders; /* NULL on one node, and on ranks that do not lead theirs */
	bool alone;            /* the only node */
	bool carried;          /* leaders: this round is under way between them */
	uint32_t rank, size;   /* in the node */
	uint64_t round;        /* posted last, from 1 */
};

/* Collective over node. leaders: the first ranks of all nodes, count of them; NULL elsewhere. Both groups
 * stay the caller's and outlive the meeting, whose memory is node's; status rounds of leaders are from
 * now on the meeting's. */
int node_status_open(struct node_status *m, struct group *node, struct group *leaders,
		     uint32_t count, struct err *err);

void node_status_post(struct node_status *m, const struct status *mine);

/* Whether the round posted last is complete: then *merged is it. Never blocks. */
bool node_status_look(struct node_status *m, struct status *merged);

#endif

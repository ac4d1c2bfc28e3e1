/* Where the ranks of a group meet for status rounds: those of a node in shared memory, the nodes through
 * the first rank of each, by MPI. After some milliseconds of compute an MPI collective is cold (25 us on
 * a small virtual machine, 2 us when repeated at once); a few shared lines are not (2 us).
 *
 * On one node the last rank to come completes the round; else the first rank of each node carries it on
 * whenever it looks. Main thread only; a round at a time. */
#ifndef HAUL_RANKS_MEETING_H
#define HAUL_RANKS_MEETING_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/group.h"

struct meeting_board;

struct meeting {
	MPI_Comm node, leaders; /* leaders: MPI_COMM_NULL but on the first rank of several nodes */
	MPI_Win window;
	struct meeting_board *board; /* the node's */
	bool alone;                  /* the only node */
	bool carried;                /* leaders: this round is under way between them */
	uint32_t rank, size;         /* in the node */
	uint64_t round;              /* posted last, from 1 */
	struct status mine, merged;  /* between leaders */
	MPI_Request request;
	MPI_Datatype type;
	MPI_Op op;
};

/* Cuts comm into machines, and each into parts for tests (0, 1: whole). Collective; keeps no hold on
 * comm. The ranks of a part are contiguous, as even as can be. */
void meeting_cut(MPI_Comm comm, uint32_t parts, MPI_Comm *node);

/* Collective over comm, which stays the caller's and has to outlive it. */
void meeting_open(struct meeting *m, MPI_Comm comm, uint32_t parts);
void meeting_close(struct meeting *m);

void meeting_post(struct meeting *m, const struct status *mine);

/* Whether the round posted last is complete: then *merged is it. Never blocks. */
bool meeting_look(struct meeting *m, struct status *merged);

#endif

/* Groups of ranks on MPI communicators. A group owns its communicator (a duplicate) and the shared
 * blocks made through it; main thread only. */
#ifndef HAUL_RANKS_MPI_GROUP_H
#define HAUL_RANKS_MPI_GROUP_H

#include <mpi.h>

#include "core/group/group.h"
#include "ranks/mpi/wait.h"

struct node_status;

/* All ranks of MPI_COMM_WORLD. Waits are patient until mpi_group_set_patient says otherwise. */
int mpi_group_world(struct group **out, struct err *err);

/* A group on comm, which it takes over and frees. */
int mpi_group_own(MPI_Comm comm, const struct waiting *how, struct group **out, struct err *err);

/* The ranks that share memory with this one, cut into parts for tests (0, 1: whole): contiguous runs
 * of ranks, as even as can be. */
int mpi_group_node(struct group *world, uint32_t parts, struct group **out, struct err *err);

/* Status rounds of g, which has all ranks of the meeting in their order, are there from now on. One group at a
 * time may have one under way; the meeting stays the caller's and outlives the group. Groups made from g do
 * not inherit it. */
void mpi_group_set_node_status(struct group *g, struct node_status *node_status);

/* Whether waits sleep early (more ranks than cores). Groups made from g inherit it. */
void mpi_group_set_patient(struct group *g, bool patient);

/* Where a wait that takes longer than after_ns names its operation (core/group/group.h's calls are all such);
 * NULL: nowhere. Groups made from g inherit it. */
void mpi_group_set_log(struct group *g, const struct log *log, uint64_t after_ns);

/* Points to the MPI_Comm, for results-schema; valid as long as the group. */
const void *mpi_group_comm(const struct group *g);

#endif

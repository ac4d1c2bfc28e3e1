/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of ranks on MPI communicators. A group owns its communicator (a duplicate) and the shared
 * blocks made through it. Main thread only. */
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

/* The ranks that share memory with this one. Tests cut them into parts (0, 1: not cut): contiguous
 * runs of ranks, as even as possible. */
int mpi_group_node(struct group *world, uint32_t parts, struct group **out, struct err *err);

/* From now on status rounds of g take place there. g must have all ranks of node_status, in the
 * same order. One group at a time may have a round under way. node_status stays the caller's and
 * outlives the group. Groups made from g do not inherit it. */
void mpi_group_set_node_status(struct group *g, struct node_status *node_status);

/* Reasons to stop (enum stop_reason) that come from outside the group: asked is called whenever
 * this rank posts a status round or asks for reasons (group_stop_heard), and its answer is merged
 * into both. It must not block. Groups made from g do not inherit it. */
void mpi_group_set_stop_asked(struct group *g, uint64_t (*asked)(void *argument), void *argument);

/* Whether waits sleep early, because there are more ranks than cores. Groups made from g inherit
 * it. */
void mpi_group_set_patient(struct group *g, bool patient);

/* The log in which a wait that takes longer than after_ns names its operation (one of the calls of
 * core/group/group.h); NULL: none. Groups made from g inherit it. */
/* A reason to stop that this rank hears in the group, or in one that is made of it later, is also
 * told to heard, often more than once. beat grows with each look for others. */
void mpi_group_set_watched(struct group *g, void (*heard)(void *argument, uint64_t reason),
			   void *argument, _Atomic uint64_t *beat);
void mpi_group_set_log(struct group *g, const struct log *log, uint64_t after_ns);

/* Points to the MPI_Comm, for results-schema. Valid as long as the group. */
const void *mpi_group_comm(const struct group *g);

#endif

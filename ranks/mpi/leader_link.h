/* SPDX-License-Identifier: Apache-2.0 */
/* Leader link: the messages of the status tree between the first ranks of nodes, those of a reason
 * to stop, and notes about ranks that stall, on MPI.
 *
 * A leader that waits for a message of the tree naps between its looks. The neighbour that sends
 * the message also rings the leader's doorbell (doorbell.h), which ends the nap.
 *
 * Receives are set up once (persistent requests). A reason to stop goes to the neighbours in the
 * tree as soon as it is known, independently of the rounds; so does a note, towards the first rank
 * of all. Main thread only. */
#ifndef HAUL_RANKS_MPI_LEADER_LINK_H
#define HAUL_RANKS_MPI_LEADER_LINK_H

#include "core/group/status_tree.h"
#include "ranks/mpi/stall_watch.h"
#include "ranks/mpi/wait_share.h"

struct leader_link;

/* leaders: the first ranks of all nodes, two at least; it must outlive the link. comm points to the
 * MPI_Comm that leaders stands on. Collective over leaders. */
int leader_link_open(struct leader_link **out, struct group *leaders, const void *comm,
		     struct err *err);
/* Collective over leaders, when no round is under way. */
void leader_link_close(struct leader_link *l);

/* For status_tree_init. */
const struct status_link *leader_link_tree(const struct leader_link *l);

/* For how long from now this leader will look for messages without a nap (wait_share_looks). Tell
 * it before a round is posted: the neighbours learn it with the message, and do not ring in
 * vain. */
void leader_link_looks(struct leader_link *l, uint64_t now_ns, uint64_t looks_ns);

/* Rings the neighbours to which messages of the round have been sent, as far as they may nap by
 * now. Call after all messages that are due have been sent, since it takes longer than they do. */
void leader_link_ring(struct leader_link *l);

/* Sleeps for nap->ns. With nap->listens it ends as soon as a neighbour rings, or has rung whose
 * message of the round has not been taken; then it returns true. */
bool leader_link_nap(struct leader_link *l, const struct wait_nap *nap);

/* Sends a reason to stop to the neighbours, unless one as large was sent before. Receives reasons
 * from them and passes those on. Returns the largest known reason. */
uint64_t leader_link_stop(struct leader_link *l, uint64_t reason);

/* Sends a note to the parent in the tree, if there is one. It is dropped where several earlier ones
 * are still on their way. */
void leader_link_note(struct leader_link *l, const struct stall_note *note);

/* heard is called for each note that comes from a neighbour (its rank among the first ranks),
 * inside leader_link_stop. */
void leader_link_listen(struct leader_link *l,
			void (*heard)(void *argument, uint32_t from, const struct stall_note *note),
			void *argument);

#endif

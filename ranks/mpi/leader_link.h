/* Leader link: the messages of the status tree between the first ranks of nodes, and those of a
 * reason to stop, on MPI.
 *
 * Receives are set up once (persistent requests). A reason to stop goes to the neighbours in the
 * tree as soon as it is known, independently of the rounds. Main thread only. */
#ifndef HAUL_RANKS_MPI_LEADER_LINK_H
#define HAUL_RANKS_MPI_LEADER_LINK_H

#include "core/group/status_tree.h"

struct leader_link;

/* leaders: the first ranks of all nodes, two at least; it must outlive the link. comm points to the MPI_Comm that
 * leaders stands on. Collective over leaders. */
int leader_link_open(struct leader_link **out, struct group *leaders, const void *comm,
		     struct err *err);
/* Collective over leaders, when no round is under way. */
void leader_link_close(struct leader_link *l);

/* For status_tree_init. */
const struct status_link *leader_link_tree(const struct leader_link *l);

/* Sends a reason to stop to the neighbours, unless one as large was sent before. Receives reasons
 * from them and passes those on. Returns the largest known reason. */
uint64_t leader_link_stop(struct leader_link *l, uint64_t reason);

#endif

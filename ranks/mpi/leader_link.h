/* Leader link: the messages of the status tree between the first ranks of nodes, those of a reason
 * to stop, and notes about ranks that stall, on MPI.
 *
 * Receives are set up once (persistent requests). A reason to stop goes to the neighbours in the
 * tree as soon as it is known, independently of the rounds; so does a note, towards the first rank of
 * all. Main thread only. */
#ifndef HAUL_RANKS_MPI_LEADER_LINK_H
#define HAUL_RANKS_MPI_LEADER_LINK_H

#include "core/group/status_tree.h"
#include "ranks/mpi/stall_watch.h"

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

/* Sends a note to the parent in the tree, if there is one. It is dropped where several earlier ones are still on
 * their way. */
void leader_link_note(struct leader_link *l, const struct stall_note *note);

/* heard is called for each note that comes from a neighbour (its rank among the first ranks), inside
 * leader_link_stop. */
void leader_link_listen(struct leader_link *l,
			void (*heard)(void *argument, uint32_t from, const struct stall_note *note),
			void *argument);

#endif

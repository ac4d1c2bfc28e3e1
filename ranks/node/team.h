/* SPDX-License-Identifier: Apache-2.0 */
/* Team: some of the ranks of a run, which work on something of their own while others do something
 * else. It has a communicator of its own, the group of its ranks on each node, and a status board,
 * so that its messages and status rounds never meet those of another team. Main thread only. */
#ifndef HAUL_RANKS_NODE_TEAM_H
#define HAUL_RANKS_NODE_TEAM_H

#include "ranks/node/nodes.h"

struct team {
	struct group *group;        /* its ranks */
	struct group *node;         /* those of this node */
	struct group *leaders;      /* the first of each node; NULL on other ranks */
	struct node_status *status; /* its board: the one of its own, or that of the run */
	struct node_status own;
	bool whole; /* all but the group is the run's */
};

/* Ranks that call it with the same number form a team. Collective over world. */
int team_open(struct team *t, const struct nodes *nodes, struct group *world, uint32_t number,
	      struct err *err);
/* All ranks of the run, with its nodes and its board. Collective. */
int team_open_whole(struct team *t, struct nodes *nodes, struct group *world, struct err *err);

/* Collective over the team, when no status round is under way. Does nothing to a team that is all
 * zeros. */
void team_close(struct team *t);

#endif

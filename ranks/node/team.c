/* SPDX-License-Identifier: Apache-2.0 */
/* Team: see team.h. */
#include "ranks/node/team.h"

#include <string.h>

#include "ranks/mpi/group.h"

static int team_board(struct team *t, const struct nodes *nodes, struct err *err)
{
	uint64_t count = t->leaders ? t->leaders->size : 0;
	int rc = group_broadcast(t->node, &count, sizeof(count));

	if (rc == 0)
		rc = node_status_open(&t->own, t->node, t->leaders,
				      t->leaders ? mpi_group_comm(t->leaders) : NULL,
				      (uint32_t)count, err);
	if (rc < 0)
		return rc;
	t->own.offset_ns = nodes->offset_ns;
	node_status_set_crowded(&t->own, nodes->node_status.share.crowded);
	t->status = &t->own;
	mpi_group_set_node_status(t->group, t->status);
	return 0;
}

int team_open(struct team *t, const struct nodes *nodes, struct group *world, uint32_t number,
	      struct err *err)
{
	struct group *leaders = NULL;
	int rc;

	memset(t, 0, sizeof(*t));
	rc = group_split(world, number, &t->group, err);
	if (rc == 0)
		rc = group_split(nodes->node, number, &t->node, err);
	if (rc == 0)
		rc = group_split(t->group, t->node->rank == 0 ? 0 : 1, &leaders, err);
	if (rc == 0 && t->node->rank == 0)
		t->leaders = leaders;
	else if (rc == 0)
		group_free(leaders);
	return rc < 0 ? rc : team_board(t, nodes, err);
}

int team_open_whole(struct team *t, struct nodes *nodes, struct group *world, struct err *err)
{
	int rc;

	memset(t, 0, sizeof(*t));
	rc = group_duplicate(world, &t->group, err);
	if (rc < 0)
		return rc;
	t->node = nodes->node;
	t->leaders = nodes->leaders;
	t->status = &nodes->node_status;
	t->whole = true;
	mpi_group_set_node_status(t->group, t->status);
	return 0;
}

void team_close(struct team *t)
{
	if (!t->group)
		return;
	mpi_group_set_node_status(t->group, NULL);
	if (!t->whole) {
		node_status_close(&t->own);
		if (t->leaders)
			group_free(t->leaders);
		if (t->node)
			group_free(t->node);
	}
	group_free(t->group);
	memset(t, 0, sizeof(*t));
}

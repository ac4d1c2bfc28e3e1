/* SPDX-License-Identifier: Apache-2.0 */
/* Options that several kinds of phase share: see options.h. */
#include "workloads/common/options.h"
#include <errno.h>
#include <stdlib.h>

const char *const options_verify[] = {"none", "sampled", "full", NULL};
const char *const options_on_error[] = {"stop", "count", NULL};

const char *const shift_names[] = {"node", "rank", "none", NULL};

/* How many ranks find their own node when they go `shift` ranks further. */
static uint32_t shift_at_home(const uint32_t *nodes, uint32_t ranks, uint32_t shift)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < ranks; i++)
		n += nodes[i] == nodes[(i + shift) % ranks];
	return n;
}

uint32_t shift_between(const uint32_t *nodes, uint32_t ranks, uint32_t node_count)
{
	uint32_t by_node = (ranks + node_count - 1) / node_count;

	return shift_at_home(nodes, ranks, by_node) <= shift_at_home(nodes, ranks, 1) ? by_node : 1;
}

int shift_rank(enum shift how, const struct rank_place *place, struct group *g, uint64_t *rank)
{
	uint32_t ranks = g->size, node = place->node, *nodes = NULL;
	uint64_t shift = how == SHIFT_RANK ? 1 : 0;
	int rc = 0;

	if (how == SHIFT_NODE && place->nodes > 1) {
		if (g->rank == 0)
			nodes = calloc(ranks, sizeof(*nodes));
		rc = group_agree(g, g->rank == 0 && !nodes ? -ENOMEM : 0, NULL);
		if (rc == 0)
			rc = group_gather(g, &node, sizeof(node), nodes);
		if (rc == 0 && nodes)
			shift = shift_between(nodes, ranks, place->nodes);
		free(nodes);
		if (rc == 0)
			rc = group_broadcast(g, &shift, sizeof(shift));
	}
	*rank = (g->rank + shift) % ranks;
	return rc;
}

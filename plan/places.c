/* SPDX-License-Identifier: Apache-2.0 */
/* Places of ranks: node, local rank, coordinates in the parallel grid, accelerator. See plan.h. */
#include <errno.h>
#include <stdlib.h>

#include "core/invariant.h"
#include "core/units.h"
#include "plan/plan.h"

/* Counts the ranks of each node in counts[nodes]. The caller frees it. */
static uint32_t *count_nodes(const uint32_t *node_of, uint32_t ranks, uint32_t *nodes)
{
	uint32_t *counts, i;

	*nodes = 0;
	for (i = 0; i < ranks; i++)
		if (node_of[i] >= *nodes)
			*nodes = node_of[i] + 1;
	counts = calloc(*nodes ? *nodes : 1, sizeof(*counts));
	for (i = 0; counts && i < ranks; i++)
		counts[node_of[i]]++;
	return counts;
}

/* Coordinates in the parallel grid, which follow from the rank. */
static void place_in_grid(const struct job *job, struct rank_place *p)
{
	uint32_t tensor = (uint32_t)job->cluster.tensor, pipeline = (uint32_t)job->cluster.pipeline;

	p->tensor = p->rank % tensor;
	p->pipeline = p->rank / tensor % pipeline;
	p->data = p->rank / tensor / pipeline;
	p->tensor_size = tensor;
	p->pipeline_size = pipeline;
	p->data_size = p->ranks / tensor / pipeline;
}

void plan_place_in(const struct job *job, struct rank_place *place, uint32_t rank, uint32_t ranks,
		   uint32_t local_rank, uint32_t local_ranks)
{
	place->rank = rank;
	place->ranks = ranks;
	place->local_rank = local_rank;
	place->local_ranks = local_ranks;
	place_in_grid(job, place);
}

int plan_places(const struct job *job, const uint32_t *node_of, uint32_t ranks,
		struct rank_place *out, struct err *err)
{
	uint32_t tensor = (uint32_t)job->cluster.tensor, pipeline = (uint32_t)job->cluster.pipeline;
	char counted[UNITS_COUNTED_BYTES];
	uint32_t *counts, *seen = NULL;
	uint32_t nodes, i;
	int rc = 0;

	if (!tensor || !pipeline || ranks % (tensor * pipeline))
		return err_set(err, -EINVAL,
			       "/cluster: %s cannot be divided into groups of %u x %u",
			       units_counted(counted, ranks, "rank"), tensor, pipeline);
	counts = count_nodes(node_of, ranks, &nodes);
	if (counts)
		seen = calloc(nodes ? nodes : 1, sizeof(*seen));
	if (!seen) {
		rc = err_set(err, -ENOMEM, "no memory for the places of %u ranks", ranks);
		goto out_free;
	}
	for (i = 0; i < ranks; i++) {
		struct rank_place *p = &out[i];
		uint64_t gpus;

		*p = (struct rank_place){
			.rank = i,
			.ranks = ranks,
			.world_rank = i,
			.world_ranks = ranks,
			.node = node_of[i],
			.nodes = nodes,
		};
		p->local_rank = seen[p->node]++;
		p->local_ranks = counts[p->node];
		place_in_grid(job, p);
		/* Ranks are spread evenly: 6 ranks on 12 accelerators use every other one; 24 ranks
		 * share them in pairs. */
		INVARIANT(p->local_rank < p->local_ranks && p->data < p->data_size,
			  "each rank has a place of its own on its node and in the grid");
		gpus = job->cluster.gpus ? job->cluster.gpus : p->local_ranks;
		p->gpu = (uint32_t)(p->local_rank * gpus / p->local_ranks);
		p->endpoint = i;
	}
out_free:
	free(seen);
	free(counts);
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Rank place: where a rank is among the others. The plan makes one fixed-size record per rank, and
 * rank 0 scatters them. */
#ifndef HAUL_CORE_RANK_PLACE_H
#define HAUL_CORE_RANK_PLACE_H

#include <stdint.h>

struct rank_place {
	uint32_t rank, ranks; /* among the ranks of the phase */
	/* Among all ranks of the run. The same as rank and ranks where the phase runs on all of
	 * them. */
	uint32_t world_rank, world_ranks;
	uint32_t node, nodes;
	uint32_t local_rank, local_ranks; /* among the ranks of its node */
	/* coordinates; rank = (data * pipelines + pipeline) * tensors + tensor */
	uint32_t data, tensor, pipeline;
	uint32_t data_size, tensor_size, pipeline_size;
	uint32_t gpu;      /* number of its accelerator on its node, from 0 */
	uint32_t endpoint; /* index of the rank's own endpoint or URI of a store */
};

#endif

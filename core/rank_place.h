/* Where a rank stands: one fixed-size record, made by the plan, scattered by rank 0. */
#ifndef HAUL_CORE_RANK_PLACE_H
#define HAUL_CORE_RANK_PLACE_H

#include <stdint.h>

struct rank_place {
	uint32_t rank, ranks;
	uint32_t node, nodes;
	uint32_t local_rank, local_ranks; /* among the ranks of its node */
	/* coordinates; rank = (data * pipelines + pipeline) * tensors + tensor */
	uint32_t data, tensor, pipeline;
	uint32_t data_size, tensor_size, pipeline_size;
	uint32_t gpu;      /* 0 .. cluster.gpus - 1, on its node */
	uint32_t endpoint; /* which of a store's endpoints or URIs is this rank's own */
};

#endif

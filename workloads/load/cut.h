/* Tensor-parallel cut: which bytes of a tensor a rank loads, by the tensor's name and shape, as vLLM's and Megatron's
 * loaders do.
 *
 *	rows      q, k, v, gate and up projections, embeddings, the output layer: rank r of T reads rows [n r / T,
 *	          n (r + 1) / T), which are contiguous. Their biases and block scales are cut alike.
 *	whole     all others: norms, routers, biases of what is not cut, and layers that are cut by columns (o_proj,
 *	          down_proj, dense_4h_to_h). A rank keeps only its columns of those. But the strips of its columns are a
 *	          few KiB long and as far apart, and loaders map the file: the kernel reads ahead all of it.
 *
 * Tensors of more than two dimensions are read whole. Pure functions; any thread. */
#ifndef HAUL_WORKLOADS_LOAD_CUT_H
#define HAUL_WORKLOADS_LOAD_CUT_H

#include <stdbool.h>

#include "workloads/archive/safetensors_read.h"

enum load_cut { LOAD_WHOLE, LOAD_ROWS, LOAD_KV_ROWS /* rows of keys or values */ };
enum load_cut load_cut_by_name(const char *name);

struct load_part {
	uint64_t tensor, rank; /* rank < tensor */
	/* Heads of keys and values. Where fewer of them are than ranks, ranks share one. 0: unknown, rows are cut among
	 * all ranks. */
	uint64_t kv_heads;
};

/* Bytes [*begin, *end) of the file. Over all ranks they cover the tensor exactly once, or each rank has all of it; ranks
 * that share a head have the same. */
void load_cut(const struct safetensors_tensor *t, const struct load_part *part, uint64_t *begin,
	      uint64_t *end);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Header of one file of a model: read, checked, and cut into the ranges that a rank reads. Ranges
 * that touch each other are one. Memory while it is read: the header, and about as much for its
 * tensors; after it, 16 bytes per range.
 *
 * Belongs to the thread that reads it, until all threads of the rank have met. */
#ifndef HAUL_WORKLOADS_LOAD_HEADER_H
#define HAUL_WORKLOADS_LOAD_HEADER_H

#include "workloads/archive/safetensors_read.h"
#include "workloads/common/crew.h"

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
enum load_cut { LOAD_WHOLE, LOAD_ROWS, LOAD_KV_ROWS /* rows of keys or values */ };
enum load_cut load_cut_by_name(const char *name);

struct load_part {
	uint64_t tensor, rank; /* rank < tensor */
	/* Heads of keys and values. Where fewer of them are than ranks, ranks share one. 0:
	 * unknown, rows are cut among all ranks. */
	uint64_t kv_heads;
};

/* Bytes [*begin, *end) of the file. Over all ranks they cover the tensor exactly once, or each rank
 * has all of it; ranks that share a head have the same. */
void load_cut(const struct safetensors_tensor *t, const struct load_part *part, uint64_t *begin,
	      uint64_t *end);

struct load_range {
	uint64_t offset, length;
};

struct load_header {
	uint64_t file_bytes, header_bytes; /* header_bytes: all before the first tensor */
	uint64_t count;
	struct load_range *ranges;
};

/* What it cost. */
struct load_header_cost {
	uint64_t request_ns; /* in opens and closes, and in asking for the size */
	uint64_t parse_ns;
};

/* The object's key is filled in. listed: the tensors that an index names in it, which it must have;
 * none: nobody names any. Returns 0, or a negative errno with the failure counted and w->err. Call
 * load_header_free also after an error. */
int load_header_read(struct load_header *h, struct crew_thread *w, struct object *o,
		     const struct load_part *part, const struct safetensors_names *listed,
		     struct load_header_cost *cost);
void load_header_free(struct load_header *h);

/* The ranges of a header that has been parsed. -ENOMEM: no memory. */
int load_header_cut(struct load_header *h, const struct safetensors *tensors,
		    const struct load_part *part);

#endif

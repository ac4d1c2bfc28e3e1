/* SPDX-License-Identifier: Apache-2.0 */
/* Header of one file of a model: read, checked, and cut into the ranges that a rank reads. Memory
 * while it is read: the header, and about as much for its tensors; after it, 16 bytes per range.
 *
 * Belongs to the thread that reads it, until all threads of the rank have met. */
#ifndef HAUL_WORKLOADS_LOAD_HEADER_H
#define HAUL_WORKLOADS_LOAD_HEADER_H

#include "workloads/archive/safetensors_read.h"
#include "workloads/common/crew.h"

/* How ranks that share a model divide a tensor, by its name and shape, as vLLM's and Megatron's
 * loaders do.
 *
 *	rows      q, k, v, gate and up projections, embeddings, the output layer: rank r of T has rows [n r / T,
 *	          n (r + 1) / T), which are contiguous. Their biases and block scales are cut alike.
 *	columns   o_proj, down_proj, dense_4h_to_h: a rank has the same columns of each row: strips, far apart.
 *	whole     all others: norms, routers, biases of what is cut by columns.
 *
 * Tensors of more than two dimensions, which are experts in one tensor, are cut by expert alone. Pure
 * functions; any thread. */
enum load_cut { LOAD_WHOLE, LOAD_ROWS, LOAD_KV_ROWS /* rows of keys or values */, LOAD_COLUMNS };
enum load_cut load_cut_by_name(const char *name);

/* What a rank has of a model that several ranks share. */
struct load_part {
	uint64_t tensor, rank; /* rank < tensor */
	/* Heads of keys and values. Where fewer of them are than ranks, ranks share one. 0:
	 * unknown, rows are cut among all ranks. */
	uint64_t kv_heads;
	/* Experts: which share of them is this rank's, and how many ranks cut each, of which it is which. 0
	 * or 1 shares: every rank has a part of each expert, as of all other tensors. */
	uint64_t experts, expert_rank, expert_tensor, expert_tensor_rank;
	/* Stages of the pipeline; 0 or 1: there are none. */
	uint64_t stages, stage;
};

/* The bytes of a tensor that a rank needs, as offsets in the file: count strips of length, the first at
 * begin, each a pitch after the one before. count 0: none. Over all ranks that share the model they
 * cover the tensor exactly once, or each of several ranks has all of it. */
struct load_slice {
	uint64_t begin, length, pitch, count;
};
/* model: what the whole model has, for shares of its experts and layers. */
void load_slice(const struct safetensors_tensor *t, const struct load_part *part,
		const struct safetensors_names *model, struct load_slice *out);

/* What is read of it. */
enum load_reads {
	LOAD_READS_ROWS, /* of what is cut by columns the whole tensor, as the kernel reads ahead */
	LOAD_READS_STRIPS, /* exactly what the rank needs, but for gaps that are not worth a read of their own */
	LOAD_READS_FILE /* the whole file */
};
struct load_rule {
	enum load_reads reads;
	/* STRIPS: ranges with a gap of at most so many bytes between them are read as one, as long as no
	 * more than twice the bytes needed are read, and at most 128 MiB. Source: Orbax's reader. */
	uint64_t gap;
	struct load_part part;
	struct safetensors_names model;
};

struct load_range {
	uint64_t offset, length;
};

struct load_header {
	uint64_t file_bytes, header_bytes;   /* header_bytes: all before the first tensor */
	uint64_t tensor_bytes, needed_bytes; /* of all tensors; of what this rank needs of them */
	uint64_t count, room;
	struct load_range *ranges;
};

/* What it cost. */
struct load_header_cost {
	uint64_t request_ns; /* in opens and closes, and in asking for the size */
	uint64_t parse_ns;
};

/* The object's key is filled in. listed: the tensors that an index names in it, which it must have;
 * none: nobody names any. whole: the file is read by one request into memory of its size, and its header is
 * taken from there. touch: it is mapped. Returns 0, or a negative errno with the failure counted and
 * w->err. Call load_header_free also after an error. */
struct load_header_way {
	bool whole, touch;
};
int load_header_read(struct load_header *h, struct crew_thread *w, struct object *o,
		     const struct load_rule *rule, const struct safetensors_names *listed,
		     struct load_header_way way, struct load_header_cost *cost);
void load_header_free(struct load_header *h);

/* The same requests where the store keeps no content, of a header that is known. */
int load_header_ask(const struct load_header *h, struct crew_thread *w, struct object *o,
		    struct load_header_way way, struct load_header_cost *cost);

/* The ranges of a header that has been parsed. -ENOMEM: no memory. */
int load_header_cut(struct load_header *h, const struct safetensors *tensors,
		    const struct load_rule *rule);

#endif

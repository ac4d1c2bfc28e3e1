/* SPDX-License-Identifier: Apache-2.0 */
/* State dict: the tensors that a trainer hands to torch's distributed checkpoint, as whole tensors with names, and the
 * rectangle of each that one rank of the mesh holds and writes.
 *
 *	entry e   weight 0 … weight N-1 | states of weight 0 | states of weight 1 | …
 *	states    step, exp_avg, exp_avg_sq (torch); fp32_param, exp_avg, exp_avg_sq (Megatron)
 *
 * As torch cuts tensors (torch.chunk: pieces of ceil(n / parts), the last ones shorter or empty): tensor ranks share rows
 * or columns; with ZeRO 3 the data ranks share the rows of that part, and so they do with each state from ZeRO 1 on.
 * `replicate` groups of data ranks have the same (HSDP), and experts are with one of `expert` ranks of a group. Of what
 * several ranks have, one writes each entry, in turn: holder e modulo holders. (torch takes the one that has least so
 * far, which gives the same shares but for ties.) Every element of every tensor is with exactly one writer.
 *
 * Pure functions; any thread. */
#ifndef HAUL_WORKLOADS_CHECKPOINT_STATE_DICT_H
#define HAUL_WORKLOADS_CHECKPOINT_STATE_DICT_H

#include "workloads/model/shard.h"

struct state_dict {
	const struct model *model;
	const struct mesh *mesh; /* complete */
	bool megatron;
	/* Of each class of layers, computed once. */
	struct tensors_layout layouts[TENSORS_CLASSES];
	uint64_t in_layer[TENSORS_CLASSES];
	uint64_t weights; /* of all layers */
};
void state_dict_make(struct state_dict *d, const struct model *model, const struct mesh *mesh,
		     bool megatron);

/* An entry, as a whole. */
struct state_entry {
	struct tensor tensor;
	struct shard_matrix matrix; /* of the weight */
	uint64_t number, layer, expert;
	unsigned state; /* 0: the weight itself */
	bool scalar;    /* step: every rank has it */
	bool routed;    /* of one of the experts */
};
uint64_t state_entries(const struct state_dict *d);
void state_entry_at(const struct state_dict *d, uint64_t number, struct state_entry *out);

/* Rows and columns that a rank has of an entry; of vectors, elements in place of rows. */
struct state_chunk {
	uint64_t offset[TENSOR_DIMENSIONS_MAX], size[TENSOR_DIMENSIONS_MAX];
};
/* False: it has none of it. writes: whether it is the one of its holders that writes it. */
bool state_chunk_of(const struct state_dict *d, const struct state_entry *e,
		    const struct mesh_place *p, struct state_chunk *out, bool *writes);
/* Elements that both have. */
uint64_t state_chunk_common(const struct state_chunk *a, const struct state_chunk *b);

/* The entries that a rank writes, in the order of its file; NULL: only counts them. */
uint64_t state_list(const struct state_dict *d, const struct mesh_place *p, uint32_t *entries);
/* Whether there are any. */
bool state_writes(const struct state_dict *d, const struct mesh_place *p);
/* The part of the entry that the rank writes, as a tensor. */
void state_tensor_of(const struct state_dict *d, const struct mesh_place *p, uint64_t number,
		     struct tensor *out);
/* Bytes of tensors that a rank writes, and that it holds. */
void state_bytes(const struct state_dict *d, const struct mesh_place *p, bool writes,
		 uint64_t *weights, uint64_t *states);

#endif

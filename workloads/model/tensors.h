/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of a model, as its published index has them: which there are in each layer, with names and sizes. One table says
 * what each tensor is called, how large it is, and which models have it.
 *
 * Layers of a class have the same tensors. Those of the experts repeat, expert by expert:
 *
 *	| tensor 0 | tensor 1 | ... | expert 0: gate up down | expert 1: gate up down | ... | last tensors |
 *
 * Each distinct tensor of a class is a kind. Pure functions; any thread. */
#ifndef HAUL_WORKLOADS_MODEL_TENSORS_H
#define HAUL_WORKLOADS_MODEL_TENSORS_H

#include "workloads/model/model.h"

/* Sizes of a model's tensors: rows and columns, as products of its dimensions. Pure; any thread. */

/* Sizes that rows and columns have. */
enum tensor_size {
	SIZE_NONE, /* a vector */
	SIZE_BYTES,
	SIZE_OTHER,
	SIZE_ONE,
	SIZE_VOCABULARY,
	SIZE_HIDDEN,
	SIZE_HIDDEN_2,
	SIZE_FEED_FORWARD,
	SIZE_FEED_FORWARD_2,
	SIZE_HEADS,
	SIZE_HEAD_DIM,
	SIZE_QUERIES,
	SIZE_KEYS,
	SIZE_QUERIES_KEYS_VALUES,
	SIZE_OUTPUTS, /* of all heads, which o_proj takes */
	SIZE_Q_RANK,
	SIZE_KV_RANK,
	SIZE_KV_RANK_ROPE,
	SIZE_KEYS_VALUES, /* of mla */
	SIZE_INDEX_QUERIES,
	SIZE_INDEX_HEADS,
	SIZE_INDEX_DIM,
	SIZE_EXPERTS,
	SIZE_EXPERT,
	SIZE_SHARED,
	SIZE_EXPERTS_HIDDEN, /* of all experts in one tensor */
	SIZE_EXPERTS_EXPERT,
	SIZE_EXPERT_2,
	SIZE_EXPERTS_EXPERT_2,
	SIZE_HIDDEN_HALVES, /* bytes of blocks of 4-bit numbers, and their scales */
	SIZE_HIDDEN_SCALES,
	SIZE_EXPERT_HALVES,
	SIZE_EXPERT_SCALES,
	SIZE_COUNT
};

uint64_t tensor_size(const struct model *m, enum tensor_size size);

enum tensor_class {
	TENSORS_FLAT, /* a model of no known shape: one state */
	TENSORS_EMBEDDING,
	TENSORS_DENSE,
	TENSORS_EXPERTS,
	TENSORS_PREDICT, /* a layer that predicts further tokens */
	TENSORS_HEAD,
	TENSORS_NORM,
	TENSORS_CLASSES
};
enum { TENSOR_NAME_BYTES = 96, TENSOR_KINDS_MAX = 128 };

/* A tensor of a layer as the model has it, before ranks share it: rows x columns. */
struct shard_matrix {
	const char *name; /* "mlp.down_proj.weight": in a transformer layer without the layer */
	enum model_type type;
	uint64_t rows, columns; /* columns 0: a vector of rows */
	bool by_rows;           /* tensor ranks share the rows, else the columns */
	bool whole;             /* every tensor rank has all of it */
	bool uncut;             /* every data rank has all of it, also with ZeRO 3 */
	bool scales;            /* of the blocks of the tensor before, whose name it has */
};

enum tensor_class tensors_class(const struct model *m, uint64_t layer);

/* The kinds of a class: `count` of them, of which [repeat, repeat + repeat_count) come `repeats`
 * times. */
struct tensors_layout {
	uint32_t count, repeat, repeat_count;
	uint64_t repeats;
};
void tensors_layout(const struct model *m, enum tensor_class c, struct tensors_layout *out);
static inline uint64_t tensors_in_layer(const struct tensors_layout *l)
{
	return l->count + l->repeat_count * (l->repeats - 1);
}
/* The kind of tensor i of a layer, and of which expert it is. */
uint32_t tensors_kind(const struct tensors_layout *l, uint64_t i, uint64_t *expert);

void tensors_matrix(const struct model *m, enum tensor_class c, uint32_t kind,
		    struct shard_matrix *out);
/* "model.layers.3.mlp.down_proj.weight" */
void tensors_name(const struct model *m, uint64_t layer, const struct shard_matrix *x,
		  uint64_t expert, char name[TENSOR_NAME_BYTES]);

/* How many of the first `layers` layers are of a class. */
uint64_t tensors_class_layers(const struct model *m, enum tensor_class c, uint64_t layers);

/* Parameters of all tensors, and their bytes; scales of blocks are bytes, but no parameters. */
uint64_t model_parameters(const struct model *m);
uint64_t model_weight_bytes(const struct model *m);
/* An upper bound of the parameters, which no dimensions overflow. */
double model_parameters_most(const struct model *m);

#endif

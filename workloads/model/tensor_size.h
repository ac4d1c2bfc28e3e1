/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of a model's tensors: rows and columns, as products of its dimensions. Pure; any thread. */
#ifndef HAUL_WORKLOADS_MODEL_TENSOR_SIZE_H
#define HAUL_WORKLOADS_MODEL_TENSOR_SIZE_H

#include "workloads/model/model.h"

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

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of a model: see tensors.h.
 *
 * Sources: the indexes (model.safetensors.index.json) with which the models of each family are
 * published, and DLIO's checkpointing/base_checkpointing.py for the matrices that it fuses. */
#include "workloads/model/tensors.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/numbers.h"

/* Four bits a number, and a scale for each 32 of them. */
enum { HALVES = 2, SCALED = 32 };

/* clang-format off */
#define ONE(factor, a, divisor)    {(factor), (divisor), offsetof(struct model, a), 0}
#define TWO(factor, a, b, divisor) {(factor), (divisor), offsetof(struct model, a), offsetof(struct model, b)}

/* factor x a x b / divisor; no dimension is the first member of its struct. */
static const struct product {
	uint32_t factor, divisor, a, b;
} products[SIZE_COUNT] = {
	[SIZE_BYTES] = ONE(1, bytes, 1),
	[SIZE_OTHER] = ONE(1, other_parameters, 1),
	[SIZE_VOCABULARY] = ONE(1, vocabulary, 1),
	[SIZE_HIDDEN] = ONE(1, hidden, 1),
	[SIZE_HIDDEN_2] = ONE(2, hidden, 1),
	[SIZE_FEED_FORWARD] = ONE(1, feed_forward, 1),
	[SIZE_FEED_FORWARD_2] = ONE(2, feed_forward, 1),
	[SIZE_HEADS] = ONE(1, heads, 1),
	[SIZE_Q_RANK] = ONE(1, q_rank, 1),
	[SIZE_KV_RANK] = ONE(1, kv_rank, 1),
	[SIZE_INDEX_QUERIES] = TWO(1, index_heads, index_dim, 1),
	[SIZE_INDEX_HEADS] = ONE(1, index_heads, 1),
	[SIZE_INDEX_DIM] = ONE(1, index_dim, 1),
	[SIZE_EXPERTS] = ONE(1, experts, 1),
	[SIZE_EXPERT] = ONE(1, expert_feed_forward, 1),
	[SIZE_EXPERT_2] = ONE(2, expert_feed_forward, 1),
	[SIZE_SHARED] = ONE(1, shared_feed_forward, 1),
	[SIZE_EXPERTS_HIDDEN] = TWO(1, experts, hidden, 1),
	[SIZE_EXPERTS_EXPERT] = TWO(1, experts, expert_feed_forward, 1),
	[SIZE_EXPERTS_EXPERT_2] = TWO(2, experts, expert_feed_forward, 1),
	[SIZE_HIDDEN_HALVES] = ONE(1, hidden, HALVES),
	[SIZE_HIDDEN_SCALES] = ONE(1, hidden, SCALED),
	[SIZE_EXPERT_HALVES] = ONE(1, expert_feed_forward, HALVES),
	[SIZE_EXPERT_SCALES] = ONE(1, expert_feed_forward, SCALED),
};
/* clang-format on */

static uint64_t size_member(const struct model *m, uint32_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)m + offset, sizeof(value));
	return value;
}

/* Numbers of a head of queries. */
static uint64_t size_query(const struct model *m)
{
	return m->attention == MODEL_MLA ? m->nope_dim + m->rope_dim : model_head_dim(m);
}

static uint64_t size_queries(const struct model *m)
{
	return m->tensors == MODEL_DLIO && !m->head_dim ? m->hidden : m->heads * size_query(m);
}

static uint64_t size_keys(const struct model *m)
{
	return model_kv_heads(m) * size_query(m);
}

uint64_t tensor_size(const struct model *m, enum tensor_size size)
{
	const struct product *p = &products[size];

	switch (size) {
	case SIZE_NONE:
		return 0;
	case SIZE_ONE:
		return 1;
	case SIZE_HEAD_DIM:
		return size_query(m);
	case SIZE_QUERIES:
		return size_queries(m);
	case SIZE_KEYS:
		return size_keys(m);
	case SIZE_QUERIES_KEYS_VALUES:
		return size_queries(m) + 2 * size_keys(m);
	case SIZE_OUTPUTS:
		return m->attention == MODEL_MLA ? m->heads * m->value_dim : size_queries(m);
	case SIZE_KV_RANK_ROPE:
		return m->kv_rank + m->rope_dim;
	case SIZE_KEYS_VALUES:
		return m->heads * (m->nope_dim + m->value_dim);
	default:
		return p->factor * size_member(m, p->a) * (p->b ? size_member(m, p->b) : 1) /
		       p->divisor;
	}
}

/* What a tensor belongs to; all bits of a row must be there. */
/* clang-format off */
#define IF_EMBEDDING       (UINT64_C(1) << 0)
#define IF_HEAD            (UINT64_C(1) << 1)
#define IF_LAST_NORM       (UINT64_C(1) << 2)
#define IF_BLOCK           (UINT64_C(1) << 3)
#define IF_FUSED           (UINT64_C(1) << 4)
#define IF_SEPARATE        (UINT64_C(1) << 5)
#define IF_MLA             (UINT64_C(1) << 6)
#define IF_Q_RANK          (UINT64_C(1) << 7)
#define IF_NO_Q_RANK       (UINT64_C(1) << 8)
#define IF_INDEX           (UINT64_C(1) << 9)
#define IF_QKV_BIAS        (UINT64_C(1) << 10)
#define IF_O_BIAS          (UINT64_C(1) << 11)
#define IF_MLP_BIAS        (UINT64_C(1) << 12)
#define IF_QK_HEAD         (UINT64_C(1) << 13)
#define IF_QK_ALL          (UINT64_C(1) << 14)
#define IF_NORM_BEFORE     (UINT64_C(1) << 15)
#define IF_NORM_BETWEEN    (UINT64_C(1) << 16)
#define IF_GEMMA           (UINT64_C(1) << 17)
#define IF_GLM             (UINT64_C(1) << 18)
#define IF_OLMO            (UINT64_C(1) << 19)
#define IF_DENSE           (UINT64_C(1) << 20)
#define IF_PLAIN_EXPERTS   (UINT64_C(1) << 21)
#define IF_EXPERT_BIAS     (UINT64_C(1) << 22)
#define IF_SHARED          (UINT64_C(1) << 23)
#define IF_SHARED_GATE     (UINT64_C(1) << 24)
#define IF_MIXTRAL         (UINT64_C(1) << 25)
#define IF_LLAMA4_DENSE    (UINT64_C(1) << 26)
#define IF_LLAMA4_EXPERTS  (UINT64_C(1) << 27)
#define IF_GPT_OSS         (UINT64_C(1) << 28)
#define IF_PREDICT         (UINT64_C(1) << 29)
#define IF_FLAT            (UINT64_C(1) << 30)
#define IF_GATE_UP         (UINT64_C(1) << 31)
#define IF_GATE            (UINT64_C(1) << 32)
#define IF_OTHER           (UINT64_C(1) << 33)
/* clang-format on */

enum {
	BY_ROWS = 1 << 0,
	WHOLE = 1 << 1,
	LINEAR = 1
		 << 2, /* has the number format of the weights, and scales where blocks have some */
	REPEATS = 1 << 3,
	SINGLE = 1 << 4, /* 4 bytes a number, whatever the format of the weights */
	BYTE = 1 << 5,
	UNCUT = 1 << 6
};

static const struct row {
	const char *name;
	uint8_t rows, columns, flags;
	uint64_t when;
} tensor_rows[] = {
	{"model.state", SIZE_BYTES, SIZE_NONE, WHOLE | UNCUT | BYTE, IF_FLAT},
	{"embed_tokens.weight", SIZE_VOCABULARY, SIZE_HIDDEN, BY_ROWS, IF_EMBEDDING},
	{"vision_model.weight", SIZE_OTHER, SIZE_NONE, WHOLE, IF_EMBEDDING | IF_OTHER},
	{"lm_head.weight", SIZE_VOCABULARY, SIZE_HIDDEN, BY_ROWS, IF_HEAD},
	{"norm.weight", SIZE_HIDDEN, SIZE_NONE, WHOLE, IF_LAST_NORM},

	{"embed_tokens.weight", SIZE_VOCABULARY, SIZE_HIDDEN, BY_ROWS, IF_PREDICT},
	{"enorm.weight", SIZE_HIDDEN, SIZE_NONE, WHOLE, IF_PREDICT},
	{"hnorm.weight", SIZE_HIDDEN, SIZE_NONE, WHOLE, IF_PREDICT},
	{"eh_proj.weight", SIZE_HIDDEN, SIZE_HIDDEN_2, 0, IF_PREDICT},

	{"input_layernorm.weight", SIZE_HIDDEN, SIZE_NONE, WHOLE, IF_BLOCK | IF_NORM_BEFORE},
	{"self_attn.qkv_proj.weight", SIZE_QUERIES_KEYS_VALUES, SIZE_HIDDEN, BY_ROWS | LINEAR,
	 IF_FUSED},
	{"self_attn.qkv_proj.bias", SIZE_QUERIES_KEYS_VALUES, SIZE_NONE, BY_ROWS,
	 IF_FUSED | IF_QKV_BIAS},
	{"self_attn.q_proj.weight", SIZE_QUERIES, SIZE_HIDDEN, BY_ROWS | LINEAR, IF_SEPARATE},
	{"self_attn.q_proj.bias", SIZE_QUERIES, SIZE_NONE, BY_ROWS, IF_SEPARATE | IF_QKV_BIAS},
	{"self_attn.k_proj.weight", SIZE_KEYS, SIZE_HIDDEN, BY_ROWS | LINEAR, IF_SEPARATE},
	{"self_attn.k_proj.bias", SIZE_KEYS, SIZE_NONE, BY_ROWS, IF_SEPARATE | IF_QKV_BIAS},
	{"self_attn.v_proj.weight", SIZE_KEYS, SIZE_HIDDEN, BY_ROWS | LINEAR, IF_SEPARATE},
	{"self_attn.v_proj.bias", SIZE_KEYS, SIZE_NONE, BY_ROWS, IF_SEPARATE | IF_QKV_BIAS},
	{"self_attn.q_norm.weight", SIZE_HEAD_DIM, SIZE_NONE, WHOLE, IF_QK_HEAD},
	{"self_attn.k_norm.weight", SIZE_HEAD_DIM, SIZE_NONE, WHOLE, IF_QK_HEAD},
	{"self_attn.q_norm.weight", SIZE_QUERIES, SIZE_NONE, WHOLE, IF_QK_ALL},
	{"self_attn.k_norm.weight", SIZE_KEYS, SIZE_NONE, WHOLE, IF_QK_ALL},
	{"self_attn.q_proj.weight", SIZE_QUERIES, SIZE_HIDDEN, BY_ROWS | LINEAR,
	 IF_MLA | IF_NO_Q_RANK},
	{"self_attn.q_a_proj.weight", SIZE_Q_RANK, SIZE_HIDDEN, WHOLE | LINEAR, IF_MLA | IF_Q_RANK},
	{"self_attn.q_a_proj.bias", SIZE_Q_RANK, SIZE_NONE, WHOLE,
	 IF_MLA | IF_Q_RANK | IF_QKV_BIAS},
	{"self_attn.q_a_layernorm.weight", SIZE_Q_RANK, SIZE_NONE, WHOLE, IF_MLA | IF_Q_RANK},
	{"self_attn.q_b_proj.weight", SIZE_QUERIES, SIZE_Q_RANK, BY_ROWS | LINEAR,
	 IF_MLA | IF_Q_RANK},
	{"self_attn.kv_a_proj_with_mqa.weight", SIZE_KV_RANK_ROPE, SIZE_HIDDEN, WHOLE | LINEAR,
	 IF_MLA},
	{"self_attn.kv_a_proj_with_mqa.bias", SIZE_KV_RANK_ROPE, SIZE_NONE, WHOLE,
	 IF_MLA | IF_QKV_BIAS},
	{"self_attn.kv_a_layernorm.weight", SIZE_KV_RANK, SIZE_NONE, WHOLE, IF_MLA},
	{"self_attn.kv_b_proj.weight", SIZE_KEYS_VALUES, SIZE_KV_RANK, BY_ROWS | LINEAR, IF_MLA},
	{"self_attn.indexer.wq_b.weight", SIZE_INDEX_QUERIES, SIZE_Q_RANK, WHOLE | LINEAR,
	 IF_INDEX},
	{"self_attn.indexer.wk.weight", SIZE_INDEX_DIM, SIZE_HIDDEN, WHOLE | LINEAR, IF_INDEX},
	{"self_attn.indexer.k_norm.weight", SIZE_INDEX_DIM, SIZE_NONE, WHOLE, IF_INDEX},
	{"self_attn.indexer.k_norm.bias", SIZE_INDEX_DIM, SIZE_NONE, WHOLE, IF_INDEX},
	{"self_attn.indexer.weights_proj.weight", SIZE_INDEX_HEADS, SIZE_HIDDEN, WHOLE, IF_INDEX},
	{"self_attn.sinks", SIZE_HEADS, SIZE_NONE, BY_ROWS, IF_BLOCK | IF_GPT_OSS},
	{"self_attn.o_proj.weight", SIZE_HIDDEN, SIZE_OUTPUTS, LINEAR, IF_BLOCK},
	{"self_attn.o_proj.bias", SIZE_HIDDEN, SIZE_NONE, WHOLE, IF_BLOCK | IF_O_BIAS},

	{"post_attention_layernorm.weight", SIZE_HIDDEN, SIZE_NONE, WHOLE,
	 IF_BLOCK | IF_NORM_BETWEEN},
	{"pre_feedforward_layernorm.weight", SIZE_HIDDEN, SIZE_NONE, WHOLE, IF_BLOCK | IF_GEMMA},
	{"post_feedforward_layernorm.weight", SIZE_HIDDEN, SIZE_NONE, WHOLE, IF_BLOCK | IF_GEMMA},
	{"post_feedforward_layernorm.weight", SIZE_HIDDEN, SIZE_NONE, WHOLE, IF_BLOCK | IF_OLMO},
	{"post_self_attn_layernorm.weight", SIZE_HIDDEN, SIZE_NONE, WHOLE, IF_BLOCK | IF_GLM},
	{"post_mlp_layernorm.weight", SIZE_HIDDEN, SIZE_NONE, WHOLE, IF_BLOCK | IF_GLM},

	{"mlp.gate_up_proj.weight", SIZE_FEED_FORWARD_2, SIZE_HIDDEN, BY_ROWS | LINEAR,
	 IF_DENSE | IF_GATE_UP},
	{"mlp.gate_proj.weight", SIZE_FEED_FORWARD, SIZE_HIDDEN, BY_ROWS | LINEAR,
	 IF_DENSE | IF_GATE},
	{"mlp.gate_proj.bias", SIZE_FEED_FORWARD, SIZE_NONE, BY_ROWS,
	 IF_DENSE | IF_GATE | IF_MLP_BIAS},
	{"mlp.up_proj.weight", SIZE_FEED_FORWARD, SIZE_HIDDEN, BY_ROWS | LINEAR,
	 IF_DENSE | IF_GATE},
	{"mlp.up_proj.bias", SIZE_FEED_FORWARD, SIZE_NONE, BY_ROWS,
	 IF_DENSE | IF_GATE | IF_MLP_BIAS},
	{"mlp.down_proj.weight", SIZE_HIDDEN, SIZE_FEED_FORWARD, LINEAR, IF_DENSE},
	{"mlp.down_proj.bias", SIZE_HIDDEN, SIZE_NONE, WHOLE, IF_DENSE | IF_MLP_BIAS},

	{"mlp.gate.weight", SIZE_EXPERTS, SIZE_HIDDEN, WHOLE, IF_PLAIN_EXPERTS},
	{"mlp.gate.e_score_correction_bias", SIZE_EXPERTS, SIZE_NONE, WHOLE | SINGLE,
	 IF_PLAIN_EXPERTS | IF_EXPERT_BIAS},
	{"mlp.experts.%.gate_proj.weight", SIZE_EXPERT, SIZE_HIDDEN, BY_ROWS | LINEAR | REPEATS,
	 IF_PLAIN_EXPERTS},
	{"mlp.experts.%.up_proj.weight", SIZE_EXPERT, SIZE_HIDDEN, BY_ROWS | LINEAR | REPEATS,
	 IF_PLAIN_EXPERTS},
	{"mlp.experts.%.down_proj.weight", SIZE_HIDDEN, SIZE_EXPERT, LINEAR | REPEATS,
	 IF_PLAIN_EXPERTS},
	{"mlp.shared_experts.gate_proj.weight", SIZE_SHARED, SIZE_HIDDEN, BY_ROWS | LINEAR,
	 IF_PLAIN_EXPERTS | IF_SHARED},
	{"mlp.shared_experts.up_proj.weight", SIZE_SHARED, SIZE_HIDDEN, BY_ROWS | LINEAR,
	 IF_PLAIN_EXPERTS | IF_SHARED},
	{"mlp.shared_experts.down_proj.weight", SIZE_HIDDEN, SIZE_SHARED, LINEAR,
	 IF_PLAIN_EXPERTS | IF_SHARED},
	{"mlp.shared_expert.gate_proj.weight", SIZE_SHARED, SIZE_HIDDEN, BY_ROWS | LINEAR,
	 IF_PLAIN_EXPERTS | IF_SHARED_GATE},
	{"mlp.shared_expert.up_proj.weight", SIZE_SHARED, SIZE_HIDDEN, BY_ROWS | LINEAR,
	 IF_PLAIN_EXPERTS | IF_SHARED_GATE},
	{"mlp.shared_expert.down_proj.weight", SIZE_HIDDEN, SIZE_SHARED, LINEAR,
	 IF_PLAIN_EXPERTS | IF_SHARED_GATE},
	{"mlp.shared_expert_gate.weight", SIZE_ONE, SIZE_HIDDEN, WHOLE,
	 IF_PLAIN_EXPERTS | IF_SHARED_GATE},

	{"block_sparse_moe.gate.weight", SIZE_EXPERTS, SIZE_HIDDEN, WHOLE, IF_MIXTRAL},
	{"block_sparse_moe.experts.%.w1.weight", SIZE_EXPERT, SIZE_HIDDEN,
	 BY_ROWS | LINEAR | REPEATS, IF_MIXTRAL},
	{"block_sparse_moe.experts.%.w2.weight", SIZE_HIDDEN, SIZE_EXPERT, LINEAR | REPEATS,
	 IF_MIXTRAL},
	{"block_sparse_moe.experts.%.w3.weight", SIZE_EXPERT, SIZE_HIDDEN,
	 BY_ROWS | LINEAR | REPEATS, IF_MIXTRAL},

	{"feed_forward.gate_proj.weight", SIZE_FEED_FORWARD, SIZE_HIDDEN, BY_ROWS | LINEAR,
	 IF_LLAMA4_DENSE},
	{"feed_forward.up_proj.weight", SIZE_FEED_FORWARD, SIZE_HIDDEN, BY_ROWS | LINEAR,
	 IF_LLAMA4_DENSE},
	{"feed_forward.down_proj.weight", SIZE_HIDDEN, SIZE_FEED_FORWARD, LINEAR, IF_LLAMA4_DENSE},
	{"feed_forward.router.weight", SIZE_EXPERTS, SIZE_HIDDEN, WHOLE, IF_LLAMA4_EXPERTS},
	{"feed_forward.experts.gate_up_proj", SIZE_EXPERTS_HIDDEN, SIZE_EXPERT_2, LINEAR,
	 IF_LLAMA4_EXPERTS},
	{"feed_forward.experts.down_proj", SIZE_EXPERTS_EXPERT, SIZE_HIDDEN, BY_ROWS | LINEAR,
	 IF_LLAMA4_EXPERTS},
	{"feed_forward.shared_expert.gate_proj.weight", SIZE_SHARED, SIZE_HIDDEN, BY_ROWS | LINEAR,
	 IF_LLAMA4_EXPERTS},
	{"feed_forward.shared_expert.up_proj.weight", SIZE_SHARED, SIZE_HIDDEN, BY_ROWS | LINEAR,
	 IF_LLAMA4_EXPERTS},
	{"feed_forward.shared_expert.down_proj.weight", SIZE_HIDDEN, SIZE_SHARED, LINEAR,
	 IF_LLAMA4_EXPERTS},

	{"mlp.router.weight", SIZE_EXPERTS, SIZE_HIDDEN, WHOLE, IF_GPT_OSS},
	{"mlp.router.bias", SIZE_EXPERTS, SIZE_NONE, WHOLE, IF_GPT_OSS},
	{"mlp.experts.gate_up_proj_blocks", SIZE_EXPERTS_EXPERT_2, SIZE_HIDDEN_HALVES,
	 BY_ROWS | BYTE, IF_GPT_OSS},
	{"mlp.experts.gate_up_proj_scales", SIZE_EXPERTS_EXPERT_2, SIZE_HIDDEN_SCALES,
	 BY_ROWS | BYTE, IF_GPT_OSS},
	{"mlp.experts.gate_up_proj_bias", SIZE_EXPERTS_EXPERT_2, SIZE_NONE, BY_ROWS, IF_GPT_OSS},
	{"mlp.experts.down_proj_blocks", SIZE_EXPERTS_HIDDEN, SIZE_EXPERT_HALVES, BY_ROWS | BYTE,
	 IF_GPT_OSS},
	{"mlp.experts.down_proj_scales", SIZE_EXPERTS_HIDDEN, SIZE_EXPERT_SCALES, BY_ROWS | BYTE,
	 IF_GPT_OSS},
	{"mlp.experts.down_proj_bias", SIZE_EXPERTS_HIDDEN, SIZE_NONE, BY_ROWS, IF_GPT_OSS},

	{"shared_head.norm.weight", SIZE_HIDDEN, SIZE_NONE, WHOLE, IF_PREDICT},
	{"shared_head.head.weight", SIZE_VOCABULARY, SIZE_HIDDEN, BY_ROWS, IF_PREDICT},
};

static uint64_t when_attention(const struct model *m)
{
	uint64_t when = IF_BLOCK;

	if (m->attention == MODEL_MLA) {
		when |= IF_MLA | (m->q_rank ? IF_Q_RANK : IF_NO_Q_RANK);
		when |= m->index_heads ? IF_INDEX : 0;
	} else {
		when |= m->tensors == MODEL_SEPARATE ? IF_SEPARATE : IF_FUSED;
		when |= m->qk_norm == MODEL_QK_HEAD ? IF_QK_HEAD : 0;
		when |= m->qk_norm == MODEL_QK_ALL ? IF_QK_ALL : 0;
	}
	when |= m->attention == MODEL_MLA || (m->tensors == MODEL_SEPARATE &&
					      m->family != MODEL_GLM && m->family != MODEL_GLM4)
			? IF_GATE
			: IF_GATE_UP;
	when |= m->biases >= MODEL_QKV_BIASES ? IF_QKV_BIAS : 0;
	when |= m->biases >= MODEL_ATTENTION_BIASES ? IF_O_BIAS : 0;
	return when | (m->biases == MODEL_ALL_BIASES ? IF_MLP_BIAS : 0);
}

static uint64_t when_norms(const struct model *m)
{
	switch (m->family) {
	case MODEL_GEMMA:
		return IF_NORM_BEFORE | IF_NORM_BETWEEN | IF_GEMMA;
	case MODEL_GLM4:
		return IF_NORM_BEFORE | IF_NORM_BETWEEN | IF_GLM;
	case MODEL_OLMO:
		return IF_NORM_BETWEEN | IF_OLMO;
	case MODEL_COHERE:
		return IF_NORM_BEFORE;
	default:
		return IF_NORM_BEFORE | IF_NORM_BETWEEN;
	}
}

static uint64_t when_experts(const struct model *m)
{
	uint64_t when = IF_PLAIN_EXPERTS | (m->expert_bias ? IF_EXPERT_BIAS : 0);

	if (m->family == MODEL_MIXTRAL)
		return IF_MIXTRAL;
	if (m->family == MODEL_LLAMA4)
		return IF_LLAMA4_EXPERTS;
	if (m->family == MODEL_GPT_OSS)
		return IF_GPT_OSS;
	if (m->shared_feed_forward)
		when |= m->shared_gate ? IF_SHARED_GATE : IF_SHARED;
	return when;
}

/* All that the tensors of a layer of that class belong to. */
static uint64_t when_class(const struct model *m, enum tensor_class c)
{
	uint64_t block = when_attention(m) | when_norms(m);

	switch (c) {
	case TENSORS_FLAT:
		return IF_FLAT;
	case TENSORS_EMBEDDING:
		return IF_EMBEDDING | (m->other_parameters ? IF_OTHER : 0);
	case TENSORS_HEAD:
		return IF_HEAD;
	case TENSORS_NORM:
		return IF_LAST_NORM;
	case TENSORS_DENSE:
		return block | (m->family == MODEL_LLAMA4 ? IF_LLAMA4_DENSE : IF_DENSE);
	case TENSORS_PREDICT:
		block |= IF_PREDICT;
		return block | (m->experts ? when_experts(m) : IF_DENSE);
	default:
		return block | when_experts(m);
	}
}

/* A transformer layer, from 0, in which experts take the place of the one feed-forward part. */
static bool block_has_experts(const struct model *m, uint64_t block)
{
	uint64_t every = max_u64(m->expert_every, 1);

	return m->experts && block >= m->dense_layers && (block + 1) % every == 0;
}

enum tensor_class tensors_class(const struct model *m, uint64_t layer)
{
	if (m->bytes)
		return TENSORS_FLAT;
	if (layer == 0)
		return TENSORS_EMBEDDING;
	if (layer <= m->layers)
		return block_has_experts(m, layer - 1) ? TENSORS_EXPERTS : TENSORS_DENSE;
	if (layer <= model_blocks(m))
		return TENSORS_PREDICT;
	return layer + 1 == model_layer_count(m) ? TENSORS_NORM : TENSORS_HEAD;
}

uint64_t tensors_class_layers(const struct model *m, enum tensor_class c, uint64_t layers)
{
	uint64_t every = max_u64(m->expert_every, 1), experts = 0;
	uint64_t blocks = min_u64(excess_u64(layers, 1), m->layers);

	if (m->bytes)
		return c == TENSORS_FLAT ? layers : 0;
	if (m->experts && blocks > m->dense_layers)
		experts = blocks / every - m->dense_layers / every;
	switch (c) {
	case TENSORS_EMBEDDING:
		return min_u64(layers, 1);
	case TENSORS_DENSE:
		return blocks - experts;
	case TENSORS_EXPERTS:
		return experts;
	case TENSORS_PREDICT:
		return min_u64(excess_u64(layers, 1 + m->layers), m->predict_layers);
	case TENSORS_HEAD:
		return m->tied ? 0 : min_u64(excess_u64(layers, 1 + model_blocks(m)), 1);
	case TENSORS_NORM:
		return excess_u64(layers, model_layer_count(m) - 1);
	default:
		return 0;
	}
}

/* Kinds that a row stands for: scales of its blocks come behind a matrix. */
static uint32_t row_kinds(const struct model *m, const struct row *row)
{
	return m->scale_block && row->flags & LINEAR ? 2 : 1;
}

void tensors_layout(const struct model *m, enum tensor_class c, struct tensors_layout *out)
{
	uint64_t when = when_class(m, c);

	*out = (struct tensors_layout){.repeats = 1};
	for (unsigned i = 0; i < COUNT(tensor_rows); i++) {
		const struct row *row = &tensor_rows[i];

		if ((row->when & when) != row->when)
			continue;
		if (row->flags & REPEATS) {
			if (!out->repeat_count)
				out->repeat = out->count;
			out->repeat_count += row_kinds(m, row);
			out->repeats = m->experts;
		}
		out->count += row_kinds(m, row);
	}
}

uint32_t tensors_kind(const struct tensors_layout *l, uint64_t i, uint64_t *expert)
{
	uint64_t repeated = l->repeat_count * l->repeats;

	*expert = 0;
	if (i < l->repeat)
		return (uint32_t)i;
	i -= l->repeat;
	if (i >= repeated)
		return (uint32_t)(i - repeated) + l->repeat + l->repeat_count;
	*expert = i / l->repeat_count;
	return l->repeat + (uint32_t)(i % l->repeat_count);
}

static enum model_type row_type(const struct model *m, const struct row *row)
{
	if (row->flags & SINGLE)
		return MODEL_FP32;
	if (row->flags & BYTE)
		return MODEL_UINT8;
	return (enum model_type)(m->scale_block && !(row->flags & LINEAR) ? m->unscaled
									  : m->weights);
}

static void row_matrix(const struct model *m, const struct row *row, bool scales,
		       struct shard_matrix *out)
{
	uint64_t block = m->scale_block;

	*out = (struct shard_matrix){.name = row->name,
				     .type = scales ? MODEL_FP32 : row_type(m, row),
				     .rows = tensor_size(m, row->rows),
				     .columns = tensor_size(m, row->columns),
				     .by_rows = (row->flags & BY_ROWS) != 0,
				     .whole = (row->flags & WHOLE) != 0,
				     .uncut = (row->flags & UNCUT) != 0,
				     .scales = scales};
	if (!scales)
		return;
	out->rows = (out->rows + block - 1) / block;
	out->columns = (out->columns + block - 1) / block;
}

void tensors_matrix(const struct model *m, enum tensor_class c, uint32_t kind,
		    struct shard_matrix *out)
{
	uint64_t when = when_class(m, c);
	uint32_t before = 0;

	*out = (struct shard_matrix){.name = ""};
	for (unsigned i = 0; i < COUNT(tensor_rows); i++) {
		const struct row *row = &tensor_rows[i];

		if ((row->when & when) != row->when)
			continue;
		if (kind < before + row_kinds(m, row)) {
			row_matrix(m, row, kind > before, out);
			return;
		}
		before += row_kinds(m, row);
	}
}

void tensors_name(const struct model *m, uint64_t layer, const struct shard_matrix *x,
		  uint64_t expert, char name[TENSOR_NAME_BYTES])
{
	const char *outer = m->family == MODEL_LLAMA4 ? "language_model." : "";
	const char *rest = strchr(x->name, '%'), *end = x->scales ? "_scale_inv" : "";
	enum tensor_class c = tensors_class(m, layer);
	char block[32] = "", number[24] = "";

	if (c == TENSORS_FLAT) {
		snprintf(name, TENSOR_NAME_BYTES, "%s", x->name);
		return;
	}
	if (c == TENSORS_DENSE || c == TENSORS_EXPERTS || c == TENSORS_PREDICT)
		snprintf(block, sizeof(block), "layers.%" PRIu64 ".", layer - 1);
	if (rest)
		snprintf(number, sizeof(number), "%" PRIu64, expert);
	snprintf(name, TENSOR_NAME_BYTES, "%s%s%s%.*s%s%s%s", outer,
		 c == TENSORS_HEAD ? "" : "model.", block,
		 rest ? (int)(rest - x->name) : (int)strlen(x->name), x->name, number,
		 rest ? rest + 1 : "", end);
}

/* What all tensors of a model are worth together. */
struct model_sums {
	uint64_t parameters, bytes; /* modulo 2^64 */
	double most;                /* the parameters, of whatever size */
};

static struct model_sums model_add(const struct model *m)
{
	struct model_sums sums = {0};

	for (unsigned c = 0; c < TENSORS_CLASSES; c++) {
		uint64_t layers = tensors_class_layers(m, c, model_layer_count(m));
		struct tensors_layout l;

		tensors_layout(m, c, &l);
		for (uint32_t k = 0; layers && k < l.count; k++) {
			bool repeats = k >= l.repeat && k < l.repeat + l.repeat_count;
			uint64_t each = repeats ? l.repeats : 1, columns;
			struct shard_matrix x;

			tensors_matrix(m, c, k, &x);
			columns = x.columns ? x.columns : 1;
			sums.bytes += layers * each * model_type_bytes(x.type, x.rows * columns);
			if (x.scales)
				continue;
			sums.parameters += layers * each * x.rows * columns;
			sums.most +=
				(double)layers * (double)each * (double)x.rows * (double)columns;
		}
	}
	return sums;
}

double model_parameters_most(const struct model *m)
{
	return model_add(m).most;
}

uint64_t model_parameters(const struct model *m)
{
	return model_add(m).parameters;
}

uint64_t model_weight_bytes(const struct model *m)
{
	return model_add(m).bytes;
}

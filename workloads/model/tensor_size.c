/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/model/tensor_size.h"

#include <stddef.h>
#include <string.h>

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

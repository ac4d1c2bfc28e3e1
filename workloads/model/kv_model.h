/* SPDX-License-Identifier: Apache-2.0 */
/* Key-value cache of a transformer as numbers: the bytes that a sequence of tokens has in it, and the part of them that
 * each rank of a tensor-parallel group holds.
 *
 * A layer with full attention keeps, for each token,
 *
 *	mha, gqa   a key and a value per KV head: 2 * kv_heads * head_dim numbers
 *	mla        one compressed vector: kv_rank + rope_dim numbers, whatever the number of heads; and with an indexer of
 *	           sparse attention, its key of index_dim numbers. As FP8 these have a scale of 4 bytes for each 128 numbers.
 *	           Source: k_cache and k_scale_cache of the class Indexer in DeepSeek-V3.2's own inference code
 *
 * Hybrid models have layers that keep less: sliding-window layers keep only the last `window` tokens, and state layers
 * (Mamba, linear attention) keep state_bytes per sequence, however long it is.
 *
 * Plain data and pure functions; any thread. */
#ifndef HAUL_WORKLOADS_MODEL_KV_MODEL_H
#define HAUL_WORKLOADS_MODEL_KV_MODEL_H

#include "workloads/model/model.h"

/* Tokens of a sequence at most, so that no size overflows. */
enum { KV_TOKENS_MAX = MODEL_TOKENS_MAX };

/* Fills in what follows from the rest (kv_heads of mha, head_dim), and checks that the dimensions
 * fit together. Returns -EINVAL with "path/key: sentence". The functions below need a model that
 * has passed. */
int kv_model_check(struct model *m, const char *path, struct err *err);

/* Bytes that one more token adds to a sequence that is shorter than the window. */
uint64_t kv_model_token_bytes(const struct model *m);
/* The same of one that is longer: the layers with a window drop as much as they take. */
uint64_t kv_model_further_bytes(const struct model *m);

/* Bytes of a sequence of that many tokens (at most KV_TOKENS_MAX), all ranks of a tensor group
 * together. */
uint64_t kv_model_bytes(const struct model *m, uint64_t tokens);

/* Ranks of a tensor group share the KV heads. Where there are more ranks than heads, several ranks
 * hold the same head; of mla, every rank holds all. Bytes of the largest shard of a sequence; and,
 * where the largest shards of `sequences` sequences have most_bytes together, the bytes that one
 * rank holds of them. */
uint64_t kv_model_shard_most(const struct model *m, uint64_t tokens, uint64_t tensor);
uint64_t kv_model_shard_of(const struct model *m, uint64_t most_bytes, uint64_t sequences,
			   uint64_t tensor, uint64_t rank);

/* Whether that rank is the first one that holds its heads: what several ranks hold is written once.
 * And the rank that writes what this one holds. */
bool kv_model_shard_writes(const struct model *m, uint64_t tensor, uint64_t rank);
uint64_t kv_model_shard_writer(const struct model *m, uint64_t tensor, uint64_t rank);

/* Bytes of a rank as MLPerf's benchmark counts them: an even part of everything, also of what real
 * engines replicate. */
static inline uint64_t kv_model_even_bytes(const struct model *m, uint64_t tokens, uint64_t tensor)
{
	return kv_model_bytes(m, tokens) / tensor;
}

#endif

/* Key-value cache of a transformer as numbers: the bytes that a sequence of tokens has in it, and the part of them that
 * each rank of a tensor-parallel group holds.
 *
 * A layer with full attention keeps, for each token,
 *
 *	mha, gqa   a key and a value per KV head: 2 * kv_heads * head_dim numbers
 *	mla        one compressed vector: kv_rank + rope_dim numbers, whatever the number of heads
 *
 * Hybrid models have layers that keep less: sliding-window layers keep only the last `window` tokens, and state layers
 * (Mamba, linear attention) keep state_bytes per sequence, however long it is.
 *
 * Plain data and pure functions; any thread. */
#ifndef HAUL_WORKLOADS_MODEL_KV_MODEL_H
#define HAUL_WORKLOADS_MODEL_KV_MODEL_H

#include "workloads/model/model.h"

enum kv_attention { KV_MHA, KV_GQA, KV_MLA };

/* Tokens of a sequence at most, so that no size overflows. */
enum { KV_TOKENS_MAX = 1 << 28 };

/* The option "model" of a phase with key-value caches: a name, or dimensions, or a name with some dimensions changed. */
struct kv_model {
	uint32_t name;            /* enum kv_model_name */
	uint32_t attention, type; /* enum kv_attention, enum model_type */
	uint64_t layers, hidden, heads;
	uint64_t kv_heads;          /* mha: 0, as many as heads */
	uint64_t head_dim;          /* 0: hidden / heads */
	uint64_t kv_rank, rope_dim; /* mla */
	uint64_t window_layers, window;
	uint64_t state_layers, state_bytes;
};
extern const struct option kv_model_options[];

/* Fills in what follows from the rest (kv_heads of mha, head_dim), and checks that the dimensions fit together. Returns
 * -EINVAL with "path/key: sentence". The functions below need a model that has passed. */
int kv_model_check(struct kv_model *m, const char *path, struct err *err);

/* Bytes that one more token adds to a sequence that is shorter than the window. */
uint64_t kv_model_token_bytes(const struct kv_model *m);

/* Bytes of a sequence of that many tokens (at most KV_TOKENS_MAX), all ranks of a tensor group together. */
uint64_t kv_model_bytes(const struct kv_model *m, uint64_t tokens);

/* Bytes of it that one rank of a tensor group holds. Ranks share the KV heads. Where there are more ranks than heads,
 * several ranks hold the same head; of mla, every rank holds all. */
uint64_t kv_model_shard_bytes(const struct kv_model *m, uint64_t tokens, uint64_t tensor,
			      uint64_t rank);

/* Bytes of the largest of these shards; and, where the largest shards of `sequences` sequences have most_bytes together, the bytes
 * that one rank holds of them. */
uint64_t kv_model_shard_most(const struct kv_model *m, uint64_t tokens, uint64_t tensor);
uint64_t kv_model_shard_of(const struct kv_model *m, uint64_t most_bytes, uint64_t sequences,
			   uint64_t tensor, uint64_t rank);

/* Whether that rank is the first one that holds its heads: what several ranks hold is written once. And the rank that writes
 * what this one holds. */
bool kv_model_shard_writes(const struct kv_model *m, uint64_t tensor, uint64_t rank);
uint64_t kv_model_shard_writer(const struct kv_model *m, uint64_t tensor, uint64_t rank);

/* Bytes of a rank as MLPerf's benchmark counts them: an even part of everything, also of what real engines replicate. */
static inline uint64_t kv_model_even_bytes(const struct kv_model *m, uint64_t tokens,
					   uint64_t tensor)
{
	return kv_model_bytes(m, tokens) / tensor;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A transformer model as numbers: its dimensions, from which the tensors (tensors.h) and the
 * key-value cache (kv_model.h) follow. Phases that write, load or cache models all describe them by
 * this one table of options: by a name, by dimensions, or by the config.json with which a model is
 * published (config.h).
 *
 * Plain data and pure functions; any thread. */
#ifndef HAUL_WORKLOADS_MODEL_MODEL_H
#define HAUL_WORKLOADS_MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/option/option.h"

/* Number formats, with their bits. */
/* clang-format off */
#define MODEL_TYPES(X) \
	X(FP64, "fp64", 64) X(FP32, "fp32", 32) X(FP16, "fp16", 16) X(BF16, "bf16", 16) \
	X(FP8, "fp8", 8) X(INT8, "int8", 8) X(UINT8, "uint8", 8) X(INT4, "int4", 4)
/* clang-format on */
#define MODEL_TYPE(id, name, bits) MODEL_##id,
enum model_type { MODEL_TYPES(MODEL_TYPE) MODEL_TYPE_COUNT };
#undef MODEL_TYPE

extern const char *const model_type_names[]; /* NULL-terminated, for options */
const char *model_type_name(enum model_type type);
/* Bytes of count numbers of that format, rounded up to whole bytes. */
uint64_t model_type_bytes(enum model_type type, uint64_t count);

enum model_attention { MODEL_MHA, MODEL_GQA, MODEL_MLA };

/* How the matrices of queries, keys and values, and those of gate and up, are stored: as one matrix
 * each, or on their own. dlio: as one, with the head size rounded down to a whole number, as DLIO
 * and MLPerf Storage compute it. */
enum model_tensors { MODEL_DLIO, MODEL_FUSED, MODEL_SEPARATE };

/* Which norms a layer has, and how its tensors are called, after the family of models that has
 * them. */
enum model_family {
	MODEL_LLAMA,
	MODEL_MIXTRAL,
	MODEL_GEMMA,
	MODEL_GLM,
	MODEL_GLM4,
	MODEL_OLMO,
	MODEL_COHERE,
	MODEL_LLAMA4,
	MODEL_GPT_OSS
};

enum model_biases { MODEL_NO_BIASES, MODEL_QKV_BIASES, MODEL_ATTENTION_BIASES, MODEL_ALL_BIASES };
enum model_qk_norm { MODEL_QK_NONE, MODEL_QK_HEAD, MODEL_QK_ALL };

/* Tokens of a sequence at most, so that no size overflows. */
enum { MODEL_CONFIG_BYTES = 512, MODEL_PART_BYTES = 32, MODEL_TOKENS_MAX = 1 << 28 };

/* The option "model": a name, or dimensions, or a name with some dimensions changed; or a flat
 * size. */
struct model {
	char config
		[MODEL_CONFIG_BYTES]; /* "": a job's is replaced by what the file says, see config.h */
	uint32_t name;                /* enum model_name */
	uint64_t vocabulary, hidden, feed_forward, layers, heads;
	uint64_t kv_heads; /* mha: 0, as many as heads */
	uint64_t head_dim; /* 0: hidden / heads */
	uint32_t attention;
	uint64_t q_rank, kv_rank, nope_dim, rope_dim, value_dim; /* mla */
	uint64_t index_heads, index_dim; /* mla with a sparse-attention indexer */
	uint32_t index_type;
	uint64_t window_layers, window;
	uint64_t state_layers, state_bytes;
	uint64_t experts, expert_feed_forward, shared_feed_forward, dense_layers, expert_every;
	bool expert_bias, shared_gate;
	uint64_t predict_layers;
	uint64_t other_parameters;
	char uncounted[MODEL_PART_BYTES]; /* part whose tensors are not known; "": none */
	uint32_t tensors, family, biases, qk_norm;
	bool tied;
	uint32_t type; /* of keys and values */
	uint32_t weights, unscaled, optimizer;
	uint64_t scale_block;
	uint64_t bytes; /* size of a model of no known shape; 0: by its dimensions */
};
extern const struct option model_options[];

/* The name of the first known model with the same vocabulary, sizes, layers and heads, whatever else
 * they have; NULL: there is none. */
const char *model_known(const struct model *m);

/* -EINVAL with "path/key: sentence" where a dimension that tensors need is missing, or dimensions
 * do not fit together. */
int model_check(const struct model *m, const char *path, struct err *err);

/* The same of what both tensors and caches need: heads, their size, and how they are shared. */
int model_check_heads(const struct model *m, const char *path, struct err *err);

/* For messages of what is missing. */
int model_missing(const char *path, const char *key, struct err *err);

/* MLPerf's own shape of a published model, of which caches would have another size: the published
 * one's name. NULL: it is not one. */
const char *model_published_name(const struct model *m);

/* Heads of keys and values: with mha, as many as heads. Numbers of a head, rounded down. */
static inline uint64_t model_kv_heads(const struct model *m)
{
	return m->attention == MODEL_MHA && !m->kv_heads ? m->heads : m->kv_heads;
}

static inline uint64_t model_head_dim(const struct model *m)
{
	return m->head_dim ? m->head_dim : m->heads ? m->hidden / m->heads : 0;
}

/* Layers are numbered from 0, the embedding, over 1 ... model_blocks to the output head and the
 * last norm. */
static inline uint64_t model_blocks(const struct model *m)
{
	return m->layers + m->predict_layers;
}

static inline uint64_t model_layer_count(const struct model *m)
{
	return m->bytes ? 1 : model_blocks(m) + (m->tied ? 2 : 3);
}

#endif

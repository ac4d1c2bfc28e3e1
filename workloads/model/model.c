/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/model/model.h"

#include <errno.h>
#include <inttypes.h>

#include "core/numbers.h"
#include "workloads/model/config.h"

/* Known models. MLPerf Storage's checkpoints are llama3_*, with the heads that it gives them, and
 * llama_7b is DLIO's. The others are as their own configurations describe them. MLPerf's benchmark
 * of key-value caches counts all layers of the gpt-oss models as full attention: what is imported
 * from it says so. */
/* clang-format off */
#define MODEL_NAMES(X) \
	X(CUSTOM, "custom") \
	X(LLAMA3_8B, "llama3_8b") X(LLAMA3_70B, "llama3_70b") X(LLAMA3_405B, "llama3_405b") \
	X(LLAMA3_1T, "llama3_1t") X(LLAMA_7B, "llama_7b") \
	X(TINY_1B, "tiny-1b") X(MISTRAL_7B, "mistral-7b") X(LLAMA2_7B, "llama2-7b") \
	X(LLAMA31_8B, "llama3.1-8b") X(LLAMA31_70B, "llama3.1-70b-instruct") \
	X(DEEPSEEK_V3, "deepseek-v3") X(QWEN3_32B, "qwen3-32b") X(QWEN3_30B_A3B, "qwen3-30b-a3b") \
	X(GPT_OSS_120B, "gpt-oss-120b") X(GPT_OSS_20B, "gpt-oss-20b")

#define DIMENSIONS(v, h, f, l, a, k) \
	.vocabulary = (v), .hidden = (h), .feed_forward = (f), .layers = (l), .heads = (a), .kv_heads = (k)
#define GPT_OSS(l, e) \
	DIMENSIONS(201088, 2880, 2880, l, 64, 8), .head_dim = 64, .attention = MODEL_GQA, .experts = (e), \
	.expert_feed_forward = 2880, .tensors = MODEL_SEPARATE, .family = MODEL_GPT_OSS, \
	.biases = MODEL_ATTENTION_BIASES, .window_layers = (l) / 2, .window = 128
/* clang-format on */

#define MODEL_NAME(id, name) MODEL_NAME_##id,
enum model_name { MODEL_NAMES(MODEL_NAME) MODEL_NAME_COUNT };
#undef MODEL_NAME

#define MODEL_NAME(id, name) name,
static const char *const model_names[] = {MODEL_NAMES(MODEL_NAME) NULL};
#undef MODEL_NAME

/* clang-format off */
static const struct model model_shapes[MODEL_NAME_COUNT] = {
	[MODEL_NAME_CUSTOM] = {.attention = MODEL_GQA},
	[MODEL_NAME_LLAMA3_8B] = {DIMENSIONS(128256, 4096, 14336, 32, 32, 8), .attention = MODEL_GQA, .tensors = MODEL_DLIO},
	[MODEL_NAME_LLAMA3_70B] = {DIMENSIONS(128256, 8192, 28672, 80, 128, 8), .attention = MODEL_GQA, .tensors = MODEL_DLIO},
	[MODEL_NAME_LLAMA3_405B] = {DIMENSIONS(128256, 16384, 53248, 126, 128, 8), .attention = MODEL_GQA, .tensors = MODEL_DLIO},
	[MODEL_NAME_LLAMA3_1T] = {DIMENSIONS(128256, 25872, 98304, 128, 192, 32), .attention = MODEL_GQA, .tensors = MODEL_DLIO},
	[MODEL_NAME_LLAMA_7B] = {DIMENSIONS(32000, 4096, 11008, 32, 32, 32), .attention = MODEL_MHA, .tensors = MODEL_DLIO},
	[MODEL_NAME_TINY_1B] = {DIMENSIONS(0, 1024, 0, 12, 8, 4), .head_dim = 128, .attention = MODEL_GQA},
	[MODEL_NAME_MISTRAL_7B] = {DIMENSIONS(32000, 4096, 14336, 32, 32, 8), .head_dim = 128, .attention = MODEL_GQA, .tensors = MODEL_SEPARATE},
	[MODEL_NAME_LLAMA2_7B] = {DIMENSIONS(32000, 4096, 11008, 32, 32, 32), .head_dim = 128, .attention = MODEL_MHA, .tensors = MODEL_SEPARATE},
	[MODEL_NAME_LLAMA31_8B] = {DIMENSIONS(128256, 4096, 14336, 32, 32, 8), .head_dim = 128, .attention = MODEL_GQA, .tensors = MODEL_SEPARATE},
	[MODEL_NAME_LLAMA31_70B] = {DIMENSIONS(128256, 8192, 28672, 80, 64, 8), .head_dim = 128, .attention = MODEL_GQA, .tensors = MODEL_SEPARATE},
	[MODEL_NAME_DEEPSEEK_V3] = {DIMENSIONS(129280, 7168, 18432, 61, 128, 0), .attention = MODEL_MLA, .q_rank = 1536,
		.kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .value_dim = 128, .experts = 256,
		.expert_feed_forward = 2048, .shared_feed_forward = 2048, .dense_layers = 3, .expert_bias = true,
		.predict_layers = 1, .tensors = MODEL_SEPARATE},
	[MODEL_NAME_QWEN3_32B] = {DIMENSIONS(151936, 5120, 25600, 64, 64, 8), .head_dim = 128, .attention = MODEL_GQA,
		.tensors = MODEL_SEPARATE, .qk_norm = MODEL_QK_HEAD},
	[MODEL_NAME_QWEN3_30B_A3B] = {DIMENSIONS(151936, 2048, 6144, 48, 32, 4), .head_dim = 128, .attention = MODEL_GQA,
		.experts = 128, .expert_feed_forward = 768, .tensors = MODEL_SEPARATE, .qk_norm = MODEL_QK_HEAD},
	[MODEL_NAME_GPT_OSS_120B] = {GPT_OSS(36, 128)},
	[MODEL_NAME_GPT_OSS_20B] = {GPT_OSS(24, 32)},
};
/* clang-format on */

#define MODEL_TYPE(id, name, bits) name,
const char *const model_type_names[] = {MODEL_TYPES(MODEL_TYPE) NULL};
/* MODEL_TYPE_COUNT: none. */
static const char *const optimizer_names[] = {MODEL_TYPES(MODEL_TYPE) "none", NULL};
#undef MODEL_TYPE

#define MODEL_TYPE(id, name, bits) bits,
static const uint8_t type_bits[] = {MODEL_TYPES(MODEL_TYPE)};
#undef MODEL_TYPE

static const char *const attention_names[] = {"mha", "gqa", "mla", NULL};
static const char *const tensors_names[] = {"dlio", "fused", "separate", NULL};
static const char *const family_names[] = {"llama", "mixtral", "gemma",  "glm",     "glm4",
					   "olmo",  "cohere",  "llama4", "gpt_oss", NULL};
static const char *const biases_names[] = {"none", "qkv", "attention", "all", NULL};
static const char *const qk_norm_names[] = {"none", "head", "all", NULL};

/* All that is a dimension; what else the options say stays. */
static void model_preset(void *into)
{
	struct model *m = into, shape = model_shapes[m->name];

	shape.name = m->name;
	shape.expert_every = 1;
	shape.index_type = m->index_type;
	shape.type = m->type;
	shape.weights = m->weights;
	shape.unscaled = m->unscaled;
	shape.optimizer = m->optimizer;
	*m = shape;
}

const struct option model_options[] = {
	OPT_CHOICE("name", struct model, name, .choices = model_names, .preset = model_preset,
		   .spelled = true, .help = "a known model; keys given beside it win"),
	OPT_TEXT(
		"config", struct model, config, .def_text = "", .expand = model_config_expand,
		.help = "a config.json as models are published with: all else that is left out comes "
			"from it"),
	OPT_U64("vocabulary", struct model, vocabulary, .max = 1ull << 32,
		.help = "words that the model knows"),
	OPT_U64("hidden", struct model, hidden, .max = 1ull << 24,
		.help = "size of a hidden state"),
	OPT_U64("feed_forward", struct model, feed_forward, .max = 1ull << 26,
		.help = "inner size of the feed-forward part of a layer"),
	OPT_U64("layers", struct model, layers, .max = 1ull << 16, .help = "transformer layers"),
	OPT_U64("heads", struct model, heads, .max = 1ull << 16, .help = "attention heads"),
	OPT_U64("kv_heads", struct model, kv_heads, .max = 1ull << 16,
		.help = "heads of keys and values, fewer than heads where several share them; 0 with "
			"mha: as many as heads"),
	OPT_U64("head_dim", struct model, head_dim, .max = 1 << 16,
		.help = "numbers of a head; 0: hidden / heads"),
	OPT_CHOICE("attention", struct model, attention, .def = MODEL_GQA,
		   .choices = attention_names,
		   .help = "mha: a key and a value per head; gqa: per group of heads; mla: one "
			   "compressed vector"),
	OPT_U64("q_rank", struct model, q_rank, .max = 1 << 20,
		.help = "mla: size of the compressed queries (q_lora_rank); 0: they are not compressed"),
	OPT_U64("kv_rank", struct model, kv_rank, .max = 1 << 20,
		.help = "mla: size of the compressed keys and values (kv_lora_rank)"),
	OPT_U64("nope_dim", struct model, nope_dim, .max = 1 << 16,
		.help = "mla: numbers of a head without position (qk_nope_head_dim)"),
	OPT_U64("rope_dim", struct model, rope_dim, .max = 1 << 20,
		.help = "mla: size of the part of a key that holds its position (qk_rope_head_dim)"),
	OPT_U64("value_dim", struct model, value_dim, .max = 1 << 16,
		.help = "mla: numbers of a head of values (v_head_dim)"),
	OPT_U64("index_heads", struct model, index_heads, .max = 1 << 16,
		.help = "mla: heads of the indexer of sparse attention (index_n_heads); 0: it has none"),
	OPT_U64("index_dim", struct model, index_dim, .max = 1 << 16,
		.help = "numbers of its key of a token (index_head_dim)"),
	OPT_CHOICE(
		"index_type", struct model, index_type, .def = MODEL_FP8,
		.choices = model_type_names,
		.help = "number format of these keys in a cache; fp8 has a scale of 4 bytes for each "
			"128 numbers"),
	OPT_U64("window_layers", struct model, window_layers, .max = 1 << 16,
		.help = "layers that keep only the tokens of a sliding window"),
	OPT_U64("window", struct model, window, .max = MODEL_TOKENS_MAX,
		.help = "tokens of the sliding window"),
	OPT_U64("state_layers", struct model, state_layers, .max = 1 << 16,
		.help = "layers that keep a state of fixed size instead of keys and values"),
	OPT_BYTES("state_bytes", struct model, state_bytes, .max = 1ull << 40,
		  .help = "size of the state of such a layer, per sequence"),
	OPT_U64("experts", struct model, experts, .max = 1 << 16,
		.help = "experts that take turns for the feed-forward part of a layer; 0: it has none"),
	OPT_U64("expert_feed_forward", struct model, expert_feed_forward, .max = 1 << 26,
		.help = "inner size of an expert"),
	OPT_U64("shared_feed_forward", struct model, shared_feed_forward, .max = 1 << 26,
		.help = "inner size of the experts that all tokens share, together; 0: there are none"),
	OPT_U64("dense_layers", struct model, dense_layers, .max = 1 << 16,
		.help = "first layers, which have no experts"),
	OPT_U64("expert_every", struct model, expert_every, .def = 1, .min = 1, .max = 1 << 16,
		.help = "every nth layer has experts"),
	OPT_BOOL(
		"expert_bias", struct model, expert_bias,
		.help = "the choice of experts has a correction for each (e_score_correction_bias)"),
	OPT_BOOL("shared_gate", struct model, shared_gate,
		 .help = "the shared experts have a gate (shared_expert_gate)"),
	OPT_U64("predict_layers", struct model, predict_layers, .max = 1 << 8,
		.help = "further layers that predict more than one token, with an embedding and an "
			"output layer each"),
	OPT_U64("other_parameters", struct model, other_parameters, .max = 1ull << 48,
		.help = "parameters of what is not the language model, such as a vision tower; they are "
			"one tensor"),
	OPT_TEXT(
		"uncounted", struct model, uncounted, .def_text = "",
		.help = "part of a config.json whose tensors are not known, such as a vision tower: caches need "
			"none of them; a phase that has them takes other_parameters instead"),
	OPT_CHOICE(
		"tensors", struct model, tensors, .def = MODEL_FUSED, .choices = tensors_names,
		.help = "fused: queries, keys and values are one tensor, and gate and up; separate: "
			"each has its own; dlio: fused, a head's size rounded down as DLIO does"),
	OPT_CHOICE("family", struct model, family, .choices = family_names,
		   .help = "whose names and norms the tensors of a layer have"),
	OPT_CHOICE(
		"biases", struct model, biases, .choices = biases_names,
		.help = "which matrices have a bias: those of queries, keys and values, of the whole "
			"attention, or all"),
	OPT_CHOICE("qk_norm", struct model, qk_norm, .choices = qk_norm_names,
		   .help = "norms of queries and keys: of a head's size, or of all heads'"),
	OPT_BOOL("tied", struct model, tied,
		 .help = "the output layer is the embedding, and no tensor of its own"),
	OPT_CHOICE("type", struct model, type, .def = MODEL_FP16, .choices = model_type_names,
		   .help = "number format of keys and values in a cache"),
	OPT_CHOICE("weights", struct model, weights, .def = MODEL_FP16, .choices = model_type_names,
		   .help = "number format of the weights"),
	OPT_U64("scale_block", struct model, scale_block, .max = 1 << 16,
		.help = "matrices have a scale of 4 bytes for each block of so many rows and columns; "
			"0: none"),
	OPT_CHOICE(
		"unscaled", struct model, unscaled, .def = MODEL_BF16, .choices = model_type_names,
		.help = "with scale_block: number format of what has no scales: embeddings, norms, "
			"routers"),
	OPT_CHOICE(
		"optimizer", struct model, optimizer, .def = MODEL_FP32, .choices = optimizer_names,
		.help = "number format of the optimizer's states; none: a checkpoint has weights only"),
	OPT_BYTES(
		"bytes", struct model, bytes, .max = 1ull << 60,
		.help = "a model of no known shape: its size, weights and all; 0: by its dimensions"),
	OPT_END};

const char *model_known(const struct model *m)
{
	for (unsigned i = MODEL_NAME_CUSTOM + 1; i < MODEL_NAME_COUNT; i++) {
		const struct model *k = &model_shapes[i];

		if (k->vocabulary == m->vocabulary && k->hidden == m->hidden &&
		    k->feed_forward == m->feed_forward && k->layers == m->layers &&
		    k->heads == m->heads && k->kv_heads == m->kv_heads)
			return model_names[i];
	}
	return NULL;
}

const char *model_type_name(enum model_type type)
{
	return model_type_names[type];
}

uint64_t model_type_bytes(enum model_type type, uint64_t count)
{
	return (count * type_bits[type] + 7) / 8;
}

const char *model_published_name(const struct model *m)
{
	return m->name == MODEL_NAME_LLAMA3_70B && m->heads == 128 ? "llama3.1-70b-instruct" : NULL;
}

int model_missing(const char *path, const char *key, struct err *err)
{
	return err_set(err, -EINVAL,
		       "%s/%s: is missing; name a known model, give its \"config\", or give all "
		       "dimensions",
		       path, key);
}

/* Keys of a model that has, or has not, compressed keys and values. */
static int check_attention(const struct model *m, const char *path, struct err *err)
{
	const struct {
		const char *key;
		uint64_t value;
	} only[] = {{"q_rank", m->q_rank},       {"kv_rank", m->kv_rank},
		    {"nope_dim", m->nope_dim},   {"rope_dim", m->rope_dim},
		    {"value_dim", m->value_dim}, {"index_heads", m->index_heads},
		    {"index_dim", m->index_dim}};

	if (m->attention == MODEL_MLA) {
		if (!m->kv_rank)
			return model_missing(path, "kv_rank", err);
		if (m->kv_heads || m->head_dim)
			return err_set(err, -EINVAL,
				       "%s/%s: a model with the attention \"mla\" does not have it",
				       path, m->kv_heads ? "kv_heads" : "head_dim");
		if (!m->index_heads != !m->index_dim)
			return model_missing(path, m->index_dim ? "index_heads" : "index_dim", err);
		return 0;
	}
	for (unsigned i = 0; i < COUNT(only); i++)
		if (only[i].value)
			return err_set(err, -EINVAL,
				       "%s/%s: only a model with the attention \"mla\" has it",
				       path, only[i].key);
	return 0;
}

static int check_shared_heads(const struct model *m, const char *path, struct err *err)
{
	uint64_t shared = model_kv_heads(m);

	if (!shared)
		return model_missing(path, "kv_heads", err);
	if (m->attention == MODEL_MHA && m->heads && shared != m->heads && m->tensors != MODEL_DLIO)
		return err_set(err, -EINVAL,
			       "%s/kv_heads: \"mha\" has as many as heads, which is %" PRIu64
			       "; fewer are \"gqa\"",
			       path, m->heads);
	if (m->heads && shared > m->heads)
		return err_set(err, -EINVAL,
			       "%s/kv_heads: must be at most heads = %" PRIu64 ", is %" PRIu64,
			       path, m->heads, shared);
	if (m->heads % shared && m->tensors != MODEL_DLIO)
		return err_set(err, -EINVAL,
			       "%s/kv_heads: %" PRIu64 " heads do not divide evenly among %" PRIu64
			       " heads of keys and values",
			       path, m->heads, shared);
	return 0;
}

int model_check_heads(const struct model *m, const char *path, struct err *err)
{
	int rc;

	if (m->config[0])
		return err_set(err, -EINVAL, "%s/config: is read with a job, and only there", path);
	rc = check_attention(m, path, err);
	if (rc < 0 || m->attention == MODEL_MLA)
		return rc;
	rc = check_shared_heads(m, path, err);
	if (rc < 0 || m->head_dim)
		return rc;
	if (!m->heads || !m->hidden)
		return model_missing(path, "head_dim", err);
	if (m->heads > m->hidden)
		return err_set(err, -EINVAL,
			       "%s/heads: %" PRIu64 " heads do not fit a hidden state of %" PRIu64,
			       path, m->heads, m->hidden);
	if (m->hidden % m->heads && m->tensors != MODEL_DLIO)
		return err_set(err, -EINVAL,
			       "%s/head_dim: is missing, and hidden %" PRIu64 " / heads %" PRIu64
			       " is no whole number; give \"head_dim\"",
			       path, m->hidden, m->heads);
	return 0;
}

static int check_experts(const struct model *m, const char *path, struct err *err)
{
	if (m->experts && !m->expert_feed_forward)
		return model_missing(path, "expert_feed_forward", err);
	if (!m->experts && (m->expert_feed_forward || m->shared_feed_forward))
		return model_missing(path, "experts", err);
	if (m->family == MODEL_GPT_OSS && (m->hidden % 32 || m->expert_feed_forward % 32))
		return err_set(err, -EINVAL,
			       "%s/hidden: 4-bit experts have blocks of 32 numbers, and %" PRIu64
			       " x %" PRIu64 " does not divide evenly",
			       path, m->hidden, m->expert_feed_forward);
	if (m->dense_layers > m->layers)
		return err_set(err, -EINVAL,
			       "%s/dense_layers: there are only %" PRIu64 " layers in all", path,
			       m->layers);
	return 0;
}

int model_check(const struct model *m, const char *path, struct err *err)
{
	const struct {
		const char *key;
		uint64_t value;
		bool needed;
	} needed[] = {
		{"vocabulary", m->vocabulary, true},
		{"hidden", m->hidden, true},
		/* Where all layers have experts, no layer has a part of this size. */
		{"feed_forward", m->feed_forward,
		 !m->experts || m->dense_layers || m->expert_every > 1},
		{"layers", m->layers, true},
		{"heads", m->heads, true},
		{"nope_dim", m->nope_dim, m->attention == MODEL_MLA},
		{"rope_dim", m->rope_dim, m->attention == MODEL_MLA},
		{"value_dim", m->value_dim, m->attention == MODEL_MLA},
		{"q_rank", m->q_rank, m->index_heads != 0},
	};
	int rc;

	if (m->bytes)
		return 0;
	if (m->uncounted[0])
		return err_set(
			err, -EINVAL,
			"%s/uncounted: the tensors of %s are not known; give their number as "
			"\"other_parameters\", or 0 to leave them out",
			path, m->uncounted);
	for (unsigned i = 0; i < COUNT(needed); i++)
		if (needed[i].needed && !needed[i].value)
			return err_set(
				err, -EINVAL,
				"%s/%s: is missing; name a known model, give its \"config\", "
				"or give all dimensions, or \"bytes\"",
				path, needed[i].key);
	rc = check_experts(m, path, err);
	return rc < 0 ? rc : model_check_heads(m, path, err);
}

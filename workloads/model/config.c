/* SPDX-License-Identifier: Apache-2.0 */
/* A published config.json: see config.h. The table says for each type of model whose tensors it
 * has; the rest is counted from the file's keys. Source: the configuration classes of
 * huggingface/transformers, and their defaults. */
#include "workloads/model/config.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/numbers.h"

enum { CONFIG_DEPTH = 32, CONFIG_VALUES = 1 << 16, CONFIG_SENTENCE_BYTES = 640 };

/* How a type of model lays out sliding windows where "layer_types" does not say it. */
enum windows { WINDOWS_NONE, WINDOWS_ALL, WINDOWS_EVERY_SECOND, WINDOWS_PATTERN, WINDOWS_QWEN };

enum {
	TIED = 1 << 0,        /* where the file does not say otherwise */
	QKV_BIAS = 1 << 1,    /* always */
	MLA = 1 << 2,         /* compressed keys and values */
	EXPERT_BIAS = 1 << 3, /* a correction for each expert */
	SHARED_GATE = 1 << 4,
	EXPERTS_LIKE_DENSE = 1 << 5, /* an expert has the size "intermediate_size" */
	O_UNBIASED = 1 << 6,         /* "attention_bias" is of queries, keys and values alone */
	PREDICTS = 1 << 7,           /* "num_nextn_predict_layers" are in the published files */
	HEAD_128 = 1 << 8            /* the head size where the file does not say it */
};

struct config_kind {
	const char *type, *family, *tensors, *qk_norm;
	enum windows windows;
	unsigned pattern;
	unsigned flags;
};

/* clang-format off */
static const struct config_kind config_kinds[] = {
	{"llama",        "llama",   "separate", "none", WINDOWS_NONE, 0, 0},
	{"mistral",      "llama",   "separate", "none", WINDOWS_ALL, 0, 0},
	{"ministral",    "llama",   "separate", "none", WINDOWS_ALL, 0, 0},
	{"mixtral",      "mixtral", "separate", "none", WINDOWS_ALL, 0, EXPERTS_LIKE_DENSE},
	{"granite",      "llama",   "separate", "none", WINDOWS_NONE, 0, 0},
	{"smollm3",      "llama",   "separate", "none", WINDOWS_NONE, 0, TIED},
	{"qwen2",        "llama",   "separate", "none", WINDOWS_QWEN, 0, QKV_BIAS},
	{"qwen2_moe",    "llama",   "separate", "none", WINDOWS_QWEN, 0, QKV_BIAS | SHARED_GATE},
	{"qwen3",        "llama",   "separate", "head", WINDOWS_QWEN, 0, HEAD_128},
	{"qwen3_moe",    "llama",   "separate", "head", WINDOWS_QWEN, 0, 0},
	{"phi3",         "llama",   "fused",    "none", WINDOWS_ALL, 0, 0},
	{"gemma",        "llama",   "separate", "none", WINDOWS_NONE, 0, TIED},
	{"gemma2",       "gemma",   "separate", "none", WINDOWS_EVERY_SECOND, 0, TIED},
	{"gemma3_text",  "gemma",   "separate", "head", WINDOWS_PATTERN, 6, TIED},
	{"glm",          "glm",     "separate", "none", WINDOWS_NONE, 0, O_UNBIASED},
	{"glm4",         "glm4",    "separate", "none", WINDOWS_NONE, 0, O_UNBIASED},
	{"glm4_moe",     "llama",   "separate", "none", WINDOWS_NONE, 0, O_UNBIASED | EXPERT_BIAS | PREDICTS},
	{"glm4_moe_lite", "llama",  "separate", "none", WINDOWS_NONE, 0, MLA | EXPERT_BIAS | PREDICTS},
	{"glm_moe_dsa",  "llama",   "separate", "none", WINDOWS_NONE, 0, MLA | EXPERT_BIAS | PREDICTS},
	{"deepseek_v2",  "llama",   "separate", "none", WINDOWS_NONE, 0, MLA},
	{"deepseek_v3",  "llama",   "separate", "none", WINDOWS_NONE, 0, MLA | EXPERT_BIAS | PREDICTS},
	{"deepseek_v32", "llama",   "separate", "none", WINDOWS_NONE, 0, MLA | EXPERT_BIAS | PREDICTS},
	{"kimi_k2",      "llama",   "separate", "none", WINDOWS_NONE, 0, MLA | EXPERT_BIAS | PREDICTS},
	{"llama4_text",  "llama4",  "separate", "none", WINDOWS_NONE, 0, EXPERTS_LIKE_DENSE},
	{"gpt_oss",      "gpt_oss", "separate", "none", WINDOWS_EVERY_SECOND, 0, EXPERTS_LIKE_DENSE},
	{"olmo2",        "olmo",    "separate", "all",  WINDOWS_NONE, 0, 0},
	{"olmo3",        "olmo",    "separate", "all",  WINDOWS_PATTERN, 4, 0},
	{"cohere",       "cohere",  "separate", "none", WINDOWS_NONE, 0, TIED},
	{"cohere2",      "cohere",  "separate", "none", WINDOWS_PATTERN, 4, TIED},
};
/* A model within another one leaves out what its configuration class has as default. A file of a model
 * by itself has all. */
static const struct config_default {
	const char *type;
	double vocab_size, hidden_size, intermediate_size, num_hidden_layers, num_attention_heads, num_key_value_heads,
		head_dim, sliding_window;
} config_defaults[] = {
	{"llama",       32000, 4096, 11008, 32, 32, 32, 0, 0},
	{"mistral",     32000, 4096, 14336, 32, 32, 8, 0, 4096},
	{"qwen2",       151936, 4096, 22016, 32, 32, 32, 0, 4096},
	{"gemma2",      256000, 2304, 9216, 26, 8, 4, 256, 4096},
	{"gemma3_text", 262208, 2304, 9216, 26, 8, 4, 256, 4096},
};
/* clang-format on */

struct config {
	const cJSON *file; /* the part that describes the language model */
	const struct config_kind *kind;
	const struct config_default *defaults; /* NULL: what the file lacks is missing */
	cJSON *model;
	const char **wrong; /* the first key that is not of its type; NULL: nobody asks */
};

static const cJSON *config_get(const struct config *c, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(c->file, key);

	return cJSON_IsNull(item) ? NULL : item;
}

/* The number that the configuration class has; 0: none. */
static double config_usual(const struct config_default *d, const char *key)
{
#define USUAL(member) \
	{ \
#member, d->member \
	}
	const struct {
		const char *key;
		double value;
	} usual[] = {
		USUAL(vocab_size),        USUAL(hidden_size),         USUAL(intermediate_size),
		USUAL(num_hidden_layers), USUAL(num_attention_heads), USUAL(num_key_value_heads),
		USUAL(head_dim),          USUAL(sliding_window)};
#undef USUAL

	for (size_t i = 0; i < COUNT(usual); i++)
		if (strcmp(usual[i].key, key) == 0)
			return usual[i].value;
	return 0;
}

/* A number of the file; otherwise: where neither it nor its class has one. */
static double config_number(const struct config *c, const char *key, double otherwise)
{
	const cJSON *item = config_get(c, key);

	if (item && !cJSON_IsNumber(item) && c->wrong && !*c->wrong)
		*c->wrong = key;
	if (item && cJSON_IsNumber(item))
		return item->valuedouble;
	if (c->defaults && !cJSON_HasObjectItem(c->file, key) && config_usual(c->defaults, key) > 0)
		return config_usual(c->defaults, key);
	return otherwise;
}

static bool config_flag(const struct config *c, const char *key, bool otherwise)
{
	const cJSON *item = config_get(c, key);

	return cJSON_IsBool(item) ? cJSON_IsTrue(item) : otherwise;
}

static const char *config_text(const struct config *c, const char *key)
{
	const cJSON *item = config_get(c, key);

	return cJSON_IsString(item) ? item->valuestring : "";
}

static bool config_is(const struct config *c, const char *type)
{
	return strcmp(c->kind->type, type) == 0;
}

/* What stands in the job beside "config" wins. */
static void put_number(struct config *c, const char *key, double value)
{
	if (!cJSON_HasObjectItem(c->model, key))
		cJSON_AddNumberToObject(c->model, key, value);
}

static void put_text(struct config *c, const char *key, const char *value)
{
	if (!cJSON_HasObjectItem(c->model, key))
		cJSON_AddStringToObject(c->model, key, value);
}

static void put_flag(struct config *c, const char *key, bool value)
{
	if (!cJSON_HasObjectItem(c->model, key))
		cJSON_AddBoolToObject(c->model, key, value);
}

static int config_find_kind(struct config *c, struct err *err)
{
	const char *type = config_text(c, "model_type");
	char known[CONFIG_SENTENCE_BYTES] = "", quoted[JSON_QUOTE_BYTES];

	for (unsigned i = 0; i < COUNT(config_kinds); i++) {
		size_t n = strlen(known);

		if (strcmp(type, config_kinds[i].type) == 0)
			c->kind = &config_kinds[i];
		snprintf(known + n, sizeof(known) - n, "%s%s", n ? ", " : "", config_kinds[i].type);
	}
	if (c->kind)
		return 0;
	if (!type[0])
		return err_set(err, -EINVAL,
			       "has no \"model_type\", so it is not the config.json of a published "
			       "model");
	return err_set(err, -EINVAL,
		       "/model_type: the tensors of %s are not known; known are %s. Give the "
		       "dimensions instead",
		       json_quote(quoted, type), known);
}

static int config_add_dimensions(struct config *c, struct err *err)
{
	static const char *const keys[][2] = {{"vocab_size", "vocabulary"},
					      {"hidden_size", "hidden"},
					      {"num_hidden_layers", "layers"},
					      {"num_attention_heads", "heads"},
					      {"intermediate_size", "feed_forward"}};
	const char *dense = config_is(c, "llama4_text") ? "intermediate_size_mlp" : NULL;

	for (unsigned i = 0; i < COUNT(keys); i++) {
		const char *key = dense && i + 1 == COUNT(keys) ? dense : keys[i][0];
		double value = config_number(c, key, 0);

		if (value < 1 && !cJSON_HasObjectItem(c->model, keys[i][1]))
			return err_set(err, -EINVAL, "/%s: is missing", key);
		put_number(c, keys[i][1], value);
	}
	return 0;
}

static void config_add_mla(struct config *c)
{
	put_text(c, "attention", "mla");
	put_number(c, "q_rank", config_number(c, "q_lora_rank", 0));
	put_number(c, "kv_rank", config_number(c, "kv_lora_rank", 0));
	put_number(c, "nope_dim", config_number(c, "qk_nope_head_dim", 0));
	put_number(c, "rope_dim", config_number(c, "qk_rope_head_dim", 0));
	put_number(c, "value_dim", config_number(c, "v_head_dim", 0));
	put_number(c, "index_heads", config_number(c, "index_n_heads", 0));
	put_number(c, "index_dim", config_number(c, "index_head_dim", 0));
}

static void config_add_attention(struct config *c)
{
	double heads = config_number(c, "num_attention_heads", 0);
	double shared = config_number(c, "num_key_value_heads", heads);
	bool biased = config_flag(c, "attention_bias", config_is(c, "gpt_oss"));
	const char *norm = c->kind->qk_norm, *biases = "none";

	if (c->kind->flags & MLA) {
		config_add_mla(c);
	} else {
		put_text(c, "attention", shared < heads ? "gqa" : "mha");
		put_number(c, "kv_heads", shared);
		put_number(c, "head_dim",
			   config_number(c, "head_dim", c->kind->flags & HEAD_128 ? 128 : 0));
	}
	if (c->kind->flags & QKV_BIAS || (biased && c->kind->flags & (O_UNBIASED | MLA)))
		biases = "qkv";
	else if (config_flag(c, "mlp_bias", false))
		biases = "all";
	else if (biased)
		biases = "attention";
	if (config_flag(c, "use_qk_norm", false))
		norm = config_is(c, "cohere") ? "all" : config_is(c, "glm4_moe") ? "head" : norm;
	put_text(c, "biases", biases);
	put_text(c, "qk_norm", norm);
}

static double config_experts(const struct config *c)
{
	static const char *const keys[] = {"n_routed_experts", "num_local_experts", "num_experts"};
	double experts = 0;

	for (unsigned i = 0; i < COUNT(keys) && experts < 1; i++)
		experts = config_number(c, keys[i], 0);
	return experts;
}

static int config_add_experts(struct config *c, struct err *err)
{
	double experts = config_experts(c), one = config_number(c, "moe_intermediate_size", 0);
	double shared, every = config_number(c, "decoder_sparse_step", 1);
	const cJSON *dense = config_get(c, "mlp_only_layers");

	if (experts < 1)
		return 0;
	if (cJSON_GetArraySize(dense))
		return err_set(
			err, -EINVAL,
			"/mlp_only_layers: single layers without experts cannot be described");
	if (c->kind->flags & EXPERTS_LIKE_DENSE)
		one = config_number(c, "intermediate_size", 0);
	shared = config_number(c, "shared_expert_intermediate_size",
			       config_number(c, "n_shared_experts", 0) * one);
	if (config_is(c, "llama4_text")) {
		shared = one;
		every = config_number(c, "interleave_moe_layer_step", 1);
	}
	put_number(c, "experts", experts);
	put_number(c, "expert_feed_forward", one);
	put_number(c, "shared_feed_forward", shared);
	put_number(c, "dense_layers", config_number(c, "first_k_dense_replace", 0));
	put_number(c, "expert_every", config_number(c, "moe_layer_freq", every));
	put_flag(c, "expert_bias", (c->kind->flags & EXPERT_BIAS) != 0);
	put_flag(c, "shared_gate", (c->kind->flags & SHARED_GATE) != 0);
	if (c->kind->flags & PREDICTS)
		put_number(c, "predict_layers", config_number(c, "num_nextn_predict_layers", 0));
	return 0;
}

/* Layers with a window, counted from a list of their kinds; -1: the file has none. */
static int config_listed_windows(const struct config *c, double *count, struct err *err)
{
	const cJSON *types = config_get(c, "layer_types"), *ropes, *item;

	*count = -1;
	if (cJSON_IsArray(types)) {
		*count = 0;
		cJSON_ArrayForEach(item, types)
		{
			const char *type = cJSON_IsString(item) ? item->valuestring : "";

			if (!strcmp(type, "sliding_attention") ||
			    !strcmp(type, "chunked_attention"))
				*count += 1;
			else if (strcmp(type, "full_attention") != 0)
				return err_set(
					err, -EINVAL,
					"/layer_types: layers with \"%.40s\" cannot be described",
					type);
		}
		return 0;
	}
	ropes = config_get(c, "no_rope_layers");
	if (config_is(c, "llama4_text") && cJSON_GetArraySize(ropes)) {
		*count = 0;
		cJSON_ArrayForEach(item, ropes) *count +=
			cJSON_IsNumber(item) && item->valuedouble > 0;
	}
	return 0;
}

/* As a whole number, however absurd the file is: what is beyond the limit is refused later, by the option that it goes into. */
static uint64_t config_whole(double value)
{
	const double most = (double)(UINT64_C(1) << 53);

	return value > 0 ? (uint64_t)(value < most ? value : most) : 0;
}

static double config_counted_windows(const struct config *c, double layers)
{
	uint64_t all = config_whole(layers), pattern = c->kind->pattern, without = all / 2;

	switch (c->kind->windows) {
	case WINDOWS_ALL:
		return layers;
	case WINDOWS_EVERY_SECOND:
		return (double)(all - without);
	case WINDOWS_PATTERN:
		pattern = config_whole(config_number(c, "sliding_window_pattern", (double)pattern));
		without = pattern ? all / pattern : all;
		return (double)(all - without);
	case WINDOWS_QWEN:
		if (!config_flag(c, "use_sliding_window", false))
			return 0;
		return (double)excess_u64(
			all, config_whole(config_number(c, "max_window_layers", layers)));
	default:
		return 0;
	}
}

static int config_add_windows(struct config *c, struct err *err)
{
	double layers = config_number(c, "num_hidden_layers", 0), count;
	double window = config_number(c, "sliding_window", 0);
	int rc = config_listed_windows(c, &count, err);

	if (rc < 0)
		return rc;
	if (config_is(c, "llama4_text")) {
		window = config_number(c, "attention_chunk_size", 0);
		if (count < 0) {
			uint64_t whole = config_whole(layers) / 4;

			count = layers - (double)whole;
		}
	}
	if (c->kind->windows == WINDOWS_QWEN && !config_flag(c, "use_sliding_window", false))
		window = 0;
	if (count < 0)
		count = config_counted_windows(c, layers);
	if (window < 1 || count < 1)
		return 0;
	put_number(c, "window_layers", count);
	put_number(c, "window", window);
	return 0;
}

/* Queries, keys, values and output, two matrices, two norms; all have biases. */
static double config_vision_layer(double hidden, double feed_forward)
{
	return 4 * (hidden * hidden + hidden) + 2 * hidden * feed_forward + hidden + feed_forward +
	       4 * hidden;
}

/* The tower of Gemma 3, which is SigLIP's, without a head; a norm behind it; its projector with a
 * norm. */
static void config_add_siglip(struct config *c, const struct config *v)
{
	double h = config_number(v, "hidden_size", 768), patch = config_number(v, "patch_size", 16);
	double side = floor(config_number(v, "image_size", 224) / patch);
	double layer = config_vision_layer(h, config_number(v, "intermediate_size", 3072));

	put_number(c, "other_parameters",
		   config_number(v, "num_hidden_layers", 12) * layer + 3 * patch * patch * h + h +
			   side * side * h + 2 * h + h * config_number(c, "hidden_size", 0) + h);
}

/* The vision tower of Llama 4, with its adapter and the projector, counted from "vision_config". */
static void config_add_vision(struct config *c, const cJSON *root)
{
	const struct config v = {.file = cJSON_GetObjectItemCaseSensitive(root, "vision_config")};
	double h = config_number(&v, "hidden_size", 0),
	       f = config_number(&v, "intermediate_size", 0);
	double patch = config_number(&v, "patch_size", 14), side, layer, outer, adapter;

	if (v.file && config_is(c, "gemma3_text"))
		config_add_siglip(c, &v);
	if (!v.file || !config_is(c, "llama4_text"))
		return;
	side = config_number(&v, "image_size", 336) / patch;
	layer = config_vision_layer(h, f);
	outer = 3 * patch * patch * h + h + (side * side + 1) * h + 4 * h;
	adapter = config_number(&v, "projector_input_dim", 4096) * f +
		  config_number(&v, "projector_input_dim", 4096) *
			  config_number(&v, "projector_output_dim", 4096) +
		  config_number(&v, "vision_output_dim", 4096) * config_number(c, "hidden_size", 0);
	put_number(c, "other_parameters",
		   config_number(&v, "num_hidden_layers", 0) * layer + outer + adapter);
}

static int config_add_types(struct config *c, const cJSON *root, struct err *err)
{
	static const char *const types[][2] = {
		{"bfloat16", "bf16"}, {"float16", "fp16"}, {"float32", "fp32"}};
	const cJSON *quantized = config_get(c, "quantization_config");
	const char *name = config_text(c, "dtype"), *type = NULL, *method;
	struct config outer = {.file = root};

	if (!name[0])
		name = config_text(c, "torch_dtype");
	if (!name[0])
		name = config_text(&outer, "torch_dtype");
	if (!name[0])
		name = config_text(&outer, "dtype");
	for (unsigned i = 0; i < COUNT(types); i++)
		if (strcmp(name, types[i][0]) == 0)
			type = types[i][1];
	if (name[0] && !type &&
	    !(cJSON_HasObjectItem(c->model, "type") && cJSON_HasObjectItem(c->model, "weights")))
		return err_set(
			err, -EINVAL,
			"/torch_dtype: \"%.40s\" is not known; known are bfloat16, float16 and "
			"float32",
			name);
	type = type ? type : "bf16";
	put_text(c, "type", type);
	if (!quantized)
		quantized = config_get(&outer, "quantization_config");
	outer.file = quantized;
	method = config_text(&outer, "quant_method");
	if (!quantized || config_is(c, "gpt_oss") || cJSON_HasObjectItem(c->model, "weights")) {
		put_text(c, "weights", type);
		return 0;
	}
	if (strcmp(method, "fp8") != 0 ||
	    !cJSON_GetArraySize(config_get(&outer, "weight_block_size")))
		return err_set(err, -EINVAL,
			       "/quantization_config: the tensors of \"%.40s\" are not known, only "
			       "those of \"fp8\" with a weight_block_size; give \"weights\"",
			       method);
	put_text(c, "weights", "fp8");
	put_text(c, "unscaled", type);
	put_number(c, "scale_block", config_get(&outer, "weight_block_size")->child->valuedouble);
	return 0;
}

/* What is beside the language model, and is not counted here. Only phases that have its tensors ask for
 * them. */
static void config_name_towers(struct config *c, const cJSON *root)
{
	static const char *const towers[] = {"vision_config", "audio_config"};

	if (cJSON_HasObjectItem(c->model, "other_parameters"))
		return;
	for (unsigned i = 0; i < COUNT(towers); i++)
		if (cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(root, towers[i])))
			put_text(c, "uncounted", towers[i]);
}

static int config_expand_root(cJSON *model, const cJSON *root, struct err *err)
{
	const char *wrong = NULL;
	struct config c = {.file = root, .model = model, .wrong = &wrong};
	int rc;

	if (!cJSON_IsObject(root))
		return err_set(err, -EINVAL, "must be an object");
	if (cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(root, "text_config")))
		c.file = cJSON_GetObjectItemCaseSensitive(root, "text_config");
	rc = config_find_kind(&c, err);
	for (size_t i = 0; rc == 0 && c.file != root && i < COUNT(config_defaults); i++)
		if (strcmp(c.kind->type, config_defaults[i].type) == 0)
			c.defaults = &config_defaults[i];
	if (rc == 0)
		rc = config_add_dimensions(&c, err);
	if (rc == 0)
		rc = config_add_types(&c, root, err);
	if (rc < 0)
		return rc;
	put_text(&c, "family", c.kind->family);
	put_text(&c, "tensors", c.kind->tensors);
	put_flag(&c, "tied",
		 config_flag(&c, "tie_word_embeddings",
			     config_flag(&(struct config){.file = root}, "tie_word_embeddings",
					 (c.kind->flags & TIED) != 0)));
	config_add_attention(&c);
	config_add_vision(&c, root);
	config_name_towers(&c, root);
	rc = config_add_experts(&c, err);
	if (rc == 0)
		rc = config_add_windows(&c, err);
	if (rc == 0 && wrong)
		rc = err_set(err, -EINVAL, "/%s: must be a number", wrong);
	return rc;
}

int model_config_expand(cJSON *model, const char *text, size_t length, struct err *err)
{
	cJSON *root;
	int rc = json_parse(&root, text, length, CONFIG_DEPTH, CONFIG_VALUES, err);

	if (rc < 0)
		return rc;
	rc = config_expand_root(model, root, err);
	cJSON_Delete(root);
	return rc;
}

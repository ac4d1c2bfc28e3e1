/* SPDX-License-Identifier: Apache-2.0 */
/* Models by the config.json with which they are published: bytes of their weights are those of the
 * published index, and bytes of keys and values those of a computation by hand. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/arena.h"
#include "tests/unit.h"
#include "tests/workloads/model/layers.h"
#include "workloads/model/config.h"
#include "workloads/model/kv_model.h"
#include "workloads/model/shard.h"

/* metadata.total_size of model.safetensors.index.json; of Llama-3.2-1B, which has one file, its
 * size without the header; of DeepSeek-V3 and Llama-4-Scout the parameters by number format that
 * the hub shows. 0: no published total was found. Bytes of one token, and of a sequence of
 * 10,000. */
/* clang-format off */
static const struct published {
	const char *name, *config;
	uint64_t weights, token, sequence;
} models[] = {
	{"Qwen3-32B",
	 "{\"model_type\": \"qwen3\", \"vocab_size\": 151936, \"hidden_size\": 5120, "
	 "\"intermediate_size\": 25600, \"num_hidden_layers\": 64, \"num_attention_heads\": "
	 "64, \"num_key_value_heads\": 8, \"head_dim\": 128, \"torch_dtype\": \"bfloat16\", "
	 "\"tie_word_embeddings\": false, \"use_sliding_window\": false, \"sliding_window\": "
	 "null, \"max_window_layers\": 64, \"attention_bias\": false}",
	 65524246528, 262144, 2621440000},
	{"Mistral-Nemo",
	 "{\"model_type\": \"mistral\", \"vocab_size\": 131072, \"hidden_size\": 5120, "
	 "\"intermediate_size\": 14336, \"num_hidden_layers\": 40, \"num_attention_heads\": "
	 "32, \"num_key_value_heads\": 8, \"head_dim\": 128, \"torch_dtype\": \"bfloat16\", "
	 "\"tie_word_embeddings\": false, \"sliding_window\": null}",
	 24495564800, 163840, 1638400000},
	{"Llama-3.2-1B",
	 "{\"model_type\": \"llama\", \"torch_dtype\": \"bfloat16\", \"tie_word_embeddings\": "
	 "true, \"vocab_size\": 128256, \"hidden_size\": 2048, \"intermediate_size\": 8192, "
	 "\"num_hidden_layers\": 16, \"num_attention_heads\": 32, \"num_key_value_heads\": 8, "
	 "\"head_dim\": 64}",
	 2471628800, 32768, 327680000},
	{"Llama-3.1-8B",
	 "{\"model_type\": \"llama\", \"torch_dtype\": \"bfloat16\", \"tie_word_embeddings\": "
	 "false, \"vocab_size\": 128256, \"hidden_size\": 4096, \"intermediate_size\": 14336, "
	 "\"num_hidden_layers\": 32, \"num_attention_heads\": 32, \"num_key_value_heads\": 8}",
	 16060522496, 131072, 1310720000},
	{"Llama-3.1-70B",
	 "{\"model_type\": \"llama\", \"torch_dtype\": \"bfloat16\", \"tie_word_embeddings\": "
	 "false, \"vocab_size\": 128256, \"hidden_size\": 8192, \"intermediate_size\": 28672, "
	 "\"num_hidden_layers\": 80, \"num_attention_heads\": 64, \"num_key_value_heads\": 8}",
	 141107412992, 327680, 3276800000},
	{"Mistral-7B",
	 "{\"model_type\": \"mistral\", \"vocab_size\": 32000, \"hidden_size\": 4096, "
	 "\"intermediate_size\": 14336, \"num_hidden_layers\": 32, \"num_attention_heads\": "
	 "32, \"num_key_value_heads\": 8, \"sliding_window\": 4096, \"torch_dtype\": "
	 "\"bfloat16\", \"tie_word_embeddings\": false}",
	 14483464192, 131072, 536870912},
	{"Phi-3-mini",
	 "{\"model_type\": \"phi3\", \"vocab_size\": 32064, \"hidden_size\": 3072, "
	 "\"intermediate_size\": 8192, \"num_hidden_layers\": 32, \"num_attention_heads\": 32, "
	 "\"num_key_value_heads\": 32, \"sliding_window\": 2047, \"torch_dtype\": "
	 "\"bfloat16\", \"tie_word_embeddings\": false, \"attention_bias\": false}",
	 7642159104, 393216, 804913152},
	{"Mixtral-8x7B",
	 "{\"model_type\": \"mixtral\", \"vocab_size\": 32000, \"hidden_size\": 4096, "
	 "\"intermediate_size\": 14336, \"num_hidden_layers\": 32, \"num_attention_heads\": "
	 "32, \"num_key_value_heads\": 8, \"num_local_experts\": 8, \"sliding_window\": null, "
	 "\"torch_dtype\": \"bfloat16\", \"tie_word_embeddings\": false}",
	 93405585408, 131072, 1310720000},
	{"DeepSeek-V3",
	 "{\"model_type\": \"deepseek_v3\", \"vocab_size\": 129280, \"hidden_size\": 7168, "
	 "\"intermediate_size\": 18432, \"moe_intermediate_size\": 2048, "
	 "\"num_hidden_layers\": 61, \"num_nextn_predict_layers\": 1, \"num_attention_heads\": "
	 "128, \"num_key_value_heads\": 128, \"n_shared_experts\": 1, \"n_routed_experts\": "
	 "256, \"kv_lora_rank\": 512, \"q_lora_rank\": 1536, \"qk_rope_head_dim\": 64, "
	 "\"v_head_dim\": 128, \"qk_nope_head_dim\": 128, \"first_k_dense_replace\": 3, "
	 "\"moe_layer_freq\": 1, \"tie_word_embeddings\": false, \"torch_dtype\": "
	 "\"bfloat16\", \"attention_bias\": false, \"quantization_config\": "
	 "{\"activation_scheme\": \"dynamic\", \"fmt\": \"e4m3\", \"quant_method\": \"fp8\", "
	 "\"weight_block_size\": [128, 128]}}",
	 688574839360, 70272, 702720000},
	{"DeepSeek-V2-Lite",
	 "{\"model_type\": \"deepseek_v2\", \"vocab_size\": 102400, \"hidden_size\": 2048, "
	 "\"intermediate_size\": 10944, \"moe_intermediate_size\": 1408, "
	 "\"num_hidden_layers\": 27, \"num_attention_heads\": 16, \"num_key_value_heads\": 16, "
	 "\"n_shared_experts\": 2, \"n_routed_experts\": 64, \"kv_lora_rank\": 512, "
	 "\"q_lora_rank\": null, \"qk_rope_head_dim\": 64, \"v_head_dim\": 128, "
	 "\"qk_nope_head_dim\": 128, \"first_k_dense_replace\": 1, \"moe_layer_freq\": 1, "
	 "\"tie_word_embeddings\": false, \"torch_dtype\": \"bfloat16\"}",
	 31412968448, 31104, 311040000},
	{"Qwen2.5-7B",
	 "{\"model_type\": \"qwen2\", \"vocab_size\": 152064, \"hidden_size\": 3584, "
	 "\"intermediate_size\": 18944, \"num_hidden_layers\": 28, \"num_attention_heads\": "
	 "28, \"num_key_value_heads\": 4, \"torch_dtype\": \"bfloat16\", "
	 "\"tie_word_embeddings\": false, \"use_sliding_window\": false, \"sliding_window\": "
	 "131072}",
	 15231233024, 57344, 573440000},
	{"Gemma-2-9b",
	 "{\"model_type\": \"gemma2\", \"vocab_size\": 256000, \"hidden_size\": 3584, "
	 "\"intermediate_size\": 14336, \"num_hidden_layers\": 42, \"num_attention_heads\": "
	 "16, \"num_key_value_heads\": 8, \"head_dim\": 256, \"torch_dtype\": \"bfloat16\", "
	 "\"sliding_window\": 4096}",
	 18483411968, 344064, 2424963072},
	{"Qwen3-30B-A3B",
	 "{\"model_type\": \"qwen3_moe\", \"vocab_size\": 151936, \"hidden_size\": 2048, "
	 "\"intermediate_size\": 6144, \"moe_intermediate_size\": 768, \"num_hidden_layers\": "
	 "48, \"num_attention_heads\": 32, \"num_key_value_heads\": 4, \"head_dim\": 128, "
	 "\"num_experts\": 128, \"decoder_sparse_step\": 1, \"mlp_only_layers\": [], "
	 "\"torch_dtype\": \"bfloat16\", \"tie_word_embeddings\": false, \"attention_bias\": "
	 "false}",
	 61064245248, 98304, 983040000},
	{"gpt-oss-20b",
	 "{\"model_type\": \"gpt_oss\", \"vocab_size\": 201088, \"hidden_size\": 2880, "
	 "\"intermediate_size\": 2880, \"num_hidden_layers\": 24, \"num_attention_heads\": 64, "
	 "\"num_key_value_heads\": 8, \"head_dim\": 64, \"num_local_experts\": 32, "
	 "\"attention_bias\": true, \"sliding_window\": 128, \"quantization_config\": "
	 "{\"quant_method\": \"mxfp4\"}, \"torch_dtype\": \"bfloat16\", "
	 "\"tie_word_embeddings\": false}",
	 13761264768, 49152, 248905728},
	{"Llama-4-Scout",
	 "{\"text_config\": {\"model_type\": \"llama4_text\", \"vocab_size\": 202048, "
	 "\"hidden_size\": 5120, \"intermediate_size\": 8192, \"intermediate_size_mlp\": "
	 "16384, \"num_hidden_layers\": 48, \"num_attention_heads\": 40, "
	 "\"num_key_value_heads\": 8, \"head_dim\": 128, \"num_local_experts\": 16, "
	 "\"interleave_moe_layer_step\": 1, \"attention_chunk_size\": 8192, "
	 "\"no_rope_layers\": [], \"tie_word_embeddings\": false}, \"torch_dtype\": "
	 "\"bfloat16\", \"model_type\": \"llama4\", \"vision_config\": {\"model_type\": "
	 "\"llama4_vision_model\", \"hidden_size\": 1408, \"num_hidden_layers\": 34, "
	 "\"num_attention_heads\": 16, \"intermediate_size\": 5632, \"image_size\": 336, "
	 "\"patch_size\": 14, \"projector_input_dim\": 4096, \"projector_output_dim\": 4096, "
	 "\"vision_output_dim\": 4096}}",
	 217283587072, 196608, 1699479552},
	{"GLM-4.5-Air",
	 "{\"model_type\": \"glm4_moe\", \"vocab_size\": 151552, \"hidden_size\": 4096, "
	 "\"intermediate_size\": 10944, \"moe_intermediate_size\": 1408, "
	 "\"num_hidden_layers\": 46, \"num_attention_heads\": 96, \"num_key_value_heads\": 8, "
	 "\"head_dim\": 128, \"n_routed_experts\": 128, \"n_shared_experts\": 1, "
	 "\"first_k_dense_replace\": 1, \"num_nextn_predict_layers\": 1, \"use_qk_norm\": "
	 "false, \"attention_bias\": true, \"torch_dtype\": \"bfloat16\", "
	 "\"tie_word_embeddings\": false}",
	 0, 188416, 1884160000},
	{"DeepSeek-V3.2",
	 "{\"model_type\": \"deepseek_v32\", \"vocab_size\": 129280, \"hidden_size\": 7168, "
	 "\"intermediate_size\": 18432, \"moe_intermediate_size\": 2048, "
	 "\"num_hidden_layers\": 61, \"num_nextn_predict_layers\": 1, \"num_attention_heads\": "
	 "128, \"num_key_value_heads\": 128, \"n_shared_experts\": 1, \"n_routed_experts\": "
	 "256, \"kv_lora_rank\": 512, \"q_lora_rank\": 1536, \"qk_rope_head_dim\": 64, "
	 "\"v_head_dim\": 128, \"qk_nope_head_dim\": 128, \"first_k_dense_replace\": 3, "
	 "\"moe_layer_freq\": 1, \"tie_word_embeddings\": false, \"torch_dtype\": "
	 "\"bfloat16\", \"attention_bias\": false, \"quantization_config\": "
	 "{\"activation_scheme\": \"dynamic\", \"fmt\": \"e4m3\", \"quant_method\": \"fp8\", "
	 "\"weight_block_size\": [128, 128]}, \"index_n_heads\": 64, \"index_head_dim\": 128, "
	 "\"index_topk\": 2048}",
	 0, 78324, 783240000},
	/* Families again with other dimensions: twice the parameters that their cards name. */
	{"TinyLlama-1.1B",
	 "{\"model_type\": \"llama\", \"vocab_size\": 32000, \"hidden_size\": 2048, \"intermediate_size\": 5632, \"num_hidden_layers\": 22, \"num_attention_heads\": 32, \"num_key_value_heads\": 4, \"tie_word_embeddings\": false, \"torch_dtype\": \"bfloat16\"}",
	 2200096768, 22528, 225280000},
	{"Gemma-2-2b",
	 "{\"model_type\": \"gemma2\", \"vocab_size\": 256000, \"hidden_size\": 2304, \"intermediate_size\": 9216, \"num_hidden_layers\": 26, \"num_attention_heads\": 8, \"num_key_value_heads\": 4, \"head_dim\": 256, \"sliding_window\": 4096, \"torch_dtype\": \"bfloat16\"}",
	 5228683776, 106496, 750583808},
	{"Qwen2.5-0.5B",
	 "{\"model_type\": \"qwen2\", \"vocab_size\": 151936, \"hidden_size\": 896, \"intermediate_size\": 4864, \"num_hidden_layers\": 24, \"num_attention_heads\": 14, \"num_key_value_heads\": 2, \"tie_word_embeddings\": true, \"use_sliding_window\": false, \"sliding_window\": 32768, \"torch_dtype\": \"bfloat16\"}",
	 988065536, 12288, 122880000},
	{"Phi-3-medium-4k",
	 "{\"model_type\": \"phi3\", \"vocab_size\": 32064, \"hidden_size\": 5120, \"intermediate_size\": 17920, \"num_hidden_layers\": 40, \"num_attention_heads\": 40, \"num_key_value_heads\": 10, \"sliding_window\": 2047, \"tie_word_embeddings\": false, \"torch_dtype\": \"bfloat16\"}",
	 27920476160, 204800, 419225600},
	{"Gemma-7b",
	 "{\"model_type\": \"gemma\", \"vocab_size\": 256000, \"hidden_size\": 3072, \"intermediate_size\": 24576, \"num_hidden_layers\": 28, \"num_attention_heads\": 16, \"num_key_value_heads\": 16, \"head_dim\": 256, \"torch_dtype\": \"bfloat16\"}",
	 17075361792, 458752, 4587520000},
	{"Qwen1.5-MoE-A2.7B",
	 "{\"model_type\": \"qwen2_moe\", \"vocab_size\": 151936, \"hidden_size\": 2048, \"intermediate_size\": 5632, \"moe_intermediate_size\": 1408, \"shared_expert_intermediate_size\": 5632, \"num_experts\": 60, \"decoder_sparse_step\": 1, \"num_hidden_layers\": 24, \"num_attention_heads\": 16, \"num_key_value_heads\": 16, \"tie_word_embeddings\": false, \"use_sliding_window\": false, \"sliding_window\": 32768, \"torch_dtype\": \"bfloat16\"}",
	 28631568384, 196608, 1966080000},
	{"Mixtral-8x22B",
	 "{\"model_type\": \"mixtral\", \"vocab_size\": 32000, \"hidden_size\": 6144, \"intermediate_size\": 16384, \"num_hidden_layers\": 56, \"num_attention_heads\": 48, \"num_key_value_heads\": 8, \"num_local_experts\": 8, \"sliding_window\": null, \"tie_word_embeddings\": false, \"torch_dtype\": \"bfloat16\"}",
	 281241268224, 229376, 2293760000},
	/* A model within another: what the file leaves out is as in the class. The totals are those of the
	 * published index files. */
	{"Gemma-3-27b-it",
	 "{\"model_type\": \"gemma3\", \"text_config\": {\"hidden_size\": 5376, \"intermediate_size\": 21504, \"model_type\": \"gemma3_text\", \"num_attention_heads\": 32, \"num_hidden_layers\": 62, \"num_key_value_heads\": 16, \"head_dim\": 128, \"sliding_window\": 1024}, \"torch_dtype\": \"bfloat16\", \"vision_config\": {\"hidden_size\": 1152, \"image_size\": 896, \"intermediate_size\": 4304, \"model_type\": \"siglip_vision_model\", \"num_attention_heads\": 16, \"num_hidden_layers\": 27, \"patch_size\": 14, \"vision_use_head\": false}}",
	 54864813280, 507904, 1255407616},
	{"Gemma-3-4b-it",
	 "{\"model_type\": \"gemma3\", \"text_config\": {\"hidden_size\": 2560, \"intermediate_size\": 10240, \"model_type\": \"gemma3_text\", \"num_hidden_layers\": 34, \"sliding_window\": 1024}, \"torch_dtype\": \"bfloat16\", \"vision_config\": {\"hidden_size\": 1152, \"image_size\": 896, \"intermediate_size\": 4304, \"model_type\": \"siglip_vision_model\", \"num_attention_heads\": 16, \"num_hidden_layers\": 27, \"patch_size\": 14, \"vision_use_head\": false}}",
	 8600158944, 139264, 326434816},
	{"OLMo-2-7B",
	 "{\"model_type\": \"olmo2\", \"vocab_size\": 100352, \"hidden_size\": 4096, \"intermediate_size\": 11008, \"num_hidden_layers\": 32, \"num_attention_heads\": 32, \"num_key_value_heads\": 32, \"tie_word_embeddings\": false, \"torch_dtype\": \"bfloat16\"}",
	 14597234688, 524288, 5242880000},
};
/* clang-format on */

static int config_read(struct model *m, const char *beside, const char *config, struct err *err)
{
	const struct option *const tables[] = {model_options, NULL};
	struct arena arena = {0};
	cJSON *object = cJSON_Parse(beside);
	int rc;

	CU_ASSERT_PTR_NOT_NULL_FATAL(object);
	rc = model_config_expand(object, config, strlen(config), err);
	if (rc == 0)
		rc = options_parse(tables, m, object, "/model", &arena, err);
	cJSON_Delete(object);
	arena_free(&arena);
	return rc;
}

static void test_published_totals(void)
{
	static const struct mesh one = {1, 1, 1, 0, 0, 0}, eight = {8, 1, 1, 0, 0, 0},
				 stages = {1, 4, 1, 0, 0, 0};

	for (unsigned i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		const struct published *p = &models[i];
		uint64_t weights, optimizer;
		struct err err = {0};
		struct model m;

		CU_ASSERT_EQUAL_FATAL(config_read(&m, "{}", p->config, &err), 0);
		CU_ASSERT_EQUAL(model_check(&m, "/model", &err), 0);
		CU_ASSERT_STRING_EQUAL(err.text, "");
		CU_ASSERT(!p->weights || model_weight_bytes(&m) == p->weights);
		layers_totals(&m, &one, &weights, &optimizer);
		CU_ASSERT_EQUAL(weights, model_weight_bytes(&m));
		layers_totals(&m, &stages, &weights, &optimizer);
		CU_ASSERT_EQUAL(weights, model_weight_bytes(&m));
		layers_totals(&m, &eight, &weights, &optimizer);
		CU_ASSERT(weights >= model_weight_bytes(&m) / 8 * 8);
		CU_ASSERT_EQUAL(kv_model_check(&m, "/model", &err), 0);
		CU_ASSERT_EQUAL(kv_model_token_bytes(&m), p->token);
		CU_ASSERT_EQUAL(kv_model_bytes(&m, 10000), p->sequence);
	}
}

/* Each tensor once, by its published name; numbers of tensors agree with layers; kinds find
 * room. */
static void test_tensors(void)
{
	for (unsigned i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		static const struct mesh one = {1, 1, 1, 0, 0, 0};
		uint64_t number = 0, bytes = 0, kinds = 0, layer;
		struct err err = {0};
		struct tensors_layout l;
		struct tensor t;
		struct model m;

		CU_ASSERT_EQUAL_FATAL(config_read(&m, "{}", models[i].config, &err), 0);
		for (layer = 0; layer < model_layer_count(&m); layer++) {
			CU_ASSERT_EQUAL_FATAL(shard_tensors_before(&m, layer), number);
			for (uint64_t k = 0; k < layers_tensors(&m, layer); k++) {
				uint64_t at, in_layer;

				shard_tensor_at(&m, number++, &at, &in_layer);
				CU_ASSERT_FATAL(at == layer && in_layer == k);
				shard_layer_tensor(&m, &one, layer, k, &t);
				CU_ASSERT_NOT_EQUAL_FATAL(t.bytes, 0);
				bytes += t.bytes;
			}
		}
		CU_ASSERT_EQUAL(bytes, model_weight_bytes(&m));
		for (unsigned c = 0; c < TENSORS_CLASSES; c++)
			if (tensors_class_layers(&m, c, model_layer_count(&m))) {
				tensors_layout(&m, c, &l);
				kinds += l.count;
			}
		CU_ASSERT(kinds <= TENSOR_KINDS_MAX);
	}
}

static void check_name(const char *model, uint64_t layer, uint64_t i, const char *name)
{
	static const struct mesh one = {1, 1, 1, 0, 0, 0};
	struct err err = {0};
	struct tensor t;
	struct model m;

	for (unsigned k = 0; k < sizeof(models) / sizeof(models[0]); k++)
		if (strcmp(models[k].name, model) == 0)
			CU_ASSERT_EQUAL_FATAL(config_read(&m, "{}", models[k].config, &err), 0);
	shard_layer_tensor(&m, &one, layer, i, &t);
	CU_ASSERT_STRING_EQUAL(t.name, name);
}

static void test_names(void)
{
	check_name("Qwen3-32B", 0, 0, "model.embed_tokens.weight");
	check_name("Qwen3-32B", 64, 1, "model.layers.63.self_attn.q_proj.weight");
	check_name("Qwen3-32B", 65, 0, "lm_head.weight");
	check_name("Qwen3-32B", 66, 0, "model.norm.weight");
	check_name("Llama-3.2-1B", 17, 0, "model.norm.weight");
	check_name("Phi-3-mini", 1, 1, "model.layers.0.self_attn.qkv_proj.weight");
	check_name("Mixtral-8x7B", 1, 7 + 3 * 7,
		   "model.layers.0.block_sparse_moe.experts.7.w1.weight");
	check_name("DeepSeek-V3", 4, 2, "model.layers.3.self_attn.q_a_proj.weight_scale_inv");
	check_name("DeepSeek-V3", 62, 0, "model.layers.61.embed_tokens.weight");
	check_name("Llama-4-Scout", 1, 0, "language_model.model.layers.0.input_layernorm.weight");
}

static void test_what_stands_beside_it_wins(void)
{
	struct err err = {0};
	struct model m;

	CU_ASSERT_EQUAL_FATAL(
		config_read(&m, "{\"layers\": 2, \"type\": \"fp8\", \"weights\": \"fp32\"}",
			    models[0].config, &err),
		0);
	CU_ASSERT(m.layers == 2 && m.type == MODEL_FP8 && m.weights == MODEL_FP32);
	CU_ASSERT(m.hidden == 5120 && m.head_dim == 128);
}

static void test_refusals(void)
{
	static const struct {
		const char *config, *sentence;
	} rows[] = {
		{"{\"a\": 1}", "has no \"model_type\""},
		{"[]", "must be an object"},
		{"{", "line 1"},
		{"{\"model_type\": \"rwkv\"}",
		 "/model_type: the tensors of \"rwkv\" are not known"},
		{"{\"model_type\": \"llama\", \"vocab_size\": 4}", "/hidden_size: is missing"},
		{"{\"model_type\": \"llama\", \"vocab_size\": 4, \"hidden_size\": 4, \"intermediate_size\": "
		 "4, \"num_hidden_layers\": 4, \"num_attention_heads\": 4, \"quantization_config\": "
		 "{\"quant_method\": \"awq\"}}",
		 "/quantization_config: the tensors of \"awq\" are not known"},
		{"{\"model_type\": \"llama\", \"vocab_size\": 4, \"hidden_size\": 4, \"intermediate_size\": 4, \"num_hidden_layers\": 4, \"num_attention_heads\": 4, \"torch_dtype\": \"float8_e4m3fn\"}",
		 "/torch_dtype: \"float8_e4m3fn\" is not known"},
		{"{\"model_type\": \"llama\", \"vocab_size\": 4, \"hidden_size\": 4, \"intermediate_size\": 4, \"num_hidden_layers\": 4, \"num_attention_heads\": 4, \"num_key_value_heads\": \"2\"}",
		 "/num_key_value_heads: must be a number"},
		{"{\"model_type\": \"gpt_neox\", \"vocab_size\": 50432, \"hidden_size\": 6144, \"intermediate_size\": 24576, \"num_hidden_layers\": 44, \"num_attention_heads\": 64}",
		 "/model_type: the tensors of \"gpt_neox\" are not known"},
		{"{\"model_type\": \"falcon\", \"vocab_size\": 65024, \"hidden_size\": 4544, \"num_hidden_layers\": 32, \"num_attention_heads\": 71}",
		 "/model_type: the tensors of \"falcon\" are not known"},
		{"{\"model_type\": \"phi\", \"vocab_size\": 51200, \"hidden_size\": 2560, \"intermediate_size\": 10240, \"num_hidden_layers\": 32, \"num_attention_heads\": 32}",
		 "/model_type: the tensors of \"phi\" are not known"},
		{"{\"model_type\": \"phimoe\", \"vocab_size\": 32064, \"hidden_size\": 4096, \"intermediate_size\": 6400, \"num_hidden_layers\": 32, \"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"num_local_experts\": 16}",
		 "/model_type: the tensors of \"phimoe\" are not known"},
		{"{\"model_type\": \"starcoder2\", \"vocab_size\": 49152, \"hidden_size\": 4608, \"intermediate_size\": 18432, \"num_hidden_layers\": 32, \"num_attention_heads\": 36, \"num_key_value_heads\": 4}",
		 "/model_type: the tensors of \"starcoder2\" are not known"},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err = {0};
		struct model m;

		CU_ASSERT_EQUAL(config_read(&m, "{}", rows[i].config, &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, rows[i].sentence));
	}
}

/* A part whose tensors are not known stands in the way of phases that have tensors, and of no cache. */
static void test_unknown_part(void)
{
	static const char config[] =
		"{\"text_config\": {\"model_type\": \"llama\", \"vocab_size\": 32064}, "
		"\"audio_config\": {\"hidden_size\": 4}}";
	struct err err = {0};
	struct model m;

	CU_ASSERT_EQUAL_FATAL(config_read(&m, "{}", config, &err), 0);
	CU_ASSERT(m.vocabulary == 32064 && m.hidden == 4096 && m.kv_heads == 32);
	CU_ASSERT_EQUAL(kv_model_check(&m, "/model", &err), 0);
	CU_ASSERT_EQUAL(model_check(&m, "/model", &err), -EINVAL);
	CU_ASSERT_STRING_EQUAL(
		err.text,
		"/model/uncounted: the tensors of audio_config are not known; give their number as "
		"\"other_parameters\", or 0 to leave them out");
	CU_ASSERT_EQUAL_FATAL(config_read(&m, "{\"other_parameters\": 0}", config, &err), 0);
	CU_ASSERT_EQUAL(model_check(&m, "/model", &err), 0);
}

/* Dimensions that do not divide evenly, in the two uses alike. */
static void test_divisibility(void)
{
	static const struct {
		const char *json, *sentence;
	} rows[] = {
		{"{\"heads\": 96}", "hidden 5120 / heads 96 is no whole number"},
		{"{\"heads\": 96, \"head_dim\": 128, \"kv_heads\": 7}",
		 "96 heads do not divide evenly among 7"},
		{"{\"kv_heads\": 65}", "must be at most heads = 64"},
		{"{\"q_rank\": 7}", "/model/q_rank: only a model with the attention \"mla\""},
		{"{\"attention\": \"mla\"}", "/model/kv_rank: is missing"},
	};
	static const char plain[] =
		"{\"model_type\": \"llama\", \"vocab_size\": 100, \"hidden_size\": 5120, "
		"\"intermediate_size\": 64, \"num_hidden_layers\": 4, \"num_attention_heads\": 64, "
		"\"num_key_value_heads\": 8}";

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err = {0}, other = {0};
		struct model m;

		CU_ASSERT_EQUAL_FATAL(config_read(&m, rows[i].json, plain, &err), 0);
		if (m.attention == MODEL_MLA)
			m.nope_dim = m.rope_dim = m.value_dim = 1;
		CU_ASSERT_EQUAL(model_check(&m, "/model", &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, rows[i].sentence));
		CU_ASSERT_EQUAL(kv_model_check(&m, "/model", &other), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(other.text, rows[i].sentence));
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"published totals", test_published_totals},
		{"tensors", test_tensors},
		{"names", test_names},
		{"what stands beside it wins", test_what_stands_beside_it_wins},
		{"refusals", test_refusals},
		{"an unknown part", test_unknown_part},
		{"divisibility", test_divisibility},
		CU_TEST_INFO_NULL,
	};

	return unit_main("config", tests);
}

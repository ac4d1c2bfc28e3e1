/* SPDX-License-Identifier: Apache-2.0 */
/* Key-value caches as numbers: the models of MLPerf's benchmark, every kind of attention, number
 * formats, and the parts of tensor ranks. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/arena.h"
#include "tests/unit.h"
#include "workloads/model/kv_model.h"

static int kv_model_read(struct model *m, const char *json, struct err *err)
{
	const struct option *const tables[] = {model_options, NULL};
	struct arena arena = {0};
	cJSON *object = cJSON_Parse(json);
	int rc;

	CU_ASSERT_PTR_NOT_NULL_FATAL(object);
	rc = options_parse(tables, m, object, "/model", &arena, err);
	if (rc == 0)
		rc = kv_model_check(m, "/model", err);
	cJSON_Delete(object);
	arena_free(&arena);
	return rc;
}

/* Bytes of one sequence that one rank of a tensor group holds. */
static uint64_t shard_bytes(const struct model *m, uint64_t tokens, uint64_t tensor, uint64_t rank)
{
	return kv_model_shard_of(m, kv_model_shard_most(m, tokens, tensor), 1, tensor, rank);
}

static void kv_model_make(struct model *m, const char *json)
{
	struct err err = {0};

	CU_ASSERT_EQUAL_FATAL(kv_model_read(m, json, &err), 0);
}

/* The nine models: bytes per token, MiB of 4,096 tokens, and KiB per layer of 16 and 256 tokens. */
static void test_known_models(void)
{
	static const struct {
		const char *name;
		uint64_t token, mib_4096, layer_16, layer_256;
	} rows[] = {
		{"tiny-1b", 24576, 96, 32, 512},
		{"mistral-7b", 131072, 512, 64, 1024},
		{"llama2-7b", 524288, 2048, 256, 4096},
		{"llama3.1-8b", 131072, 512, 64, 1024},
		{"llama3.1-70b-instruct", 327680, 1280, 64, 1024},
		{"qwen3-32b", 262144, 1024, 64, 1024},
		{"gpt-oss-120b", 73728, 288, 32, 512},
		{"gpt-oss-20b", 49152, 192, 32, 512},
	};
	struct model m;
	char json[96];

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		/* MLPerf's benchmark counts layers with a window as full attention. */
		snprintf(json, sizeof(json),
			 "{\"name\": \"%s\", \"window_layers\": 0, \"window\": 0}", rows[i].name);
		kv_model_make(&m, json);
		CU_ASSERT_EQUAL(kv_model_token_bytes(&m), rows[i].token);
		CU_ASSERT_EQUAL(kv_model_bytes(&m, 4096), rows[i].mib_4096 << 20);
		CU_ASSERT_EQUAL(kv_model_bytes(&m, 16), rows[i].layer_16 * m.layers << 10);
		CU_ASSERT_EQUAL(kv_model_bytes(&m, 256), rows[i].layer_256 * m.layers << 10);
		for (uint64_t tensor = 1; tensor <= 8; tensor *= 2) {
			CU_ASSERT_EQUAL(kv_model_even_bytes(&m, 1000, tensor),
					rows[i].token * 1000 / tensor);
			for (uint64_t r = 0; r < tensor && tensor <= m.kv_heads; r++) {
				CU_ASSERT_EQUAL(shard_bytes(&m, 1000, tensor, r),
						rows[i].token * 1000 / tensor);
				CU_ASSERT_TRUE(kv_model_shard_writes(&m, tensor, r));
			}
		}
	}
}

static void test_mla(void)
{
	struct model m;

	kv_model_make(&m, "{\"name\": \"deepseek-v3\"}");
	CU_ASSERT_EQUAL(kv_model_token_bytes(&m), 70272);
	CU_ASSERT_EQUAL(kv_model_bytes(&m, 4096), 70272ull * 4096);
	CU_ASSERT_EQUAL(kv_model_bytes(&m, 256), 61ull * 288 << 10);
	for (uint64_t tensor = 1; tensor <= 8; tensor *= 2) {
		/* MLPerf divides it; real engines hold all of it in every rank, and write it
		 * once. */
		CU_ASSERT_EQUAL(kv_model_even_bytes(&m, 4096, tensor), 70272ull * 4096 / tensor);
		for (uint64_t r = 0; r < tensor; r++) {
			CU_ASSERT_EQUAL(shard_bytes(&m, 4096, tensor, r), 70272ull * 4096);
			CU_ASSERT_EQUAL(kv_model_shard_writes(&m, tensor, r), r == 0);
		}
	}
	/* The floor of a division that leaves a remainder. */
	CU_ASSERT_EQUAL(kv_model_even_bytes(&m, 1, 7), 70272 / 7);
}

static void test_types(void)
{
	static const struct {
		const char *type;
		uint64_t bytes; /* of 3 tokens */
	} rows[] = {
		{"fp64", 2 * 3 * 5 * 8}, {"fp32", 2 * 3 * 5 * 4}, {"fp16", 2 * 3 * 5 * 2},
		{"bf16", 2 * 3 * 5 * 2}, {"fp8", 2 * 3 * 5},      {"int8", 2 * 3 * 5},
		{"int4", 2 * 3 * 5 / 2},
	};
	struct model m;
	char json[128];

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(json, sizeof(json),
			 "{\"layers\": 1, \"kv_heads\": 1, \"head_dim\": 5, \"type\": \"%s\"}",
			 rows[i].type);
		kv_model_make(&m, json);
		CU_ASSERT_EQUAL(kv_model_bytes(&m, 3), rows[i].bytes);
	}
	/* Half a byte is rounded up. */
	kv_model_make(&m, "{\"layers\": 1, \"attention\": \"mla\", \"kv_rank\": 5, "
			  "\"type\": \"int4\"}");
	CU_ASSERT_EQUAL(kv_model_bytes(&m, 3), 8);
	CU_ASSERT_EQUAL(kv_model_token_bytes(&m), 3);
}

/* As gpt-oss really is: every second layer keeps the last 128 tokens. And a hybrid of Mamba and
 * attention. */
static void test_hybrid(void)
{
	struct model m;

	kv_model_make(&m, "{\"name\": \"gpt-oss-20b\"}");
	CU_ASSERT_EQUAL(m.window_layers, 12);
	CU_ASSERT_EQUAL(m.window, 128);
	CU_ASSERT_EQUAL(kv_model_further_bytes(&m), 24576);
	CU_ASSERT_EQUAL(kv_model_token_bytes(&m), 49152);
	CU_ASSERT_EQUAL(kv_model_bytes(&m, 100), 49152 * 100);
	CU_ASSERT_EQUAL(kv_model_bytes(&m, 128), 49152 * 128);
	CU_ASSERT_EQUAL(kv_model_bytes(&m, 1128), 49152 * 128 + 24576 * 1000);
	CU_ASSERT_EQUAL(shard_bytes(&m, 1128, 4, 3), (49152 * 128 + 24576 * 1000) / 4);

	kv_model_make(&m, "{\"layers\": 32, \"heads\": 32, \"hidden\": 4096, \"kv_heads\": 8, "
			  "\"state_layers\": 28, \"state_bytes\": \"1 MiB\"}");
	CU_ASSERT_EQUAL(m.head_dim, 128);
	CU_ASSERT_EQUAL(kv_model_token_bytes(&m), 4 * 4096);
	CU_ASSERT_EQUAL(kv_model_bytes(&m, 0), 28 << 20);
	CU_ASSERT_EQUAL(kv_model_bytes(&m, 1000), (28 << 20) + 4 * 4096 * 1000);
	CU_ASSERT_EQUAL(shard_bytes(&m, 1000, 4, 0), (7 << 20) + 4096 * 1000);
}

/* The heads of all ranks: each is held, and written by exactly one rank. */
static void test_shards(void)
{
	for (uint64_t heads = 1; heads <= 16; heads++)
		for (uint64_t tensor = 1; tensor <= 32; tensor++) {
			struct model m = {.attention = MODEL_GQA,
					  .type = MODEL_INT8,
					  .layers = 1,
					  .kv_heads = heads,
					  .head_dim = 1};
			uint64_t written = 0, least = UINT64_MAX, most = 0, writer = 0;

			for (uint64_t r = 0; r < tensor; r++) {
				uint64_t bytes = shard_bytes(&m, 1, tensor, r);

				if (kv_model_shard_writes(&m, tensor, r)) {
					written += bytes;
					writer = r;
				}
				CU_ASSERT_EQUAL(kv_model_shard_writer(&m, tensor, r), writer);
				least = bytes < least ? bytes : least;
				most = bytes > most ? bytes : most;
			}
			CU_ASSERT_EQUAL(written, kv_model_bytes(&m, 1));
			CU_ASSERT_EQUAL(least, tensor <= heads ? heads / tensor * 2 : 2);
			CU_ASSERT_EQUAL(most,
					tensor <= heads ? (heads + tensor - 1) / tensor * 2 : 2);
			CU_ASSERT_EQUAL(most, kv_model_shard_most(&m, 1, tensor));
		}
}

/* The shards of a rank, from the sum of the largest ones, also of layers with windows and
 * states. */
static void test_shard_of(void)
{
	struct model m = {.attention = MODEL_GQA,
			  .type = MODEL_INT4,
			  .layers = 7,
			  .kv_heads = 8,
			  .head_dim = 3,
			  .window_layers = 2,
			  .window = 100,
			  .state_layers = 1,
			  .state_bytes = 1001};

	for (int mla = 0; mla < 2; mla++) {
		for (uint64_t tensor = 1; tensor <= 12; tensor++)
			for (uint64_t r = 0; r < tensor; r++) {
				uint64_t most = kv_model_shard_most(&m, 5, tensor) +
						kv_model_shard_most(&m, 700, tensor);

				CU_ASSERT_EQUAL(kv_model_shard_of(&m, most, 2, tensor, r),
						shard_bytes(&m, 5, tensor, r) +
							shard_bytes(&m, 700, tensor, r));
			}
		m = (struct model){.attention = MODEL_MLA,
				   .type = MODEL_FP16,
				   .layers = 3,
				   .kv_rank = 5,
				   .rope_dim = 1};
	}
}

static void test_refused(void)
{
	static const struct {
		const char *json, *sentence;
	} rows[] = {
		{"{}", "/model/layers: is missing"},
		{"{\"layers\": 4}", "/model/kv_heads: is missing"},
		{"{\"layers\": 4, \"kv_heads\": 2}", "/model/head_dim: is missing"},
		{"{\"layers\": 4, \"attention\": \"mla\"}", "/model/kv_rank: is missing"},
		{"{\"name\": \"deepseek-v3\", \"kv_heads\": 8}", "/model/kv_heads: a model with"},
		{"{\"name\": \"tiny-1b\", \"kv_rank\": 8}", "/model/kv_rank: only a model"},
		{"{\"name\": \"llama2-7b\", \"kv_heads\": 8}", "/model/kv_heads: \"mha\" has"},
		{"{\"name\": \"tiny-1b\", \"kv_heads\": 9}", "/model/kv_heads: must be at most"},
		{"{\"name\": \"tiny-1b\", \"window\": 9}", "/model/window_layers: is missing"},
		{"{\"name\": \"tiny-1b\", \"window_layers\": 9}", "/model/window: is missing"},
		{"{\"name\": \"tiny-1b\", \"state_layers\": 9}", "/model/state_bytes: is missing"},
		{"{\"name\": \"tiny-1b\", \"window\": 9, \"window_layers\": 13}",
		 "/model/window_layers: there are only 12"},
		{"{\"layers\": 65536, \"kv_heads\": 65536, \"head_dim\": 65536}",
		 "/model: a token has more than 1 GiB"},
		{"{\"name\": \"tiny-1b\", \"state_layers\": 2, \"state_bytes\": 1099511627776}",
		 "/model/state_bytes: a sequence"},
		{"{\"name\": \"tiny-2b\"}", "tiny-1b"},
	};
	struct model m;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err = {0};

		CU_ASSERT_EQUAL(kv_model_read(&m, rows[i].json, &err), -EINVAL);
		if (!strstr(err.text, rows[i].sentence))
			CU_FAIL(rows[i].sentence);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"known models", test_known_models},
		{"mla", test_mla},
		{"number formats", test_types},
		{"hybrid models", test_hybrid},
		{"shards", test_shards},
		{"shards of several sequences", test_shard_of},
		{"refused", test_refused},
		CU_TEST_INFO_NULL,
	};

	return unit_main("kv_model", tests);
}

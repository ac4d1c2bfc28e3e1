/* SPDX-License-Identifier: Apache-2.0 */
/* Models as numbers: MLPerf Storage's table of checkpoints, DLIO's llamas, and shapes that do not
 * divide evenly. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/arena.h"
#include "tests/unit.h"
#include "tests/workloads/model/layers.h"
#include "workloads/model/shard.h"

static void model_read(struct model *m, const char *json)
{
	const struct option *const tables[] = {model_options, NULL};
	struct arena arena = {0};
	struct err err = {0};
	cJSON *object = cJSON_Parse(json);

	CU_ASSERT_PTR_NOT_NULL_FATAL(object);
	CU_ASSERT_EQUAL_FATAL(options_parse(tables, m, object, "/model", &arena, &err), 0);
	cJSON_Delete(object);
	arena_free(&arena);
}

static void test_mlperfs_table(void)
{
	static const struct {
		const char *name;
		struct mesh mesh;
		uint64_t parameters, total;
	} rows[] = {
		{"llama3_8b", {1, 1, 8, 3, 0, 0}, 8030261248, 112425623552},
		{"llama3_70b", {8, 1, 8, 3, 0, 0}, 69882617856, 978406572032},
		{"llama3_405b", {8, 32, 2, 1, 0, 0}, 405853388800, 5682508791808},
		{"llama3_1t", {8, 64, 2, 1, 0, 0}, 1183035102480, 16564174094592},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t weights, optimizer, sum_weights = 0, sum_optimizer = 0;
		struct mesh_place p;
		struct model m;
		char json[64];

		snprintf(json, sizeof(json), "{\"name\": \"%s\"}", rows[i].name);
		model_read(&m, json);
		CU_ASSERT_EQUAL(model_parameters(&m), rows[i].parameters);
		layers_totals(&m, &rows[i].mesh, &weights, &optimizer);
		CU_ASSERT_EQUAL(weights + optimizer, rows[i].total);
		for (uint64_t r = 0; r < mesh_ranks(&rows[i].mesh); r++) {
			mesh_at(&rows[i].mesh, r, &p);
			sum_weights += shard_weight_bytes(&m, &rows[i].mesh, &p);
			sum_optimizer += shard_optimizer_bytes(&m, &rows[i].mesh, &p);
		}
		CU_ASSERT_EQUAL(sum_weights, weights);
		CU_ASSERT_EQUAL(sum_optimizer, optimizer);
	}
}

/* Single layers of the facts: embedding, a transformer layer, the last norm. */
static void test_layers(void)
{
	static const struct mesh mesh_405b = {8, 32, 2, 1, 0, 0}, mesh_1t = {8, 64, 2, 1, 0, 0};
	struct model m;

	model_read(&m, "{\"name\": \"llama3_405b\"}");
	CU_ASSERT_EQUAL(layers_bytes(&m, &mesh_405b, 0), 525336576);
	CU_ASSERT_EQUAL(layers_bytes(&m, &mesh_405b, 1), 796983296);
	CU_ASSERT_EQUAL(layers_bytes(&m, &mesh_405b, m.layers + 2), 32768);
	model_read(&m, "{\"name\": \"llama3_1t\"}");
	CU_ASSERT_EQUAL(layers_bytes(&m, &mesh_1t, 0), 829559808);
	CU_ASSERT_EQUAL(layers_bytes(&m, &mesh_1t, 7), 2297744064);
	CU_ASSERT_EQUAL(layers_bytes(&m, &mesh_1t, m.layers + 2), 51744);
}

/* Every layer is in exactly one stage, whatever the numbers. */
static void test_stages(void)
{
	struct model m = {.layers = 7,
			  .hidden = 8,
			  .heads = 2,
			  .kv_heads = 1,
			  .feed_forward = 3,
			  .vocabulary = 5};

	for (m.layers = 1; m.layers < 40; m.layers++)
		for (uint64_t stages = 1; stages <= m.layers; stages++) {
			struct mesh mesh = {1, stages, 1, 1, 0, 0};
			uint64_t next = 0, first, end;

			for (uint64_t p = 0; p < stages; p++) {
				shard_layers(&m, &mesh, p, &first, &end);
				CU_ASSERT_EQUAL_FATAL(first, next);
				CU_ASSERT_FATAL(end > first);
				for (next = first; next < end; next++)
					CU_ASSERT_EQUAL(shard_layer_stage(&m, &mesh, next), p);
			}
			CU_ASSERT_EQUAL(next, model_layer_count(&m));
		}
	/* 7 layers on 3 stages: 3, 2, 2. */
	m.layers = 7;
	{
		struct mesh mesh = {1, 3, 1, 1, 0, 0};
		uint64_t first, end;

		shard_layers(&m, &mesh, 0, &first, &end);
		CU_ASSERT(first == 0 && end == 4);
		shard_layers(&m, &mesh, 1, &first, &end);
		CU_ASSERT(first == 4 && end == 6);
		shard_layers(&m, &mesh, 2, &first, &end);
		CU_ASSERT(first == 6 && end == 10);
	}
}

/* The numbers of the tensors count them layer by layer. */
static void test_tensor_numbers(void)
{
	static const struct model shapes[] = {{.layers = 1}, {.layers = 7}, {.bytes = 100}};

	for (unsigned s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
		const struct model *m = &shapes[s];
		uint64_t number = 0, at;
		uint64_t in_layer;

		for (uint64_t layer = 0; layer < model_layer_count(m); layer++) {
			CU_ASSERT_EQUAL(shard_tensors_before(m, layer), number);
			for (uint32_t i = 0; i < layers_tensors(m, layer); i++) {
				shard_tensor_at(m, number++, &at, &in_layer);
				CU_ASSERT(at == layer && in_layer == i);
			}
		}
		CU_ASSERT_EQUAL(shard_tensors_before(m, model_layer_count(m)), number);
	}
}

/* What does not divide evenly is cut as DLIO cuts it: whole numbers of elements, in its order. */
static void test_padding(void)
{
	/* hidden 10 is not divisible by 4 heads: a head is 2; more tensor ranks than key-value
	 * heads. */
	struct model m = {.layers = 2,
			  .hidden = 10,
			  .heads = 4,
			  .kv_heads = 1,
			  .feed_forward = 7,
			  .vocabulary = 11,
			  .weights = MODEL_FP16,
			  .optimizer = MODEL_FP32};
	struct mesh mesh = {4, 1, 3, 3, 0, 0};
	uint64_t h = 10, d = 2, f = 7, v = 11;
	struct tensor t;

	CU_ASSERT_EQUAL(model_parameters(&m),
			2 * v * h + 2 * (h + h * (h + 2 * d) + h * h + h + 2 * f * h + f * h) + h);
	CU_ASSERT_EQUAL(layers_bytes(&m, &mesh, 1),
			2 * (h / 3 + h * (h + 2 * d) / 4 / 3 + h * h / 4 / 3 + h / 3 +
			     h * 2 * f / 4 / 3 + h * f / 4 / 3));
	CU_ASSERT_EQUAL(layers_bytes(&m, &mesh, 0), 2 * (h * v / 4 / 3));
	/* Where it divides evenly a tensor keeps its two dimensions. */
	mesh = (struct mesh){2, 1, 1, 0, 0, 0};
	shard_layer_tensor(&m, &mesh, 1, 1, &t);
	CU_ASSERT_STRING_EQUAL(t.name, "model.layers.0.self_attn.qkv_proj.weight");
	CU_ASSERT(t.dimensions == 2 && t.shape[0] == (h + 2 * d) / 2 && t.shape[1] == h);
	shard_layer_tensor(&m, &mesh, 2, 5, &t);
	CU_ASSERT_STRING_EQUAL(t.name, "model.layers.1.mlp.down_proj.weight");
	CU_ASSERT(t.dimensions == 1 && t.bytes == 2 * (h * f / 2));
}

static void test_who_writes(void)
{
	struct model m;
	struct mesh mesh = {2, 1, 3, 0, 0, 0};
	struct mesh_place p;

	model_read(&m, "{\"name\": \"llama_7b\"}");
	mesh_at(&mesh, 5, &p);
	CU_ASSERT(p.tensor == 1 && p.pipeline == 0 && p.data == 2 && p.model_part == 1);
	CU_ASSERT(!shard_writes_weights(&mesh, &p) && !shard_writes_optimizer(&mesh, &p));
	mesh.zero = 1;
	CU_ASSERT(!shard_writes_weights(&mesh, &p) && shard_writes_optimizer(&mesh, &p));
	mesh.zero = 3;
	CU_ASSERT(shard_writes_weights(&mesh, &p) && shard_writes_optimizer(&mesh, &p));
}

static void test_refusals(void)
{
	struct model m;
	struct mesh mesh = {1, 4, 1, 3, 0, 0};
	struct err err = {0};

	model_read(&m, "{\"hidden\": 4096}");
	CU_ASSERT_EQUAL(model_check(&m, "/model", &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/model/vocabulary: is missing"));
	model_read(&m, "{\"name\": \"llama3_8b\", \"kv_heads\": 64}");
	CU_ASSERT_EQUAL(m.layers, 32);
	CU_ASSERT_EQUAL(model_check(&m, "/model", &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(err.text, "/model/kv_heads: must be at most heads = 32, is 64"));
	model_read(&m, "{\"name\": \"llama3_8b\"}");
	CU_ASSERT_EQUAL(model_check(&m, "/model", &err), 0);
	CU_ASSERT_EQUAL(mesh_check(&mesh, &m, "/mesh", &err), -EINVAL);
	mesh = (struct mesh){1, 33, 1, 1, 0, 0};
	CU_ASSERT_EQUAL(mesh_check(&mesh, &m, "/mesh", &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "33 stages are more than the model's 32 layers"));
	model_read(&m, "{\"bytes\": 499153191}");
	CU_ASSERT_EQUAL(model_check(&m, "/model", &err), 0);
	mesh = (struct mesh){1, 1, 8, 0, 0, 0};
	{
		uint64_t weights, optimizer;

		layers_totals(&m, &mesh, &weights, &optimizer);
		CU_ASSERT(weights == 499153191 && optimizer == 0);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"MLPerf's table", test_mlperfs_table},
		{"layers", test_layers},
		{"stages", test_stages},
		{"numbers of tensors", test_tensor_numbers},
		{"padding", test_padding},
		{"who writes", test_who_writes},
		{"refusals", test_refusals},
		CU_TEST_INFO_NULL,
	};

	return unit_main("model", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the tensor-parallel cut, and of the ranges that a rank reads of a file. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit.h"
#include "workloads/load/header.h"

/* Tensors of two bytes per number, and whether ranks divide them by rows. */
struct row {
	const char *name;
	enum load_cut cut;
	uint32_t dimensions;
	uint64_t shape[3];
};

static const struct row rows[] = {
	{"model.embed_tokens.weight", LOAD_ROWS, 2, {128, 16}},
	{"model.layers.0.input_layernorm.weight", LOAD_WHOLE, 1, {16}},
	{"model.layers.0.self_attn.q_proj.weight", LOAD_ROWS, 2, {16, 16}},
	{"model.layers.0.self_attn.q_proj.bias", LOAD_ROWS, 1, {16}},
	{"model.layers.0.self_attn.k_proj.weight", LOAD_KV_ROWS, 2, {8, 16}},
	{"model.layers.0.self_attn.v_proj.weight", LOAD_KV_ROWS, 2, {8, 16}},
	{"model.layers.0.self_attn.o_proj.weight", LOAD_COLUMNS, 2, {16, 16}},
	{"model.layers.0.self_attn.o_proj.bias", LOAD_WHOLE, 1, {16}},
	{"model.layers.0.mlp.gate_proj.weight", LOAD_ROWS, 2, {40, 16}},
	{"model.layers.0.mlp.up_proj.weight", LOAD_ROWS, 2, {40, 16}},
	{"model.layers.0.mlp.up_proj.weight_scale_inv", LOAD_ROWS, 2, {20, 2}},
	{"model.layers.0.mlp.down_proj.weight", LOAD_COLUMNS, 2, {16, 40}},
	{"model.layers.0.mlp.gate.weight", LOAD_WHOLE, 2, {8, 16}},
	{"model.layers.0.block_sparse_moe.experts.7.w1.weight", LOAD_ROWS, 2, {40, 16}},
	{"model.layers.0.block_sparse_moe.experts.7.w2.weight", LOAD_COLUMNS, 2, {16, 40}},
	{"model.layers.0.block_sparse_moe.experts.7.w3.weight", LOAD_ROWS, 2, {40, 16}},
	{"model.layers.0.self_attn.q_proj.qweight", LOAD_WHOLE, 2, {16, 16}},
	{"model.layers.0.self_attn.q_proj.rotary_emb.inv_freq", LOAD_WHOLE, 1, {8}},
	{"transformer.h.0.self_attention.query_key_value.weight", LOAD_ROWS, 2, {48, 16}},
	{"transformer.h.0.mlp.dense_h_to_4h.weight", LOAD_ROWS, 2, {64, 16}},
	{"transformer.h.0.mlp.dense_4h_to_h.weight", LOAD_COLUMNS, 2, {16, 64}},
	{"model.norm.weight", LOAD_WHOLE, 1, {16}},
	{"lm_head.weight", LOAD_ROWS, 2, {128, 16}},
	{"weight", LOAD_WHOLE, 2, {16, 16}},
	{"q_proj.weight", LOAD_ROWS, 2, {16, 16}},
	{"xq_proj.weight", LOAD_WHOLE, 2, {16, 16}},
	{"q_proj", LOAD_WHOLE, 2, {16, 16}},
	{"", LOAD_WHOLE, 0, {0}},
	/* More than two dimensions, and fewer rows than ranks. */
	{"model.layers.0.experts.gate_up_proj.weight", LOAD_ROWS, 3, {8, 4, 4}},
	{"model.layers.0.mlp.up_proj.weight_scale", LOAD_ROWS, 1, {1}},
	{"model.layers.0.mlp.up_proj.weight_scale", LOAD_ROWS, 0, {0}},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* Bytes [*begin, *end) of the tensor as a rank reads it by rows: what is cut by columns is read whole. */
static void load_cut(const struct safetensors_tensor *t, const struct load_part *part,
		     uint64_t *begin, uint64_t *end)
{
	static const struct safetensors_names none = {0};
	struct load_slice s;

	load_slice(t, part, &none, &s);
	*begin = s.count == 1 ? s.begin : t->begin;
	*end = s.count == 1 ? s.begin + s.length : t->end;
}

static uint64_t row_bytes(const struct row *r)
{
	uint64_t n = 2;

	for (uint32_t i = 0; i < r->dimensions; i++)
		n *= r->shape[i];
	return n;
}

/* Bytes of a row, or 1. */
static uint64_t row_length(const struct row *r)
{
	uint64_t n = r->dimensions && r->shape[0] ? row_bytes(r) / r->shape[0] : 0;

	return n ? n : 1;
}

/* Tensor i, where the file has it after the ones before. */
static void row_tensor(unsigned i, struct safetensors_tensor *out)
{
	uint64_t at = 1000;

	for (unsigned k = 0; k < i; k++)
		at += row_bytes(&rows[k]);
	*out = (struct safetensors_tensor){.name = rows[i].name,
					   .type = "BF16",
					   .dimensions = rows[i].dimensions,
					   .begin = at,
					   .end = at + row_bytes(&rows[i])};
	memcpy(out->shape, rows[i].shape, sizeof(rows[i].shape));
}

static void test_names(void)
{
	for (unsigned i = 0; i < ROWS; i++)
		CU_ASSERT_EQUAL(load_cut_by_name(rows[i].name), rows[i].cut);
}

/* What is cut is covered once, in the order of ranks and by whole rows, also where its rows are no
 * multiple of the ranks; everything else is whole on each rank. */
static void test_ranks_cover_each_tensor(void)
{
	static const uint64_t ranks[] = {1, 2, 3, 4, 7, 8};

	for (unsigned k = 0; k < sizeof(ranks) / sizeof(ranks[0]); k++)
		for (unsigned i = 0; i < ROWS; i++) {
			bool cut = rows[i].cut != LOAD_WHOLE && rows[i].cut != LOAD_COLUMNS &&
				   rows[i].dimensions <= 2 && rows[i].dimensions &&
				   rows[i].shape[0] >= ranks[k];
			struct safetensors_tensor t;
			uint64_t at, begin, end;

			row_tensor(i, &t);
			at = t.begin;
			for (uint64_t rank = 0; rank < ranks[k]; rank++) {
				struct load_part part = {.tensor = ranks[k], .rank = rank};

				load_cut(&t, &part, &begin, &end);
				CU_ASSERT_EQUAL(begin, cut ? at : t.begin);
				CU_ASSERT(end >= begin);
				CU_ASSERT_EQUAL((end - begin) % row_length(&rows[i]), 0);
				at = end;
			}
			CU_ASSERT_EQUAL(end, t.end);
		}
}

/* Eight ranks of a model with two heads of keys: four ranks read the same half. */
static void test_ranks_share_heads(void)
{
	struct safetensors_tensor t = {.name = "k_proj.weight",
				       .dimensions = 2,
				       .shape = {8, 16},
				       .begin = 100,
				       .end = 356};
	uint64_t begin, end;

	for (uint64_t rank = 0; rank < 8; rank++) {
		struct load_part part = {.tensor = 8, .rank = rank, .kv_heads = 2};

		load_cut(&t, &part, &begin, &end);
		CU_ASSERT_EQUAL(begin, rank < 4 ? 100u : 228u);
		CU_ASSERT_EQUAL(end, rank < 4 ? 228u : 356u);
		part.kv_heads = 16; /* not fewer than ranks */
		load_cut(&t, &part, &begin, &end);
		CU_ASSERT_EQUAL(end - begin, 32);
	}
}

/* Numbers smaller than a byte whose rows begin within a byte. */
static void test_small_numbers_are_whole(void)
{
	struct safetensors_tensor t = {
		.name = "q_proj.weight", .dimensions = 2, .shape = {4, 3}, .begin = 8, .end = 14};
	struct load_part part = {.tensor = 2, .rank = 1};
	uint64_t begin, end;

	load_cut(&t, &part, &begin, &end);
	CU_ASSERT_EQUAL(begin, 8);
	CU_ASSERT_EQUAL(end, 14);
}

/* All ranges together have the bytes of the tensors; those that touch each other are one. */
static void test_ranges_of_a_file(void)
{
	for (uint64_t ranks = 1; ranks <= 4; ranks++) {
		struct safetensors_tensor tensors[ROWS];
		struct safetensors file = {.count = ROWS, .tensors = tensors};
		uint64_t read = 0, wanted = 0, begin, end;

		for (unsigned i = 0; i < ROWS; i++)
			row_tensor(i, &tensors[i]);
		for (uint64_t rank = 0; rank < ranks; rank++) {
			struct load_rule rule = {.reads = LOAD_READS_ROWS,
						 .part = {.tensor = ranks, .rank = rank}};
			const struct load_part part = rule.part;
			struct load_header h = {0};

			CU_ASSERT_EQUAL_FATAL(load_header_cut(&h, &file, &rule), 0);
			for (uint64_t i = 0; i < h.count; i++) {
				read += h.ranges[i].length;
				CU_ASSERT(!i ||
					  h.ranges[i].offset >
						  h.ranges[i - 1].offset + h.ranges[i - 1].length);
			}
			for (unsigned i = 0; i < ROWS; i++) {
				load_cut(&tensors[i], &part, &begin, &end);
				wanted += end - begin;
			}
			if (ranks == 1)
				CU_ASSERT_EQUAL(h.count, 1);
			load_header_free(&h);
		}
		CU_ASSERT_EQUAL(read, wanted);
	}
}

/* Columns of a matrix of 4 rows of 6 columns are 4 strips; over the ranks they have each byte once. */
static void test_columns(void)
{
	static const struct safetensors_names none = {0};
	static const uint64_t ranks[] = {1, 2, 4, 6, 7};

	for (unsigned k = 0; k < sizeof(ranks) / sizeof(ranks[0]); k++) {
		struct safetensors_tensor t = {.name = "o_proj.weight",
					       .dimensions = 2,
					       .shape = {4, 6},
					       .begin = 8,
					       .end = 56};
		uint64_t at = 8, bytes = 0;

		for (uint64_t rank = 0; rank < ranks[k]; rank++) {
			struct load_part part = {.tensor = ranks[k], .rank = rank};
			struct load_slice s;

			load_slice(&t, &part, &none, &s);
			CU_ASSERT_EQUAL(s.count, ranks[k] == 1 || ranks[k] == 7 ? 1u : 4u);
			CU_ASSERT(s.count == 1 || (s.begin == at && s.pitch == 12));
			at += s.length;
			bytes += s.length * s.count;
		}
		CU_ASSERT_EQUAL(bytes, ranks[k] == 7 ? 7 * 48 : 48);
	}
}

/* Strips whose gaps are not worth a read of their own are one range, as long as that is at most twice
 * what is needed. */
static void test_gaps(void)
{
	static const struct {
		uint64_t tensor, gap, count, bytes;
	} cases[] = {{1, 0, 1, 4096 * 8},
		     {2, 3, 4096, 4096 * 4},
		     {2, 4, 1, 4096 * 8 - 4},
		     {4, 4096, 4096, 4096 * 2},
		     {4, 6, 4096, 4096 * 2}};

	for (unsigned k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct safetensors_tensor t = {.name = "o_proj.weight",
					       .dimensions = 2,
					       .shape = {4096, 4},
					       .begin = 0,
					       .end = 4096 * 8};
		struct safetensors file = {.count = 1, .tensors = &t};
		struct load_rule rule = {.reads = LOAD_READS_STRIPS,
					 .gap = cases[k].gap,
					 .part = {.tensor = cases[k].tensor}};
		struct load_header h = {0};
		uint64_t bytes = 0;

		CU_ASSERT_EQUAL_FATAL(load_header_cut(&h, &file, &rule), 0);
		for (uint64_t i = 0; i < h.count; i++)
			bytes += h.ranges[i].length;
		CU_ASSERT_EQUAL(h.count, cases[k].count);
		CU_ASSERT_EQUAL(bytes, cases[k].bytes);
		CU_ASSERT_EQUAL(h.needed_bytes, 4096 * 8 / cases[k].tensor);
		load_header_free(&h);
	}
}

/* Ten layers over four stages as vLLM divides them: 2, 3, 3, 2; eight experts over two ranks. */
static void test_stages_and_experts(void)
{
	static const uint64_t stages[] = {0, 0, 1, 1, 1, 2, 2, 2, 3, 3};
	static const struct safetensors_names model = {.layers = 10, .experts = 8};
	struct load_slice s;
	char name[64];

	for (uint64_t stage = 0; stage < 4; stage++) {
		struct load_part part = {.tensor = 1, .stages = 4, .stage = stage};

		for (unsigned layer = 0; layer < 10; layer++) {
			struct safetensors_tensor t = {.name = name, .begin = 0, .end = 8};

			snprintf(name, sizeof(name), "model.layers.%u.input_layernorm.weight",
				 layer);
			load_slice(&t, &part, &model, &s);
			CU_ASSERT_EQUAL(s.count, stages[layer] == stage);
		}
	}
	for (unsigned expert = 0; expert < 8; expert++) {
		struct safetensors_tensor t = {
			.name = name, .dimensions = 2, .shape = {4, 4}, .begin = 0, .end = 32};
		struct load_part part = {
			.tensor = 2, .rank = 1, .experts = 2, .expert_rank = 1, .expert_tensor = 1};

		snprintf(name, sizeof(name), "model.layers.1.mlp.experts.%u.up_proj.weight",
			 expert);
		load_slice(&t, &part, &model, &s);
		CU_ASSERT_EQUAL(s.length * s.count, expert >= 4 ? 32u : 0u);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"names", test_names},
		{"ranks cover each tensor", test_ranks_cover_each_tensor},
		{"ranks share heads", test_ranks_share_heads},
		{"numbers smaller than a byte", test_small_numbers_are_whole},
		{"ranges of a file", test_ranges_of_a_file},
		{"columns", test_columns},
		{"gaps", test_gaps},
		{"stages and experts", test_stages_and_experts},
		CU_TEST_INFO_NULL,
	};

	return unit_main("load cut", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the tensor-parallel cut, and of the ranges that a rank reads of a file. */

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
	{"model.layers.0.self_attn.o_proj.weight", LOAD_WHOLE, 2, {16, 16}},
	{"model.layers.0.self_attn.o_proj.bias", LOAD_WHOLE, 1, {16}},
	{"model.layers.0.mlp.gate_proj.weight", LOAD_ROWS, 2, {40, 16}},
	{"model.layers.0.mlp.up_proj.weight", LOAD_ROWS, 2, {40, 16}},
	{"model.layers.0.mlp.up_proj.weight_scale_inv", LOAD_ROWS, 2, {20, 2}},
	{"model.layers.0.mlp.down_proj.weight", LOAD_WHOLE, 2, {16, 40}},
	{"model.layers.0.mlp.gate.weight", LOAD_WHOLE, 2, {8, 16}},
	{"model.layers.0.block_sparse_moe.experts.7.w1.weight", LOAD_ROWS, 2, {40, 16}},
	{"model.layers.0.block_sparse_moe.experts.7.w2.weight", LOAD_WHOLE, 2, {16, 40}},
	{"model.layers.0.block_sparse_moe.experts.7.w3.weight", LOAD_ROWS, 2, {40, 16}},
	{"model.layers.0.self_attn.q_proj.qweight", LOAD_WHOLE, 2, {16, 16}},
	{"model.layers.0.self_attn.q_proj.rotary_emb.inv_freq", LOAD_WHOLE, 1, {8}},
	{"transformer.h.0.self_attention.query_key_value.weight", LOAD_ROWS, 2, {48, 16}},
	{"transformer.h.0.mlp.dense_h_to_4h.weight", LOAD_ROWS, 2, {64, 16}},
	{"transformer.h.0.mlp.dense_4h_to_h.weight", LOAD_WHOLE, 2, {16, 64}},
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
			bool cut = rows[i].cut != LOAD_WHOLE && rows[i].dimensions <= 2 &&
				   rows[i].dimensions && rows[i].shape[0] >= ranks[k];
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
			struct load_part part = {.tensor = ranks, .rank = rank};
			struct load_header h = {0};

			CU_ASSERT_EQUAL_FATAL(load_header_cut(&h, &file, &part), 0);
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

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"names", test_names},
		{"ranks cover each tensor", test_ranks_cover_each_tensor},
		{"ranks share heads", test_ranks_share_heads},
		{"numbers smaller than a byte", test_small_numbers_are_whole},
		{"ranges of a file", test_ranges_of_a_file},
		CU_TEST_INFO_NULL,
	};

	return unit_main("load cut", tests);
}

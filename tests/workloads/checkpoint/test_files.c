/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a checkpoint: MLPerf's models in the layouts that DLIO chooses, DLIO's names, bytes per
 * rank, regions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit.h"
#include "tests/workloads/model/layers.h"
#include "workloads/checkpoint/files.h"

#define TYPES .weights = MODEL_FP16, .optimizer = MODEL_FP32

static const struct model llama3_8b = {.vocabulary = 128256,
				       .hidden = 4096,
				       .feed_forward = 14336,
				       .layers = 32,
				       .heads = 32,
				       .kv_heads = 8,
				       TYPES};
static const struct model llama3_70b = {.vocabulary = 128256,
					.hidden = 8192,
					.feed_forward = 28672,
					.layers = 80,
					.heads = 128,
					.kv_heads = 8,
					TYPES};
static const struct model llama3_405b = {.vocabulary = 128256,
					 .hidden = 16384,
					 .feed_forward = 53248,
					 .layers = 126,
					 .heads = 128,
					 .kv_heads = 8,
					 TYPES};
static const struct model llama3_1t = {.vocabulary = 128256,
				       .hidden = 25872,
				       .feed_forward = 98304,
				       .layers = 128,
				       .heads = 192,
				       .kv_heads = 32,
				       TYPES};
/* hidden is not divisible by heads, few key-value heads, layers that three stages do not divide
 * evenly. */
static const struct model uneven = {.vocabulary = 11,
				    .hidden = 10,
				    .feed_forward = 7,
				    .layers = 7,
				    .heads = 4,
				    .kv_heads = 1,
				    TYPES};
static const struct model flat = {.bytes = 499153191, TYPES};

/* Each pair of model and mesh below is laid out in every way. */
static const struct {
	const struct model *model;
	struct mesh mesh;
} cases[] = {
	{&llama3_8b, {1, 1, 8, 3, 0, 0}},  {&llama3_8b, {2, 2, 2, 0, 0, 0}},
	{&llama3_70b, {8, 1, 2, 3, 0, 0}}, {&llama3_405b, {8, 32, 2, 1, 0, 0}},
	{&uneven, {4, 1, 3, 3, 0, 0}},     {&uneven, {1, 3, 2, 1, 0, 0}},
	{&uneven, {2, 7, 1, 2, 0, 0}},     {&uneven, {3, 5, 2, 0, 0, 0}},
	{&uneven, {1, 6, 1, 1, 0, 0}},     {&uneven, {1, 4, 3, 1, 0, 0}},
	{&uneven, {1, 1, 1, 0, 0, 0}},     {&flat, {1, 1, 4, 0, 0, 0}},
	{&flat, {1, 1, 4, 3, 0, 0}},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]), LAYOUTS = CHECKPOINT_SHARED + 1 };

static struct checkpoint_shape shape_of(unsigned i, uint32_t layout, uint64_t part)
{
	return (struct checkpoint_shape){
		*cases[i].model, cases[i].mesh, layout, ARCHIVE_TORCH, part, 0, false};
}

static uint64_t file_bytes(const struct checkpoint_file *f)
{
	struct archive_tensors all = checkpoint_file_tensors(f);
	uint64_t bytes = 0;
	struct tensor t;

	for (uint64_t i = 0; i < all.count; i++) {
		all.tensor(all.argument, i, &t);
		bytes += t.bytes;
	}
	return bytes;
}

/* Files of all ranks and bytes of their tensors; what each rank's files hold is what the rank
 * holds. */
static uint64_t count_files(const struct checkpoint_shape *s, uint64_t *bytes)
{
	uint64_t files = 0;

	*bytes = 0;
	for (uint64_t r = 0; r < mesh_ranks(&s->mesh); r++) {
		uint32_t count = checkpoint_file_count(s, r);
		uint64_t weights, optimizer, sum = 0;
		struct mesh_place p;

		for (uint32_t i = 0; i < count; i++) {
			struct checkpoint_file f;

			checkpoint_file(s, r, i, &f);
			CU_ASSERT_FATAL(f.tensors > 0);
			sum += file_bytes(&f);
		}
		checkpoint_rank_bytes(s, r, &weights, &optimizer);
		mesh_at(&s->mesh, r, &p);
		CU_ASSERT_EQUAL(sum, weights + optimizer);
		CU_ASSERT_EQUAL(weights, shard_weight_bytes(&s->model, &s->mesh, &p));
		CU_ASSERT_EQUAL(optimizer, shard_optimizer_bytes(&s->model, &s->mesh, &p));
		CU_ASSERT_EQUAL(count == 0, sum == 0);
		files += count;
		*bytes += sum;
	}
	return files;
}

static void test_mlperfs_table(void)
{
	static const struct {
		const struct model *model;
		struct mesh mesh;
		uint32_t layout;
		uint64_t files, bytes;
	} rows[] = {
		{&llama3_8b, {1, 1, 8, 3, 0, 0}, CHECKPOINT_RANK, 16, 112425623552},
		{&llama3_70b, {8, 1, 8, 3, 0, 0}, CHECKPOINT_RANK, 128, 978406572032},
		{&llama3_405b, {8, 32, 2, 1, 0, 0}, CHECKPOINT_LAYER, 1544, 5682508791808},
		{&llama3_1t, {8, 64, 2, 1, 0, 0}, CHECKPOINT_LAYER, 2072, 16564174094592},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct checkpoint_shape s = {
			*rows[i].model, rows[i].mesh, rows[i].layout, ARCHIVE_TORCH, 0, 0, false};
		uint64_t bytes;

		CU_ASSERT_EQUAL(count_files(&s, &bytes), rows[i].files);
		CU_ASSERT_EQUAL(bytes, rows[i].bytes);
	}
}

static void test_bytes_per_rank(void)
{
	for (unsigned i = 0; i < CASES; i++)
		for (uint32_t layout = 0; layout < LAYOUTS; layout++) {
			struct checkpoint_shape s = shape_of(i, layout, 1 << 20);
			uint64_t weights, optimizer, bytes;

			count_files(&s, &bytes);
			layers_totals(&s.model, &s.mesh, &weights, &optimizer);
			CU_ASSERT_EQUAL(bytes, weights + optimizer);
		}
}

static void test_names(void)
{
	static const struct {
		const struct model *model;
		struct mesh mesh;
		uint32_t layout, framing;
		uint64_t rank;
		uint32_t file, files;
		const char *name;
	} rows[] = {
		{&llama3_8b,
		 {1, 1, 8, 3, 0, 0},
		 CHECKPOINT_RANK,
		 ARCHIVE_TORCH,
		 5,
		 0,
		 2,
		 "zero_pp_rank_5_mp_rank_0_model_states.pt"},
		{&llama3_8b,
		 {1, 1, 8, 3, 0, 0},
		 CHECKPOINT_RANK,
		 ARCHIVE_TORCH,
		 5,
		 1,
		 2,
		 "zero_pp_rank_5_mp_rank_0_optim_states.pt"},
		{&llama3_8b,
		 {4, 1, 2, 0, 0, 0},
		 CHECKPOINT_RANK,
		 ARCHIVE_SAFETENSORS,
		 3,
		 0,
		 2,
		 "zero_pp_rank_0_mp_rank_3_model_states.safetensors"},
		{&llama3_8b,
		 {4, 1, 2, 1, 0, 0},
		 CHECKPOINT_RANK,
		 ARCHIVE_TORCH,
		 3,
		 0,
		 2,
		 "model_3_model_states.pt"},
		{&llama3_8b,
		 {4, 1, 2, 1, 0, 0},
		 CHECKPOINT_RANK,
		 ARCHIVE_RAW,
		 3,
		 1,
		 2,
		 "zero_pp_rank_0_mp_rank_3_optim_states.bin"},
		{&llama3_8b,
		 {4, 1, 2, 2, 0, 0},
		 CHECKPOINT_RANK,
		 ARCHIVE_TORCH,
		 7,
		 0,
		 1,
		 "zero_pp_rank_1_mp_rank_3_optim_states.pt"},
		/* Stage 31 has layers 124 to 126, the output head and the norm. */
		{&llama3_405b,
		 {8, 32, 2, 1, 0, 0},
		 CHECKPOINT_LAYER,
		 ARCHIVE_TORCH,
		 250,
		 0,
		 6,
		 "layer_124-model_250_model_states.pt"},
		{&llama3_405b,
		 {8, 32, 2, 1, 0, 0},
		 CHECKPOINT_LAYER,
		 ARCHIVE_TORCH,
		 250,
		 4,
		 6,
		 "layer_128-model_250_model_states.pt"},
		{&llama3_405b,
		 {8, 32, 2, 1, 0, 0},
		 CHECKPOINT_LAYER,
		 ARCHIVE_TORCH,
		 250,
		 5,
		 6,
		 "zero_pp_rank_0_mp_rank_250_optim_states.pt"},
		{&llama3_405b,
		 {8, 32, 2, 1, 0, 0},
		 CHECKPOINT_LAYER,
		 ARCHIVE_TORCH,
		 511,
		 0,
		 1,
		 "zero_pp_rank_1_mp_rank_255_optim_states.pt"},
		{&llama3_8b,
		 {1, 1, 8, 3, 0, 0},
		 CHECKPOINT_LAYER,
		 ARCHIVE_TORCH,
		 2,
		 7,
		 36,
		 "layer_7-zero_pp_rank_2_mp_rank_0_model_states.pt"},
		{&llama3_8b,
		 {1, 1, 8, 3, 0, 0},
		 CHECKPOINT_DISTRIBUTED,
		 ARCHIVE_TORCH,
		 6,
		 0,
		 1,
		 "__6_0.distcp"},
		{&llama3_8b,
		 {1, 1, 8, 3, 0, 0},
		 CHECKPOINT_SHARED,
		 ARCHIVE_RAW,
		 6,
		 0,
		 1,
		 "checkpoint.bin"},
		{&flat,
		 {1, 1, 4, 3, 0, 0},
		 CHECKPOINT_RANK,
		 ARCHIVE_TORCH,
		 3,
		 0,
		 1,
		 "model_states-3.pt"},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct checkpoint_shape s = {
			*rows[i].model, rows[i].mesh, rows[i].layout, rows[i].framing, 4096, 0,
			false};
		struct checkpoint_file f;

		CU_ASSERT_EQUAL(checkpoint_file_count(&s, rows[i].rank), rows[i].files);
		checkpoint_file(&s, rows[i].rank, rows[i].file, &f);
		CU_ASSERT_STRING_EQUAL(f.name, rows[i].name);
	}
}

static int name_order(const void *a, const void *b)
{
	return strcmp(((const struct checkpoint_file *)a)->name,
		      ((const struct checkpoint_file *)b)->name);
}

static int number_order(const void *a, const void *b)
{
	uint64_t x = ((const struct checkpoint_file *)a)->number;
	uint64_t y = ((const struct checkpoint_file *)b)->number;

	return x < y ? -1 : x > y;
}

/* No two files have the same name, nor the same number; regions share the name. */
static void test_unique(void)
{
	for (unsigned i = 0; i < CASES; i++)
		for (uint32_t layout = 0; layout < LAYOUTS; layout++) {
			struct checkpoint_shape s = shape_of(i, layout, 4096);
			uint64_t bytes, count = count_files(&s, &bytes), n = 0;
			struct checkpoint_file *all = calloc(count, sizeof(*all));

			CU_ASSERT_PTR_NOT_NULL_FATAL(all);
			for (uint64_t r = 0; r < mesh_ranks(&s.mesh); r++)
				for (uint32_t f = 0; f < checkpoint_file_count(&s, r); f++)
					checkpoint_file(&s, r, f, &all[n++]);
			CU_ASSERT_EQUAL_FATAL(n, count);
			qsort(all, n, sizeof(*all), name_order);
			for (uint64_t f = 1; f < n; f++)
				CU_ASSERT_EQUAL(strcmp(all[f - 1].name, all[f].name) == 0,
						layout == CHECKPOINT_SHARED);
			qsort(all, n, sizeof(*all), number_order);
			for (uint64_t f = 1; f < n; f++)
				CU_ASSERT(all[f - 1].number < all[f].number);
			free(all);
		}
}

/* Tensors are in the order of layers, and each one of a stage is in one file of its writer. */
static void test_tensors(void)
{
	struct checkpoint_shape s = {
		uneven, {1, 3, 1, 1, 0, 0}, CHECKPOINT_RANK, ARCHIVE_TORCH, 0, 0, false};
	struct checkpoint_file f;
	struct tensor t;

	/* The middle stage has layers 4 and 5. */
	checkpoint_file(&s, 1, 0, &f);
	CU_ASSERT_EQUAL(f.tensors, 12);
	checkpoint_file_tensor(&f, 0, &t);
	CU_ASSERT_STRING_EQUAL(t.name, "model.layers.3.input_layernorm.weight");
	checkpoint_file_tensor(&f, 11, &t);
	CU_ASSERT_STRING_EQUAL(t.name, "model.layers.4.mlp.down_proj.weight");
	/* The last one: layers 6 and 7, the output head, the norm; here the optimizer follows. */
	s.layout = CHECKPOINT_DISTRIBUTED;
	checkpoint_file(&s, 2, 0, &f);
	CU_ASSERT_EQUAL(f.tensors, 12 + 2 + 6);
	checkpoint_file_tensor(&f, 12, &t);
	CU_ASSERT_STRING_EQUAL(t.name, "lm_head.weight");
	checkpoint_file_tensor(&f, 13, &t);
	CU_ASSERT_STRING_EQUAL(t.name, "model.norm.weight");
	checkpoint_file_tensor(&f, 14, &t);
	CU_ASSERT_STRING_EQUAL(t.name, "optimizer.0.fp32");
	checkpoint_file_tensor(&f, 19, &t);
	CU_ASSERT_STRING_EQUAL(t.name, "optimizer.1.exp_avg_sq");
}

/* Regions follow each other in the order of ranks, and begin at multiples of the part. */
static void test_regions(void)
{
	static const uint64_t parts[] = {0, 1, 100, 4096, 5 << 20};

	for (unsigned i = 0; i < CASES; i++)
		for (unsigned p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
			uint64_t part = parts[p] ? parts[p] : 1, next = 0;
			struct checkpoint_shape s = shape_of(i, CHECKPOINT_SHARED, parts[p]);

			for (uint64_t r = 0; r < mesh_ranks(&s.mesh); r++) {
				uint64_t weights, optimizer;
				struct checkpoint_file f;

				checkpoint_rank_bytes(&s, r, &weights, &optimizer);
				CU_ASSERT_EQUAL(checkpoint_file_count(&s, r),
						weights + optimizer > 0);
				if (!checkpoint_file_count(&s, r))
					continue;
				checkpoint_file(&s, r, 0, &f);
				CU_ASSERT_EQUAL(f.offset, next);
				CU_ASSERT_EQUAL(f.offset % part, 0);
				CU_ASSERT_EQUAL(f.region % part, 0);
				CU_ASSERT(f.region >= weights + optimizer);
				CU_ASSERT(f.region < weights + optimizer + part);
				next += f.region;
				CU_ASSERT_EQUAL(next, checkpoint_shared_bytes(&s, r + 1));
			}
			CU_ASSERT_EQUAL(next, checkpoint_shared_bytes(&s, mesh_ranks(&s.mesh)));
		}
}

/* The cost of a file does not grow with the ranks: a loop over 2^33 of them would not end here. */
static void test_many_ranks(void)
{
	struct checkpoint_shape s = {llama3_405b,
				     {1 << 8, 1 << 5, 1 << 20, 1, 0, 0},
				     CHECKPOINT_SHARED,
				     ARCHIVE_RAW,
				     1 << 20,
				     0,
				     false};
	uint64_t ranks = mesh_ranks(&s.mesh);
	struct checkpoint_file f;

	for (uint64_t r = ranks - 100; r < ranks; r++) {
		uint64_t next = r + 1 < ranks ? 0 : checkpoint_shared_bytes(&s, ranks), end;

		checkpoint_file(&s, r, 0, &f);
		end = f.offset + f.region;
		if (!next) {
			checkpoint_file(&s, r + 1, 0, &f);
			next = f.offset;
		}
		CU_ASSERT_EQUAL(end, next);
	}
	s.layout = CHECKPOINT_RANK;
	checkpoint_file(&s, ranks - 1, 0, &f);
	CU_ASSERT_STRING_EQUAL(f.name, "zero_pp_rank_1048575_mp_rank_8191_optim_states.bin");
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"MLPerf's table", test_mlperfs_table},
		{"bytes per rank", test_bytes_per_rank},
		{"names", test_names},
		{"names and numbers are unique", test_unique},
		{"tensors of a file", test_tensors},
		{"regions of a shared file", test_regions},
		{"many ranks", test_many_ranks},
		CU_TEST_INFO_NULL,
	};

	return unit_main("checkpoint files", tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges that readers of another mesh need, beside a slow model of a checkpoint: each element of
 * each tensor has a label, writers hold lists of labels, and what a reader gets of them must be the
 * labels of its own shard. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit.h"
#include "tests/workloads/checkpoint/holdings.h"
#include "workloads/checkpoint/files.h"

/* hidden not divisible by heads, fewer key-value heads than heads, vocabularies that no mesh
 * divides. */
static const struct model models[] = {
	{.vocabulary = 40,
	 .hidden = 12,
	 .feed_forward = 16,
	 .layers = 7,
	 .heads = 4,
	 .kv_heads = 2},
	{.vocabulary = 11, .hidden = 10, .feed_forward = 7, .layers = 7, .heads = 4, .kv_heads = 1},
	{.vocabulary = 37,
	 .hidden = 24,
	 .feed_forward = 20,
	 .layers = 2,
	 .heads = 5,
	 .kv_heads = 3},
	{.vocabulary = 32, .hidden = 8, .feed_forward = 32, .layers = 3, .heads = 8, .kv_heads = 8},
	/* Experts behind a dense layer, compressed keys, a layer that predicts; and a tied
	 * embedding with biases and norms. */
	{.vocabulary = 5,
	 .hidden = 3,
	 .feed_forward = 2,
	 .layers = 7,
	 .heads = 2,
	 .attention = MODEL_MLA,
	 .q_rank = 2,
	 .kv_rank = 2,
	 .nope_dim = 1,
	 .rope_dim = 1,
	 .value_dim = 1,
	 .experts = 2,
	 .expert_feed_forward = 2,
	 .shared_feed_forward = 1,
	 .dense_layers = 5,
	 .expert_every = 1,
	 .predict_layers = 1,
	 .tensors = MODEL_SEPARATE},
	{.vocabulary = 6,
	 .hidden = 4,
	 .feed_forward = 3,
	 .layers = 7,
	 .heads = 2,
	 .kv_heads = 1,
	 .head_dim = 3,
	 .attention = MODEL_GQA,
	 .tensors = MODEL_SEPARATE,
	 .biases = MODEL_QKV_BIASES,
	 .qk_norm = MODEL_QK_HEAD,
	 .tied = true,
	 .other_parameters = 11},
};
/* Meshes of 8, 4, 16 and some odd numbers of ranks. */
static const struct mesh meshes[] = {
	{1, 1, 8, 3, 0, 0},  {2, 1, 4, 3, 0, 0}, {4, 1, 2, 3, 0, 0}, {8, 1, 1, 3, 0, 0},
	{1, 1, 8, 0, 0, 0},  {2, 1, 4, 0, 0, 0}, {2, 2, 2, 1, 0, 0}, {4, 2, 1, 1, 0, 0},
	{1, 2, 4, 2, 0, 0},  {1, 1, 4, 3, 0, 0}, {4, 1, 1, 0, 0, 0}, {2, 2, 1, 1, 0, 0},
	{1, 1, 1, 0, 0, 0},  {4, 1, 4, 3, 0, 0}, {2, 1, 8, 1, 0, 0}, {4, 2, 2, 0, 0, 0},
	{1, 1, 16, 3, 0, 0}, {3, 1, 2, 3, 0, 0}, {2, 3, 1, 1, 0, 0}, {1, 3, 2, 0, 0, 0},
	{1, 7, 1, 2, 0, 0},  {5, 1, 3, 3, 0, 0},
};
enum {
	MODELS = sizeof(models) / sizeof(models[0]),
	MESHES = sizeof(meshes) / sizeof(meshes[0]),
	LAYOUTS = CHECKPOINT_SHARED + 1
};

/* A reader at work. */
struct reading {
	const struct holdings *writers;
	struct checkpoint_shape shape;
	uint8_t *expected, *got; /* per label */
	struct checkpoint_range last;
	uint64_t calls;
	uint64_t stop_after;
	/* The tensor that the last range was of. */
	const struct labels *tensor;
	unsigned bits;
};

static void reading_find(struct reading *r, const struct checkpoint_range *range)
{
	const struct holdings *w = r->writers;
	struct checkpoint_file f;
	struct tensor t;

	CU_ASSERT_FATAL(range->rank < mesh_ranks(&w->mesh));
	CU_ASSERT_FATAL(range->file < checkpoint_file_count(&r->shape, range->rank));
	checkpoint_file(&r->shape, range->rank, range->file, &f);
	CU_ASSERT_FATAL(range->tensor < f.tensors);
	checkpoint_file_tensor(&f, range->tensor, &t);
	r->tensor = NULL;
	for (uint64_t i = w->first[range->rank]; i < w->first[range->rank + 1]; i++)
		if (strcmp(w->tensors[i].name, t.name) == 0)
			r->tensor = &w->tensors[i];
	CU_ASSERT_PTR_NOT_NULL_FATAL(r->tensor);
	CU_ASSERT(holdings_written(&w->mesh, range->rank, r->tensor));
	CU_ASSERT_EQUAL(t.bytes, model_type_bytes(t.type, r->tensor->count));
	r->bits = (unsigned)model_type_bytes(t.type, 8);
}

static bool range_same_tensor(const struct checkpoint_range *a, const struct checkpoint_range *b)
{
	return a->rank == b->rank && a->file == b->file && a->tensor == b->tensor;
}

static bool range_before(const struct checkpoint_range *a, const struct checkpoint_range *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank;
	if (a->file != b->file)
		return a->file < b->file;
	if (a->tensor != b->tensor)
		return a->tensor < b->tensor;
	/* A gap between them: neighbours would be one range. */
	return a->offset + a->length < b->offset;
}

static int take_elements(void *argument, const struct checkpoint_range *range)
{
	struct reading *r = argument;
	uint64_t first, end;
	bool right;

	/* One assertion for all: there are millions of ranges. */
	right = range->length > 0 && (!r->calls || range_before(&r->last, range));
	if (!r->calls || !range_same_tensor(&r->last, range))
		reading_find(r, range);
	r->last = *range;
	r->calls++;
	right = right && range->offset * 8 % r->bits == 0 && range->length * 8 % r->bits == 0;
	first = range->offset * 8 / r->bits;
	end = first + range->length * 8 / r->bits;
	if (r->bits < 8) {
		/* Each byte has something that the reader needs; what else it has does not
		 * count. */
		for (uint64_t e = first; right && e < end; e += 2)
			right = r->expected[r->tensor->at[e]] ||
				(e + 1 < r->tensor->count && r->expected[r->tensor->at[e + 1]]);
		if (end > r->tensor->count)
			end = r->tensor->count;
	}
	CU_ASSERT_FATAL(right && end <= r->tensor->count);
	for (uint64_t e = first; e < end; e++)
		if (r->bits >= 8 || r->expected[r->tensor->at[e]])
			r->got[r->tensor->at[e]]++;
	return r->calls == r->stop_after ? 7 : 0;
}

/* A rank of readers reads what writers wrote. lost: which labels nobody wrote. Returns how many of
 * its own it misses. */
static uint64_t check_reader(const struct holdings *writers, const struct holdings *readers,
			     uint64_t rank, uint32_t layout, enum checkpoint_replicas replicas,
			     const uint8_t *lost)
{
	uint64_t index, ranks, from, missing = 0, small = 15 * writers->model.hidden;
	struct reading r = {.writers = writers};
	struct mesh_place p;
	bool twice = false;

	r.shape = (struct checkpoint_shape){
		writers->model, writers->mesh, layout, ARCHIVE_RAW, 4096, 0, false};
	r.expected = calloc(writers->labels, 2);
	CU_ASSERT_PTR_NOT_NULL_FATAL(r.expected);
	r.got = r.expected + writers->labels;
	mesh_at(&readers->mesh, rank, &p);
	index = holdings_state_index(&readers->mesh, &p, &ranks);
	holdings_state_index(&writers->mesh, &p, &from);
	for (uint64_t i = readers->first[rank]; i < readers->first[rank + 1]; i++) {
		const struct labels *t = &readers->tensors[i];

		if (replicas == CHECKPOINT_REPLICAS_FIRST &&
		    !holdings_written(&readers->mesh, rank, t))
			continue;
		for (uint64_t e = 0; e < t->count; e++) {
			uint64_t label = t->at[e];

			/* The small states are those of another rank. */
			if (label >= 4 * readers->parameters)
				label = label - index * small + index * from / ranks * small;
			twice = twice || r.expected[label];
			r.expected[label] = !lost[label];
			missing += lost[label];
		}
	}
	CU_ASSERT_EQUAL(
		checkpoint_ranges(&r.shape, &readers->mesh, rank, replicas, take_elements, &r), 0);
	CU_ASSERT(!twice);
	CU_ASSERT(memcmp(r.expected, r.got, writers->labels) == 0);
	free(r.expected);
	return missing;
}

/* Every mesh reads what every mesh wrote, or what every `step`-th one wrote; the layouts and the
 * replicas take turns, or all are tried. */
static void check_model(const struct model *m, unsigned step)
{
	struct holdings all[MESHES];
	uint64_t missing = 0;

	for (unsigned i = 0; i < MESHES; i++)
		holdings_make(&all[i], m, &meshes[i]);
	for (unsigned a = 0; a < MESHES; a++) {
		uint8_t *lost = holdings_lost(&all[a]);

		for (unsigned b = unit_full() ? 0 : a % step; b < MESHES;
		     b += unit_full() ? 1 : step)
			for (unsigned turn = 0; turn < 2 * LAYOUTS; turn++) {
				if (!unit_full() && turn != (a + 3 * b) % (2 * LAYOUTS))
					continue;
				for (uint64_t r = 0; r < mesh_ranks(&meshes[b]); r++)
					missing += check_reader(&all[a], &all[b], r, turn / 2,
								turn % 2 ? CHECKPOINT_REPLICAS_FIRST
									 : CHECKPOINT_REPLICAS_ALL,
								lost);
			}
		free(lost);
	}
	/* The meshes are such that some divide nothing evenly. */
	CU_ASSERT(missing > 0);
	for (unsigned i = 0; i < MESHES; i++)
		holdings_free(&all[i]);
}

static void test_another_mesh(void)
{
	for (unsigned i = 0; i < MODELS; i++) {
		struct model m = models[i];

		m.weights = MODEL_FP16;
		m.optimizer = MODEL_FP32;
		check_model(&m, m.tensors == MODEL_DLIO ? 2 : 7);
	}
}

/* Two numbers share a byte. */
static void test_half_bytes(void)
{
	struct model m = models[1];

	m.weights = MODEL_INT4;
	m.optimizer = MODEL_INT4;
	check_model(&m, m.tensors == MODEL_DLIO ? 2 : 7);
}

/* The ranges of a rank that reads with the mesh of the writers are whole tensors: all of its own
 * files, or those that data rank 0 wrote for it. */
struct whole_tensors {
	const struct checkpoint_shape *shape;
	struct mesh_place place;
	uint64_t calls;
};

static int take_whole(void *argument, const struct checkpoint_range *range)
{
	struct whole_tensors *w = argument;
	struct checkpoint_file f;
	struct tensor t;

	checkpoint_file(w->shape, range->rank, range->file, &f);
	checkpoint_file_tensor(&f, range->tensor, &t);
	CU_ASSERT(range->offset == 0 && range->length == t.bytes);
	CU_ASSERT_EQUAL(f.place.model_part, w->place.model_part);
	CU_ASSERT(f.place.rank == w->place.rank || f.place.data == 0);
	w->calls++;
	return 0;
}

/* Tensors of a rank's files that have any bytes. */
static uint64_t count_tensors(const struct checkpoint_shape *s, uint64_t rank, bool weights,
			      bool optimizer)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < checkpoint_file_count(s, rank); i++) {
		struct checkpoint_file f;
		struct tensor t;

		checkpoint_file(s, rank, i, &f);
		for (uint64_t n = 0; n < f.tensors; n++) {
			bool state;

			checkpoint_file_tensor(&f, n, &t);
			state = strncmp(t.name, "optimizer.", 10) == 0;
			count += t.bytes && (state ? optimizer : weights);
		}
	}
	return count;
}

static void test_same_mesh(void)
{
	for (unsigned i = 0; i < MODELS * MESHES * LAYOUTS; i++) {
		const struct mesh *mesh = &meshes[i / LAYOUTS % MESHES];
		struct checkpoint_shape s = {models[i / LAYOUTS / MESHES],
					     *mesh,
					     i % LAYOUTS,
					     ARCHIVE_TORCH,
					     0,
					     0,
					     false};

		s.model.weights = MODEL_BF16;
		s.model.optimizer = MODEL_FP32;
		for (uint64_t r = 0; r < mesh_ranks(mesh); r++) {
			struct whole_tensors w = {.shape = &s};
			uint64_t own = count_tensors(&s, r, true, true), others = 0;

			mesh_at(mesh, r, &w.place);
			CU_ASSERT_EQUAL(checkpoint_ranges(&s, mesh, r, CHECKPOINT_REPLICAS_FIRST,
							  take_whole, &w),
					0);
			CU_ASSERT_EQUAL(w.calls, own);
			if (w.place.data > 0 && mesh->zero < 3)
				others = count_tensors(&s, w.place.model_part, true,
						       mesh->zero == 0);
			w.calls = 0;
			CU_ASSERT_EQUAL(checkpoint_ranges(&s, mesh, r, CHECKPOINT_REPLICAS_ALL,
							  take_whole, &w),
					0);
			CU_ASSERT_EQUAL(w.calls, own + others);
		}
	}
}

/* A model of no known shape: every reader reads all of it, from one writer. */
static int take_flat(void *argument, const struct checkpoint_range *range)
{
	struct checkpoint_range *all = argument;

	CU_ASSERT_EQUAL(all->length, 0);
	*all = *range;
	return 0;
}

static void test_flat_model(void)
{
	static const struct {
		struct mesh from, to;
		uint64_t rank;
		enum checkpoint_replicas replicas;
		uint64_t bytes, writer;
	} rows[] = {
		{{1, 1, 8, 3, 0, 0}, {1, 1, 8, 3, 0, 0}, 5, CHECKPOINT_REPLICAS_FIRST, 12345, 5},
		{{1, 1, 8, 3, 0, 0}, {1, 1, 4, 3, 0, 0}, 3, CHECKPOINT_REPLICAS_FIRST, 12345, 6},
		{{1, 1, 8, 3, 0, 0}, {1, 1, 16, 3, 0, 0}, 11, CHECKPOINT_REPLICAS_FIRST, 12345, 5},
		{{1, 1, 8, 0, 0, 0}, {1, 1, 4, 3, 0, 0}, 3, CHECKPOINT_REPLICAS_FIRST, 12345, 0},
		{{1, 1, 8, 0, 0, 0}, {1, 1, 8, 0, 0, 0}, 5, CHECKPOINT_REPLICAS_FIRST, 0, 0},
		{{1, 1, 8, 0, 0, 0}, {1, 1, 8, 0, 0, 0}, 5, CHECKPOINT_REPLICAS_ALL, 12345, 0},
		{{1, 1, 8, 0, 0, 0}, {1, 1, 8, 0, 0, 0}, 0, CHECKPOINT_REPLICAS_FIRST, 12345, 0},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct checkpoint_shape s = {{.bytes = 12345},
					     rows[i].from,
					     CHECKPOINT_RANK,
					     ARCHIVE_TORCH,
					     0,
					     0,
					     false};
		struct checkpoint_range all = {0};

		CU_ASSERT_EQUAL(checkpoint_ranges(&s, &rows[i].to, rows[i].rank, rows[i].replicas,
						  take_flat, &all),
				0);
		CU_ASSERT_EQUAL(all.length, rows[i].bytes);
		CU_ASSERT_EQUAL(all.rank, rows[i].writer);
		CU_ASSERT(all.file == 0 && all.tensor == 0 && all.offset == 0);
	}
}

/* Ranges and bytes of a large model: as many calls as there must be. */
static int count_bytes(void *argument, const struct checkpoint_range *range)
{
	uint64_t *sums = argument;

	sums[0]++;
	sums[1] += range->length;
	return 0;
}

static const struct model llama3_405b = {.vocabulary = 128256,
					 .hidden = 16384,
					 .feed_forward = 53248,
					 .layers = 126,
					 .heads = 128,
					 .kv_heads = 8,
					 .weights = MODEL_FP16,
					 .optimizer = MODEL_FP32};

static void test_calls(void)
{
	static const struct {
		struct mesh mesh;
		uint64_t rank, calls;
	} rows[] = {
		/* Its own files: 5 layers with the embedding, and the optimizer. */
		{{8, 32, 2, 1, 0, 0}, 0, 1 + 4 * 6 + 6},
		/* Half as many tensor ranks: of each matrix two whole parts. Twice the states, and
		 * the small ones. */
		{{4, 32, 4, 1, 0, 0}, 0, 2 + 4 * (4 * 2 + 2) + 6},
		/* Twice as many: half of a part by rows, half of each row of a part by columns. */
		{{16, 32, 1, 1, 0, 0}, 0, 1 + 4 * (4 + 2 * 16384) + 6},
		/* One stage of the writers; no embedding. */
		{{8, 126, 1, 1, 0, 0}, 8 * 64, 6 + 3 + 3},
	};
	struct checkpoint_shape s = {
		llama3_405b, {8, 32, 2, 1, 0, 0}, CHECKPOINT_LAYER, ARCHIVE_TORCH, 0, 0, false};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t sums[2] = {0};
		struct mesh_place p;

		mesh_at(&rows[i].mesh, rows[i].rank, &p);
		CU_ASSERT_EQUAL(checkpoint_ranges(&s, &rows[i].mesh, rows[i].rank,
						  CHECKPOINT_REPLICAS_ALL, count_bytes, sums),
				0);
		CU_ASSERT_EQUAL(sums[1],
				shard_weight_bytes(&s.model, &rows[i].mesh, &p) +
					shard_optimizer_bytes(&s.model, &rows[i].mesh, &p));
		CU_ASSERT_EQUAL(sums[0], rows[i].calls);
	}
}

/* Only the writers that have something are looked at: a loop over these 2^28 for each reader would
 * not end here. */
static void test_many_ranks(void)
{
	struct checkpoint_shape s = {
		llama3_405b, {1 << 8, 1, 1 << 20, 3, 0, 0}, CHECKPOINT_RANK, ARCHIVE_TORCH, 0, 0,
		false};
	uint64_t ranks = mesh_ranks(&s.mesh);

	for (uint64_t r = 0; r < ranks; r += ranks / 500) {
		uint64_t sums[2] = {0};
		struct mesh_place p;

		mesh_at(&s.mesh, r, &p);
		CU_ASSERT_EQUAL(checkpoint_ranges(&s, &s.mesh, r, CHECKPOINT_REPLICAS_ALL,
						  count_bytes, sums),
				0);
		CU_ASSERT_EQUAL(sums[1], shard_weight_bytes(&s.model, &s.mesh, &p) +
						 shard_optimizer_bytes(&s.model, &s.mesh, &p));
	}
}

static void test_ends_early(void)
{
	struct model m = models[0];
	struct holdings h;
	struct reading r = {.writers = &h, .stop_after = 3};

	holdings_make(&h, &m, &meshes[0]);
	r.shape = (struct checkpoint_shape){m, meshes[0], CHECKPOINT_RANK, ARCHIVE_TORCH, 0,
					    0, false};
	r.expected = calloc(h.labels, 2);
	CU_ASSERT_PTR_NOT_NULL_FATAL(r.expected);
	r.got = r.expected + h.labels;
	CU_ASSERT_EQUAL(checkpoint_ranges(&r.shape, &meshes[0], 0, CHECKPOINT_REPLICAS_ALL,
					  take_elements, &r),
			7);
	CU_ASSERT_EQUAL(r.calls, 3);
	free(r.expected);
	holdings_free(&h);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"another mesh reads exactly its shard", test_another_mesh},
		{"two numbers in a byte", test_half_bytes},
		{"the same mesh reads its own files", test_same_mesh},
		{"a model of no known shape", test_flat_model},
		{"as many calls as there must be", test_calls},
		{"many ranks", test_many_ranks},
		{"ends early", test_ends_early},
		CU_TEST_INFO_NULL,
	};

	return unit_main("checkpoint ranges", tests);
}

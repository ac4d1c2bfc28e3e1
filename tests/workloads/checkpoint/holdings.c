/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/workloads/checkpoint/holdings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit.h"
#include "tests/workloads/model/layers.h"

static struct labels *labels_new(struct holdings *h, const char *name)
{
	struct labels *t = &h->tensors[h->count++];

	snprintf(t->name, sizeof(t->name), "%s", name);
	t->at = h->pool + h->pooled;
	t->count = 0;
	return t;
}

static void labels_add(struct holdings *h, struct labels *t, uint64_t label)
{
	t->at[t->count++] = (uint32_t)label;
	h->pooled++;
}

/* Lists the elements of rows x columns that the place has; base: the label of the first one. */
static void hold_matrix(struct holdings *h, const struct mesh_place *p, const char *name,
			uint64_t base, const uint64_t dimensions[2], char cut)
{
	uint64_t rows = dimensions[0], columns = dimensions[1], tensors = h->mesh.tensor, each;
	struct labels *t = labels_new(h, name);

	each = rows * columns / tensors;
	for (uint64_t row = 0; row < rows; row++)
		for (uint64_t column = 0; column < columns; column++) {
			uint64_t e = row * columns + column;
			bool mine = e >= p->tensor * each && e < (p->tensor + 1) * each;

			if (cut == 'c' && columns % tensors == 0)
				mine = column / (columns / tensors) == p->tensor;
			if (cut == 'w' || mine)
				labels_add(h, t, base + e);
		}
	if (h->mesh.zero == 3) {
		t->count /= h->mesh.data;
		t->at += p->data * t->count;
	}
}

static void hold_weights(struct holdings *h, const struct mesh_place *p)
{
	uint64_t n = h->model.hidden, f = h->model.feed_forward, v = h->model.vocabulary, base = 0;
	uint64_t d = n / h->model.heads * h->model.kv_heads, first, end;
	const struct {
		const char *name;
		uint64_t dimensions[2];
		char cut; /* by rows, columns; whole */
	} outer[] = {{"model.embed_tokens.weight", {v, n}, 'r'},
		     {"lm_head.weight", {v, n}, 'r'},
		     {"model.norm.weight", {1, n}, 'w'}},
	  inner[] = {{"input_layernorm.weight", {1, n}, 'w'},
		     {"self_attn.qkv_proj.weight", {n + 2 * d, n}, 'r'},
		     {"self_attn.o_proj.weight", {n, n}, 'c'},
		     {"post_attention_layernorm.weight", {1, n}, 'w'},
		     {"mlp.gate_up_proj.weight", {2 * f, n}, 'r'},
		     {"mlp.down_proj.weight", {n, f}, 'c'}};

	shard_layers(&h->model, &h->mesh, p->pipeline, &first, &end);
	for (uint64_t layer = 0; layer < h->model.layers + 3; layer++) {
		bool transformer = layer >= 1 && layer <= h->model.layers;

		for (unsigned i = 0; i < (transformer ? 6u : 1u); i++) {
			unsigned o = layer ? (unsigned)(layer - h->model.layers) : 0;
			const uint64_t *size =
				transformer ? inner[i].dimensions : outer[o].dimensions;
			char name[TENSOR_NAME_BYTES];

			if (transformer)
				snprintf(name, sizeof(name), "model.layers.%u.%s",
					 (unsigned)layer - 1, inner[i].name);
			if (layer >= first && layer < end)
				hold_matrix(h, p, transformer ? name : outer[o].name, base, size,
					    transformer ? inner[i].cut : outer[o].cut);
			base += size[0] * size[1];
		}
	}
	CU_ASSERT_EQUAL(base, h->parameters);
}

/* The same of models with experts, compressed keys or an embedding without a head, whose tensors
 * are many: which they are is the program's own word, which other tests compare with published
 * files; how they are cut is not. */
static void hold_listed_weights(struct holdings *h, const struct mesh_place *p)
{
	static const struct mesh whole = {1, 1, 1, 0, 0, 0};
	uint64_t base = 0, first, end;

	shard_layers(&h->model, &h->mesh, p->pipeline, &first, &end);
	for (uint64_t layer = 0; layer < model_layer_count(&h->model); layer++)
		for (uint64_t i = 0; i < layers_tensors(&h->model, layer); i++) {
			struct shard_matrix x;
			struct tensor t;
			uint64_t size[2];

			layers_matrix(&h->model, layer, i, &x);
			shard_layer_tensor(&h->model, &whole, layer, i, &t);
			size[0] = x.columns ? x.rows : 1;
			size[1] = x.columns ? x.columns : x.rows;
			if (layer >= first && layer < end)
				hold_matrix(h, p, t.name, base, size,
					    x.whole                   ? 'w'
					    : x.by_rows || !x.columns ? 'r'
								      : 'c');
			base += size[0] * size[1];
		}
	CU_ASSERT_EQUAL(base, h->parameters);
}

static bool hold_is_plain(const struct model *m)
{
	return m->tensors == MODEL_DLIO && !m->experts && !m->tied && m->attention != MODEL_MLA;
}

uint64_t holdings_state_index(const struct mesh *mesh, const struct mesh_place *p, uint64_t *ranks)
{
	*ranks = mesh->tensor * mesh->pipeline * (mesh->zero ? mesh->data : 1);
	return mesh->zero ? p->rank : p->rank % (mesh->tensor * mesh->pipeline);
}

static void hold_optimizer(struct holdings *h, const struct mesh_place *p)
{
	static const char *const states[] = {"fp32", "exp_avg", "exp_avg_sq"};
	uint64_t ranks, index = holdings_state_index(&h->mesh, p, &ranks),
			small = 5 * h->model.hidden;
	uint64_t each = h->parameters / ranks;

	for (unsigned i = 0; i < 3; i++) {
		char name[TENSOR_NAME_BYTES];
		struct labels *t;

		snprintf(name, sizeof(name), "optimizer.0.%s", states[i]);
		t = labels_new(h, name);
		for (uint64_t e = 0; e < each; e++)
			labels_add(h, t, (1 + i) * h->parameters + index * each + e);
		snprintf(name, sizeof(name), "optimizer.1.%s", states[i]);
		t = labels_new(h, name);
		for (uint64_t e = 0; e < small; e++)
			labels_add(h, t, 4 * h->parameters + (index * 3 + i) * small + e);
	}
}

void holdings_make(struct holdings *h, const struct model *m, const struct mesh *mesh)
{
	uint64_t ranks = mesh_ranks(mesh), room;

	*h = (struct holdings){.model = *m, .mesh = *mesh, .parameters = model_parameters(m)};
	h->labels = 4 * h->parameters + 15 * m->hidden * ranks;
	h->first = calloc(ranks + 1, sizeof(*h->first));
	h->tensors = calloc(ranks * (shard_tensors_before(m, model_layer_count(m)) + 6),
			    sizeof(*h->tensors));
	room = ranks * (4 * h->parameters + 15 * m->hidden);
	h->pool = calloc(room, sizeof(*h->pool));
	CU_ASSERT_FATAL(h->first && h->tensors && h->pool);
	for (uint64_t r = 0; r < ranks; r++) {
		struct mesh_place p;

		mesh_at(mesh, r, &p);
		if (hold_is_plain(m))
			hold_weights(h, &p);
		else
			hold_listed_weights(h, &p);
		hold_optimizer(h, &p);
		h->first[r + 1] = h->count;
	}
	CU_ASSERT_FATAL(h->pooled <= room);
}

void holdings_free(struct holdings *h)
{
	free(h->first);
	free(h->tensors);
	free(h->pool);
}

static bool is_state(const struct labels *t)
{
	return strncmp(t->name, "optimizer.", 10) == 0;
}

bool holdings_written(const struct mesh *mesh, uint64_t rank, const struct labels *t)
{
	return rank < mesh->tensor * mesh->pipeline || mesh->zero == 3 ||
	       (is_state(t) && mesh->zero > 0);
}

uint8_t *holdings_lost(const struct holdings *w)
{
	uint8_t *lost = malloc(w->labels);
	uint64_t weights = 0, states = 0, ranks, expected = 0;
	struct mesh_place p = {0};

	CU_ASSERT_PTR_NOT_NULL_FATAL(lost);
	memset(lost, 1, w->labels);
	for (uint64_t r = 0; r < mesh_ranks(&w->mesh); r++)
		for (uint64_t i = w->first[r]; i < w->first[r + 1]; i++)
			for (uint64_t e = 0; e < w->tensors[i].count; e++)
				if (holdings_written(&w->mesh, r, &w->tensors[i]))
					lost[w->tensors[i].at[e]] = 0;
	for (uint64_t i = 0; i < w->parameters; i++) {
		weights += lost[i];
		states += lost[w->parameters + i];
	}
	for (uint64_t layer = 0; layer < model_layer_count(&w->model); layer++)
		for (uint64_t i = 0; i < layers_tensors(&w->model, layer); i++) {
			struct shard_matrix x;
			uint64_t elements, parts;

			layers_matrix(&w->model, layer, i, &x);
			elements = x.rows * (x.columns ? x.columns : 1);
			parts = x.whole ? 1 : w->mesh.tensor;
			expected += elements % parts;
			if (w->mesh.zero == 3)
				expected += elements / parts % w->mesh.data * parts;
		}
	CU_ASSERT_EQUAL(weights, expected);
	holdings_state_index(&w->mesh, &p, &ranks);
	CU_ASSERT_EQUAL(states, w->parameters % ranks);
	return lost;
}

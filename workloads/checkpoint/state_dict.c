/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/checkpoint/state_dict.h"

#include <stdio.h>
#include <string.h>

#include "core/numbers.h"

enum { STATES = 3, STEP_TORCH = 1, NAME_MOST = 64 };

static const char *const state_names[2][STATES] = {
	{"step", "exp_avg", "exp_avg_sq"},
	{"fp32_param", "exp_avg", "exp_avg_sq"},
};

/* Weights of the layers before that one. */
static uint64_t weights_before(const struct state_dict *d, uint64_t layer)
{
	uint64_t before = 0;

	for (unsigned c = 0; c < TENSORS_CLASSES; c++)
		if (d->in_layer[c])
			before += tensors_class_layers(d->model, c, layer) * d->in_layer[c];
	return before;
}

void state_dict_make(struct state_dict *d, const struct model *model, const struct mesh *mesh,
		     bool megatron)
{
	*d = (struct state_dict){.model = model, .mesh = mesh, .megatron = megatron};
	for (unsigned c = 0; c < TENSORS_CLASSES; c++) {
		if (!tensors_class_layers(model, c, model_layer_count(model)))
			continue;
		tensors_layout(model, c, &d->layouts[c]);
		d->in_layer[c] = tensors_in_layer(&d->layouts[c]);
	}
	d->weights = weights_before(d, model_layer_count(model));
}

/* Further entries of each weight. */
static uint64_t states_of(const struct state_dict *d)
{
	return shard_optimizer_tensors(d->model) ? STATES : 0;
}

uint64_t state_entries(const struct state_dict *d)
{
	return d->weights * (1 + states_of(d));
}

/* The layer of a weight, and the weights before it. Most layers are alike, so that the first guess is right. */
static uint64_t layer_of(const struct state_dict *d, uint64_t weight, uint64_t *before)
{
	uint64_t low = 0, high = model_layer_count(d->model);
	uint64_t each = max_u64(d->in_layer[TENSORS_DENSE], d->in_layer[TENSORS_EXPERTS]);
	uint64_t guess = 1 + excess_u64(weight, d->in_layer[TENSORS_EMBEDDING]) / max_u64(each, 1);

	*before = weights_before(d, guess);
	if (guess < high && *before <= weight && weight < weights_before(d, guess + 1))
		return guess;
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (weights_before(d, middle) <= weight)
			low = middle;
		else
			high = middle;
	}
	*before = weights_before(d, low);
	return low;
}

/* Which weight of the model an entry belongs to, as a whole tensor. */
static void entry_weight(const struct state_dict *d, uint64_t weight, struct state_entry *out)
{
	uint64_t before, low = layer_of(d, weight, &before);
	const struct tensors_layout *l;
	enum tensor_class c;
	uint32_t kind;

	out->layer = low;
	c = tensors_class(d->model, low);
	l = &d->layouts[c];
	kind = tensors_kind(l, weight - before, &out->expert);
	out->routed = l->repeats > 1 && kind >= l->repeat && kind < l->repeat + l->repeat_count;
	tensors_matrix(d->model, c, kind, &out->matrix);
	out->tensor.type = out->matrix.type;
	out->tensor.dimensions = out->matrix.columns ? 2 : 1;
	out->tensor.shape[0] = out->matrix.rows;
	out->tensor.shape[1] = out->matrix.columns;
}

static void entry_name(const struct state_dict *d, struct state_entry *e)
{
	char weight[TENSOR_NAME_BYTES];

	tensors_name(d->model, e->layer, &e->matrix, e->expert, weight);
	if (e->state)
		snprintf(e->tensor.name, sizeof(e->tensor.name), "optimizer.state.%.*s.%s",
			 NAME_MOST, weight, state_names[d->megatron][e->state - 1]);
	else
		memcpy(e->tensor.name, weight, sizeof(weight));
}

static void entry_make(const struct state_dict *d, uint64_t number, struct state_entry *out)
{
	/* Entries behind the weights are states: so there are some of each. */
	uint64_t state = excess_u64(number, d->weights);
	bool is_weight = number < d->weights;
	struct tensor *t = &out->tensor;

	out->number = number;
	out->state = is_weight ? 0 : 1 + (unsigned)(state % STATES);
	entry_weight(d, is_weight ? number : state / STATES, out);
	out->scalar = !d->megatron && out->state == STEP_TORCH;
	if (out->scalar)
		t->dimensions = 0;
	if (out->state)
		t->type = out->scalar ? MODEL_FP32 : (enum model_type)d->model->optimizer;
	t->bytes = model_type_bytes(t->type, (t->dimensions ? t->shape[0] : 1) *
						     (t->dimensions > 1 ? t->shape[1] : 1));
}

void state_entry_at(const struct state_dict *d, uint64_t number, struct state_entry *out)
{
	memset(out, 0, sizeof(*out));
	entry_make(d, number, out);
	entry_name(d, out);
}

/* torch.chunk: piece i of `parts`. */
static void chunk_cut(uint64_t parts, uint64_t i, uint64_t *offset, uint64_t *size)
{
	uint64_t each = (*size + parts - 1) / parts, begin = min_u64(i * each, *size);

	*offset += begin;
	*size = min_u64(each, *size - begin);
}

bool state_chunk_of(const struct state_dict *d, const struct state_entry *e,
		    const struct mesh_place *p, struct state_chunk *out, bool *writes)
{
	const struct mesh *m = d->mesh;
	const struct shard_matrix *x = &e->matrix;
	uint64_t experts = e->routed && m->expert ? m->expert : 1;
	uint64_t group = m->data / max_u64(m->replicate, 1), within = p->data % group;
	uint64_t copies = m->data / group, copy = p->data / group;
	uint64_t pieces = group / experts, piece = within / experts;
	bool cut = !e->scalar && m->zero >= (e->state ? 1 : MESH_ZERO_MAX);
	unsigned along = x->by_rows || !x->columns ? 0 : 1;

	*out = (struct state_chunk){.size = {1, 1}};
	for (uint32_t i = 0; i < e->tensor.dimensions; i++)
		out->size[i] = e->tensor.shape[i];
	if (shard_layer_stage(d->model, m, e->layer) != p->pipeline)
		return false;
	if (e->routed && e->expert * experts / d->model->experts != within % experts)
		return false;
	if (!e->scalar && !x->whole)
		chunk_cut(m->tensor, p->tensor, &out->offset[along], &out->size[along]);
	if (cut) {
		chunk_cut(pieces, piece, &out->offset[0], &out->size[0]);
	} else {
		copy = copy * pieces + piece;
		copies *= pieces;
	}
	if (e->scalar || x->whole) {
		copy = copy * m->tensor + p->tensor;
		copies *= m->tensor;
	}
	*writes = e->number % copies == copy;
	return out->size[0] && out->size[1];
}

uint64_t state_chunk_common(const struct state_chunk *a, const struct state_chunk *b)
{
	uint64_t common = 1;

	for (unsigned i = 0; i < TENSOR_DIMENSIONS_MAX; i++)
		common *= excess_u64(min_u64(a->offset[i] + a->size[i], b->offset[i] + b->size[i]),
				     max_u64(a->offset[i], b->offset[i]));
	return common;
}

/* Calls chunk for the entries of which the rank has something, in order: all that it holds, or what it writes. Ends when it
 * returns false. */
static void state_walk(const struct state_dict *d, const struct mesh_place *p, bool writing,
		       bool (*chunk)(void *argument, const struct state_entry *e,
				     const struct state_chunk *c),
		       void *argument)
{
	uint64_t first, end, weights = d->weights, states = states_of(d);

	shard_layers(d->model, d->mesh, p->pipeline, &first, &end);
	first = weights_before(d, first);
	end = weights_before(d, end);
	for (uint64_t i = first; i < first + (end - first) * (1 + states); i++) {
		struct state_entry e = {.number = i};
		struct state_chunk c;
		bool writes;

		entry_make(d, i < end ? i : weights + first * states + (i - end), &e);
		if (state_chunk_of(d, &e, p, &c, &writes) && (writes || !writing) &&
		    !chunk(argument, &e, &c))
			return;
	}
}

struct state_listed {
	uint32_t *entries;
	uint64_t count, most;
};

static bool list_add(void *argument, const struct state_entry *e, const struct state_chunk *c)
{
	struct state_listed *l = argument;

	(void)c;
	if (l->entries)
		l->entries[l->count] = (uint32_t)e->number;
	return ++l->count < l->most;
}

uint64_t state_list(const struct state_dict *d, const struct mesh_place *p, uint32_t *entries)
{
	struct state_listed l = {.entries = entries, .most = UINT64_MAX};

	state_walk(d, p, true, list_add, &l);
	return l.count;
}

bool state_writes(const struct state_dict *d, const struct mesh_place *p)
{
	struct state_listed l = {.most = 1};

	state_walk(d, p, true, list_add, &l);
	return l.count;
}

void state_tensor_of(const struct state_dict *d, const struct mesh_place *p, uint64_t number,
		     struct tensor *out)
{
	struct state_entry e;
	struct state_chunk c;
	bool writes;

	state_entry_at(d, number, &e);
	state_chunk_of(d, &e, p, &c, &writes);
	*out = e.tensor;
	for (uint32_t i = 0; i < out->dimensions; i++)
		out->shape[i] = c.size[i];
	out->bytes = model_type_bytes(out->type, c.size[0] * c.size[1]);
}

static bool bytes_add(void *argument, const struct state_entry *e, const struct state_chunk *c)
{
	uint64_t *bytes = argument;

	bytes[e->state > 0] += model_type_bytes(e->tensor.type, c->size[0] * c->size[1]);
	return true;
}

void state_bytes(const struct state_dict *d, const struct mesh_place *p, bool writes,
		 uint64_t *weights, uint64_t *states)
{
	uint64_t bytes[2] = {0};

	state_walk(d, p, writes, bytes_add, bytes);
	*weights = bytes[0];
	*states = bytes[1];
}

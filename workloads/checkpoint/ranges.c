/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of a checkpoint that a rank of another mesh reads.
 *
 * The reader wants a slice of each tensor, and each writer holds a slice of it. The writers that
 * may hold something lie close together. So their ranks are narrowed first, and few writers are
 * examined in vain. For each writer that is left, the common runs of both slices become ranges,
 * tensor by tensor. */
#include <string.h>

#include "core/numbers.h"
#include "workloads/checkpoint/files.h"
#include "workloads/model/shard.h"

const char *const checkpoint_replicas_names[] = {"all", "first", NULL};

/* Kinds of tensors, each of which is cut in one way: those of each class of layers. */
enum { KINDS = TENSOR_KINDS_MAX };

/* Writers: first ... end - 1 in each dimension of their mesh. */
struct writers {
	uint64_t data, data_end, stage, stage_end, tensor, tensor_end;
};

struct restore {
	const struct checkpoint_shape *s;
	const struct mesh *mesh; /* the reader's */
	struct mesh_place place;
	/* Weights. */
	uint64_t layer, layer_end;
	unsigned kinds; /* 0: reads no weights */
	struct tensors_layout layouts[TENSORS_CLASSES];
	unsigned first_kind[TENSORS_CLASSES];
	struct shard_matrix matrices[KINDS];
	struct slice wanted[KINDS];
	struct writers writers;
	uint64_t tensor, data; /* the writer from which it takes what they all have */
	/* The optimizer's states: elements [state, state_end) of the flat vector; ranks that may
	 * have some of them, or the small states. */
	uint64_t state, state_end;
	uint64_t small; /* the rank from which it takes the small states */
	uint64_t states_rank, states_rank_end;
	/* The range that the next one may join; length 0: none. */
	struct checkpoint_range pending;
	int (*range)(void *argument, const struct checkpoint_range *r);
	void *argument;
};

/* Number i of count, carried over evenly to a count of others. */
static uint64_t counterpart(uint64_t i, uint64_t count, uint64_t other)
{
	return (uint64_t)((unsigned __int128)i * other / count);
}

/* The kinds of all classes of layers that the model has. */
static void restore_list_kinds(struct restore *r)
{
	const struct model *m = &r->s->model;

	for (unsigned c = 0; c < TENSORS_CLASSES; c++) {
		r->first_kind[c] = r->kinds;
		if (!tensors_class_layers(m, c, model_layer_count(m)))
			continue;
		tensors_layout(m, c, &r->layouts[c]);
		for (uint32_t k = 0; k < r->layouts[c].count; k++)
			tensors_matrix(m, c, k, &r->matrices[r->kinds++]);
	}
}

static void writers_widen(struct writers *w, const struct slice_holders *h)
{
	w->tensor = min_u64(w->tensor, h->tensor);
	w->tensor_end = max_u64(w->tensor_end, h->tensor_end);
	w->data = min_u64(w->data, h->data);
	w->data_end = max_u64(w->data_end, h->data_end);
}

static void restore_plan_weights(struct restore *r)
{
	const struct model *m = &r->s->model;
	const struct mesh *from = &r->s->mesh;
	struct writers *w = &r->writers;

	shard_layers(m, r->mesh, r->place.pipeline, &r->layer, &r->layer_end);
	restore_list_kinds(r);
	r->tensor = counterpart(r->place.tensor, r->mesh->tensor, from->tensor);
	/* Where only data rank 0 wrote, all read that. */
	r->data = from->zero == 3 ? counterpart(r->place.data, r->mesh->data, from->data) : 0;
	*w = (struct writers){.data = from->data, .tensor = from->tensor};
	w->stage = shard_layer_stage(m, from, r->layer);
	w->stage_end = shard_layer_stage(m, from, r->layer_end - 1) + 1;
	for (unsigned k = 0; k < r->kinds; k++) {
		struct slice_holders h;

		slice_make(r->mesh, &r->matrices[k], &r->place, &r->wanted[k]);
		if (!slice_holders_find(from, &r->matrices[k], &r->wanted[k], &h))
			continue;
		if (r->matrices[k].whole) {
			h.tensor = r->tensor;
			h.tensor_end = r->tensor + 1;
		}
		if (r->matrices[k].uncut || from->zero != 3) {
			h.data = r->data;
			h.data_end = r->data + 1;
		}
		writers_widen(w, &h);
	}
}

/* How many ranks share the optimizer's states. These are the first ranks of the mesh, or all. */
static uint64_t state_ranks(const struct mesh *mesh)
{
	return mesh->zero ? mesh_ranks(mesh) : mesh->tensor * mesh->pipeline;
}

/* Elements of the flat vector of the optimizer's states that each rank of the mesh holds. */
static uint64_t states_per_rank(const struct model *m, const struct mesh *mesh)
{
	struct tensor t;

	shard_optimizer_tensor(m, mesh, 0, &t);
	return t.shape[0];
}

static void restore_plan_optimizer(struct restore *r)
{
	const struct model *m = &r->s->model;
	uint64_t index = r->mesh->zero ? r->place.rank : r->place.model_part;
	uint64_t ranks = state_ranks(&r->s->mesh), each, mine, last;

	if (!shard_optimizer_tensors(m))
		return;
	mine = states_per_rank(m, r->mesh);
	each = states_per_rank(m, &r->s->mesh);
	r->state = index * mine;
	r->state_end = r->state + mine;
	r->small = counterpart(index, state_ranks(r->mesh), ranks);
	r->states_rank = r->small;
	r->states_rank_end = r->small + 1;
	if (!mine || !each || r->state / each >= ranks)
		return;
	r->states_rank = min_u64(r->states_rank, r->state / each);
	last = min_u64((r->state_end - 1) / each, ranks - 1);
	r->states_rank_end = max_u64(r->states_rank_end, last + 1);
}

/* The first of the writers whose rank is not below from. */
static bool writers_next(const struct writers *w, const struct mesh *mesh, uint64_t from,
			 uint64_t *rank)
{
	uint64_t data, stage, tensor;
	struct mesh_place p;

	if (w->data >= w->data_end || w->tensor >= w->tensor_end)
		return false;
	mesh_at(mesh, from, &p);
	/* As digits of a number: a carry first, and what is below the first writer then begins at
	 * it. */
	stage = p.pipeline + (p.tensor >= w->tensor_end);
	data = max_u64(p.data + (stage >= w->stage_end), w->data);
	if (data != p.data || stage < w->stage)
		stage = w->stage;
	tensor = w->tensor;
	if (data == p.data && stage == p.pipeline)
		tensor = max_u64(p.tensor, w->tensor);
	*rank = (data * mesh->pipeline + stage) * mesh->tensor + tensor;
	return data < w->data_end;
}

/* The next rank that may have written something the reader needs, from a rank on. */
static bool restore_next_rank(const struct restore *r, uint64_t from, uint64_t *rank)
{
	uint64_t states = from < r->states_rank ? r->states_rank : from;
	bool found = writers_next(&r->writers, &r->s->mesh, from, rank);

	if (states < r->states_rank_end && (!found || states < *rank)) {
		*rank = states;
		found = true;
	}
	return found;
}

static int restore_flush(struct restore *r)
{
	struct checkpoint_range last = r->pending;

	r->pending.length = 0;
	return last.length ? r->range(r->argument, &last) : 0;
}

/* Adds elements [first, first + count) of the tensor that at names. */
static int restore_add(struct restore *r, const struct checkpoint_range *at, enum model_type type,
		       uint64_t first, uint64_t count)
{
	struct checkpoint_range *p = &r->pending;
	/* The first byte that has a bit of the first element, and the end of the last such byte. */
	uint64_t begin = model_type_bytes(type, first + 1) - model_type_bytes(type, 1);
	uint64_t end = model_type_bytes(type, first + count);
	int rc;

	if (p->length && p->rank == at->rank && p->file == at->file && p->tensor == at->tensor &&
	    begin <= p->offset + p->length) {
		p->length = end - p->offset;
		return 0;
	}
	rc = restore_flush(r);
	*p = *at;
	p->offset = begin;
	p->length = end - begin;
	return rc;
}

/* What the writer has of each kind of tensor that the reader wants. false: nothing. */
static bool restore_held(const struct restore *r, const struct mesh_place *writer,
			 struct slice held[KINDS], struct slice_common common[KINDS])
{
	bool any = false;

	for (unsigned k = 0; k < r->kinds; k++) {
		const struct shard_matrix *x = &r->matrices[k];

		slice_make(&r->s->mesh, x, writer, &held[k]);
		if ((x->whole && writer->tensor != r->tensor) ||
		    (x->uncut && writer->data != r->data))
			held[k].count = 0;
		slice_common_begin(&common[k], &held[k], &r->wanted[k]);
		any = any || common[k].next < common[k].end;
	}
	return any;
}

static int restore_weights(struct restore *r, const struct mesh_place *writer)
{
	const struct model *m = &r->s->model;
	struct slice held[KINDS];
	struct slice_common common[KINDS];
	struct checkpoint_range at;
	uint64_t first, end;
	int rc = 0;

	if (!shard_writes_weights(&r->s->mesh, writer) || !restore_held(r, writer, held, common))
		return 0;
	shard_layers(m, &r->s->mesh, writer->pipeline, &first, &end);
	first = max_u64(first, r->layer);
	end = min_u64(end, r->layer_end);
	for (uint64_t layer = first; layer < end; layer++) {
		enum tensor_class class = tensors_class(m, layer);
		const struct tensors_layout *l = &r->layouts[class];

		for (uint64_t i = 0; i < tensors_in_layer(l); i++) {
			uint64_t element, count, expert;
			unsigned kind = r->first_kind[class] + tensors_kind(l, i, &expert);
			struct slice_common c = common[kind];

			checkpoint_weights_at(r->s, writer, layer, i, &at);
			while (!rc && slice_common_next(&c, &element, &count))
				rc = restore_add(r, &at, r->matrices[kind].type, element, count);
			if (rc)
				return rc;
		}
	}
	return 0;
}

static int restore_optimizer(struct restore *r, const struct mesh_place *writer)
{
	const struct model *m = &r->s->model;
	uint64_t first, end, begin;
	int rc = 0;

	if (writer->rank < r->states_rank || writer->rank >= r->states_rank_end)
		return 0;
	for (uint32_t i = 0; !rc && i < shard_optimizer_tensors(m); i++) {
		struct checkpoint_range at;
		struct tensor t;

		checkpoint_optimizer_at(r->s, writer, i, &at);
		shard_optimizer_tensor(m, &r->s->mesh, i, &t);
		/* The flat vector's tensors are the even ones. */
		begin = i % 2 ? 0 : writer->rank * t.shape[0];
		first = i % 2 ? begin : max_u64(begin, r->state);
		end = begin + t.shape[0];
		if (i % 2 == 0)
			end = min_u64(end, r->state_end);
		if (i % 2 && writer->rank != r->small)
			continue;
		if (first < end)
			rc = restore_add(r, &at, t.type, first - begin, end - first);
	}
	return rc;
}

int checkpoint_ranges(const struct checkpoint_shape *s, const struct mesh *reader, uint64_t rank,
		      enum checkpoint_replicas replicas,
		      int (*range)(void *argument, const struct checkpoint_range *r),
		      void *argument)
{
	struct restore r = {.s = s, .mesh = reader, .range = range, .argument = argument};
	struct mesh_place writer;
	int rc = 0;

	mesh_at(reader, rank, &r.place);
	if (shard_writes_weights(reader, &r.place) || replicas == CHECKPOINT_REPLICAS_ALL)
		restore_plan_weights(&r);
	if (shard_writes_optimizer(reader, &r.place) || replicas == CHECKPOINT_REPLICAS_ALL)
		restore_plan_optimizer(&r);
	for (uint64_t next = 0; !rc && restore_next_rank(&r, next, &next); next++) {
		mesh_at(&s->mesh, next, &writer);
		rc = restore_weights(&r, &writer);
		if (!rc)
			rc = restore_optimizer(&r, &writer);
	}
	return rc ? rc : restore_flush(&r);
}

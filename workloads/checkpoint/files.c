/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/checkpoint/files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/numbers.h"
#include "workloads/checkpoint/metadata.h"

const char *const checkpoint_layout_names[] = {"rank", "layer",    "distributed", "shared",
					       "dcp",  "megatron", "hf",          NULL};

static const char *const suffixes[ARCHIVE_KINDS] = {
	[ARCHIVE_TORCH] = ".pt",
	[ARCHIVE_SAFETENSORS] = ".safetensors",
	[ARCHIVE_RAW] = ".bin",
};

enum archive_kind checkpoint_archive_kind(const struct checkpoint_shape *s)
{
	if (checkpoint_has_state_dict(s) && s->framing == ARCHIVE_TORCH)
		return ARCHIVE_ITEMS;
	return (enum archive_kind)s->framing;
}

/* What a rank of the mesh writes, however it is laid out. */
struct checkpoint_writer {
	uint64_t first, end; /* layers; the same: no weights */
	bool optimizer;
	uint32_t weight_files, files;
};

static void checkpoint_writer_at(const struct checkpoint_shape *s, const struct mesh_place *p,
				 struct checkpoint_writer *out)
{
	memset(out, 0, sizeof(*out));
	if (shard_writes_weights(&s->mesh, p))
		shard_layers(&s->model, &s->mesh, p->pipeline, &out->first, &out->end);
	out->optimizer =
		shard_writes_optimizer(&s->mesh, p) && shard_optimizer_tensors(&s->model) > 0;
	if (s->layout == CHECKPOINT_LAYER)
		out->weight_files = (uint32_t)(out->end - out->first);
	else if (s->layout == CHECKPOINT_RANK)
		out->weight_files = out->end > out->first;
	if (s->layout == CHECKPOINT_LAYER || s->layout == CHECKPOINT_RANK)
		out->files = out->weight_files + out->optimizer;
	else
		out->files = out->end > out->first || out->optimizer;
}

uint32_t checkpoint_data_files(const struct checkpoint_shape *s, uint64_t rank)
{
	struct state_dict dict = checkpoint_state_dict(s);
	struct checkpoint_writer w;
	struct mesh_place p;

	mesh_at(&s->mesh, rank, &p);
	if (s->layout == CHECKPOINT_HF)
		return hf_files(s, rank, false);
	if (checkpoint_has_state_dict(s))
		return state_writes(&dict, &p);
	checkpoint_writer_at(s, &p, &w);
	return w.files;
}

uint32_t checkpoint_file_count(const struct checkpoint_shape *s, uint64_t rank)
{
	if (s->layout == CHECKPOINT_HF)
		return hf_files(s, rank, true);
	return checkpoint_data_files(s, rank) +
	       (checkpoint_has_state_dict(s) && (rank == 0 || s->rank_metadata));
}

bool checkpoint_metadata_file(const struct checkpoint_shape *s, uint64_t rank,
			      struct checkpoint_file *out)
{
	if (!checkpoint_has_metadata(s) || (rank && !s->rank_metadata))
		return false;
	checkpoint_file(s, rank, checkpoint_file_count(s, rank) - 1, out);
	return true;
}

static uint64_t weight_tensors(const struct model *m, uint64_t first, uint64_t end)
{
	return shard_tensors_before(m, end) - shard_tensors_before(m, first);
}

static void checkpoint_name_weights(const struct checkpoint_shape *s, struct checkpoint_file *f)
{
	const struct mesh_place *p = &f->place;
	const char *suffix = suffixes[s->framing];
	char layer[32] = "";

	if (s->model.bytes) {
		snprintf(f->name, sizeof(f->name), "model_states-%" PRIu64 "%s", p->rank, suffix);
		return;
	}
	if (s->layout == CHECKPOINT_LAYER)
		snprintf(layer, sizeof(layer), "layer_%" PRIu64 "-", f->layer_first);
	/* DLIO knows no file of a layer with ZeRO 0, but with ZeRO 1 and 2 only. */
	if (s->mesh.zero == 3 || (s->mesh.zero == 0 && s->layout == CHECKPOINT_RANK))
		snprintf(f->name, sizeof(f->name),
			 "%szero_pp_rank_%" PRIu64 "_mp_rank_%" PRIu64 "_model_states%s", layer,
			 p->data, p->model_part, suffix);
	else
		snprintf(f->name, sizeof(f->name), "%smodel_%" PRIu64 "_model_states%s", layer,
			 p->model_part, suffix);
}

static void checkpoint_name(const struct checkpoint_shape *s, struct checkpoint_file *f)
{
	const struct mesh_place *p = &f->place;

	if (s->layout == CHECKPOINT_SHARED)
		snprintf(f->name, sizeof(f->name), "checkpoint%s", suffixes[ARCHIVE_RAW]);
	else if (s->layout == CHECKPOINT_DISTRIBUTED)
		snprintf(f->name, sizeof(f->name), "__%" PRIu64 "_0.distcp", p->rank);
	else if (f->optimizer)
		snprintf(f->name, sizeof(f->name),
			 "zero_pp_rank_%" PRIu64 "_mp_rank_%" PRIu64 "_optim_states%s", p->data,
			 p->model_part, suffixes[s->framing]);
	else
		checkpoint_name_weights(s, f);
}

/* Bytes of the region of a rank in that stage, of data rank 0 or of another one. */
static uint64_t region_bytes(const struct checkpoint_shape *s, bool other, uint64_t stage)
{
	const struct mesh *mesh = &s->mesh;
	uint64_t weights, optimizer, bytes;

	checkpoint_rank_bytes(s, ((other ? mesh->pipeline : 0) + stage) * mesh->tensor, &weights,
			      &optimizer);
	bytes = weights + optimizer;
	return s->part ? (bytes + s->part - 1) / s->part * s->part : bytes;
}

/* Bytes of the regions of all ranks of one data rank that are in the first stages of the
 * pipeline. */
static uint64_t stages_bytes(const struct checkpoint_shape *s, bool other, uint64_t stages)
{
	uint64_t last = s->mesh.pipeline - 1, inner_end, longer, bytes;

	if (stages == 0)
		return 0;
	bytes = region_bytes(s, other, 0);
	if (s->model.experts || s->model.predict_layers) {
		for (uint64_t stage = 1; stage < stages; stage++)
			bytes += region_bytes(s, other, stage);
		return bytes * s->mesh.tensor;
	}
	/* The stages between the first and the last are of two kinds: first those with one layer
	 * more. */
	inner_end = min_u64(stages, last);
	if (inner_end > 1) {
		longer = min_u64(max_u64(model_blocks(&s->model) % s->mesh.pipeline, 1), inner_end);
		if (longer > 1)
			bytes += (longer - 1) * region_bytes(s, other, 1);
		if (inner_end > longer)
			bytes += (inner_end - longer) * region_bytes(s, other, longer);
	}
	if (stages > last && last > 0)
		bytes += region_bytes(s, other, last);
	return bytes * s->mesh.tensor;
}

static uint64_t region_offset(const struct checkpoint_shape *s, const struct mesh_place *p)
{
	bool other = p->data > 0;
	uint64_t before = 0;

	if (other)
		before = stages_bytes(s, false, s->mesh.pipeline) +
			 (p->data - 1) * stages_bytes(s, true, s->mesh.pipeline);
	return before + stages_bytes(s, other, p->pipeline) +
	       p->tensor * region_bytes(s, other, p->pipeline);
}

uint64_t checkpoint_shared_bytes(const struct checkpoint_shape *s, uint64_t ranks)
{
	uint64_t bytes = stages_bytes(s, false, s->mesh.pipeline);
	struct mesh_place next;

	if (ranks < mesh_ranks(&s->mesh)) {
		mesh_at(&s->mesh, ranks, &next);
		return region_offset(s, &next);
	}
	if (s->mesh.data > 1)
		bytes += (s->mesh.data - 1) * stages_bytes(s, true, s->mesh.pipeline);
	return bytes;
}

/* The file of a state dict: file 0 of those that write tensors, or else the metadata. */
static void checkpoint_state_file(struct checkpoint_file *f, uint32_t i)
{
	if (f->shape->layout == CHECKPOINT_HF) {
		hf_file(f, i);
		return;
	}
	f->dict = checkpoint_state_dict(f->shape);
	f->tensors = state_list(&f->dict, &f->place, NULL);
	f->metadata = i >= (f->tensors > 0);
	if (!f->metadata) {
		metadata_file_name(f->place.rank, f->name, sizeof(f->name));
		return;
	}
	f->tensors = 0;
	if (f->shape->rank_metadata)
		snprintf(f->name, sizeof(f->name), "__%" PRIu64 ".metadata", f->place.rank);
	else
		snprintf(f->name, sizeof(f->name), ".metadata");
}

int checkpoint_file_list(struct checkpoint_file *f, struct arena *arena, struct err *err)
{
	uint64_t *at = NULL;
	uint32_t *entries;

	if (!checkpoint_has_state_dict(f->shape))
		return 0;
	entries = arena_alloc(arena, (f->tensors + 1) * sizeof(*entries));
	if (f->shape->layout == CHECKPOINT_HF)
		f->at = at = arena_alloc(arena, (f->tensors + 1) * sizeof(*at));
	if (!entries || (f->shape->layout == CHECKPOINT_HF && !at))
		return err_set(err, -ENOMEM, "no memory for the tensors of a file");
	if (at)
		hf_file_list(f, entries, at);
	else if (!f->metadata)
		state_list(&f->dict, &f->place, entries);
	f->entries = entries;
	return 0;
}

int checkpoint_metadata(const struct checkpoint_file *f, uint8_t *out, uint64_t *bytes,
			struct err *err)
{
	const struct checkpoint_shape *s = f->shape;
	struct metadata_source of = {.dict = f->dict,
				     .archive = checkpoint_archive_kind(s),
				     .first = s->rank_metadata ? f->place.rank : 0,
				     .end = s->rank_metadata ? f->place.rank + 1
							     : mesh_ranks(&s->mesh)};

	if (s->layout == CHECKPOINT_HF)
		return hf_index(f, out, bytes, err);
	return metadata_pickle(&of, METADATA_ALL, out, bytes, err);
}

void checkpoint_file(const struct checkpoint_shape *s, uint64_t rank, uint32_t i,
		     struct checkpoint_file *out)
{
	struct checkpoint_writer w;

	memset(out, 0, sizeof(*out));
	out->shape = s;
	mesh_at(&s->mesh, rank, &out->place);
	/* A rank has a file per layer and one more at most. */
	out->number = rank * (model_layer_count(&s->model) + 1) + i;
	if (checkpoint_has_state_dict(s)) {
		checkpoint_state_file(out, i);
		return;
	}
	checkpoint_writer_at(s, &out->place, &w);
	out->layer_first = w.first;
	out->layer_end = w.end;
	out->optimizer = w.optimizer;
	if (s->layout == CHECKPOINT_RANK || s->layout == CHECKPOINT_LAYER) {
		out->optimizer = i == w.weight_files;
		if (out->optimizer)
			out->layer_first = w.end;
		else if (s->layout == CHECKPOINT_LAYER)
			out->layer_first = w.first + i;
		if (!out->optimizer && s->layout == CHECKPOINT_LAYER)
			out->layer_end = out->layer_first + 1;
	}
	out->tensors = weight_tensors(&s->model, out->layer_first, out->layer_end) +
		       (out->optimizer ? shard_optimizer_tensors(&s->model) : 0);
	if (s->layout == CHECKPOINT_SHARED) {
		out->offset = region_offset(s, &out->place);
		out->region = region_bytes(s, out->place.data > 0, out->place.pipeline);
	}
	checkpoint_name(s, out);
}

void checkpoint_file_tensor(const void *file, uint64_t t, struct tensor *out)
{
	const struct checkpoint_file *f = file;
	const struct model *m = &f->shape->model;
	uint64_t weights = weight_tensors(m, f->layer_first, f->layer_end), layer;
	struct state_entry e;
	uint64_t i;

	if (f->entries && f->whole) {
		state_entry_at(&f->dict, f->entries[t], &e);
		*out = e.tensor;
		return;
	}
	if (f->entries) {
		state_tensor_of(&f->dict, &f->place, f->entries[t], out);
		return;
	}
	if (t >= weights) {
		shard_optimizer_tensor(m, &f->shape->mesh, (uint32_t)(t - weights), out);
		return;
	}
	shard_tensor_at(m, shard_tensors_before(m, f->layer_first) + t, &layer, &i);
	shard_layer_tensor(m, &f->shape->mesh, layer, i, out);
}

struct archive_tensors checkpoint_file_tensors(const struct checkpoint_file *f)
{
	return (struct archive_tensors){f->tensors, checkpoint_file_tensor, f,
					f->shape->layout == CHECKPOINT_HF && !f->whole ? hf_part
										       : NULL};
}

int checkpoint_archive_bytes(const struct checkpoint_file *f, uint64_t *bytes, struct err *err)
{
	struct checkpoint_file listed = *f;
	struct arena arena = {NULL};
	struct archive_tensors tensors;
	uint64_t payload;
	int rc;

	if (f->metadata)
		return checkpoint_metadata(f, NULL, bytes, err);
	rc = checkpoint_file_list(&listed, &arena, err);
	tensors = checkpoint_file_tensors(&listed);
	if (rc == 0)
		rc = archive_size(checkpoint_archive_kind(f->shape), &tensors, bytes, &payload,
				  err);
	arena_free(&arena);
	return rc;
}

int checkpoint_file_bytes(const struct checkpoint_shape *s, uint64_t rank, uint32_t i,
			  uint64_t *bytes, struct err *err)
{
	struct checkpoint_file f;

	checkpoint_file(s, rank, i, &f);
	*bytes = f.region;
	return f.region ? 0 : checkpoint_archive_bytes(&f, bytes, err);
}

void checkpoint_rank_bytes(const struct checkpoint_shape *s, uint64_t rank, uint64_t *weights,
			   uint64_t *optimizer)
{
	struct mesh_place p;

	mesh_at(&s->mesh, rank, &p);
	if (checkpoint_has_state_dict(s)) {
		struct state_dict dict = checkpoint_state_dict(s);

		state_bytes(&dict, &p, true, weights, optimizer);
		return;
	}
	*weights = shard_weight_bytes(&s->model, &s->mesh, &p);
	*optimizer = shard_optimizer_bytes(&s->model, &s->mesh, &p);
}

void checkpoint_weights_at(const struct checkpoint_shape *s, const struct mesh_place *p,
			   uint64_t layer, uint64_t i, struct checkpoint_range *out)
{
	uint64_t first, end;

	*out = (struct checkpoint_range){.rank = p->rank, .tensor = i};
	shard_layers(&s->model, &s->mesh, p->pipeline, &first, &end);
	if (s->layout == CHECKPOINT_LAYER)
		out->file = (uint32_t)(layer - first);
	else
		out->tensor += weight_tensors(&s->model, first, layer);
}

void checkpoint_optimizer_at(const struct checkpoint_shape *s, const struct mesh_place *p,
			     uint32_t i, struct checkpoint_range *out)
{
	struct checkpoint_writer w;

	*out = (struct checkpoint_range){.rank = p->rank, .tensor = i};
	checkpoint_writer_at(s, p, &w);
	if (s->layout == CHECKPOINT_RANK || s->layout == CHECKPOINT_LAYER)
		out->file = w.weight_files;
	else
		out->tensor += weight_tensors(&s->model, w.first, w.end);
}

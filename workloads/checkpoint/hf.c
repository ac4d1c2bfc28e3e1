/* SPDX-License-Identifier: Apache-2.0 */
/* Hugging Face's files of a checkpoint: see files.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/archive/published.h"
#include "workloads/checkpoint/files.h"

const char *const checkpoint_consolidate_names[] = {"none", "rank", "ranks", NULL};

/* The walk over the model's files: each has as many of the next tensors as fit. */
struct hf_walk {
	const struct state_dict *dict;
	uint64_t most;               /* bytes of tensors of a file */
	uint64_t number, first, end; /* the file, and its entries */
	uint64_t files;              /* so far */
	uint64_t layer, i;           /* the next tensor */
	uint64_t bytes[TENSORS_CLASSES][TENSOR_KINDS_MAX];
};

static void hf_begin(struct hf_walk *w, const struct checkpoint_shape *s,
		     const struct state_dict *dict)
{
	*w = (struct hf_walk){.dict = dict, .most = s->part};
	for (unsigned c = 0; c < TENSORS_CLASSES; c++)
		for (uint32_t k = 0; dict->in_layer[c] && k < dict->layouts[c].count; k++) {
			struct shard_matrix x;

			tensors_matrix(&s->model, c, k, &x);
			w->bytes[c][k] =
				model_type_bytes(x.type, x.rows * (x.columns ? x.columns : 1));
		}
}

static bool hf_next(struct hf_walk *w)
{
	uint64_t bytes = 0, expert;

	w->first = w->end;
	w->number = w->files;
	for (; w->layer < model_layer_count(w->dict->model); w->layer++, w->i = 0) {
		enum tensor_class c = tensors_class(w->dict->model, w->layer);

		for (; w->i < w->dict->in_layer[c]; w->i++, w->end++) {
			uint64_t more =
				w->bytes[c][tensors_kind(&w->dict->layouts[c], w->i, &expert)];

			if (w->end > w->first && bytes + more > w->most) {
				w->files++;
				return true;
			}
			bytes += more;
		}
	}
	w->files += w->end > w->first;
	return w->end > w->first;
}

/* The entries of the file that the rank writes, or of a consolidated one all, and where each begins in the model's file.
 * Ends when there are most of them. */
static uint64_t hf_list(const struct checkpoint_file *f, uint64_t most, uint32_t *entries,
			uint64_t *at)
{
	uint64_t count = 0, begin = 0;

	for (uint64_t n = f->first; n < f->end && count < most; n++) {
		struct state_entry e;
		struct state_chunk c;
		bool writes;

		state_entry_at(&f->dict, n, &e);
		if (f->whole || (state_chunk_of(&f->dict, &e, &f->place, &c, &writes) && writes)) {
			if (entries) {
				entries[count] = (uint32_t)n;
				at[count] = begin;
			}
			count++;
		}
		begin += e.tensor.bytes;
	}
	return count;
}

void hf_file_list(const struct checkpoint_file *f, uint32_t *entries, uint64_t *at)
{
	hf_list(f, UINT64_MAX, entries, at);
}

static void hf_name(struct checkpoint_file *f, uint64_t files)
{
	char shard[64] = "";

	if (!f->whole)
		snprintf(shard, sizeof(shard), CHECKPOINT_HF_SHARDS "shard-%05" PRIu64 "-",
			 f->place.rank + 1);
	snprintf(f->name, sizeof(f->name), "%smodel-%05" PRIu64 "-of-%05" PRIu64 ".safetensors",
		 shard, f->number + 1, files);
}

/* Whether the rank consolidates that file of the model. */
static bool hf_makes(const struct checkpoint_shape *s, uint64_t rank, uint64_t number)
{
	return s->consolidate == CHECKPOINT_CONSOLIDATE_RANKS
		       ? number % mesh_ranks(&s->mesh) == rank
		       : s->consolidate && rank == 0;
}

/* The file of that number, of the rank or consolidated. */
static void hf_at(struct checkpoint_file *f, uint64_t number)
{
	struct hf_walk w;

	hf_begin(&w, f->shape, &f->dict);
	while (hf_next(&w))
		if (w.number == number) {
			f->first = w.first;
			f->end = w.end;
		}
	f->number = number;
	f->tensors = hf_list(f, UINT64_MAX, NULL, NULL);
	hf_name(f, w.files);
}

bool hf_shard(const struct checkpoint_shape *s, uint64_t rank, uint64_t number,
	      struct checkpoint_file *out)
{
	*out = (struct checkpoint_file){.shape = s, .dict = checkpoint_state_dict(s)};
	mesh_at(&s->mesh, rank, &out->place);
	hf_at(out, number);
	return out->tensors > 0;
}

/* How many shards the rank has, or consolidated files; *number: of file i among them, UINT64_MAX: there is none. */
static uint32_t hf_find(const struct checkpoint_file *f, uint32_t i, uint64_t *number)
{
	struct checkpoint_file one = *f;
	uint32_t count = 0;
	struct hf_walk w;

	*number = UINT64_MAX;
	hf_begin(&w, f->shape, &f->dict);
	while (hf_next(&w)) {
		one.first = w.first;
		one.end = w.end;
		if (f->whole ? !hf_makes(f->shape, f->place.rank, w.number)
			     : !hf_list(&one, 1, NULL, NULL))
			continue;
		if (count++ == i)
			*number = w.number;
	}
	return count;
}

uint32_t hf_files(const struct checkpoint_shape *s, uint64_t rank, bool all)
{
	struct checkpoint_file f = {.shape = s, .dict = checkpoint_state_dict(s)};
	uint64_t number;
	uint32_t count;

	mesh_at(&s->mesh, rank, &f.place);
	count = hf_find(&f, UINT32_MAX, &number);
	f.whole = true;
	if (all && s->consolidate)
		count += hf_find(&f, UINT32_MAX, &number) + (rank == 0);
	return count;
}

void hf_file(struct checkpoint_file *f, uint32_t i)
{
	uint64_t number;
	uint32_t before;

	f->dict = checkpoint_state_dict(f->shape);
	before = hf_find(f, i, &number);
	f->whole = number == UINT64_MAX;
	if (f->whole)
		hf_find(f, i - before, &number);
	f->metadata = number == UINT64_MAX;
	if (f->metadata)
		snprintf(f->name, sizeof(f->name), "%s", published_index_name);
	else
		hf_at(f, number);
}

void hf_part(const void *file, uint64_t t, struct archive_part *out)
{
	const struct checkpoint_file *f = file;
	struct state_entry e;
	struct state_chunk c;
	uint64_t columns;
	bool writes;

	state_entry_at(&f->dict, f->entries[t], &e);
	state_chunk_of(&f->dict, &e, &f->place, &c, &writes);
	columns = e.tensor.dimensions > 1 ? e.tensor.shape[1] : 1;
	memcpy(out->offset, c.offset, sizeof(out->offset));
	out->pitch = model_type_bytes(e.tensor.type, columns);
	out->run = model_type_bytes(e.tensor.type, c.size[1]);
	out->from =
		f->at[t] + c.offset[0] * out->pitch + model_type_bytes(e.tensor.type, c.offset[1]);
	if (out->run == out->pitch)
		out->run = out->pitch *= c.size[0];
}

/* The consolidated files as those of a model that is published. */
static int hf_published(const struct checkpoint_file *f, struct published *p, struct arena *arena)
{
	uint64_t entries = state_entries(&f->dict), files = 0, at = 0;
	struct tensor *tensors = arena_alloc(arena, (entries + 1) * sizeof(*tensors));
	struct checkpoint_file one = {.shape = f->shape, .whole = true};
	struct hf_walk w;

	hf_begin(&w, f->shape, &f->dict);
	while (hf_next(&w))
		files++;
	*p = (struct published){.files = files,
				.file = arena_alloc(arena, (files + 1) * sizeof(*p->file))};
	if (!tensors || !p->file)
		return -ENOMEM;
	hf_begin(&w, f->shape, &f->dict);
	while (hf_next(&w)) {
		struct published_file *to = &p->file[w.number];

		*to = (struct published_file){.tensors = tensors + at,
					      .archive.tensors.count = w.end - w.first};
		one.number = w.number;
		hf_name(&one, files);
		snprintf(to->name, sizeof(to->name), "%.*s", PUBLISHED_NAME_BYTES - 1, one.name);
		for (; at < w.end; at++) {
			struct state_entry e;

			state_entry_at(&f->dict, at, &e);
			tensors[at] = e.tensor;
			p->bytes += e.tensor.bytes;
		}
	}
	return 0;
}

int hf_index(const struct checkpoint_file *f, uint8_t *out, uint64_t *bytes, struct err *err)
{
	struct arena arena = {NULL};
	struct published p;
	char *text = hf_published(f, &p, &arena) == 0 ? published_index(&p) : NULL;

	*bytes = text ? strlen(text) : 0;
	if (text && out)
		memcpy(out, text, *bytes);
	arena_free(&arena);
	if (!text)
		return err_set(err, -ENOMEM, "no memory for the index of a model");
	free(text);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Items of a distributed checkpoint that a rank reads: of each entry of the state dict that it holds, those items of any
 * rank's file that have some of it. torch reads an item whole, also where a rank of another mesh needs a part of it, and
 * an entry that several ranks hold is read by each of them. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "workloads/checkpoint/files.h"

struct items {
	const struct checkpoint_shape *s;
	struct state_dict written, wanted;
	struct mesh_place reader;
	enum checkpoint_replicas replicas;
	uint64_t *needed; /* bytes of the entries themselves; NULL: nobody asks */
	int (*range)(void *argument, const struct checkpoint_range *r);
	void *argument;
};

/* The rank of the stage that holds no layer of the reader's, or no file, has nothing for it. */
static bool items_apart(const struct items *x, const struct mesh_place *writer)
{
	uint64_t first, end, wanted_first, wanted_end;

	shard_layers(x->written.model, x->written.mesh, writer->pipeline, &first, &end);
	shard_layers(x->wanted.model, x->wanted.mesh, x->reader.pipeline, &wanted_first,
		     &wanted_end);
	return end <= wanted_first || wanted_end <= first;
}

/* Bytes of the item with that tensor. */
static int item_bytes(const struct checkpoint_file *f, uint64_t tensor, uint64_t *bytes)
{
	struct checkpoint_file alone = *f;
	struct archive_tensors tensors;
	uint64_t payload;

	alone.entries = f->entries + tensor;
	alone.tensors = 1;
	tensors = checkpoint_file_tensors(&alone);
	return archive_size(f->shape->framing == ARCHIVE_TORCH ? ARCHIVE_ITEMS : ARCHIVE_RAW,
			    &tensors, bytes, &payload, NULL);
}

/* What the file has of an entry. */
static void items_held(const struct items *x, const struct checkpoint_file *f,
		       const struct state_entry *e, struct state_chunk *out)
{
	bool writes;

	if (f->whole)
		*out = (struct state_chunk){
			.size = {e->tensor.shape[0],
				 e->tensor.dimensions > 1 ? e->tensor.shape[1] : 1}};
	else
		state_chunk_of(&x->written, e, &f->place, out, &writes);
}

static int items_of_file(const struct items *x, const struct checkpoint_file *f, uint32_t number)
{
	int rc = 0;

	for (uint64_t t = 0; rc == 0 && t < f->tensors; t++) {
		struct checkpoint_range g = {.rank = f->place.rank, .file = number, .tensor = t};
		struct state_chunk held, wanted;
		struct state_entry e;
		uint64_t common, row;
		bool first;

		state_entry_at(&x->written, f->entries[t], &e);
		items_held(x, f, &e, &held);
		if (!state_chunk_of(&x->wanted, &e, &x->reader, &wanted, &first) ||
		    (!first && x->replicas == CHECKPOINT_REPLICAS_FIRST))
			continue;
		common = state_chunk_common(&held, &wanted);
		if (!common)
			continue;
		if (x->needed)
			*x->needed += model_type_bytes(e.tensor.type, common);
		row = model_type_bytes(e.tensor.type, held.size[1]);
		g.offset = f->whole ? wanted.offset[0] * row : 0;
		g.length = wanted.size[0] * row;
		if (!f->whole)
			rc = item_bytes(f, t, &g.length);
		if (rc == 0)
			rc = x->range(x->argument, &g);
	}
	return rc;
}

/* Files of that rank: those with the tensors that it wrote, or those that are consolidated. */
static int items_of_rank(const struct items *x, uint64_t rank)
{
	bool whole = x->s->consolidate;
	uint32_t data = checkpoint_data_files(x->s, rank);
	uint32_t end = whole ? checkpoint_file_count(x->s, rank) : data;
	int rc = 0;

	for (uint32_t i = whole ? data : 0; rc == 0 && i < end; i++) {
		struct arena arena = {NULL};
		struct checkpoint_file f;

		checkpoint_file(x->s, rank, i, &f);
		rc = checkpoint_file_list(&f, &arena, NULL);
		if (rc == 0 && !f.metadata)
			rc = items_of_file(x, &f, i);
		arena_free(&arena);
	}
	return rc;
}

int checkpoint_items(const struct checkpoint_shape *s, const struct mesh *reader, uint64_t rank,
		     enum checkpoint_replicas replicas, uint64_t *needed,
		     int (*range)(void *argument, const struct checkpoint_range *r), void *argument)
{
	struct items x = {.s = s,
			  .written = checkpoint_state_dict(s),
			  .wanted = checkpoint_state_dict(s),
			  .replicas = replicas,
			  .needed = needed,
			  .range = range,
			  .argument = argument};
	uint64_t writers = mesh_ranks(&s->mesh);
	int rc = 0;

	x.wanted.mesh = reader;
	mesh_at(reader, rank, &x.reader);
	/* Without metadata of all, a rank knows its own file only. */
	for (uint64_t w = s->rank_metadata ? rank : 0;
	     rc == 0 && w < (s->rank_metadata ? rank + 1 : writers); w++) {
		struct mesh_place writer;

		mesh_at(&s->mesh, w, &writer);
		if (s->consolidate || !items_apart(&x, &writer))
			rc = items_of_rank(&x, w);
	}
	return rc;
}

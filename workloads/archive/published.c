/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/archive/published.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/archive/kind.h"

const char published_index_name[] = "model.safetensors.index.json";

/* Most bytes of tensors in a file, where models are published with others than the usual ones. */
static const uint64_t shard_usual = 5000000000;
static const struct {
	const char *model;
	uint64_t shard;
} shards[] = {{"qwen3-30b-a3b", 4000000000}};

static uint64_t published_shard(const struct model *m)
{
	const char *name = model_known(m);

	for (size_t i = 0; name && i < sizeof(shards) / sizeof(shards[0]); i++)
		if (strcmp(name, shards[i].model) == 0)
			return shards[i].shard;
	return shard_usual;
}

/* Where a tensor stands in its layer: projections of the attention, its norms, what is fed forward, the
 * router of the experts, the layer's norms. */
enum { PARTS = 5 };
static unsigned published_part(const char *name)
{
	const char *attention = strstr(name, ".self_attn.");

	if (attention)
		return strstr(attention, "norm") ? 1 : 0;
	if (strstr(name, "norm"))
		return 4;
	return strstr(name, ".mlp.gate.") ? 3 : 2;
}

/* The output layer comes last, behind the last norm. */
static uint64_t published_layer(const struct model *m, uint64_t i)
{
	uint64_t layers = model_layer_count(m);

	if (m->bytes || m->tied || i + 2 < layers)
		return i;
	return i + 2 == layers ? i + 1 : i - 1;
}

/* All tensors in the order of the model. */
static void published_list(const struct model *m, struct tensor *out)
{
	static const struct mesh whole = {.tensor = 1, .pipeline = 1, .data = 1};

	for (uint64_t i = 0; i < model_layer_count(m); i++) {
		uint64_t layer = published_layer(m, i);
		uint64_t first = shard_tensors_before(m, layer);
		uint64_t count = shard_tensors_before(m, layer + 1) - first;

		for (unsigned part = 0; part < PARTS; part++)
			for (uint64_t k = 0; k < count; k++) {
				shard_layer_tensor(m, &whole, layer, k, out);
				out += published_part(out->name) == part;
			}
	}
}

static int published_compare(const void *a, const void *b)
{
	const struct tensor *x = a, *y = b;
	uint64_t one = model_type_bytes(x->type, 8), other = model_type_bytes(y->type, 8);

	return one != other ? (one > other ? -1 : 1) : strcmp(x->name, y->name);
}

static void published_tensor(const void *file, uint64_t i, struct tensor *out)
{
	*out = ((const struct published_file *)file)->tensors[i];
}

/* How many of the tensors, of which there is at least one, go into the next file. */
static uint64_t published_fit(const struct tensor *t, uint64_t count, uint64_t shard)
{
	uint64_t bytes = t->bytes, n = 1;

	while (n < count && bytes + t[n].bytes <= shard)
		bytes += t[n++].bytes;
	return n;
}

int published_make(struct published *p, const struct model *m, uint64_t shard, struct arena *arena,
		   struct err *err)
{
	uint64_t tensors = shard_tensors_before(m, model_layer_count(m)), at = 0, n;
	/* One more, which published_list may write behind the last. */
	struct tensor *list = arena_alloc(arena, (tensors + 1) * sizeof(*list));
	int rc = 0;

	*p = (struct published){.files = 0};
	shard = shard ? shard : published_shard(m);
	if (!list)
		return err_set(err, -ENOMEM, "no memory for %" PRIu64 " tensors", tensors);
	published_list(m, list);
	for (at = 0; at < tensors; at += published_fit(list + at, tensors - at, shard))
		p->files++;
	p->file = arena_alloc(arena, (p->files + 1) * sizeof(*p->file));
	if (!p->file)
		return err_set(err, -ENOMEM, "no memory for %" PRIu64 " files", p->files);
	at = 0;
	for (uint64_t i = 0; rc == 0 && i < p->files; i++, at += n) {
		struct published_file *f = &p->file[i];
		const struct archive_tensors all = {
			.count = n = published_fit(list + at, tensors - at, shard),
			.tensor = published_tensor,
			.argument = f};

		if (p->files == 1)
			snprintf(f->name, sizeof(f->name), "model.safetensors");
		else
			snprintf(f->name, sizeof(f->name),
				 "model-%05" PRIu64 "-of-%05" PRIu64 ".safetensors", i + 1,
				 p->files);
		qsort(list + at, n, sizeof(*list), published_compare);
		f->tensors = list + at;
		rc = archive_make(&f->archive, ARCHIVE_SAFETENSORS, &all, arena, err);
		p->bytes += f->archive.payload;
	}
	return rc;
}

char *published_index(const struct published *p)
{
	enum { ROW = TENSOR_NAME_BYTES + PUBLISHED_NAME_BYTES + 16, FRAME = 128 };
	uint64_t tensors = 0, size, used;
	char *text;

	for (uint64_t i = 0; i < p->files; i++)
		tensors += p->file[i].archive.tensors.count;
	size = tensors * ROW + FRAME;
	text = malloc(size);
	if (!text)
		return NULL;
	used = (uint64_t)snprintf(text, size,
				  "{\n  \"metadata\": {\n    \"total_size\": %" PRIu64
				  "\n  },\n  \"weight_map\": {",
				  p->bytes);
	for (uint64_t i = 0; i < p->files; i++)
		for (uint64_t k = 0; k < p->file[i].archive.tensors.count; k++)
			used += (uint64_t)snprintf(text + used, size - used,
						   "%s\n    \"%s\": \"%s\"", i || k ? "," : "",
						   p->file[i].tensors[k].name, p->file[i].name);
	snprintf(text + used, size - used, "\n  }\n}\n");
	return text;
}

int published_tensors(const struct published_file *f, struct safetensors *out, struct arena *arena)
{
	const struct archive *a = &f->archive;

	*out = (struct safetensors){.count = a->tensors.count};
	out->tensors = arena_alloc(arena, (a->tensors.count + 1) * sizeof(*out->tensors));
	if (!out->tensors)
		return -ENOMEM;
	for (uint64_t i = 0; i < a->tensors.count; i++) {
		struct tensor t;
		struct safetensors_tensor *o = &out->tensors[i];

		archive_stored(a, i, &t);
		*o = (struct safetensors_tensor){.name = f->tensors[i].name,
						 .dimensions = t.dimensions,
						 .begin = a->offsets[i],
						 .end = a->ends[i]};
		memcpy(o->shape, t.shape, sizeof(t.shape));
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/load/header.h"
#include "core/numbers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A module is what the name says before its last dot: "q_proj" in
 * "model.layers.0.self_attn.q_proj.weight". These are the names that models on the Hugging Face
 * Hub, Megatron and Meta give to those that are cut by rows: embeddings and output layers,
 * attention, feed-forward layers and experts. */
/* clang-format off */
static const char *const cut_rows[] = {
	"embed_tokens", "word_embeddings", "tok_embeddings", "embed_in", "embed_out", "wte", "lm_head", "output_layer",
	"q_proj", "wq", "qkv_proj", "query_key_value", "linear_qkv", "Wqkv", "W_pack", "q_b_proj", "kv_b_proj",
	"gate_proj", "up_proj", "gate_up_proj", "dense_h_to_4h", "linear_fc1", "fc1", "fc_in", "w1", "w3"};
/* clang-format on */
/* Keys and values, of which there may be fewer heads than ranks. */
static const char *const cut_kv_rows[] = {"k_proj", "v_proj", "wk", "wv"};

/* What of a module has a row for each row of its matrix, or for each block of them. Packed weights
 * of AWQ and GPTQ are transposed, and not among them. */
static const char *const cut_members[] = {"weight", "bias", "weight_scale", "weight_scale_inv"};

static bool cut_among(const char *const *names, size_t count, const char *text, size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(names[i]) == length && memcmp(names[i], text, length) == 0)
			return true;
	return false;
}

enum load_cut load_cut_by_name(const char *name)
{
	const char *member = strrchr(name, '.'), *module;
	size_t length;

	if (!member || !cut_among(cut_members, COUNT(cut_members), member + 1, strlen(member + 1)))
		return LOAD_WHOLE;
	for (module = member; module > name && module[-1] != '.'; module--)
		;
	length = (size_t)(member - module);
	if (cut_among(cut_kv_rows, COUNT(cut_kv_rows), module, length))
		return LOAD_KV_ROWS;
	return cut_among(cut_rows, COUNT(cut_rows), module, length) ? LOAD_ROWS : LOAD_WHOLE;
}

static uint64_t cut_row(uint64_t rows, uint64_t i, uint64_t parts)
{
	return (uint64_t)((unsigned __int128)rows * i / parts);
}

void load_cut(const struct safetensors_tensor *t, const struct load_part *part, uint64_t *begin,
	      uint64_t *end)
{
	enum load_cut cut = load_cut_by_name(t->name);
	uint64_t rows = t->dimensions ? t->shape[0] : 0, bytes = t->end - t->begin;
	uint64_t parts = part->tensor, i = part->rank, row_bytes;

	*begin = t->begin;
	*end = t->end;
	if (cut == LOAD_KV_ROWS && part->kv_heads && part->kv_heads < parts) {
		i = cut_row(part->kv_heads, i, parts);
		parts = part->kv_heads;
	}
	/* A scale of the whole matrix has fewer rows than ranks; rows of numbers smaller than a
	 * byte may have no bytes of their own. */
	if (cut == LOAD_WHOLE || t->dimensions > 2 || !rows || rows < parts || bytes % rows)
		return;
	row_bytes = bytes / rows;
	*begin = t->begin + cut_row(rows, i, parts) * row_bytes;
	*end = t->begin + cut_row(rows, i + 1, parts) * row_bytes;
}

enum { HEADER_ALIGNMENT = 4096 };

static int header_do(struct crew_thread *w, struct request *req, struct load_header_cost *cost)
{
	int rc = crew_do(w, req);

	if (req->op != REQ_READ)
		cost->request_ns += req->answer.done_ns - req->answer.submit_ns;
	/* The absence of what is asked for is an answer elsewhere; the files of a model must be
	 * there. */
	if (rc < 0 && !request_failed(req)) {
		meter_error(&w->meter);
		crew_fail(w, req, rc, request_text(req));
	}
	return rc;
}

static int header_wrong(struct crew_thread *w, struct object *o, int rc, const char *text)
{
	struct request req = {.op = REQ_READ, .object = o};

	req.answer.done_ns = w->queue.now_ns;
	meter_error(&w->meter);
	return crew_fail(w, &req, rc, text);
}

/* Gives *bytes, of which length are the file's from offset on. The caller frees *memory. */
static int header_get(struct crew_thread *w, struct object *o, uint64_t offset, uint64_t length,
		      void **memory, const char **bytes, struct load_header_cost *cost)
{
	struct request req = {.op = REQ_READ, .object = o, .offset = offset, .length = length};
	int rc;

	if (posix_memalign(memory, HEADER_ALIGNMENT, queue_buffer_bytes(w->crew->store, length)) !=
	    0) {
		*memory = NULL;
		return header_wrong(w, o, -ENOMEM, "no memory for its header");
	}
	req.data = *memory;
	rc = header_do(w, &req, cost);
	*bytes = (const char *)*memory + req.answer.lead;
	return rc;
}

int load_header_cut(struct load_header *h, const struct safetensors *tensors,
		    const struct load_part *part)
{
	h->ranges = calloc(tensors->count ? tensors->count : 1, sizeof(*h->ranges));
	h->count = 0;
	if (!h->ranges)
		return -ENOMEM;
	for (uint64_t i = 0; i < tensors->count; i++) {
		struct load_range *last = h->count ? &h->ranges[h->count - 1] : NULL;
		uint64_t begin, end;

		load_cut(&tensors->tensors[i], part, &begin, &end);
		if (begin == end)
			continue;
		if (last && last->offset + last->length == begin)
			last->length += end - begin;
		else
			h->ranges[h->count++] =
				(struct load_range){.offset = begin, .length = end - begin};
	}
	return 0;
}

/* Whether the file lacks a tensor that the index names in it. It may have others besides. */
static bool header_lacks(const struct safetensors *has, const struct safetensors_names *listed,
			 struct err *err)
{
	struct safetensors_names found = {0};

	for (uint64_t i = 0; i < has->count; i++)
		safetensors_names_add(&found, has->tensors[i].name);
	if (found.count > listed->count ||
	    (found.count == listed->count && (!listed->count || found.sum == listed->sum)))
		return false;
	err_set(err, -EINVAL,
		"lacks tensors that model.safetensors.index.json names in it: the file has %" PRIu64
		", the index names %" PRIu64,
		found.count, listed->count);
	return true;
}

/* Parses the text of the header. */
static int header_parse(struct load_header *h, struct crew_thread *w, struct object *o,
			const char *text, uint64_t length, const struct load_part *part,
			const struct safetensors_names *listed, struct load_header_cost *cost)
{
	struct clock *clock = w->crew->store->clock;
	uint64_t began_ns = clock_now(clock);
	struct safetensors tensors;
	struct arena arena = {NULL};
	struct err err = {0};
	int rc = safetensors_read(&tensors, text, length, h->file_bytes, &arena, &err);

	if (rc < 0)
		rc = header_wrong(w, o, rc, err.text);
	else if (header_lacks(&tensors, listed, &err))
		rc = header_wrong(w, o, -EINVAL, err.text);
	else if (load_header_cut(h, &tensors, part) < 0)
		rc = header_wrong(w, o, -ENOMEM, "no memory for its tensors");
	arena_free(&arena);
	cost->parse_ns += clock_now(clock) - began_ns;
	return rc;
}

/* The file is open. */
static int header_load(struct load_header *h, struct crew_thread *w, struct object *o,
		       const struct load_part *part, const struct safetensors_names *listed,
		       struct load_header_cost *cost)
{
	struct request size = {.op = REQ_STAT, .object = o};
	uint8_t first[SAFETENSORS_LENGTH_BYTES];
	const char *bytes = NULL;
	void *memory = NULL;
	struct err err = {0};
	uint64_t length = 0;
	int rc = o->size ? 0 : header_do(w, &size, cost);

	h->file_bytes = o->size;
	if (rc == 0 && h->file_bytes < SAFETENSORS_LENGTH_BYTES)
		return header_wrong(w, o, -EINVAL, "is too short to be a safetensors file");
	if (rc == 0)
		rc = header_get(w, o, 0, sizeof(first), &memory, &bytes, cost);
	if (rc == 0 && bytes)
		memcpy(first, bytes, sizeof(first));
	free(memory);
	memory = NULL;
	if (rc < 0)
		return rc;
	rc = safetensors_header_bytes(first, h->file_bytes, &length, &err);
	if (rc < 0)
		return header_wrong(w, o, rc, err.text);
	if (!length)
		return header_wrong(w, o, -EINVAL, "its header is empty");
	h->header_bytes = sizeof(first) + length;
	rc = header_get(w, o, sizeof(first), length, &memory, &bytes, cost);
	if (rc == 0)
		rc = header_parse(h, w, o, bytes, length, part, listed, cost);
	free(memory);
	return rc;
}

int load_header_read(struct load_header *h, struct crew_thread *w, struct object *o,
		     const struct load_part *part, const struct safetensors_names *listed,
		     struct load_header_cost *cost)
{
	struct request open = {.op = REQ_OPEN, .object = o};
	struct request shut = {.op = REQ_CLOSE, .object = o};
	int rc = header_do(w, &open, cost), closed;

	if (rc < 0)
		return rc;
	rc = header_load(h, w, o, part, listed, cost);
	closed = header_do(w, &shut, cost);
	return rc < 0 ? rc : closed;
}

void load_header_free(struct load_header *h)
{
	free(h->ranges);
	*h = (struct load_header){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/load/header.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/grow.h"
#include "core/numbers.h"

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
/* Layers whose outputs are added up over the ranks. */
static const char *const cut_columns[] = {"o_proj", "wo",          "out_proj",     "down_proj",
					  "w2",     "linear_fc2",  "fc2",          "fc_out",
					  "dense",  "linear_proj", "dense_4h_to_h"};

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
	if (strcmp(member, ".bias") != 0 &&
	    cut_among(cut_columns, COUNT(cut_columns), module, length))
		return LOAD_COLUMNS;
	return cut_among(cut_rows, COUNT(cut_rows), module, length) ? LOAD_ROWS : LOAD_WHOLE;
}

static uint64_t cut_row(uint64_t rows, uint64_t i, uint64_t parts)
{
	return (uint64_t)((unsigned __int128)rows * i / parts);
}

/* The first layer of a stage as vLLM divides them: where they do not divide evenly, the stages before
 * the last have one more, from behind (get_pp_indices). */
static uint64_t cut_stage(uint64_t layers, uint64_t stages, uint64_t stage)
{
	uint64_t more = layers % stages, plain = stages - 1 - more;

	return layers / stages * stage + (stage > plain ? min_u64(stage - plain, more) : 0);
}

/* Whether the tensor is of the rank's stage. What is of no layer belongs to the first stage where it is
 * an embedding, to the last where it is the output layer or the last norm, else to all. */
static bool cut_staged(const char *name, const struct load_part *part, uint64_t layers)
{
	static const char *const last[] = {"lm_head.", "output_layer.", "embed_out.", "norm."};
	static const char *const first[] = {"embed_tokens.", "word_embeddings.", "tok_embeddings.",
					    "embed_in.", "wte."};
	uint64_t layer;

	if (part->stages <= 1)
		return true;
	if (safetensors_number(name, "layers", &layer))
		return layer >= cut_stage(layers, part->stages, part->stage) &&
		       layer < cut_stage(layers, part->stages, part->stage + 1);
	for (size_t i = 0; i < COUNT(first); i++)
		if (strstr(name, first[i]))
			return part->stage == 0;
	for (size_t i = 0; i < COUNT(last); i++)
		if (strstr(name, last[i]))
			return part->stage + 1 == part->stages;
	return true;
}

/* Cuts a tensor of rows and columns, as part i of parts. A scale of the whole matrix has fewer rows
 * than ranks; rows of numbers smaller than a byte may have no bytes of their own. */
static void cut_matrix(const struct safetensors_tensor *t, enum load_cut cut, uint64_t i,
		       uint64_t parts, struct load_slice *out)
{
	uint64_t rows = t->dimensions ? t->shape[0] : 0, bytes = t->end - t->begin, row_bytes;
	uint64_t columns = t->dimensions == 2 ? t->shape[1] : 0, from, to;

	if (cut == LOAD_WHOLE || t->dimensions > 2 || !rows || bytes % rows)
		return;
	row_bytes = bytes / rows;
	if (cut == LOAD_COLUMNS) {
		if (columns < parts || row_bytes % columns || parts == 1)
			return;
		from = cut_row(columns, i, parts) * (row_bytes / columns);
		to = cut_row(columns, i + 1, parts) * (row_bytes / columns);
		*out = (struct load_slice){t->begin + from, to - from, row_bytes, rows};
		return;
	}
	if (rows < parts)
		return;
	from = cut_row(rows, i, parts) * row_bytes;
	to = cut_row(rows, i + 1, parts) * row_bytes;
	*out = (struct load_slice){t->begin + from, to - from, 0, 1};
}

/* Experts that stand in one tensor: a share of the first dimension. */
static bool cut_experts(const struct safetensors_tensor *t, const struct load_part *part,
			struct load_slice *out)
{
	uint64_t bytes = t->end - t->begin, n = t->dimensions > 2 ? t->shape[0] : 0;

	if (!n || n < part->experts || bytes % n || !strstr(t->name, ".experts."))
		return false;
	out->begin = t->begin + cut_row(n, part->expert_rank, part->experts) * (bytes / n);
	out->length = t->begin + cut_row(n, part->expert_rank + 1, part->experts) * (bytes / n) -
		      out->begin;
	return true;
}

void load_slice(const struct safetensors_tensor *t, const struct load_part *part,
		const struct safetensors_names *model, struct load_slice *out)
{
	enum load_cut cut = load_cut_by_name(t->name);
	uint64_t parts = part->tensor, i = part->rank, expert;

	*out = (struct load_slice){t->begin, t->end - t->begin, 0, t->end > t->begin};
	if (!cut_staged(t->name, part, model->layers))
		out->count = 0;
	if (!out->count)
		return;
	if (part->experts > 1) {
		if (cut_experts(t, part, out))
			return;
		if (safetensors_number(t->name, "experts", &expert)) {
			if (expert < cut_row(model->experts, part->expert_rank, part->experts) ||
			    expert >= cut_row(model->experts, part->expert_rank + 1, part->experts))
				out->count = 0;
			parts = part->expert_tensor;
			i = part->expert_tensor_rank;
		}
	}
	if (cut == LOAD_KV_ROWS && part->kv_heads && part->kv_heads < parts) {
		i = cut_row(part->kv_heads, i, parts);
		parts = part->kv_heads;
	}
	if (out->count)
		cut_matrix(t, cut, i, parts, out);
	out->count = out->length ? out->count : 0;
}

enum { HEADER_ALIGNMENT = 4096, RANGES_FIRST = 64, RANGE_MOST = 128 << 20, RANGE_OVER = 2 };

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

/* Bytes of the file in memory of their own, which the caller frees. */
struct header_piece {
	bool touch;
	void *memory;
	const char *bytes;
};

static int header_get(struct crew_thread *w, struct object *o, uint64_t offset, uint64_t length,
		      struct header_piece *p, struct load_header_cost *cost)
{
	struct request req = {
		.op = REQ_READ, .object = o, .offset = offset, .length = length, .touch = p->touch};
	int rc;

	if (posix_memalign(&p->memory, HEADER_ALIGNMENT,
			   queue_buffer_bytes(w->crew->store, length)) != 0) {
		p->memory = NULL;
		return header_wrong(w, o, -ENOMEM, "no memory for it");
	}
	req.data = p->memory;
	rc = header_do(w, &req, cost);
	p->bytes = (const char *)p->memory + req.answer.lead;
	return rc;
}

/* Adds bytes [begin, begin + length) to the ranges, joined with the last one where that is worth it.
 * used: of the last range, the bytes that are needed. */
static int header_add(struct load_header *h, uint64_t begin, uint64_t length, uint64_t gap,
		      uint64_t *used)
{
	struct load_range *last = h->count ? &h->ranges[h->count - 1] : NULL;
	uint64_t end = last ? last->offset + last->length : 0;

	if (last &&
	    (begin == end ||
	     (begin > end && begin - end <= gap && begin + length - last->offset <= RANGE_MOST &&
	      begin + length - last->offset <= RANGE_OVER * (*used + length)))) {
		last->length = begin + length - last->offset;
		*used += length;
		return 0;
	}
	if (!grow(&h->ranges, h->count, &h->room, RANGES_FIRST, sizeof(*h->ranges)))
		return -ENOMEM;
	h->ranges[h->count++] = (struct load_range){.offset = begin, .length = length};
	*used = length;
	return 0;
}

int load_header_cut(struct load_header *h, const struct safetensors *tensors,
		    const struct load_rule *rule)
{
	uint64_t used = 0;
	int rc = 0;

	h->count = 0;
	for (uint64_t i = 0; rc == 0 && i < tensors->count; i++) {
		const struct safetensors_tensor *t = &tensors->tensors[i];
		struct load_slice s;

		load_slice(t, &rule->part, &rule->model, &s);
		h->tensor_bytes += t->end - t->begin;
		h->needed_bytes += s.length * s.count;
		if (rule->reads == LOAD_READS_ROWS && s.count > 1)
			s = (struct load_slice){t->begin, t->end - t->begin, 0, 1};
		for (uint64_t k = 0; rc == 0 && rule->reads != LOAD_READS_FILE && k < s.count; k++)
			rc = header_add(h, s.begin + k * s.pitch, s.length,
					rule->reads == LOAD_READS_STRIPS ? rule->gap : 0, &used);
	}
	if (rule->reads == LOAD_READS_FILE && h->file_bytes)
		rc = header_add(h, 0, h->file_bytes, 0, &used);
	return rc;
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
			const char *text, uint64_t length, const struct load_rule *rule,
			const struct safetensors_names *listed, struct load_header_cost *cost)
{
	struct clock *clock = w->crew->store->clock;
	uint64_t began_ns = clock_now(clock);
	struct load_rule own = *rule;
	struct safetensors tensors = {.count = 0};
	struct arena arena = {NULL};
	struct err err = {0};
	int rc = safetensors_read(&tensors, text, length, h->file_bytes, &arena, &err);

	if (rc < 0)
		rc = header_wrong(w, o, rc, err.text);
	else if (header_lacks(&tensors, listed, &err))
		rc = header_wrong(w, o, -EINVAL, err.text);
	for (uint64_t i = 0; rc == 0 && !rule->model.count && i < tensors.count; i++)
		safetensors_names_add(&own.model, tensors.tensors[i].name);
	if (rc == 0 && load_header_cut(h, &tensors, &own) < 0)
		rc = header_wrong(w, o, -ENOMEM, "no memory for its tensors");
	arena_free(&arena);
	cost->parse_ns += clock_now(clock) - began_ns;
	return rc;
}

/* The file is open, and has been mapped where it is to be touched. Of one that is read whole, *all is its
 * memory, and bytes its begin. */
static int header_load(struct load_header *h, struct crew_thread *w, struct object *o,
		       const struct load_rule *rule, const struct safetensors_names *listed,
		       struct load_header_way way, struct load_header_cost *cost)
{
	struct request size = {.op = REQ_STAT, .object = o};
	uint8_t first[SAFETENSORS_LENGTH_BYTES];
	struct header_piece piece = {.touch = way.touch};
	struct err err = {0};
	uint64_t length = 0;
	int rc = o->size ? 0 : header_do(w, &size, cost);

	h->file_bytes = o->size;
	if (rc == 0 && h->file_bytes < SAFETENSORS_LENGTH_BYTES)
		return header_wrong(w, o, -EINVAL, "is too short to be a safetensors file");
	if (rc == 0)
		rc = header_get(w, o, 0, way.whole ? h->file_bytes : sizeof(first), &piece, cost);
	if (rc < 0)
		goto out;
	memcpy(first, piece.bytes, sizeof(first));
	rc = safetensors_header_bytes(first, h->file_bytes, &length, &err);
	if (rc < 0)
		rc = header_wrong(w, o, rc, err.text);
	else if (!length)
		rc = header_wrong(w, o, -EINVAL, "its header is empty");
	if (rc < 0)
		goto out;
	h->header_bytes = sizeof(first) + length;
	if (!way.whole) {
		free(piece.memory);
		rc = header_get(w, o, sizeof(first), length, &piece, cost);
	}
	if (rc == 0)
		rc = header_parse(h, w, o, piece.bytes + (way.whole ? sizeof(first) : 0), length,
				  rule, listed, cost);
out:
	free(piece.memory);
	return rc;
}

int load_header_read(struct load_header *h, struct crew_thread *w, struct object *o,
		     const struct load_rule *rule, const struct safetensors_names *listed,
		     struct load_header_way way, struct load_header_cost *cost)
{
	struct request open = {.op = REQ_OPEN, .object = o, .touch = way.touch};
	struct request shut = {.op = REQ_CLOSE, .object = o};
	int rc = header_do(w, &open, cost), closed;

	if (rc < 0)
		return rc;
	rc = header_load(h, w, o, rule, listed, way, cost);
	closed = header_do(w, &shut, cost);
	return rc < 0 ? rc : closed;
}

int load_header_ask(const struct load_header *h, struct crew_thread *w, struct object *o,
		    struct load_header_way way, struct load_header_cost *cost)
{
	struct request open = {.op = REQ_OPEN, .object = o, .touch = way.touch};
	struct request shut = {.op = REQ_CLOSE, .object = o};
	struct request first = {.op = REQ_READ,
				.object = o,
				.length = SAFETENSORS_LENGTH_BYTES,
				.touch = way.touch};
	struct request rest = first;
	int rc = header_do(w, &open, cost), closed;

	rest.offset = first.length;
	rest.length = h->header_bytes - first.length;
	/* What is touched has come with the first page fault. */
	if (rc == 0 && !way.whole)
		rc = header_do(w, &first, cost);
	if (rc == 0 && !way.whole && !way.touch)
		rc = header_do(w, &rest, cost);
	closed = header_do(w, &shut, cost);
	return rc < 0 ? rc : closed;
}

void load_header_free(struct load_header *h)
{
	free(h->ranges);
	*h = (struct load_header){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/model/shard.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct option mesh_options[] = {
	OPT_U64("tensor", struct mesh, tensor, .max = 1 << 16,
		.help = "ranks that share a layer; 0: cluster.tensor"),
	OPT_U64("pipeline", struct mesh, pipeline, .max = 1 << 16,
		.help = "groups of layers; 0: cluster.pipeline"),
	OPT_U64("data", struct mesh, data, .max = 1 << 20,
		.help = "copies of the model that train side by side; 0: as many as there are ranks for"),
	OPT_U64("zero", struct mesh, zero, .max = MESH_ZERO_MAX,
		.help = "stage of the ZeRO optimizer, 0 to 3; FSDP is 3"),
	OPT_U64("replicate", struct mesh, replicate, .max = 1 << 20,
		.help = "groups of data ranks that have the same, each cut over its own ranks (HSDP); 0: one. For the layouts dcp and megatron"),
	OPT_U64("expert", struct mesh, expert, .max = 1 << 16,
		.help = "data ranks of a group that share the experts; 0: one. For the layouts dcp and megatron"),
	OPT_END};

void mesh_complete(struct mesh *mesh, uint64_t tensor, uint64_t pipeline, uint64_t ranks)
{
	if (!mesh->tensor)
		mesh->tensor = tensor ? tensor : 1;
	if (!mesh->pipeline)
		mesh->pipeline = pipeline ? pipeline : 1;
	if (!mesh->data)
		mesh->data = ranks / (mesh->tensor * mesh->pipeline);
	if (!mesh->data)
		mesh->data = 1;
}

int mesh_check(const struct mesh *mesh, const struct model *m, const char *path, struct err *err)
{
	if (m->bytes && mesh->tensor * mesh->pipeline > 1)
		return err_set(
			err, -EINVAL,
			"%s: a model of no known shape cannot be cut into tensor x pipeline parts",
			path);
	if (mesh->replicate > 1 && mesh->data % mesh->replicate)
		return err_set(err, -EINVAL,
			       "%s/replicate: %" PRIu64 " groups do not divide %" PRIu64
			       " data ranks",
			       path, mesh->replicate, mesh->data);
	if (mesh->expert > 1 &&
	    (!m->experts || m->experts % mesh->expert ||
	     mesh->data / (mesh->replicate ? mesh->replicate : 1) % mesh->expert))
		return err_set(
			err, -EINVAL,
			"%s/expert: %" PRIu64
			" ranks must divide the model's experts, and the data ranks of a group",
			path, mesh->expert);
	if (mesh->zero == 3 && mesh->pipeline > 1)
		return err_set(err, -EINVAL, "%s/zero: stage 3 has no pipeline; set pipeline 1",
			       path);
	if (!m->bytes && mesh->pipeline > model_blocks(m))
		return err_set(err, -EINVAL,
			       "%s/pipeline: %" PRIu64 " stages are more than the model's %" PRIu64
			       " layers",
			       path, mesh->pipeline, model_blocks(m));
	return 0;
}

void mesh_at(const struct mesh *mesh, uint64_t rank, struct mesh_place *out)
{
	uint64_t model = mesh->tensor * mesh->pipeline;

	*out = (struct mesh_place){
		.rank = rank,
		.tensor = rank % mesh->tensor,
		.pipeline = rank / mesh->tensor % mesh->pipeline,
		.data = rank / model,
		.model_part = rank % model,
	};
}

void shard_layers(const struct model *m, const struct mesh *mesh, uint64_t pipeline,
		  uint64_t *first, uint64_t *end)
{
	uint64_t each, more;

	if (m->bytes) {
		*first = 0;
		*end = 1;
		return;
	}
	each = model_blocks(m) / mesh->pipeline;
	more = model_blocks(m) % mesh->pipeline;
	*first = 1 + pipeline * each + (pipeline < more ? pipeline : more);
	*end = *first + each + (pipeline < more ? 1 : 0);
	if (pipeline == 0)
		*first = 0;
	if (pipeline == mesh->pipeline - 1)
		*end = model_layer_count(m);
}

uint64_t shard_layer_stage(const struct model *m, const struct mesh *mesh, uint64_t layer)
{
	uint64_t each = model_blocks(m) / mesh->pipeline, more = model_blocks(m) % mesh->pipeline;

	if (m->bytes || layer == 0)
		return 0;
	if (layer > model_blocks(m))
		return mesh->pipeline - 1;
	layer--;
	if (layer < more * (each + 1))
		return layer / (each + 1);
	return more + (layer - more * (each + 1)) / each;
}

uint64_t shard_tensors_before(const struct model *m, uint64_t layer)
{
	uint64_t before = 0;

	for (unsigned c = 0; c < TENSORS_CLASSES; c++) {
		uint64_t layers = tensors_class_layers(m, c, layer);
		struct tensors_layout l;

		if (!layers)
			continue;
		tensors_layout(m, c, &l);
		before += layers * tensors_in_layer(&l);
	}
	return before;
}

/* The last layer before which there are at most that many tensors. */
void shard_tensor_at(const struct model *m, uint64_t number, uint64_t *layer, uint64_t *i)
{
	uint64_t low = 0, high = model_layer_count(m);

	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (shard_tensors_before(m, middle) <= number)
			low = middle;
		else
			high = middle;
	}
	*layer = low;
	*i = number - shard_tensors_before(m, low);
}

void shard_matrix_cut(const struct mesh *mesh, const struct shard_matrix *x, struct shard_cut *out)
{
	out->parts = x->whole ? 1 : mesh->tensor;
	out->pieces = mesh->zero == 3 && !x->uncut ? mesh->data : 1;
	out->part = x->rows * (x->columns ? x->columns : 1) / out->parts;
	out->piece = out->part / out->pieces;
	out->even = (x->by_rows || !x->columns ? x->rows : x->columns) % out->parts == 0;
	out->by_columns = out->parts > 1 && out->even && !x->by_rows && x->columns;
}

void shard_layer_tensor(const struct model *m, const struct mesh *mesh, uint64_t layer, uint64_t i,
			struct tensor *out)
{
	enum tensor_class c = tensors_class(m, layer);
	struct tensors_layout l;
	struct shard_matrix x;
	struct shard_cut cut;
	uint64_t expert;

	tensors_layout(m, c, &l);
	tensors_matrix(m, c, tensors_kind(&l, i, &expert), &x);
	shard_matrix_cut(mesh, &x, &cut);
	memset(out, 0, sizeof(*out));
	tensors_name(m, layer, &x, expert, out->name);
	out->type = x.type;
	out->bytes = model_type_bytes(x.type, cut.piece);
	out->dimensions = 1;
	out->shape[0] = cut.piece;
	if (cut.pieces > 1 || !x.columns || !cut.even)
		return;
	out->dimensions = 2;
	out->shape[0] = x.by_rows ? x.rows / cut.parts : x.rows;
	out->shape[1] = x.by_rows ? x.columns : x.columns / cut.parts;
}

static uint64_t class_bytes(const struct model *m, const struct mesh *mesh, enum tensor_class c)
{
	struct tensors_layout l;
	uint64_t bytes = 0;

	tensors_layout(m, c, &l);
	for (uint32_t k = 0; k < l.count; k++) {
		bool repeats = k >= l.repeat && k < l.repeat + l.repeat_count;
		struct shard_matrix x;
		struct shard_cut cut;

		tensors_matrix(m, c, k, &x);
		shard_matrix_cut(mesh, &x, &cut);
		bytes += model_type_bytes(x.type, cut.piece) * (repeats ? l.repeats : 1);
	}
	return bytes;
}

/* Parameters whose optimizer states a rank has. */
static uint64_t optimizer_parameters(const struct model *m, const struct mesh *mesh)
{
	uint64_t parts = mesh->tensor * mesh->pipeline * (mesh->zero ? mesh->data : 1);

	return model_parameters(m) / parts;
}

uint32_t shard_optimizer_tensors(const struct model *m)
{
	return m->bytes || m->optimizer == MODEL_TYPE_COUNT ? 0 : OPTIMIZER_TENSORS;
}

void shard_optimizer_tensor(const struct model *m, const struct mesh *mesh, uint32_t i,
			    struct tensor *out)
{
	static const char *const states[] = {"fp32", "exp_avg", "exp_avg_sq"};
	uint64_t elements = i % 2 ? 5 * m->hidden : optimizer_parameters(m, mesh);

	memset(out, 0, sizeof(*out));
	snprintf(out->name, sizeof(out->name), "optimizer.%u.%s", i % 2, states[i / 2]);
	out->type = (enum model_type)m->optimizer;
	out->dimensions = 1;
	out->shape[0] = elements;
	out->bytes = model_type_bytes(out->type, elements);
}

bool shard_writes_weights(const struct mesh *mesh, const struct mesh_place *p)
{
	return mesh->zero == 3 || p->data == 0;
}

bool shard_writes_optimizer(const struct mesh *mesh, const struct mesh_place *p)
{
	return mesh->zero > 0 || p->data == 0;
}

uint64_t shard_weight_bytes(const struct model *m, const struct mesh *mesh,
			    const struct mesh_place *p)
{
	uint64_t first, end, bytes = 0;

	if (!shard_writes_weights(mesh, p))
		return 0;
	shard_layers(m, mesh, p->pipeline, &first, &end);
	for (unsigned c = 0; c < TENSORS_CLASSES; c++) {
		uint64_t layers =
			tensors_class_layers(m, c, end) - tensors_class_layers(m, c, first);

		if (layers)
			bytes += layers * class_bytes(m, mesh, c);
	}
	return bytes;
}

uint64_t shard_optimizer_bytes(const struct model *m, const struct mesh *mesh,
			       const struct mesh_place *p)
{
	struct tensor t;
	uint64_t bytes = 0;

	if (!shard_writes_optimizer(mesh, p))
		return 0;
	for (uint32_t i = 0; i < shard_optimizer_tensors(m); i++) {
		shard_optimizer_tensor(m, mesh, i, &t);
		bytes += t.bytes;
	}
	return bytes;
}

/* The part of a tensor rank: the slice of a rank that has all of the part. */
static void slice_part(const struct shard_matrix *x, const struct shard_cut *cut, uint64_t tensor,
		       struct slice *out)
{
	uint64_t part = x->whole ? 0 : tensor;

	/* A run. All columns of a matrix are a run, too. */
	*out = (struct slice){
		.pitch = x->rows * (x->columns ? x->columns : 1),
		.width = cut->part,
		.offset = part * cut->part,
		.count = cut->part,
	};
	if (!cut->by_columns)
		return;
	out->pitch = x->columns;
	out->width = x->columns / cut->parts;
	out->offset = part * out->width;
}

void slice_make(const struct mesh *mesh, const struct shard_matrix *x, const struct mesh_place *p,
		struct slice *out)
{
	struct shard_cut cut;

	shard_matrix_cut(mesh, x, &cut);
	slice_part(x, &cut, p->tensor, out);
	if (cut.pieces > 1)
		out->begin = p->data * cut.piece;
	out->count = cut.piece;
}

uint64_t slice_element(const struct slice *s, uint64_t i)
{
	uint64_t at = s->begin + i;

	return at / s->width * s->pitch + s->offset + at % s->width;
}

static uint64_t slice_clamp(uint64_t value, uint64_t low, uint64_t high)
{
	if (value < low)
		return low;
	return value < high ? value : high;
}

uint64_t slice_before(const struct slice *s, uint64_t element)
{
	uint64_t row = element / s->pitch, column = element % s->pitch;
	uint64_t in_row = slice_clamp(column, s->offset, s->offset + s->width) - s->offset;

	return slice_clamp(row * s->width + in_row, s->begin, s->begin + s->count) - s->begin;
}

void slice_common_begin(struct slice_common *c, const struct slice *held,
			const struct slice *wanted)
{
	*c = (struct slice_common){.held = held, .wanted = wanted};
	if (!held->count || !wanted->count)
		return;
	/* The same rows, but other columns. */
	if (held->pitch == wanted->pitch && (held->offset + held->width <= wanted->offset ||
					     wanted->offset + wanted->width <= held->offset))
		return;
	c->next = slice_before(wanted, slice_element(held, 0));
	c->end = slice_before(wanted, slice_element(held, held->count - 1) + 1);
}

/* Whether wanted has all columns that held has. Then what they have in common is a run of held. */
static bool slice_covers(const struct slice *wanted, const struct slice *held)
{
	return wanted->pitch == held->pitch && wanted->offset <= held->offset &&
	       wanted->offset + wanted->width >= held->offset + held->width;
}

bool slice_common_next(struct slice_common *c, uint64_t *first, uint64_t *count)
{
	const struct slice *wanted = c->wanted;

	while (c->next < c->end) {
		uint64_t begin = slice_element(wanted, c->next), end, run = c->end - c->next;

		if (slice_covers(wanted, c->held)) {
			end = slice_element(wanted, c->end - 1) + 1;
		} else {
			uint64_t row = wanted->width - (wanted->begin + c->next) % wanted->width;

			if (run > row)
				run = row;
			end = begin + run;
		}
		c->next += run;
		*first = slice_before(c->held, begin);
		*count = slice_before(c->held, end) - *first;
		if (*count)
			return true;
	}
	return false;
}

/* Tensor ranks that may hold elements low ... high of the matrix, of which wanted is a part. */
static void slice_holding_tensors(const struct shard_matrix *x, const struct shard_cut *cut,
				  const struct slice *wanted, uint64_t low, uint64_t high,
				  struct slice_holders *out)
{
	if (!cut->by_columns) {
		out->tensor = low / cut->part;
		out->tensor_end = high / cut->part + 1;
	} else {
		uint64_t width = x->columns / cut->parts, first = 0, last = x->columns - 1;

		if (low / x->columns == high / x->columns) {
			first = low % x->columns;
			last = high % x->columns;
		} else if (wanted->pitch == x->columns) {
			first = wanted->offset;
			last = wanted->offset + wanted->width - 1;
		}
		out->tensor = first / width;
		out->tensor_end = last / width + 1;
	}
	if (out->tensor_end > cut->parts)
		out->tensor_end = cut->parts;
}

bool slice_holders_find(const struct mesh *mesh, const struct shard_matrix *x,
			const struct slice *wanted, struct slice_holders *out)
{
	uint64_t low, high, ends[2];
	struct shard_cut cut;

	shard_matrix_cut(mesh, x, &cut);
	*out = (struct slice_holders){.tensor_end = mesh->tensor, .data_end = mesh->data};
	if (!wanted->count || !cut.piece)
		return false;
	low = slice_element(wanted, 0);
	high = slice_element(wanted, wanted->count - 1);
	if (cut.parts > 1)
		slice_holding_tensors(x, &cut, wanted, low, high, out);
	if (out->tensor >= out->tensor_end)
		return false;
	if (cut.pieces == 1)
		return true;
	/* The first and the last tensor rank need the lowest and the highest data ranks of all. */
	out->data = mesh->data;
	out->data_end = 0;
	ends[0] = out->tensor;
	ends[1] = out->tensor_end - 1;
	for (unsigned i = 0; i < 2; i++) {
		struct slice part;
		uint64_t first, end;

		slice_part(x, &cut, ends[i], &part);
		first = slice_before(&part, low);
		end = slice_before(&part, high + 1);
		if (first == end)
			continue;
		if (first / cut.piece < out->data)
			out->data = first / cut.piece;
		if ((end - 1) / cut.piece + 1 > out->data_end)
			out->data_end = (end - 1) / cut.piece + 1;
	}
	if (out->data_end > mesh->data)
		out->data_end = mesh->data;
	return out->data < out->data_end;
}

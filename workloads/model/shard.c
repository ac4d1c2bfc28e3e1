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
	if (mesh->zero == 3 && mesh->pipeline > 1)
		return err_set(err, -EINVAL, "%s/zero: stage 3 has no pipeline; set pipeline 1",
			       path);
	if (!m->bytes && mesh->pipeline > m->layers)
		return err_set(err, -EINVAL,
			       "%s/pipeline: %" PRIu64 " stages are more than the model's %" PRIu64
			       " layers",
			       path, mesh->pipeline, m->layers);
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
	each = m->layers / mesh->pipeline;
	more = m->layers % mesh->pipeline;
	*first = 1 + pipeline * each + (pipeline < more ? pipeline : more);
	*end = *first + each + (pipeline < more ? 1 : 0);
	if (pipeline == 0)
		*first = 0;
	if (pipeline == mesh->pipeline - 1)
		*end = m->layers + 3;
}

uint64_t shard_layer_stage(const struct model *m, const struct mesh *mesh, uint64_t layer)
{
	uint64_t each = m->layers / mesh->pipeline, more = m->layers % mesh->pipeline;

	if (m->bytes || layer == 0)
		return 0;
	if (layer > m->layers)
		return mesh->pipeline - 1;
	layer--;
	if (layer < more * (each + 1))
		return layer / (each + 1);
	return more + (layer - more * (each + 1)) / each;
}

static const char *const layer_names[] = {
	"input_layernorm.weight",          "self_attn.qkv_proj.weight", "self_attn.o_proj.weight",
	"post_attention_layernorm.weight", "mlp.gate_up_proj.weight",   "mlp.down_proj.weight",
};
enum { LAYER_TENSORS = sizeof(layer_names) / sizeof(layer_names[0]) };

uint32_t shard_layer_tensors(const struct model *m, uint64_t layer)
{
	return m->bytes || layer == 0 || layer > m->layers ? 1 : LAYER_TENSORS;
}

uint64_t shard_tensors_before(const struct model *m, uint64_t layer)
{
	if (m->bytes || layer == 0)
		return layer;
	if (layer <= m->layers + 1)
		return 1 + (layer - 1) * LAYER_TENSORS;
	return layer + m->layers * (LAYER_TENSORS - 1);
}

void shard_tensor_at(const struct model *m, uint64_t number, uint64_t *layer, uint32_t *i)
{
	uint64_t in_layers = m->layers * LAYER_TENSORS;

	*i = 0;
	if (m->bytes || number == 0) {
		*layer = number;
	} else if (number <= in_layers) {
		*layer = 1 + (number - 1) / LAYER_TENSORS;
		*i = (uint32_t)((number - 1) % LAYER_TENSORS);
	} else {
		*layer = number - in_layers + m->layers;
	}
}

/* Keys (or values) of one token, of all heads. */
static uint64_t kv_size(const struct model *m)
{
	return m->hidden / m->heads * m->kv_heads;
}

/* Matrix i of a transformer layer. */
static struct shard_matrix transformer_matrix(const struct model *m, uint32_t i)
{
	uint64_t h = m->hidden, f = m->feed_forward;
	const struct shard_matrix all[LAYER_TENSORS] = {
		{.rows = h, .whole = true},
		{.rows = h + 2 * kv_size(m), .columns = h, .by_rows = true},
		{.rows = h, .columns = h},
		{.rows = h, .whole = true},
		{.rows = 2 * f, .columns = h, .by_rows = true},
		{.rows = h, .columns = f},
	};
	struct shard_matrix one = all[i];

	one.name = layer_names[i];
	return one;
}

void shard_layer_matrix(const struct model *m, uint64_t layer, uint32_t i, struct shard_matrix *out)
{
	if (m->bytes) {
		*out = (struct shard_matrix){.name = "model.state",
					     .type = MODEL_UINT8,
					     .rows = m->bytes,
					     .whole = true,
					     .uncut = true};
		return;
	}
	if (layer >= 1 && layer <= m->layers)
		*out = transformer_matrix(m, i);
	else if (layer == m->layers + 2)
		*out = (struct shard_matrix){
			.name = "model.norm.weight", .rows = m->hidden, .whole = true};
	else
		*out = (struct shard_matrix){.name = layer ? "lm_head.weight"
							   : "model.embed_tokens.weight",
					     .rows = m->vocabulary,
					     .columns = m->hidden,
					     .by_rows = true};
	out->type = (enum model_type)m->weights;
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

void shard_layer_tensor(const struct model *m, const struct mesh *mesh, uint64_t layer, uint32_t i,
			struct tensor *out)
{
	struct shard_matrix x;
	struct shard_cut cut;

	shard_layer_matrix(m, layer, i, &x);
	shard_matrix_cut(mesh, &x, &cut);
	memset(out, 0, sizeof(*out));
	if (!m->bytes && layer >= 1 && layer <= m->layers)
		snprintf(out->name, sizeof(out->name), "model.layers.%" PRIu64 ".%s", layer - 1,
			 x.name);
	else
		snprintf(out->name, sizeof(out->name), "%s", x.name);
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

uint64_t shard_layer_bytes(const struct model *m, const struct mesh *mesh, uint64_t layer)
{
	uint32_t count = shard_layer_tensors(m, layer);
	struct tensor t;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < count; i++) {
		shard_layer_tensor(m, mesh, layer, i, &t);
		bytes += t.bytes;
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
	return m->bytes ? 0 : OPTIMIZER_TENSORS;
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
	for (uint64_t layer = first; layer < end; layer++)
		bytes += shard_layer_bytes(m, mesh, layer);
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

void shard_totals(const struct model *m, const struct mesh *mesh, uint64_t *weights,
		  uint64_t *optimizer)
{
	*weights = *optimizer = 0;
	/* All data ranks hold as much as each other, but where only the first one writes. */
	for (uint64_t stage = 0; stage < mesh->pipeline; stage++) {
		struct mesh_place p;

		mesh_at(mesh, stage * mesh->tensor, &p);
		*weights += shard_weight_bytes(m, mesh, &p) * mesh->tensor *
			    (mesh->zero == 3 ? mesh->data : 1);
		*optimizer += shard_optimizer_bytes(m, mesh, &p) * mesh->tensor *
			      (mesh->zero ? mesh->data : 1);
	}
}

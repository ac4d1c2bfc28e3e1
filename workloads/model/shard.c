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

/* Keys (or values) of one token, of all heads. */
static uint64_t kv_size(const struct model *m)
{
	return m->hidden / m->heads * m->kv_heads;
}

/* A layer's matrix: rows x columns, of which the tensor ranks share one dimension and with ZeRO 3 the data ranks all of
 * it. DLIO cuts the number of elements; where that is no whole number of rows the tensor is flat. */
struct matrix {
	const char *name;
	uint64_t rows, columns; /* columns 0: a vector of rows */
	bool by_rows;           /* tensor ranks share the rows, else the columns */
	bool whole;             /* every tensor rank has all of it */
};

static const char *const layer_names[] = {
	"input_layernorm.weight",          "self_attn.qkv_proj.weight", "self_attn.o_proj.weight",
	"post_attention_layernorm.weight", "mlp.gate_up_proj.weight",   "mlp.down_proj.weight",
};

uint32_t shard_layer_tensors(const struct model *m, uint64_t layer)
{
	if (m->bytes || layer == 0 || layer > m->layers)
		return 1;
	return sizeof(layer_names) / sizeof(layer_names[0]);
}

/* Matrix i of a transformer layer. */
static struct matrix layer_matrix(const struct model *m, uint32_t i)
{
	uint64_t h = m->hidden, f = m->feed_forward;
	const struct matrix all[] = {
		{NULL, h, 0, false, true},     {NULL, h + 2 * kv_size(m), h, true, false},
		{NULL, h, h, false, false},    {NULL, h, 0, false, true},
		{NULL, 2 * f, h, true, false}, {NULL, h, f, false, false},
	};
	struct matrix one = all[i];

	one.name = layer_names[i];
	return one;
}

static void tensor_cut(const struct mesh *mesh, const struct matrix *x, enum model_type type,
		       struct tensor *out)
{
	uint64_t parts = x->whole ? 1 : mesh->tensor, shards = mesh->zero == 3 ? mesh->data : 1;
	uint64_t elements = x->rows * (x->columns ? x->columns : 1) / parts / shards;
	uint64_t cut = x->by_rows ? x->rows : x->columns;

	out->type = type;
	out->bytes = model_type_bytes(type, elements);
	out->dimensions = 1;
	out->shape[0] = elements;
	if (shards > 1 || !x->columns || cut % parts)
		return;
	out->dimensions = 2;
	out->shape[0] = x->by_rows ? x->rows / parts : x->rows;
	out->shape[1] = x->by_rows ? x->columns : x->columns / parts;
}

void shard_layer_tensor(const struct model *m, const struct mesh *mesh, uint64_t layer, uint32_t i,
			struct tensor *out)
{
	struct matrix x = {"model.embed_tokens.weight", m->vocabulary, m->hidden, true, false};

	memset(out, 0, sizeof(*out));
	if (m->bytes) {
		*out = (struct tensor){"model.state", MODEL_UINT8, 1, {m->bytes, 0}, m->bytes};
		return;
	}
	if (layer == m->layers + 1)
		x.name = "lm_head.weight";
	if (layer == m->layers + 2)
		x = (struct matrix){"model.norm.weight", m->hidden, 0, false, true};
	if (layer >= 1 && layer <= m->layers) {
		x = layer_matrix(m, i);
		snprintf(out->name, sizeof(out->name), "model.layers.%" PRIu64 ".%s", layer - 1,
			 x.name);
	} else {
		snprintf(out->name, sizeof(out->name), "%s", x.name);
	}
	tensor_cut(mesh, &x, (enum model_type)m->weights, out);
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

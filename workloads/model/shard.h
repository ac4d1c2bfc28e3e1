/* SPDX-License-Identifier: Apache-2.0 */
/* What one rank of a training holds of a model: mesh, layers, tensors, bytes.
 *
 * The mesh has tensor x pipeline x data ranks, the tensor dimension running fastest:
 *
 *	rank = (data * pipelines + pipeline) * tensors + tensor
 *
 * Stage p of the pipeline holds consecutive layers, the first stages one more where they do not divide evenly; the
 * embedding is with the first stage, the output head and the last norm with the last. A layer's matrices are cut over
 * the tensor ranks, and with ZeRO stage 3 (FSDP) over the data ranks too. The optimizer's states are cut over all ranks
 * of the mesh, but with stage 0, where each data rank has all of its part.
 *
 * Source: DLIO's base_checkpointing.py; divisions are whole, and in its order. Pure functions; any thread. */
#ifndef HAUL_WORKLOADS_MODEL_SHARD_H
#define HAUL_WORKLOADS_MODEL_SHARD_H

#include "workloads/model/tensors.h"

enum { MESH_ZERO_MAX = 3 };

/* The option "mesh": how the ranks that train share the model. 0: as the run's ranks do. */
struct mesh {
	uint64_t tensor, pipeline, data;
	uint64_t zero; /* stage of the ZeRO optimizer: 0 ... 3 */
	/* Groups of data ranks that have the same (HSDP), and ranks of a group that share the experts; 0: as 1. Only
	 * layouts of whole tensors know them (checkpoint/state_dict.h). */
	uint64_t replicate, expert;
};
extern const struct option mesh_options[];

/* Fills in what is 0: tensor and pipeline as given (the run's), data so that all ranks are used. */
void mesh_complete(struct mesh *mesh, uint64_t tensor, uint64_t pipeline, uint64_t ranks);

/* -EINVAL with "path/key: sentence": more stages than layers, or ZeRO 3 with a pipeline. */
int mesh_check(const struct mesh *mesh, const struct model *m, const char *path, struct err *err);

static inline uint64_t mesh_ranks(const struct mesh *mesh)
{
	return mesh->tensor * mesh->pipeline * mesh->data;
}

/* Where a rank of the mesh stands. */
struct mesh_place {
	uint64_t rank, tensor, pipeline, data;
	uint64_t
		model_part; /* rank among those that hold one copy of the model: tensor + pipeline * tensors */
};
void mesh_at(const struct mesh *mesh, uint64_t rank, struct mesh_place *out);

/* The layers of a pipeline stage: [*first, *end). */
void shard_layers(const struct model *m, const struct mesh *mesh, uint64_t pipeline,
		  uint64_t *first, uint64_t *end);
/* The stage that holds a layer. */
uint64_t shard_layer_stage(const struct model *m, const struct mesh *mesh, uint64_t layer);

/* A tensor as one rank holds it. */
enum { TENSOR_DIMENSIONS_MAX = 2 };
struct tensor {
	char name[TENSOR_NAME_BYTES]; /* "model.layers.3.mlp.down_proj.weight" */
	enum model_type type;
	uint32_t dimensions;
	uint64_t shape[TENSOR_DIMENSIONS_MAX];
	uint64_t bytes;
};

/* How a mesh cuts a matrix. Each tensor rank has a part, and each data rank has a piece of that
 * part. DLIO divides the number of elements. So the part has two dimensions where rows or columns
 * divide evenly, else it is flat, and the elements that remain belong to no rank. */
struct shard_cut {
	uint64_t parts, pieces;
	uint64_t part, piece; /* elements */
	bool even;            /* rows or columns divide evenly */
	bool by_columns;      /* a part is some columns of every row, else a run of elements */
};
void shard_matrix_cut(const struct mesh *mesh, const struct shard_matrix *x, struct shard_cut *out);

/* Tensor i of a layer. */
void shard_layer_tensor(const struct model *m, const struct mesh *mesh, uint64_t layer, uint64_t i,
			struct tensor *out);

/* The tensors of all layers, numbered from layer 0 on: how many come before a layer (which may be
 * the one after the last), and the layer and number in it of one. */
uint64_t shard_tensors_before(const struct model *m, uint64_t layer);
void shard_tensor_at(const struct model *m, uint64_t number, uint64_t *layer, uint64_t *i);

/* The optimizer's tensors of a rank. */
enum { OPTIMIZER_TENSORS = 6 };
uint32_t shard_optimizer_tensors(const struct model *m);
void shard_optimizer_tensor(const struct model *m, const struct mesh *mesh, uint32_t i,
			    struct tensor *out);

/* Whether a rank writes weights, and optimizer states, into a checkpoint; and how many bytes (0: it
 * does not). */
bool shard_writes_weights(const struct mesh *mesh, const struct mesh_place *p);
bool shard_writes_optimizer(const struct mesh *mesh, const struct mesh_place *p);
uint64_t shard_weight_bytes(const struct model *m, const struct mesh *mesh,
			    const struct mesh_place *p);
uint64_t shard_optimizer_bytes(const struct model *m, const struct mesh *mesh,
			       const struct mesh_place *p);

/* Slice: the elements of a matrix that one rank of a mesh holds, in its order; and what two slices have in common.
 *
 * The elements of a matrix are numbered row by row. The part of a tensor rank is a run of them, or the same columns of
 * every row. With ZeRO stage 3 each data rank holds a run of that part.
 *
 *	part   element i of it is element i / width * pitch + offset + i % width of the matrix
 *	slice  elements [begin, begin + count) of the part
 *
 * So both orders agree: a higher element of a slice is a higher element of the matrix. Where numbers do not divide
 * evenly (struct shard_cut) the elements that remain are in no slice.
 *
 * Pure functions; any thread. */

struct slice {
	uint64_t pitch, width, offset;
	uint64_t begin, count;
};

/* What the rank at that place holds of the matrix. */
void slice_make(const struct mesh *mesh, const struct shard_matrix *x, const struct mesh_place *p,
		struct slice *out);

/* The element of the matrix that is element i < count of the slice; and how many elements of the
 * slice come before an element of the matrix. */
uint64_t slice_element(const struct slice *s, uint64_t i);
uint64_t slice_before(const struct slice *s, uint64_t element);

/* The runs of one slice that are in another one too, in order, each as long as can be. Each costs
 * the same, however large the matrix is. Both slices must live as long. */
struct slice_common {
	const struct slice *held, *wanted;
	uint64_t next, end; /* of wanted: what is not handed on yet, and may be held */
};
void slice_common_begin(struct slice_common *c, const struct slice *held,
			const struct slice *wanted);
/* The next run, elements [*first, *first + *count) of held; false: there is none. */
bool slice_common_next(struct slice_common *c, uint64_t *first, uint64_t *count);

/* Ranks of a mesh, in two of its dimensions: first ... end - 1 of each. */
struct slice_holders {
	uint64_t tensor, tensor_end, data, data_end;
};
/* Narrows the ranks of a mesh to some among which are all that hold elements of wanted. false: no
 * rank does. */
bool slice_holders_find(const struct mesh *mesh, const struct shard_matrix *x,
			const struct slice *wanted, struct slice_holders *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/workloads/model/layers.h"

uint64_t layers_tensors(const struct model *m, uint64_t layer)
{
	struct tensors_layout l;

	tensors_layout(m, tensors_class(m, layer), &l);
	return tensors_in_layer(&l);
}

void layers_matrix(const struct model *m, uint64_t layer, uint64_t i, struct shard_matrix *out)
{
	enum tensor_class c = tensors_class(m, layer);
	struct tensors_layout l;
	uint64_t expert;

	tensors_layout(m, c, &l);
	tensors_matrix(m, c, tensors_kind(&l, i, &expert), out);
}

uint64_t layers_bytes(const struct model *m, const struct mesh *mesh, uint64_t layer)
{
	uint64_t bytes = 0;
	struct tensor t;

	for (uint64_t i = 0; i < layers_tensors(m, layer); i++) {
		shard_layer_tensor(m, mesh, layer, i, &t);
		bytes += t.bytes;
	}
	return bytes;
}

void layers_totals(const struct model *m, const struct mesh *mesh, uint64_t *weights,
		   uint64_t *optimizer)
{
	struct mesh_place p;

	*weights = *optimizer = 0;
	for (uint64_t rank = 0; rank < mesh_ranks(mesh); rank++) {
		mesh_at(mesh, rank, &p);
		*weights += shard_weight_bytes(m, mesh, &p);
		*optimizer += shard_optimizer_bytes(m, mesh, &p);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A model looked at layer by layer and as a whole, to compare with what ranks are said to hold. */
#ifndef HAUL_TESTS_WORKLOADS_MODEL_LAYERS_H
#define HAUL_TESTS_WORKLOADS_MODEL_LAYERS_H

#include "workloads/model/shard.h"

uint64_t layers_tensors(const struct model *m, uint64_t layer);
void layers_matrix(const struct model *m, uint64_t layer, uint64_t i, struct shard_matrix *out);

/* Bytes of the tensors of a layer, as a rank of the mesh holds them. */
uint64_t layers_bytes(const struct model *m, const struct mesh *mesh, uint64_t layer);

/* Bytes that all ranks of the mesh write. */
void layers_totals(const struct model *m, const struct mesh *mesh, uint64_t *weights,
		   uint64_t *optimizer);

#endif

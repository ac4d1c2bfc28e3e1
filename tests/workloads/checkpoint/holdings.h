/* SPDX-License-Identifier: Apache-2.0 */
/* Holdings: what each rank of a mesh holds of a model, element by element. A slow model, which
 * shares no formula with the program but those of layers per stage and of the number of parameters.
 *
 * Each element has a label: 0 ... P - 1 those of the weights, tensor by tensor in the order of
 * layers; P ... 4P - 1 the optimizer's states of the parameters; after them the small states, rank
 * by rank. */
#ifndef HAUL_TESTS_WORKLOADS_CHECKPOINT_HOLDINGS_H
#define HAUL_TESTS_WORKLOADS_CHECKPOINT_HOLDINGS_H

#include "workloads/model/shard.h"

/* A tensor of a rank: the labels of its elements. */
struct labels {
	char name[TENSOR_NAME_BYTES];
	uint64_t count;
	uint32_t *at;
};

/* All that ranks hold, whether they write it or not. */
struct holdings {
	struct model model;
	struct mesh mesh;
	uint64_t parameters, labels;
	struct labels *tensors; /* of all ranks */
	uint64_t *first;        /* [ranks + 1]: of each rank, in tensors */
	uint64_t count;         /* of tensors */
	uint32_t *pool;
	uint64_t pooled;
};

void holdings_make(struct holdings *h, const struct model *m, const struct mesh *mesh);
void holdings_free(struct holdings *h);

/* Number of a rank among those that share the optimizer's states, and how many they are. */
uint64_t holdings_state_index(const struct mesh *mesh, const struct mesh_place *p, uint64_t *ranks);

/* Whether a rank writes that tensor of it. */
bool holdings_written(const struct mesh *mesh, uint64_t rank, const struct labels *t);

/* Which labels nobody wrote (the caller's to free): what the divisions leave over, whose number is
 * asserted. */
uint8_t *holdings_lost(const struct holdings *h);

#endif

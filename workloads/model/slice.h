/* SPDX-License-Identifier: Apache-2.0 */
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
#ifndef HAUL_WORKLOADS_MODEL_SLICE_H
#define HAUL_WORKLOADS_MODEL_SLICE_H

#include "workloads/model/shard.h"

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

/* SPDX-License-Identifier: Apache-2.0 */
/* What the ranks of a mesh write of a checkpoint, before any of it is written. Pure functions; any
 * thread. */
#ifndef HAUL_WORKLOADS_CHECKPOINT_SIZE_H
#define HAUL_WORKLOADS_CHECKPOINT_SIZE_H

#include "workloads/checkpoint/files.h"

struct checkpoint_written {
	uint64_t weights, optimizer; /* bytes of tensors */
	uint64_t bytes;              /* of files or regions, with their framing */
	uint64_t files;              /* of their own; 0: none, or a region of the shared file */
	/* Memory that holds all files of the rank at once (whole.c); of several ranks, of the one
	 * that needs most. */
	uint64_t memory;
};

/* Each file in memory begins at a multiple of this. */
enum { CHECKPOINT_WHOLE_ALIGNMENT = 4096 };
static inline uint64_t checkpoint_whole_room(uint64_t bytes, uint64_t alignment)
{
	return (bytes + alignment - 1) / alignment * alignment;
}

/* What one rank of the mesh writes. */
int checkpoint_written_by(const struct checkpoint_shape *s, uint64_t rank,
			  struct checkpoint_written *out, struct err *err);

/* What the first ranks of the mesh write together; the shared file counts once. */
int checkpoint_written(const struct checkpoint_shape *s, uint64_t ranks,
		       struct checkpoint_written *out, struct err *err);

/* Ranks of the same pipeline stage hold tensors of the same sizes, but for those of the first data
 * rank, which may be the only ones that write weights. Returns a rank like this one: the first. */
uint64_t checkpoint_rank_like(const struct mesh *mesh, uint64_t rank);

#endif

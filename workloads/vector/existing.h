/* SPDX-License-Identifier: Apache-2.0 */
/* An index of DiskANN that somebody else has built, used as it is: what its header says of it, and the
 * compressed vectors beside it, by which searches tell what is near. Main thread. */
#ifndef HAUL_WORKLOADS_VECTOR_EXISTING_H
#define HAUL_WORKLOADS_VECTOR_EXISTING_H

#include "backends/queue/queue.h"
#include "workloads/vector/codes.h"
#include "workloads/vector/disk_header.h"
#include "workloads/vector/hot.h"
#include "workloads/vector/vector.h"

struct existing {
	struct disk_header header;
	struct codes codes;
};

/* Reads the header on rank 0, and the compressed vectors on each rank; what the header says of the shape
 * goes into o->shape, and nothing is verified. Collective. Close it also after an error. */
int existing_open(struct existing *x, struct vector_options *o, struct queue *q,
		  struct group *group, struct err *err);
void existing_close(struct existing *x);

/* Reads the nodes nearest to where searches begin, breadth first, one after the other: at most count of
 * them. The index is that of the header. */
int existing_hot(const struct existing *x, const struct vector_options *o,
		 const struct vector_index *index, struct queue *q, uint64_t count, struct hot *hot,
		 struct err *err);

/* What the header says of the index that was computed from the shape. */
void existing_index(const struct existing *x, struct vector_index *index);

#endif

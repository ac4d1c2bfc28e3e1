/* SPDX-License-Identifier: Apache-2.0 */
/* An index of DiskANN that somebody else has built, used as it is: what its header says of it, and the
 * compressed vectors beside it, by which searches tell what is near. Main thread. */
#ifndef HAUL_WORKLOADS_VECTOR_EXISTING_H
#define HAUL_WORKLOADS_VECTOR_EXISTING_H

#include "backends/queue/queue.h"
#include "workloads/vector/codes.h"
#include "workloads/vector/disk_header.h"
#include "workloads/vector/vector.h"

/* The end of the name of such a file; what stands before it is the prefix of all files of the index. */
#define EXISTING_END "_disk.index"

struct existing {
	struct disk_header header;
	struct codes codes;
};

/* -EINVAL with a sentence: such a phase cannot use one. */
int existing_check(const struct vector_options *o, const char *path, struct err *err);

/* Reads the header on rank 0, and the compressed vectors on each rank; what the header says of the shape
 * goes into o->shape, and nothing is verified. Collective. Close it also after an error. */
int existing_open(struct existing *x, struct vector_options *o, struct queue *q,
		  struct group *group, struct err *err);
void existing_close(struct existing *x);

/* What the header says of the index that was computed from the shape. */
void existing_index(const struct existing *x, struct vector_index *index);

#endif

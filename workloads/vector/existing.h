/* SPDX-License-Identifier: Apache-2.0 */
/* An index of DiskANN that somebody else has built, used as it is: what its header says of it, and the
 * compressed vectors beside it, by which searches tell what is near. Main thread. */
#ifndef HAUL_WORKLOADS_VECTOR_EXISTING_H
#define HAUL_WORKLOADS_VECTOR_EXISTING_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/queue/queue.h"
#include "core/err.h"
#include "workloads/vector/frontier.h"
#include "workloads/vector/vector.h"

/* The header of an index file of DiskANN that somebody else has written: its first sector. There are two
 * forms, of u64 words, little-endian:
 *
 *	knowhere (Milvus)   file size, vectors, medoid, node bytes, nodes per sector, frozen points, their
 *	                    id, whether reorder data follow, [their first sector, dimension, vectors per
 *	                    sector]
 *	Microsoft's         two i32: how many words, 1; then vectors, dimension, medoid, node bytes, and so
 *	                    on as above; the last word is the file size
 *
 * Believes nothing: whatever the bytes are, what it accepts is consistent. Pure functions; any thread. */

enum { DISK_HEADER_BYTES = 4096 };

struct disk_header {
	uint64_t vectors, medoid, node_bytes, per_sector; /* per_sector 0: a node is longer */
	uint64_t dimension;                               /* 0: it does not say */
	uint64_t frozen, frozen_id;
	bool reorder;
	uint64_t reorder_sector, reorder_dimension, reorder_per_sector;
};

/* Of a file of that size, whose first sector this is. -EINVAL with a sentence. */
int disk_header_read(struct disk_header *h, const void *sector, uint64_t file_bytes,
		     struct err *err);

/* The neighbours that a node has room for, beside a vector of that many bytes. -EINVAL with a sentence:
 * such a vector is not what these nodes have. */
int disk_header_degree(const struct disk_header *h, uint64_t vector_bytes, uint64_t *degree,
		       struct err *err);

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

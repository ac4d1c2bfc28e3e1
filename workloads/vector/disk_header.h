/* SPDX-License-Identifier: Apache-2.0 */
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
#ifndef HAUL_WORKLOADS_VECTOR_DISK_HEADER_H
#define HAUL_WORKLOADS_VECTOR_DISK_HEADER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

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

#endif

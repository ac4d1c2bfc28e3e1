/* SPDX-License-Identifier: Apache-2.0 */
/* The files of an index written, each by one thread, from its first byte to its last: as builders write
 * them when the graph is done. */
#ifndef HAUL_WORKLOADS_VECTOR_BUILD_H
#define HAUL_WORKLOADS_VECTOR_BUILD_H

#include "workloads/common/crew.h"
#include "workloads/common/writer.h"
#include "workloads/vector/set.h"

/* Of a thread. */
enum { VECTOR_BUILD_BUFFERS = 4 };

struct vector_build {
	const struct vector_set *set;
	struct store *store;
	uint64_t piece; /* bytes of a write */
	struct fillers fillers;
	struct writer *writers; /* [threads] */
};

/* Bytes of a write on that store, and of the buffers of a thread; part: as store_part says. */
uint64_t vector_build_piece(const struct backend_ops *ops, uint64_t part);
uint64_t vector_build_buffers(const struct backend_ops *ops, uint64_t part);

/* Memory of a program that builds the graph of a segment, as DiskANN estimates it; 0: it is none of
 * DiskANN. */
uint64_t vector_builder_bytes(const struct vector_shape *shape);

/* The members of the crew have their buffers. Close it also after an error. */
int vector_build_open(struct vector_build *b, struct crew *crew, struct err *err);
void vector_build_close(struct vector_build *b, const struct crew *crew);
/* The body of a crew whose argument is a struct vector_build. */
int vector_build_one(struct crew_thread *w, uint64_t segment);
/* The name of a segment's file, as a crew asks for it. */
void vector_build_name(const struct crew *crew, uint64_t segment, char key[OBJECT_KEY_BYTES]);
/* Files that a thread has written whole: their bytes. */
uint64_t vector_build_bytes(const struct crew_thread *w);

#endif

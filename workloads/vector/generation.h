/* SPDX-License-Identifier: Apache-2.0 */
/* Generations of a segment: as it was built, and after each merge of what was inserted and deleted. A
 * merge writes new files; which of them is the index says a small object beside them, so that a
 * merge which is ended in the middle has changed nothing:
 *
 *	000003_disk.index        generation 0, as it was built
 *	000003.1_disk.index      on the way to the first generation: without what was deleted
 *	000003.2_disk.index      generation 1
 *	000003_generation.json   which generation is searched, and how many vectors it has
 *
 * The number in the name is the version of a file: twice the generation, and one less on the way to it.
 *
 * For the thread that owns the queue, with nothing else in flight. */
#ifndef HAUL_WORKLOADS_VECTOR_GENERATION_H
#define HAUL_WORKLOADS_VECTOR_GENERATION_H

#include "backends/queue/queue.h"

struct vector_generation {
	uint64_t number, vectors;
};

static inline uint64_t vector_version(const struct vector_generation *g)
{
	return g->number * 2;
}

/* What the object says of a segment, with whatever bytes: -EINVAL, with a sentence, where it is not one. */
int vector_generation_parse(struct vector_generation *g, const char *text, size_t length,
			    struct err *err);
/* folder: of the index. -ENOENT: the segment is as it was built. */
int vector_generation_load(struct vector_generation *g, const char *folder, uint64_t segment,
			   struct queue *q, struct err *err);
/* The index is that generation from now on. */
int vector_generation_save(const struct vector_generation *g, const char *folder, uint64_t segment,
			   struct queue *q, struct err *err);
void vector_generation_remove(const char *folder, uint64_t segment, struct queue *q);
void vector_generation_key(const char *folder, uint64_t segment, char key[OBJECT_KEY_BYTES]);

#endif

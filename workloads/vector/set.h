/* SPDX-License-Identifier: Apache-2.0 */
/* The index that a folder has: what it is, whether it was built whole, and the names of its files.
 * Main thread. */
#ifndef HAUL_WORKLOADS_VECTOR_SET_H
#define HAUL_WORKLOADS_VECTOR_SET_H

#include "backends/queue/queue.h"
#include "workloads/vector/vector.h"

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
/* The index is that generation from now on. */
int vector_generation_save(const struct vector_generation *g, const char *folder, uint64_t segment,
			   struct queue *q, struct err *err);

struct vector_set {
	char folder[VECTOR_FOLDER_BYTES];
	char file[VECTOR_FOLDER_BYTES]; /* not haul's; "": NNNNNN_… of each segment */
	struct vector_shape shape;
	uint64_t seed;
	bool complete;
	bool merged; /* segments may have other generations than the first: see set.h */
	/* Of each segment; NULL: all are as they were built. Owned, see vector_set_free. */
	struct vector_generation *generations;
};

void vector_set_of(struct vector_set *s, const struct vector_options *o, uint64_t seed);
void vector_set_free(struct vector_set *s);

/* A segment as it is searched: which generation, its file, what is in it. */
struct vector_generation vector_set_generation(const struct vector_set *s, uint64_t segment);
void vector_set_key(const struct vector_set *s, uint64_t segment, char key[OBJECT_KEY_BYTES]);
void vector_set_index(const struct vector_set *s, uint64_t segment, struct vector_index *x);
/* The file of that version. */
void vector_set_key_at(const struct vector_set *s, uint64_t segment, uint64_t version,
		       char key[OBJECT_KEY_BYTES]);

/* Before building: refuses a folder that holds something else, and says that nothing is whole. Before
 * searching: the index that is there must be whole, and that of the job; its seed is taken. On stores that
 * keep nothing all is there. Collective. */
int vector_set_begin(struct vector_set *s, bool builds, struct queue *q, struct group *group,
		     struct err *err);
/* Before merges: from now on segments may have other generations. Collective. */
int vector_set_changes(struct vector_set *s, struct queue *q, struct group *group, struct err *err);
/* All of it has been built, or loaded with the generations that it has. Collective. */
int vector_set_end(struct vector_set *s, struct queue *q, struct group *group, struct err *err);

/* `haul clean`: the files of all vector phases of the job. */
int vector_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err);

#endif

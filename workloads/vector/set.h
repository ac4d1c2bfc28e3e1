/* SPDX-License-Identifier: Apache-2.0 */
/* The index that a folder has: what it is, whether it was built whole, and the names of its files.
 * Main thread. */
#ifndef HAUL_WORKLOADS_VECTOR_SET_H
#define HAUL_WORKLOADS_VECTOR_SET_H

#include "backends/queue/queue.h"
#include "workloads/vector/generation.h"
#include "workloads/vector/vector.h"

struct vector_set {
	char folder[VECTOR_FOLDER_BYTES];
	char file[VECTOR_FOLDER_BYTES]; /* not haul's; "": NNNNNN_… of each segment */
	struct vector_shape shape;
	uint64_t seed;
	bool complete;
	bool merged; /* segments may have other generations than the first: see generation.h */
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

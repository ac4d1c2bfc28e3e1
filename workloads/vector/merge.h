/* SPDX-License-Identifier: Apache-2.0 */
/* Inserts and deletes beside searches, as FreshDiskANN has them: they are kept in memory, at a rate, until
 * a segment has so many that they are merged into its file by a thread of its own, while searches go on:
 *
 *	delete    the file is read from its first byte to its last, and written without what was deleted
 *	insert    each new vector searches that file for its neighbours: random reads of nodes
 *	patch     the file is read and written once more, with the new vectors and all edges to them
 *
 * With one pass, delete is left out, and what is inserted searches the file that is there. Vectors that
 * wait in memory cost no I/O, so there is only their number. Each file is written anew and has other bytes,
 * a function of the seed, the segment and its version (generation.h); searches turn to it (live.h)
 * when it is whole.
 *
 * Main thread, but for the body of its crew. */
#ifndef HAUL_WORKLOADS_VECTOR_MERGE_H
#define HAUL_WORKLOADS_VECTOR_MERGE_H

#include "workloads/common/crew.h"
#include "workloads/common/writer.h"
#include "workloads/vector/generation.h"
#include "workloads/vector/search.h"
#include "workloads/vector/stream.h"

struct vector_merges {
	/* Set by the caller before vector_merges_open. */
	struct phase_context *ctx;
	const struct vector_options *options;
	struct vector_work *work; /* whose segments change */
	struct vector_meanwhile meanwhile;

	/* Used by the merges only. */
	struct crew crew;  /* of one thread */
	struct queue side; /* for what is not counted: which generation it is */
	struct stream stream;
	struct writer writer;
	struct vector_options inserts; /* as a search of one segment */
	struct vector_live target;     /* that what is inserted searches */
	struct vector_work insert_work;
	struct vector_thread inserter;
	struct vector_generation *generations; /* [work->own] */
	uint64_t *merged;                      /* [the same]: merges in this phase */
	uint64_t start_ns;
	uint64_t piece; /* bytes of a write */
	uint64_t opened;
	_Atomic bool stops; /* the file that is being written */
	bool asks, flies;

	/* Counted. */
	uint64_t merges, left, merge_ns, inserted, deleted, waiting;
};

/* Changes of a segment after which it is merged, and how many of them are inserts. */
uint64_t vector_merge_at(const struct vector_options *o, uint64_t *inserts);
/* Memory for merges. */
uint64_t vector_merge_bytes(const struct vector_options *o, const struct job_store *store);

/* Opens the segments, too. Not collective. Close it also after an error. */
int vector_merges_open(struct vector_merges *m, const struct job_store *described, struct err *err);
void vector_merges_close(struct vector_merges *m);
/* From start_ns on, until vector_merges_end, which ends a merge in the middle. */
int vector_merges_start(struct vector_merges *m, uint64_t start_ns, struct err *err);
int vector_merges_end(struct vector_merges *m, struct err *err);
/* Adds what they have counted, once. */
void vector_merges_count(const struct vector_merges *m, struct tally *t);

#endif

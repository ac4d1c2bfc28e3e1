/* SPDX-License-Identifier: Apache-2.0 */
/* An index loaded, as a query node does before its first search: all of its files, in slices of one size,
 * read by the threads of a rank side by side. A slice is received and compared, or written into the
 * same folder of another store, where searches then find the index. Each rank loads the segments that
 * it would search where they are spread over the ranks.
 *
 * Main thread, but for vector_load_one. */
#ifndef HAUL_WORKLOADS_VECTOR_LOAD_H
#define HAUL_WORKLOADS_VECTOR_LOAD_H

#include "workloads/common/piece_reader.h"
#include "workloads/common/place.h"
#include "workloads/vector/set.h"

struct vector_load {
	/* Set by the caller before vector_load_open. */
	struct phase_context *ctx;
	const struct vector_options *options;
	const struct vector_set *set; /* the index that is there; known when it runs */
	struct crew *crew;            /* open */

	/* Used by the load only. */
	bool copies; /* into the store `to` */
	struct store to;
	struct queue side;
	struct place place;
	struct vector_set copy;
	uint64_t start_ns;
	_Atomic uint64_t next;
	struct vector_loader *loaders; /* [crew->threads] */
};

/* Slices in flight for a thread. */
uint64_t vector_load_depth(const struct vector_options *o, const struct job_store *from);

/* Close it also after an error. Collective. */
int vector_load_open(struct vector_load *l, struct err *err);
void vector_load_close(struct vector_load *l);
/* From before the first slice until the index is whole in its place. Collective. */
int vector_load_run(struct vector_load *l, enum stop_reason *stopped, struct err *err);
/* Adds what its threads have counted beside their meters. */
void vector_load_count(const struct vector_load *l, uint64_t *row);

#endif

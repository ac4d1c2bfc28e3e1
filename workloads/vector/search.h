/* SPDX-License-Identifier: Apache-2.0 */
/* A thread and its queries. A query is one search of each segment, side by side as far as the store
 * takes so many reads, and is answered when the last of them has ended. A search of a graph goes by rounds: up to `beam` of the nearest candidates
 * are read together, those in memory cost nothing, and the next round begins when all have been answered
 * (or, pipelined, a read as soon as one has). A search of lists reads all of its lists, `beam` at a time.
 *
 * A thread's work belongs to that thread; what is shared is read-only while it works. */
#ifndef HAUL_WORKLOADS_VECTOR_SEARCH_H
#define HAUL_WORKLOADS_VECTOR_SEARCH_H

#include "workloads/vector/work.h"

extern const struct meter_layout vector_meter;

/* The nodes of a graph that are kept in memory. -ENOMEM. */
int vector_hot(struct hot *h, const struct vector_options *o, const struct graph *g);

uint64_t vector_thread_bytes(const struct vector_options *o);
int vector_thread_open(struct vector_thread *t, struct vector_work *work, struct crew_thread *w,
		       uint64_t number, struct err *err);
void vector_thread_close(struct vector_thread *t);
/* The body of a crew that runs once; its argument is a struct vector_work. */
int vector_thread_run(struct crew_thread *w, uint64_t number);
/* Drops what a thread counted that ended within its warm-up. */
void vector_thread_drop(struct vector_thread *t);
/* Adds what a thread has counted beside its meter. */
void vector_thread_count(const struct vector_thread *t, struct tally *tally);

#endif

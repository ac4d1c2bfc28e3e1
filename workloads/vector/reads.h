/* SPDX-License-Identifier: Apache-2.0 */
/* What a search of one segment reads next, and what it makes of the bytes that have come back. For each
 * kind of index: a graph round by round (frontier.h), the base level of HNSW (base_level.h), or lists.
 *
 * Called by the thread of the search. */
#ifndef HAUL_WORKLOADS_VECTOR_READS_H
#define HAUL_WORKLOADS_VECTOR_READS_H

#include "workloads/vector/work.h"

/* The search begins; nothing is read yet. */
void reads_begin(struct vector_thread *t, struct vector_search *s);
/* Sends the reads that may go now. Where none are in flight then, the search has ended. */
void reads_next(struct vector_thread *t, struct vector_search *s);
/* Whether a read goes as soon as one has come back; else when all of a round have. Those of a round of HNSW
 * are known together. */
bool reads_go_on(const struct vector_options *o);
/* The bytes of the read, looked at: a negative errno with a text where they are wrong. */
int reads_look(struct vector_thread *t, struct vector_slot *slot, char text[FAILURE_TEXT_BYTES]);

#endif

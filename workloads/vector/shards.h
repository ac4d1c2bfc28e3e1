/* SPDX-License-Identifier: Apache-2.0 */
/* Segments that are spread over the ranks: each rank has a part of every query, that of its own segments,
 * and a query is answered when its last part is. Thread i of each rank works on the same queries in
 * the same order. While they search, ranks say nothing to each other: each keeps what every part
 * took, and afterwards the parts are joined.
 *
 *	rank 0, thread i   [part of its query 0][part of query 1][part of query 2] …
 *	rank 1, thread i   [part of its query 0][part of query 1] …
 *	                    └ the slowest of a column: what the query took
 *
 * A query counts at the rank whose part of it was the slowest. Those that all ranks began during the
 * warm-up are not counted, nor those that a rank has not answered. */
#ifndef HAUL_WORKLOADS_VECTOR_SHARDS_H
#define HAUL_WORKLOADS_VECTOR_SHARDS_H

#include "core/group/group.h"
#include "workloads/vector/work.h"

/* Joins the parts of all ranks: each counts, into what its threads have counted, the queries in which it
 * was the slowest. Collective, when no thread works any more. */
int shards_join(struct vector_work *work, struct group *g);

#endif

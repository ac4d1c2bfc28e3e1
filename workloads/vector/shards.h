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
#include "workloads/vector/search.h"

/* A rank's part of a query. */
struct vector_part {
	uint64_t took_ns; /* 0: not answered */
	uint32_t expanded, cached, rounds;
};

/* Parts that a rank keeps where no count says how many there will be: no query begins after that. */
enum { SHARDS_PARTS = 2 << 20 };

/* Queries of a thread at most; 0: no limit. */
uint64_t shards_limit(const struct vector_options *o);
/* Memory for the parts of a thread; 0 where segments are not spread. */
uint64_t shards_bytes(const struct vector_options *o);

/* The segments of that rank: from the first of them on; returns how many. */
uint64_t shards_own(const struct vector_options *o, uint32_t rank, uint32_t ranks, uint64_t *from);

/* Joins the parts of all ranks: each counts, into what its threads have counted, the queries in which it
 * was the slowest. Collective, when no thread works any more. */
int shards_join(struct vector_work *work, struct group *g);

#endif

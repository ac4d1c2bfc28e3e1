/* SPDX-License-Identifier: Apache-2.0 */
/* The phase "vector": what a vector database asks of its storage while it searches. It makes an index
 * in the layout of DiskANN, SPANN, HNSW or an inverted file (IVF), and searches it: graphs round by
 * round, where the next reads are known only from the bytes that came back; of the
 * others, some lists at once.
 *
 * It is the I/O of a search, and nothing of its recall: vectors are bytes without a meaning, and which
 * of them are near a query is a function of their numbers (graph.h).
 *
 *	phase.c     the workload: opens, runs, measures
 *	options.c   the table of options, refusals; size.c: what a phase asks of the machine
 *	index.c     where what lies in a file of the index, and its bytes
 *	graph.c     numbers: neighbours, distances, queries
 *	frontier.c  a search of a graph, without any I/O; base_level.c: one of HNSW; hot.c: nodes in memory
 *	search.c    a thread and its queries; reads.c: what they read; shards.c: queries of which each rank has a part
 *	build.c     the index written; load.c: read as a whole, before searches
 *	merge.c     inserts and deletes, merged into files that are searched: stream.c, live.h, generation.c
 *	existing.c  an index that somebody else has built: disk_header.c, codes.c
 *	set.c       which index a folder has, `haul clean` */
#ifndef HAUL_WORKLOADS_VECTOR_VECTOR_H
#define HAUL_WORKLOADS_VECTOR_VECTOR_H

#include "workloads/common/cold.h"
#include "workloads/common/options.h"
#include "workloads/vector/columns.h"
#include "workloads/vector/index.h"
#include "workloads/workload.h"

enum vector_operation { VECTOR_BUILD, VECTOR_SEARCH, VECTOR_LOAD };
enum vector_issue { VECTOR_ROUNDS_OF_BEAM, VECTOR_PIPELINED };
enum vector_spread { VECTOR_SPREAD_QUERIES, VECTOR_SPREAD_SEGMENTS };
enum vector_cache_by { VECTOR_BREADTH_FIRST, VECTOR_SAMPLE };

enum {
	VECTOR_FOLDER_BYTES = 128,
	VECTOR_SEGMENTS_MAX = 4096,
	VECTOR_DIMENSION_MAX = 32768,
	VECTOR_LIST_MAX = 100000,
	VECTOR_LIST_PAGES_MAX = 1024,
	VECTOR_BEAM_MAX = 1024,
	VECTOR_PARTS_MAX = 2 << 20
};
/* Of a segment: ids have 32 bits. */
#define VECTOR_VECTORS_MAX 4294967295u

/* The end of the name of an index file that exists already; what stands before it is the prefix of all files of
 * that index. */
#define VECTOR_FILE_END "_disk.index"

struct vector_options {
	uint32_t operation;
	char folder[VECTOR_FOLDER_BYTES];
	char file[VECTOR_FOLDER_BYTES]; /* an index that exists already; "": haul's own */
	struct vector_shape shape;
	/* Of loads: bytes of a read; the store that they are written into, "": none. */
	uint64_t slice;
	char to[JOB_NAME_BYTES];
	/* Of searches. probes 0: not given, see vector_probes; beam 0: see vector_complete. */
	uint64_t list, beam, probes;
	uint64_t side; /* of vector_complete: segments of a query that are searched side by side */
	uint32_t issue, cache_by, spread;
	bool page_search;
	uint64_t cache_bytes; /* of nodes that are kept in memory, of each segment */
	uint64_t query_vectors;
	double skew;
	uint64_t threads, depth;
	/* Beside searches, per second and of all ranks; see merge.h. merge_at 0: not given. */
	double inserts, deletes;
	uint64_t merge_at, merge_passes, merges;
	struct limit_options limits;
	uint32_t verify, on_error;
	struct pace_options pace;
	struct cold_options cold;
};
extern const struct option vector_options_table[];
extern const struct workload vector_workload;

/* Reads in flight for a thread. */
uint64_t vector_in_flight(const struct vector_options *o);

/* What was left out and depends on the store: the beam, and how many segments are searched side by side. */
void vector_complete(const struct job *job, struct job_phase *phase);
/* Lists that a query reads, of each segment. */
uint64_t vector_probes(const struct vector_options *o);
/* Nodes of a segment that the cache holds. */
uint64_t vector_cached(const struct vector_options *o);
/* The segments of a rank that searches them, or loads them: from the first of them on; returns how many. */
uint64_t vector_own(const struct vector_options *o, uint32_t rank, uint32_t ranks, uint64_t *from);
/* Whether vectors are inserted or deleted beside searches. */
static inline bool vector_changes(const struct vector_options *o)
{
	return o->inserts + o->deletes > 0;
}
/* Whether only a number of operations ends it: their number for each thread; 0: its time does. */
uint64_t vector_limit(const struct vector_options *o);
/* Queries that a thread begins at most; 0: no limit. Of queries whose segments are spread, no more than
 * VECTOR_PARTS_MAX of a rank are kept. */
uint64_t vector_most(const struct vector_options *o);

/* The store that a load is written into, NULL: none; -EINVAL with a sentence: there is no such store, or
 * it cannot be. */
int vector_load_to(const struct job *job, const struct job_phase *phase,
		   const struct job_store **to, struct err *err);

int vector_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		 struct err *err);
int vector_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		  struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err);
int vector_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		uint32_t ranks_per_node, struct demand *out, struct err *err);

#endif

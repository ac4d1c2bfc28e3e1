/* SPDX-License-Identifier: Apache-2.0 */
/* The phase "vector": what a vector database asks of its storage while it searches. It makes an index
 * in the layout of DiskANN, SPANN, HNSW or an inverted file (IVF), and searches it: graphs round by
 * round, where the next reads are known only from the bytes that came back; of the
 * others, some lists at once.
 *
 * It is the I/O of a search, and nothing of its recall: vectors are bytes without a meaning, and which
 * of them are near a query is a function of their numbers (index.h).
 *
 *	phase.c     the workload: opens, runs, measures
 *	options.c   the table of options, refusals; size.c: what a phase asks of the machine; columns.c: what it counts
 *	index.h     numbers of a graph, and where what lies in a file of the index, and its bytes
 *	frontier.h  a search of a graph, or of HNSW, without any I/O; nodes in memory; compressed vectors
 *	work.h      what threads share, and the parts of a phase that work on it:
 *	search.c    a thread and its queries, also those of which each rank has a part; reads.c: what they read
 *	build.c     the index written, and a file of it read as a whole; load.c: all of it read, before searches
 *	merge.c     inserts and deletes, merged into files that are searched
 *	existing.h  an index that somebody else has built
 *	set.h       which index a folder has, generations of its segments, `haul clean` */
#ifndef HAUL_WORKLOADS_VECTOR_VECTOR_H
#define HAUL_WORKLOADS_VECTOR_VECTOR_H

#include "core/measure/tally.h"
#include "core/target.h"
#include "workloads/common/cold.h"
#include "workloads/common/options.h"
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
	/* Beside searches, per second and of all ranks; see merge.c. merge_at 0: not given. */
	double inserts, deletes;
	uint64_t merge_at, merge_passes, merges;
	struct limit_options limits;
	uint32_t verify, on_error;
	struct pace_options pace;
	struct cold_options cold;
};
extern const struct option vector_options_table[];
extern const struct workload vector_workload;

/* Reads in flight for a thread that searches so many segments of a query side by side. */
uint64_t vector_in_flight(const struct vector_options *o, uint64_t side);

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
/* The histograms that a phase may fill, as bits. */
uint64_t vector_hists_filled(const struct job_phase *phase, uint32_t *named);
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

/* columns.c. What a phase of vector search counts: a rank's row, and the histograms. */

/* clang-format off */
#define VECTOR_COLUMN_LIST(X) \
	X(VECTOR_DONE_NS, "done_ns", "ns", MAX, \
	  "when the last thread had done its part, or its time was over", .role = ROLE_RANK_DONE) \
	X(VECTOR_QUERIES, "queries", "", SUM, \
	  "queries that were answered; where segments are spread over the ranks, those that this rank was the last to answer", \
	  .role = ROLE_ITEMS) \
	X(VECTOR_PARTS, "parts", "", SUM, \
	  "parts of queries that were answered, where segments are spread over the ranks") \
	X(VECTOR_JOINED_NS, "joined_ns", "ns", SUM, \
	  "the times of those queries, divided by how many a client has in flight that waits for the slowest rank (threads * depth); 0 where queries come at a rate") \
	X(VECTOR_ROUNDS, "rounds", "", SUM, \
	  "rounds of reads of those queries, each known only when the one before was answered, added over segments") \
	X(VECTOR_EXPANDED, "expanded", "", SUM, "nodes, or lists, that they looked at") \
	X(VECTOR_CACHED, "cached", "", SUM, "of those, nodes that were in the searcher's memory") \
	X(VECTOR_BESIDE, "beside", "", SUM, \
	  "page search: nodes that they looked at since a sector was read for another node") \
	X(VECTOR_READS, "reads", "", SUM, "reads, also of queries that were not answered") \
	X(VECTOR_OPENS, "opens", "", SUM, "opens of index files") \
	X(VECTOR_WRITES, "writes", "", SUM, "writes of index files") \
	X(VECTOR_CLOSES, "closes", "", SUM, "closes and commits of index files") \
	X(VECTOR_BUILT_BYTES, "built_bytes", "bytes", SUM, "bytes of index files that were built whole") \
	X(VECTOR_BUILDER_BYTES, "builder_bytes", "bytes", MAX, \
	  "memory that a program which builds the graph of a segment needs, as DiskANN estimates it: 1.1 * vectors * (bytes of a vector + 1.3 * 4 * degree); haul needs none of it") \
	X(VECTOR_LOADED_BYTES, "loaded_bytes", "bytes", SUM, "bytes of slices that were loaded") \
	X(VECTOR_READY_NS, "ready_ns", "ns", MAX, \
	  "when all of the index was loaded, so that the first search could begin") \
	X(VECTOR_INSERTS, "inserts", "", SUM, "vectors inserted by merges") \
	X(VECTOR_DELETES, "deletes", "", SUM, "vectors deleted by merges") \
	X(VECTOR_WAITING, "waiting", "", MAX, \
	  "inserts and deletes of a segment that waited in memory when its merge had ended, at most") \
	X(VECTOR_MERGES, "merges", "", SUM, "merges done") \
	X(VECTOR_MERGES_LEFT, "merges_left", "", SUM, "merges that were ended in the middle") \
	X(VECTOR_MERGE_NS, "merge_ns", "ns", SUM, "time of all merges that were done") \
	X(VECTOR_MERGE_READS, "merge_reads", "", SUM, "reads of merges, also of those that were ended") \
	X(VECTOR_MERGE_READ_BYTES, "merge_read_bytes", "bytes", SUM, "bytes of those") \
	X(VECTOR_INSERT_READS, "insert_reads", "", SUM, "of those reads, nodes that inserts looked for") \
	X(VECTOR_MERGE_WRITES, "merge_writes", "", SUM, "writes of merges, also of those that were ended") \
	X(VECTOR_MERGE_WRITTEN_BYTES, "merge_written_bytes", "bytes", SUM, "bytes of those") \
	X(VECTOR_WARMUP_QUERIES, "warmup_queries", "", SUM, \
	  "queries of the warm-up, counted nowhere else") \
	X(VECTOR_PAYLOAD_ERRORS, "payload_errors", "", SUM, "reads whose bytes were wrong") \
	X(VECTOR_FILL_NS, "fill_ns", "ns", SUM, "time of all threads making bytes") \
	X(VECTOR_VERIFY_NS, "verify_ns", "ns", SUM, "time of all threads comparing bytes") \
	X(VECTOR_DISTANCE_NS, "distance_ns", "ns", SUM, \
	  "an index that existed already: time of all threads computing what is near") \
	X(VECTOR_LATE_START_NS, "late_start_ns", "ns", MAX, \
	  "open loop: the longest that a query started after it was due") \
	COLD_LIST(X, VECTOR_)

#define VECTOR_HISTOGRAM_LIST(X) \
	X(VECTOR_HIST_QUERY, "query", "a query, from when it was due") \
	X(VECTOR_HIST_BESIDE_MERGE, "query_beside_merge", \
	  "with inserts or deletes: a query, or a rank's part of it, while the rank merged") \
	X(VECTOR_HIST_BETWEEN_MERGES, "query_between_merges", "the same, while it did not") \
	X(VECTOR_HIST_MERGE_READ, "merge_read", "a read of a merge, of a file from its first byte to its last") \
	X(VECTOR_HIST_INSERT_READ, "insert_read", "a read of a node that an insert looked for") \
	X(VECTOR_HIST_MERGE_WRITE, "merge_write", "a write of a merge") \
	X(VECTOR_HIST_PART, "part", "a rank's part of a query, where segments are spread over the ranks") \
	X(VECTOR_HIST_READ, "read", "a read of a node, a list or a slice", .role = ROLE_READ_LATENCY) \
	X(VECTOR_HIST_READ_FIRST_ATTEMPT, "read_first_attempt", \
	  "the first attempt at a read, on stores that are tried again") \
	X(VECTOR_HIST_WRITE, "write", "a write of a part of an index file", .role = ROLE_WRITE_LATENCY) \
	X(VECTOR_HIST_OPEN, "open", "an open of an index file") \
	X(VECTOR_HIST_CLOSE, "close", "a close or commit of an index file")
/* clang-format on */

enum vector_measure { TALLY_ENUM(VECTOR, VECTOR_COLUMN_LIST(MEASURE_ENUM)) };
enum vector_hist { VECTOR_HISTOGRAM_LIST(HIST_ENUM) VECTOR_HISTS };

extern const struct tally_schema vector_schema;
extern const struct target vector_targets[];

#endif

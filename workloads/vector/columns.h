/* SPDX-License-Identifier: Apache-2.0 */
/* What a phase of vector search counts: a rank's row, and the histograms. */
#ifndef HAUL_WORKLOADS_VECTOR_COLUMNS_H
#define HAUL_WORKLOADS_VECTOR_COLUMNS_H

#include "core/measure/tally.h"
#include "core/target.h"
#include "workloads/common/cold.h"

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
	  "requests of the warm-up, counted nowhere else") \
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

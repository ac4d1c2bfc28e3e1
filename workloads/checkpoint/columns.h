/* SPDX-License-Identifier: Apache-2.0 */
/* What a phase "checkpoint" counts: a rank's row, a row per checkpoint, and the histograms. Each
 * list makes an enum here and a table in columns.c.
 *
 * A rank writes (or reads) a checkpoint from the time when all ranks begin to the time when its own
 * last file is published (or its last byte has come); the checkpoint takes as long as the slowest
 * rank. */
#ifndef HAUL_WORKLOADS_CHECKPOINT_COLUMNS_H
#define HAUL_WORKLOADS_CHECKPOINT_COLUMNS_H

#include "core/measure/account.h"
#include "core/measure/tally.h"
#include "core/target.h"
#include "workloads/common/cold.h"
#include "workloads/common/null_pass.h"
#include "workloads/common/repeat.h"

/* clang-format off */
#define CHECKPOINT_RANK_LIST(X, BLOCK) \
	X(CHECKPOINT_WRITTEN, "written", "", MAX, "checkpoints written") \
	X(CHECKPOINT_READ_BACK, "read", "", MAX, "checkpoints read") \
	X(CHECKPOINT_FILES_WRITTEN, "files_written", "", SUM, "files written, without markers") \
	X(CHECKPOINT_FILES_READ, "files_read", "", SUM, "files read, or read a part of") \
	REPEAT_LIST(X, CHECKPOINT_WRITE, "write", "all checkpoints written") \
	REPEAT_LIST(X, CHECKPOINT_READ, "read", "all checkpoints read") \
	X(CHECKPOINT_NS_PER_GB, "ns_per_gb", "ns", MAX, \
	  "what the slowest rank took for 10^9 bytes of its own part, written and read") \
	X(CHECKPOINT_WRITE_RATES, "write_rates", "B/s", SUM, \
	  "bytes per second of each checkpoint written, until its slowest rank had done its part; added up") \
	X(CHECKPOINT_READ_RATES, "read_rates", "B/s", SUM, "the same of checkpoints read") \
	X(CHECKPOINT_FILL_NS, "fill_ns", "ns", SUM, \
	  "time in which bytes were made for the writer of each rank that ended last") \
	X(CHECKPOINT_STORE_NS, "store_ns", "ns", SUM, \
	  "time in which that writer had a write, begin or commit under way") \
	X(CHECKPOINT_VERIFY_NS, "verify_ns", "ns", SUM, "time of all threads comparing bytes") \
	X(CHECKPOINT_MARKER_NS, "marker_ns", "ns", MAX, \
	  "publishing markers, by which a checkpoint is whole; in the account of waiting for ranks") \
	X(CHECKPOINT_MEMORY_BYTES, "memory_bytes", "bytes", MAX, \
	  "the most memory that a rank had for bytes of checkpoints: the ring, windows of a copy, or all that is held", \
	  .role = ROLE_MEMORY) \
	X(CHECKPOINT_REMOVED, "removed", "", SUM, "files of older checkpoints removed") \
	X(CHECKPOINT_PAYLOAD_ERRORS, "payload_errors", "", SUM, "reads whose bytes were wrong") \
	NULL_PASS_LIST(X, CHECKPOINT_) \
	COLD_LIST(X, CHECKPOINT_) \
	BLOCK(CHECKPOINT_ACCOUNTS, ACCOUNTS, ACCOUNT_MEASURES)

/* Rows by the number of the checkpoint, from 1. */
#define CHECKPOINT_ROW_LIST(X) \
	X(CHECKPOINT_ROW_WRITE_NS, "write_ns", "ns", MAX, "what the slowest rank took to write it", \
	  .counted_by = "bytes_written") \
	X(CHECKPOINT_ROW_READ_NS, "read_ns", "ns", MAX, "what the slowest rank took to read it", \
	  .counted_by = "bytes_read") \
	X(CHECKPOINT_ROW_BLOCKED_NS, "blocked_ns", "ns", MAX, \
	  "what whoever asked for it waited, for the one before it, too", \
	  .counted_by = "bytes_written") \
	X(CHECKPOINT_ROW_DURABLE_NS, "durable_ns", "ns", MAX, "from when it was asked for until its marker was published", \
	  .counted_by = "bytes_written") \
	X(CHECKPOINT_ROW_MARKER_NS, "marker_ns", "ns", MAX, "publishing the marker, after the slowest rank", \
	  .counted_by = "bytes_written") \
	X(CHECKPOINT_ROW_WRITE_FIRST_NS, "write_first_ns", "ns", MAX, "what the first rank took to write its part", \
	  .counted_by = "bytes_written") \
	X(CHECKPOINT_ROW_READ_FIRST_NS, "read_first_ns", "ns", MAX, "what the first rank took to read its part", \
	  .counted_by = "bytes_read") \
	X(CHECKPOINT_ROW_WRITE_FIRST_BYTES, "write_first_bytes", "bytes", SUM, \
	  "bytes written by all ranks by when the first one had done its part") \
	X(CHECKPOINT_ROW_READ_FIRST_BYTES, "read_first_bytes", "bytes", SUM, \
	  "bytes read by all ranks by when the first one had done its part") \
	X(CHECKPOINT_ROW_BYTES_WRITTEN, "bytes_written", "bytes", SUM, "bytes of its files written") \
	X(CHECKPOINT_ROW_BYTES_READ, "bytes_read", "bytes", SUM, "bytes of its files read") \
	X(CHECKPOINT_ROW_WRITE_START_NS, "write_start_ns", "ns", MAX, "when writing began, since the phase's start", \
	  .counted_by = "bytes_written") \
	X(CHECKPOINT_ROW_READ_START_NS, "read_start_ns", "ns", MAX, "when reading began, since the phase's start", \
	  .counted_by = "bytes_read")

#define CHECKPOINT_HISTOGRAM_LIST(X) \
	X(CHECKPOINT_HIST_WRITE, "write", "time of a write") \
	X(CHECKPOINT_HIST_READ, "read", "time of a read", .role = ROLE_READ_LATENCY) \
	X(CHECKPOINT_HIST_BEGIN, "begin", "time to begin a file") \
	X(CHECKPOINT_HIST_COMMIT, "commit", "time of a commit") \
	X(CHECKPOINT_HIST_SYNC, "sync", "part of a commit: making the bytes durable") \
	X(CHECKPOINT_HIST_PUBLISH, "publish", "part of a commit: making the file visible under its name") \
	X(CHECKPOINT_HIST_OPEN, "open", "an open for reading") \
	X(CHECKPOINT_HIST_DELETE, "delete", "a delete of a file of an older checkpoint") \
	X(CHECKPOINT_HIST_WRITE_FIRST_ATTEMPT, "write_first_attempt", \
	  "the first attempt at a write, on stores that are tried again") \
	X(CHECKPOINT_HIST_READ_FIRST_ATTEMPT, "read_first_attempt", \
	  "the first attempt at a read, on stores that are tried again")
/* clang-format on */

enum checkpoint_measure {
	TALLY_ENUM(CHECKPOINT, CHECKPOINT_RANK_LIST(MEASURE_ENUM, MEASURE_BLOCK_ENUM))
};
enum checkpoint_row { CHECKPOINT_ROW_LIST(MEASURE_ENUM) CHECKPOINT_ROW_MEASURES };
enum checkpoint_hist { CHECKPOINT_HISTOGRAM_LIST(HIST_ENUM) CHECKPOINT_HISTS };

enum { CHECKPOINT_TABLE_ROWS, CHECKPOINT_TABLE_ENDPOINTS, CHECKPOINT_TABLES };
extern const struct tally_schema checkpoint_schema;
extern const struct target checkpoint_targets[];

/* Adds a checkpoint that all ranks have written or read, of which bytes are this rank's, to its
 * row. block: CHECKPOINT_WRITE_NS or CHECKPOINT_READ_NS. */
void checkpoint_count_pass(const struct repeat_took *took, uint64_t bytes, unsigned block,
			   uint64_t *row);

#endif

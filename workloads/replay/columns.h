/* SPDX-License-Identifier: Apache-2.0 */
/* What a phase "replay" counts: a rank's row, a row per tier of the trace, and the histograms. Each
 * list makes an enum here and a table in columns.c. */
#ifndef HAUL_WORKLOADS_REPLAY_COLUMNS_H
#define HAUL_WORKLOADS_REPLAY_COLUMNS_H

#include "core/measure/tally.h"
#include "core/target.h"

/* clang-format off */
#define REPLAY_COLUMN_LIST(X) \
	X(REPLAY_ROWS, "rows", "", SUM, "rows of the trace that reach the store") \
	X(REPLAY_REQUESTS, "requests", "", SUM, "of them, replayed to their end", .role = ROLE_ITEMS) \
	X(REPLAY_LEFT, "left", "", SUM, "of them, not begun when the phase ended") \
	X(REPLAY_OTHER_TIERS, "other_tiers", "", SUM, "rows of tiers that do not reach the store") \
	X(REPLAY_MISSES, "misses", "", SUM, \
	  "reads of a trace through tiers whose entry no tier had; they have no row") \
	X(REPLAY_PASSED, "passed", "", SUM, \
	  "rows of an operation log that are no rows of a trace: other operations, and those that failed") \
	X(REPLAY_WRONG, "wrong_rows", "", SUM, "rows that were left out because they are wrong") \
	X(REPLAY_KEYS, "keys", "", SUM, "different keys of the rows that reach the store") \
	X(REPLAY_OBJECT_READS, "object_reads", "", SUM, "objects read") \
	X(REPLAY_OBJECT_WRITES, "object_writes", "", SUM, "objects written") \
	X(REPLAY_OBJECT_DELETES, "object_deletes", "", SUM, "objects deleted, by traces that have deletes") \
	X(REPLAY_WAITED, "waited", "", SUM, \
	  "rows that began later because an earlier row of their key had not ended") \
	X(REPLAY_MADE, "made", "", SUM, \
	  "objects made before the phase, because they are read before they are written") \
	X(REPLAY_MADE_BYTES, "made_bytes", "bytes", SUM, "bytes of them, counted nowhere else") \
	X(REPLAY_LATE_START_NS, "late_start_ns", "ns", MAX, "the longest that a row was taken up after its time") \
	X(REPLAY_OPENS, "opens", "", SUM, "opens for reading") \
	X(REPLAY_PAYLOAD_ERRORS, "payload_errors", "", SUM, "objects whose bytes were wrong") \
	X(REPLAY_FILL_NS, "fill_ns", "ns", SUM, "time of all threads making bytes") \
	X(REPLAY_VERIFY_NS, "verify_ns", "ns", SUM, "time of all threads comparing bytes") \
	X(REPLAY_LATE, "late", "", SUM, "requests that took longer than the store's timeout") \
	X(REPLAY_SHORT_TRANSFERS, "short_transfers", "", SUM, "reads and writes that the store served in pieces")

#define REPLAY_HISTOGRAM_LIST(X) \
	X(REPLAY_HIST_READ, "read", "an object read, with its open and close, from its time in the trace", \
	  .role = ROLE_READ_LATENCY) \
	X(REPLAY_HIST_WRITE, "write", "an object written, with its begin and commit, from its time in the trace", \
	  .role = ROLE_WRITE_LATENCY) \
	X(REPLAY_HIST_DELETE, "delete", "an object deleted, from its time in the trace") \
	X(REPLAY_HIST_OPEN, "open", "an open for reading") \
	X(REPLAY_HIST_CLOSE, "close", "a close or commit") \
	X(REPLAY_HIST_READ_REQUEST, "read_request", "a read request") \
	X(REPLAY_HIST_WRITE_REQUEST, "write_request", "a write request") \
	X(REPLAY_HIST_SYNC, "sync", "part of a commit: making the bytes durable") \
	X(REPLAY_HIST_PUBLISH, "publish", "part of a commit: making the object visible under its name")

/* Rows by the name of a tier of the trace. */
#define REPLAY_TIER_LIST(X) \
	X(REPLAY_TIER_READS, "reads", "", SUM, "objects read") \
	X(REPLAY_TIER_READ_BYTES, "read_bytes", "bytes", SUM, "bytes of them") \
	X(REPLAY_TIER_WRITES, "writes", "", SUM, "objects written") \
	X(REPLAY_TIER_WRITTEN_BYTES, "written_bytes", "bytes", SUM, "bytes of them") \
	X(REPLAY_TIER_DELETED, "deletions", "", SUM, "objects deleted") \
	X(REPLAY_TIER_DELETED_BYTES, "deleted_bytes", "bytes", SUM, "bytes of them")
/* clang-format on */

enum replay_measure { TALLY_ENUM(REPLAY, REPLAY_COLUMN_LIST(MEASURE_ENUM)) };
enum replay_hist { REPLAY_HISTOGRAM_LIST(HIST_ENUM) REPLAY_HISTS };
enum replay_tier_measure { REPLAY_TIER_LIST(MEASURE_ENUM) REPLAY_TIER_MEASURES };

enum { REPLAY_TABLE_TIERS, REPLAY_TABLE_ENDPOINTS, REPLAY_TABLES };
extern const struct tally_schema replay_schema;
extern const struct target replay_targets[];

#endif

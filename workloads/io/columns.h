/* SPDX-License-Identifier: Apache-2.0 */
/* What a phase of plain I/O counts: a rank's row, and the histograms. Each list makes an enum here
 * and a table in columns.c. */
#ifndef HAUL_WORKLOADS_IO_COLUMNS_H
#define HAUL_WORKLOADS_IO_COLUMNS_H

#include "core/measure/tally.h"
#include "core/target.h"
#include "workloads/common/cold.h"

/* An operation is what the phase is made of (a block, an object, a listing), counted when it is
 * done; the store's requests for it are counted by their kind. */
/* clang-format off */
#define IO_COLUMN_LIST(X) \
	X(IO_FIRST_DONE_NS, "first_done_ns", "ns", MIN, \
	  "when the first thread of any rank had done its part, or its time was over") \
	X(IO_LAST_DONE_NS, "last_done_ns", "ns", MAX, "when the last one had", \
	  .role = ROLE_RANK_DONE) \
	X(IO_DONE, "done", "", SUM, \
	  "operations done: blocks moved, objects or listings dealt with") \
	X(IO_DONE_PARTS, "done_parts", "", SUM, \
	  "the same in parts of 1/65536: of one that a warm-up's end divides, the share of its time after it") \
	X(IO_FIRST_DONE, "first_done", "", SUM, \
	  "of those, done by when the first thread had done its part") \
	X(IO_FIRST_DONE_PARTS, "first_done_parts", "", SUM, "the same in parts of 1/65536") \
	X(IO_DONE_BYTES, "done_bytes", "bytes", SUM, "bytes of the operations done") \
	X(IO_FIRST_DONE_BYTES, "first_done_bytes", "bytes", SUM, \
	  "of those, by when the first thread had done its part") \
	X(IO_WARMUP_OPERATIONS, "warmup_operations", "", SUM, \
	  "requests of the warm-up, counted nowhere else") \
	X(IO_OPENS, "opens", "", SUM, "opens for reading") \
	X(IO_READS, "reads", "", SUM, "reads") \
	X(IO_WRITES, "writes", "", SUM, "writes") \
	X(IO_CLOSES, "closes", "", SUM, "closes and commits") \
	X(IO_STATS, "stats", "", SUM, "stats") \
	X(IO_CREATES, "creates", "", SUM, "begins of an object, and opens for writing in place") \
	X(IO_RENAMES, "renames", "", SUM, "renames") \
	X(IO_LISTS, "lists", "", SUM, "pages of listings") \
	X(IO_DELETES, "deletes", "", SUM, \
	  "requests that delete, of one key or of several (batch)") \
	X(IO_GETS, "gets", "", SUM, "whole objects read") \
	X(IO_PUTS, "puts", "", SUM, "whole objects written") \
	X(IO_ENTRIES, "entries", "", SUM, "objects listed", .role = ROLE_ITEMS) \
	X(IO_ABSENT, "absent", "", SUM, "stats and deletes of objects that were not there") \
	X(IO_PAYLOAD_ERRORS, "payload_errors", "", SUM, "reads whose bytes were wrong") \
	X(IO_FILL_NS, "fill_ns", "ns", SUM, "time of all threads making bytes") \
	X(IO_VERIFY_NS, "verify_ns", "ns", SUM, "time of all threads comparing bytes") \
	X(IO_LATE_START_NS, "late_start_ns", "ns", MAX, \
	  "open loop: the longest that an operation started after it was due") \
	X(IO_LATE, "late", "", SUM, "requests that took longer than the store's timeout") \
	X(IO_SHORT_TRANSFERS, "short_transfers", "", SUM, \
	  "reads and writes that the store served in pieces") \
	COLD_LIST(X, IO_)

/* Where operations are due at times that do not wait for the store, the phase is judged from
 * read_response on: what waits for the store has waited from then. */
#define IO_HISTOGRAM_LIST(X) \
	X(IO_HIST_READ, "read", "a read", .role = ROLE_READ_LATENCY) \
	X(IO_HIST_WRITE, "write", "a write") \
	X(IO_HIST_STAT, "stat", "a stat") \
	X(IO_HIST_RENAME, "rename", "a rename") \
	X(IO_HIST_LIST, "list", "a page of a listing") \
	X(IO_HIST_DELETE, "delete", "a delete") \
	X(IO_HIST_CREATE, "create", "a begin, or an open for writing in place") \
	X(IO_HIST_OPEN, "open", "an open for reading") \
	X(IO_HIST_CLOSE, "close", "a close or commit") \
	X(IO_HIST_READ_RESPONSE, "read_response", "a read, from when it was due") \
	X(IO_HIST_WRITE_RESPONSE, "write_response", "a write, from when it was due") \
	X(IO_HIST_STAT_RESPONSE, "stat_response", "a stat, from when it was due") \
	X(IO_HIST_RENAME_RESPONSE, "rename_response", "a rename, from when it was due") \
	X(IO_HIST_LIST_RESPONSE, "list_response", "a page of a listing, from when it was due") \
	X(IO_HIST_DELETE_RESPONSE, "delete_response", "a delete, from when it was due") \
	X(IO_HIST_OPERATION, "operation", \
	  "an operation with its opens and closes, from when it was due") \
	X(IO_HIST_GET, "get", "a whole object read, from when it was due") \
	X(IO_HIST_PUT, "put", "a whole object written, from when it was due") \
	X(IO_HIST_READ_FIRST_ATTEMPT, "read_first_attempt", \
	  "the first attempt at a read, on stores that are tried again") \
	X(IO_HIST_WRITE_FIRST_ATTEMPT, "write_first_attempt", \
	  "the first attempt at a write, on stores that are tried again") \
	X(IO_HIST_SYNC, "sync", "part of a commit or close: making the bytes durable") \
	X(IO_HIST_PUBLISH, "publish", \
	  "part of a commit: making the object visible under its name")
/* clang-format on */

enum io_measure { TALLY_ENUM(IO, IO_COLUMN_LIST(MEASURE_ENUM)) };
enum io_hist { IO_HISTOGRAM_LIST(HIST_ENUM) IO_HISTS };

extern const struct tally_schema io_schema;
extern const struct target io_targets[];

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The phase "replay": does the reads and writes of a recorded trace of a key-value cache again, on any store, at the recorded
 * times, faster, or as fast as possible. docs/internals/phases.md has the design.
 *
 *	phase.c     the workload: opens, makes what is read before it is written, runs, cleans up
 *	options.c   the table of options, refusals, what a phase asks of the machine
 *	through.c   the rows of a trace: as they are, of an operation log, through tiers of one's own
 *	trace_out.c these rows as a trace again
 *	rows.c      the trace as lists of rows, one for each thread, and the keys in them
 *	work.c      a thread and the lines of its keys; operation.c: how it reads or writes one object, and its bytes
 *	make.c      objects that are read before they are written
 *	objects.c   names of objects in a store, the description of what a run keeps there, and its removal
 *	phase.c  from the threads to the tally; columns.c: tables of measures */
#ifndef HAUL_WORKLOADS_REPLAY_REPLAY_H
#define HAUL_WORKLOADS_REPLAY_REPLAY_H

#include "core/measure/tally.h"
#include "core/target.h"
#include "workloads/common/options.h"
#include "workloads/trace/trace.h"
#include "workloads/workload.h"

/* through.c. A trace through tiers: its rows of Prefill and Decode are requests, and tiers with capacities of
 * one's own decide what is read, written, demoted and deleted where. Nothing of this depends on
 * when I/O happens, so every rank can do it for itself, with the same outcome. */

/* Takes a row, in the order of the trace. Returns 0, or a negative errno with a sentence, which
 * ends the reading. */
typedef int (*replay_take)(void *argument, const struct trace_row *row, struct err *err);

enum replay_through_kind { REPLAY_THROUGH_NONE, REPLAY_THROUGH_MLPERF };

struct replay_through {
	enum replay_through_kind kind;
	uint64_t gpu, cpu; /* bytes of the tiers 0 and 1; 0: there is no such tier */
	uint64_t storage;  /* of tier 2; 0: no limit */
	bool deletes;      /* there are rows for what leaves a tier */
};

/* Reads the trace to its end, and gives its rows, or those that its tiers make of it, to `take`.
 * *misses is the number of reads whose entry no tier had; they have no row. */
int replay_through_all(const struct replay_through *t, struct trace_reader *from, replay_take take,
		       void *argument, uint64_t *misses, struct err *err);

enum {
	REPLAY_FOLDER_BYTES = 128,
	REPLAY_PATH_BYTES = 1024,
	REPLAY_TIERS_BYTES = 32,
	REPLAY_THREADS_MAX = 1024
};

struct replay_options {
	char trace[REPLAY_PATH_BYTES];
	double speed; /* 0: no row waits for its time */
	double size_scale;
	char tiers[REPLAY_TIERS_BYTES]; /* see replay_tiers */
	bool lenient;
	uint32_t through; /* enum replay_through_kind */
	uint64_t gpu, cpu, storage;
	char trace_out[REPLAY_PATH_BYTES];
	uint32_t trace_format;
	char folder[REPLAY_FOLDER_BYTES];
	uint64_t threads, depth, chunk, seconds_ns;
	uint32_t verify, on_error;
	double compress, dedup;
	uint64_t dedup_distance;
};
extern const struct option replay_options_table[];
extern const struct workload replay_workload;

/* The tiers whose rows reach the store, as bits: "all", or numbers with commas between them
 * ("1,2"). Returns 0 where the text is neither. */
uint32_t replay_tiers(const char *text);
/* Bytes of an object, of those that the trace has. */
static inline uint64_t replay_bytes(const struct replay_options *o, uint64_t bytes)
{
	return (uint64_t)((double)bytes * o->size_scale);
}
struct replay_through replay_through_of(const struct replay_options *o, bool deletes);

int replay_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		 struct err *err);
int replay_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		uint32_t ranks_per_node, struct demand *out, struct err *err);
/* Reads the trace, where it is there: how many bytes it moves, and what it leaves out. */
int replay_tell(const struct job *job, const struct job_phase *phase,
		const struct rank_place *places, uint32_t ranks, struct arena *arena,
		struct plan_told *out, struct err *err);
int replay_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		  struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err);

/* trace_out.c: rank 0 reads the trace and writes the file, with no store opened. Counts rows.
 * Collective. */
int replay_trace_out(struct phase_context *ctx, enum stop_reason *stopped, struct err *err);
/* objects.c: removes what runs have left, for `haul clean`. */
int replay_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err);

/* columns.c. What a phase "replay" counts: a rank's row, a row per tier of the trace, and the histograms. Each
 * list makes an enum here and a table in columns.c. */

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
	X(REPLAY_HIST_DELETE, "delete", "an object deleted, from its time in the trace", .use = HIST_RARE) \
	X(REPLAY_HIST_OPEN, "open", "an open for reading") \
	X(REPLAY_HIST_CLOSE, "close", "a close or commit") \
	X(REPLAY_HIST_READ_REQUEST, "read_request", "a read request") \
	X(REPLAY_HIST_WRITE_REQUEST, "write_request", "a write request") \
	X(REPLAY_HIST_SYNC, "sync", "part of a commit: making the bytes durable", .use = HIST_RARE) \
	X(REPLAY_HIST_PUBLISH, "publish", "part of a commit: making the object visible under its name", .use = HIST_OF_COMMITS)

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

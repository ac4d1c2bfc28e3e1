/* SPDX-License-Identifier: Apache-2.0 */
/* The phase "io": plain reads, writes and operations on names, as IOR, mdtest, elbencho, fio and warp do them, on every
 * store, with the accounts and results of the other phases.
 *
 *	phase.c     the workload: opens, runs, agrees on the outcome
 *	options.c   the table of options, refusals; size.c: what a phase asks of the machine
 *	measures.c  from the threads to the tally, and where their requests are counted
 *	set.c       the objects that phases share: their names, and which of them exist, `haul clean`;
 *	            sizes.c: their sizes
 *	share.c     which part of a set belongs to whom, and in which order
 *	work.c      a thread and its operations; data.c: blocks; whole.c: whole objects; mix.c: which operation on which of
 *	            them; names.c: all else
 *	cold.c      reads from the storage and not from this client's page cache */
#ifndef HAUL_WORKLOADS_IO_IO_H
#define HAUL_WORKLOADS_IO_IO_H

#include "core/content/permutation.h"
#include "core/content/size_draw.h"
#include "core/measure/tally.h"
#include "core/option/option.h"
#include "core/target.h"
#include "workloads/common/cold.h"
#include "workloads/common/options.h"
#include "workloads/workload.h"

enum { IO_SIZES_MAX = 16 };

/* An entry of the list, as the job has it. */
struct io_size_option {
	uint64_t size; /* on average, or the smallest */
	double share;  /* in proportion to those of the others */
	uint64_t to, stdev;
};
extern const struct option io_size_options[];

/* Rules that an option table cannot express. where: the JSON path of the list. */
int io_sizes_check(const struct io_size_option *list, uint32_t count, const char *where,
		   struct err *err);

struct io_sizes {
	uint64_t fixed; /* where count is 0 */
	uint32_t count;
	struct {
		uint64_t
			until; /* the share of this entry and of those before it, as a fraction of 2^64 */
		struct size_draw draw;
	} part[IO_SIZES_MAX];
	struct permutation order; /* of all objects of all ranks */
};

/* Sizes of `objects` objects; count 0: all are fixed. */
void io_sizes_init(struct io_sizes *s, const struct io_size_option *list, uint32_t count,
		   uint64_t fixed, uint64_t objects, uint64_t seed);

/* Of object number i < objects. */
uint64_t io_sizes_at(const struct io_sizes *s, uint64_t i);
uint64_t io_sizes_largest(const struct io_sizes *s);
/* On average, as the list says. */
double io_sizes_mean(const struct io_size_option *list, uint32_t count, uint64_t fixed);

enum io_operation {
	IO_DO_WRITE,
	IO_DO_READ,
	IO_DO_MIXED,
	IO_DO_STAT,
	IO_DO_CREATE,
	IO_DO_RENAME,
	IO_DO_LIST,
	IO_DO_DELETE
};
enum io_layout { IO_OBJECTS, IO_SEGMENTED, IO_STRIDED };
enum io_order { IO_SEQUENTIAL, IO_RANDOM, IO_REPLACEMENT };

enum { IO_FOLDER_BYTES = 128 };
/* Objects that a thread may have open beyond one for each operation in flight. */
enum { IO_HANDLES_MIN = 64 };
#define IO_PASSES_ABSENT UINT64_MAX

/* Shares of the operations of a mix, in proportion to each other; all 0: none is given. */
struct io_mix_options {
	double get, put, stat, remove, list;
};

/* What an operation on a whole object is. */
enum io_kind { IO_GET, IO_PUT, IO_STAT, IO_DELETE, IO_LIST, IO_KINDS };

struct io_options {
	uint32_t operation;
	double read_share;         /* mixed */
	struct io_mix_options mix; /* mixed, of whole objects */
	char folder[IO_FOLDER_BYTES];
	uint32_t layout;
	bool folder_per_rank;
	uint64_t objects, block; /* objects: of a rank; block 0: not given, see io_complete */
	uint64_t size;           /* 0: not given, see io_size_of */
	struct io_size_option sizes[IO_SIZES_MAX];
	uint32_t size_count; /* 0: all objects have one size */
	uint32_t order;
	uint64_t depth, threads, batch, parts;
	uint64_t passes; /* IO_PASSES_ABSENT: not given, see io_complete */
	struct limit_options limits;
	bool stonewall;
	uint32_t shift, verify, on_error;
	bool discard;
	double compress, dedup;
	uint64_t dedup_distance;
	struct pace_options pace;
	struct cold_options cold;
};
extern const struct option io_options_table[];
extern const char *const io_layout_names[], *const io_order_names[];
extern const struct workload io_workload;

static inline bool io_moves(const struct io_options *o)
{
	return o->operation <= IO_DO_MIXED;
}

static inline bool io_reads(const struct io_options *o)
{
	return o->operation == IO_DO_READ || o->operation == IO_DO_MIXED;
}

/* Nothing of the store is changed. */
static inline bool io_only_reads(const struct io_options *o)
{
	return o->operation == IO_DO_READ || o->operation == IO_DO_STAT ||
	       o->operation == IO_DO_LIST;
}

static inline bool io_writes(const struct io_options *o)
{
	return o->operation == IO_DO_WRITE || o->operation == IO_DO_MIXED;
}

static inline bool io_mix_given(const struct io_options *o)
{
	return o->mix.get + o->mix.put + o->mix.stat + o->mix.remove + o->mix.list > 0;
}

/* Whether an operation is a whole object, read or written as one: where sizes are drawn, in a mix,
 * and where a mixed phase works on a store that writes nothing in place. Else it is a block.
 * capabilities: the store's. */
bool io_whole(const struct io_options *o, uint32_t capabilities);

/* Shares of the operations of a mixed phase on whole objects; they add up to 1. */
void io_mix_shares(const struct io_options *o, double shares[IO_KINDS]);

/* Bytes of an object where all have one size; and on average. */
uint64_t io_size_of(const struct io_options *o);
double io_size_mean(const struct io_options *o);
/* Bytes that an operation moves on average. */
double io_operation_bytes(const struct io_options *o, bool whole);

/* What was left out and depends on other things: the block, which the store decides, and the
 * passes: a mix that has "seconds" lasts as long, everything else is one pass. */
void io_complete(const struct job *job, struct job_phase *phase);
uint32_t io_needs(const void *options);
int io_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
	      struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err);
int io_check(const struct job *job, const struct job_phase *phase, uint32_t ranks, struct err *err);
int io_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
	    uint32_t ranks_per_node, struct demand *out, struct err *err);

/* set.c: for the folders of all io phases of the job. 0 also where there is no description, or the
 * store keeps nothing. */
int io_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err);

/* Items of work that a rank has in one pass: blocks, objects, or listings. Parts of the listing of
 * a folder that all ranks share are divided among them: all of these count here. */
uint64_t io_items(const struct io_options *o, bool whole);
/* Operations of a rank of so many, of which several may share a listing; where only its time limits them, one pass. */
double io_operations(const struct io_options *o, bool whole, uint32_t ranks);
/* Operations of a thread at most, for that number of items in a pass; UINT64_MAX: until its time is
 * over. A limit of bytes limits operations only where each of them is a block. */
uint64_t io_limit(const struct io_options *o, uint64_t items, bool whole);

/* columns.c. What a phase of plain I/O counts: a rank's row, and the histograms. Each list makes an enum here
 * and a table in columns.c. */

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

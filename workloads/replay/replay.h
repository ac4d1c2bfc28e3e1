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
 *	measures.c  from the threads to the tally; columns.c: tables of measures */
#ifndef HAUL_WORKLOADS_REPLAY_REPLAY_H
#define HAUL_WORKLOADS_REPLAY_REPLAY_H

#include "workloads/common/options.h"
#include "workloads/replay/through.h"
#include "workloads/workload.h"

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
int replay_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		  struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err);

/* trace_out.c: rank 0 reads the trace and writes the file, with no store opened. Counts rows.
 * Collective. */
int replay_trace_out(struct phase_context *ctx, enum stop_reason *stopped, struct err *err);
/* objects.c: removes what runs have left, for `haul clean`. */
int replay_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err);

#endif

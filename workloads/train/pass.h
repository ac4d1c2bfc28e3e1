/* SPDX-License-Identifier: Apache-2.0 */
/* Pass: the loop of a training phase over epochs and steps, on a store. The phase itself is one
 * pass; another one measures the null AU.
 *
 * Where the ranks meet depends on `sync`. step: a status round at the end of each step is the
 * barrier; it also carries errors and requests to stop, so that all ranks end at the same step.
 * epoch, and evaluations: each epoch has a session of rolling status rounds, whose end is the
 * barrier. none: one session lasts for the whole pass, and the proofs of all epochs come after it.
 *
 * Belongs to the rank's main thread. */
#ifndef HAUL_WORKLOADS_TRAIN_PASS_H
#define HAUL_WORKLOADS_TRAIN_PASS_H

#include "workloads/common/status_rounds.h"
#include "workloads/train/loader/loader.h"
#include "workloads/train/parallel.h"
#include "workloads/train/proof.h"
#include "workloads/train/train.h"

enum pass_source { PASS_TRAIN, PASS_EVALUATION, PASS_SOURCES };

/* The words of the pass in status rounds. PASS_WRITING: 1 while threads write a checkpoint. */
enum { PASS_P99_NS, PASS_COMPUTE_NS, PASS_WALL_NS, PASS_BYTES, PASS_WRITING };

struct pass_input {
	struct dataset dataset;
	struct store store;
	bool open;
	uint32_t depth; /* requests in flight per reader, at most */
	struct train_sizes sizes;
	bool whole; /* see struct source */
};

/* What a row of the tally's epochs stands for, in the sequence of epochs and evaluations. */
struct epoch_row {
	enum pass_source source;
	uint64_t epoch; /* 1-based */
	uint64_t steps; /* at most */
};

struct pass {
	/* Set by the caller. */
	struct phase_context *ctx; /* group, place, clock, stop, deadline, progress */
	const struct train_options *options;
	struct pass_input *inputs[PASS_SOURCES]; /* evaluation's is NULL where there is none */
	struct parallel *parallel;
	struct tally *tally;
	struct cold *cold;                 /* NULL: nothing is dropped */
	struct checkpoint_run *checkpoint; /* NULL: no checkpoints */
	/* Of the null pass: in one of PASS_LATE_EVERY steps, one rank comes late to the barrier.
	 * What such steps cost beyond compute and lateness goes into this histogram, not into that
	 * of stalls. NULL: no rank comes late. */
	struct hist *late;
	struct snapshot *snapshot; /* NULL: the pass is not published while it runs */
	uint64_t seed;

	struct loader loader;
	struct status_rounds status_rounds;
	struct accounts accounts;
	struct random random; /* draws of compute */
	struct rank_sequence sequences[PASS_SOURCES];
	struct proof_part parts[PASS_SOURCES];
	uint32_t epoch_rows; /* epochs and evaluations at most */
	uint64_t *taken;     /* [epoch_rows]: batches taken; of a rank that has none: steps begun */
	struct ids *handed;  /* [epoch_rows]: ids of the batches that this rank got from another */
	uint64_t open_bytes; /* that requests had moved when the epoch row began */
	struct residency open_residency;

	uint64_t runnable_ns;             /* at the start of the pass; see core/proc.h */
	uint64_t start_ns, now_ns;        /* now_ns: the end of the last step */
	uint64_t limit_ns;                /* 0: none */
	uint64_t steps_done, steps_total; /* training steps */
	enum stop_reason mine;            /* why this rank wants to end */
	bool rolling, unfinished, waiting, stopped;
	bool told; /* that it waits for long */
	struct status merged;
	uint64_t shown_ns; /* when progress was last shown */

	/* The epoch row under way. */
	struct epoch_row epoch_row;
	uint32_t epoch_row_index;
	uint64_t *row;
	bool row_open;          /* it has begun and not ended */
	uint64_t began_ns;      /* when it began */
	struct accounts before; /* as they were then */
	uint64_t slept_ns;      /* the last compute, as measured */
	uint64_t first_ns;      /* for DLIO's formula: load and compute of the first step */
	uint64_t waited_ns;     /* a wait for batch waited_for that was given up */
	uint64_t waited_for;
	uint64_t blocked_ns; /* by checkpoints, in this row */
	int checkpoint_rc;   /* on all ranks alike, with this rank's sentence */
	struct err checkpoint_err;
	int error;         /* of this rank */
	uint32_t error_by; /* the reader that met it */
};

/* Whether this rank reads from the store; else it has no loader. */
static inline bool pass_reads(const struct pass *p)
{
	return p->parallel->role == REPLICA_READS;
}

/* Runs the pass and fills the tally. Collective; returns what all ranks agreed on. *stopped: why it
 * ended early. */
int pass_run(struct pass *p, enum stop_reason *stopped, struct err *err);

/* Why this rank would end now. */
enum stop_reason pass_stop_reason(const struct pass *p);

/* Looks at the status round under way, and shows the progress. True: end now. To be called at least
 * every 10 ms. */
bool pass_poll(struct pass *p);

/* One step; step.c. False: the epoch row ends here. */
bool pass_step(struct pass *p, uint64_t k);

/* After step k: a checkpoint, where one is due; checkpoint.c. Collective. False: the epoch row ends
 * here. */
bool pass_checkpoint(struct pass *p, uint64_t k);
/* After the last step: waits for a checkpoint that is still being written. Collective. */
void pass_checkpoint_end(struct pass *p);

/* What this rank says in a status round. */
void pass_status(const struct pass *p, struct status *s);
void pass_progress(struct pass *p);

/* This rank has waited since then for a batch that its readers build: tells it where that is long,
 * with the file that has been on its way for longest. Again and again while it waits. Then the wait
 * is over. */
void pass_wait_tell(struct pass *p, uint64_t since_ns);
void pass_wait_over(struct pass *p);

/* Drops what the coming epoch row reads from the page cache, where the job says so; cold.c.
 * Collective. */
int pass_cold(struct pass *p, struct err *err);
/* The files of a data set, which are to be dropped. Refers to in. */
struct cold_objects pass_objects(const struct pass_input *in);

/* What the readers, at rest, have seen of the page cache so far. */
struct residency pass_residency(const struct pass *p);

/* Where readers count their requests; count.c. */
extern const struct meter_layout train_meter;

/* Moves what the readers counted into the tally; count.c. */
void pass_count(struct pass *p);
/* What one of them has counted so far, and what only the main thread knows of the pass so far;
 * count.c. */
void pass_count_reader(void *reader, struct tally *t);
void pass_count_own(const struct pass *p, struct tally *t);

/* The figures of the row under way, as if it ended at end_ns. extra_ns: the wait for other ranks at
 * its end. t: the tally that has the row. */
void pass_close_row(const struct pass *p, struct tally *t, uint64_t end_ns, uint64_t extra_ns);

/* For a snapshot: adds to t, which has the tally of the pass already, what that will have only at
 * its end. */
void pass_so_far(void *pass, struct tally *t);

/* The same pass with the same options on null://, whose compute and stall it puts into ctx->tally.
 * Collective. */
int train_null(struct phase_context *ctx, const struct train_options *options,
	       const struct pass_input *train, struct parallel *parallel, struct err *err);

enum { PASS_SLICE_NS = 10000000, PASS_LATE_NS = 1000000, PASS_LATE_EVERY = 4 };

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* State of a pass: what the files share that carry it out (pass.c). Each struct within is what one
 * of them keeps; the others read it.
 *
 * Belongs to the rank's main thread. */
#ifndef HAUL_WORKLOADS_TRAIN_STATE_H
#define HAUL_WORKLOADS_TRAIN_STATE_H

#include "workloads/common/status_rounds.h"
#include "workloads/dataset/dataset_count.h"
#include "workloads/train/handover.h"
#include "workloads/train/loader/loader.h"
#include "workloads/train/proof.h"
#include "workloads/train/train.h"
#include "workloads/workload.h"

/* input.c. Input: a data set as a training reads it, open on its store, and what the loader asks for at
 * once. For the rank's main thread. */

struct train_input {
	struct dataset dataset;
	struct store store;
	bool open;
	uint32_t depth; /* requests in flight per reader, at most */
	struct train_sizes sizes;
	bool whole; /* see struct source */
	struct dataset_proof proof;
};

/* name: of the data set. Collective. After an error, too, the caller closes it. */
int train_input_open(struct phase_context *ctx, const char *name, struct train_input *in,
		     struct err *err);
void train_input_close(struct train_input *in); /* also of one that was zeroed and never opened */

/* The files of a data set, which are to be dropped from caches. Refers to in. */
struct cold_objects train_input_objects(const struct train_input *in);

/* parallel.c. Parallelism: this rank among the replicas of a phase (parallel.c), and how it meets the others of
 * its own.
 *
 * Belongs to the rank's main thread. */

struct parallel {
	struct replicas replicas;
	enum replica_role role;
	/* One rank of each replica, this one among them: together they read, or get, each sample
	 * once. NULL: this rank gets none. */
	struct group *once;
	struct handover handover;
	bool hands_over; /* the handover is open */
};

/* readers: enum train_readers; piece_bytes: the buffer of a request in this rank's loader; 0: the
 * store keeps no content. Collective. Refuses tensor groups that straddle nodes. */
int parallel_open(struct parallel *p, const struct phase_context *ctx, uint32_t readers,
		  uint64_t piece_bytes, struct err *err);
void parallel_close(struct parallel *p, const struct phase_context *ctx);

enum pass_source { PASS_TRAIN, PASS_EVALUATION, PASS_SOURCES };

/* What the ranks tell each other; meeting.c. */
struct pass_meeting {
	struct status_rounds rounds;
	bool rolling;         /* a session of rounds is open */
	struct status merged; /* what all have said last */
	bool stopped;         /* they agreed to end early */
	/* What this rank says. */
	enum stop_reason own; /* why it wants to end */
	bool unfinished, waiting;
	uint64_t shown_ns; /* when progress was last shown */
};

/* What a row of the tally's epochs stands for, in the sequence of epochs and evaluations. */
struct epoch_row {
	enum pass_source source;
	uint64_t epoch; /* 1-based */
	uint64_t steps; /* at most */
};

/* The row under way; epoch.c. */
struct pass_row {
	struct epoch_row of;
	uint32_t index;
	uint64_t *words;
	bool open;              /* it has begun and not ended */
	uint64_t began_ns;      /* when it began */
	struct accounts before; /* as they were then */
	uint64_t open_bytes;    /* that requests had moved then */
	struct residency open_residency;
	uint64_t first_ns;  /* for DLIO's formula: load and compute of the first step */
	uint64_t waited_ns; /* a wait for batch waited_for that was given up */
	uint64_t waited_for;
	uint64_t blocked_ns; /* by checkpoints */
};

/* What an epoch's proof rests on. */
struct pass_proof {
	uint64_t *taken;    /* [rows]: batches taken; of a rank that has none: steps begun */
	struct ids *handed; /* [rows]: ids of the batches that this rank got from another */
	struct proof_part parts[PASS_SOURCES];
};

/* Checkpoints after steps; checkpoint.c. */
struct pass_checkpoints {
	struct checkpoint_run *run; /* NULL: there are none. Set by the caller */
	int rc;                     /* on all ranks alike, with this rank's sentence */
	struct err err;
};

struct pass {
	/* Set by the caller. */
	struct phase_context *ctx; /* group, place, clock, stop, deadline, progress */
	const struct train_options *options;
	struct train_input *inputs[PASS_SOURCES]; /* evaluation's is NULL where there is none */
	struct parallel *parallel;
	struct tally *tally;
	struct cold *cold; /* NULL: nothing is dropped */
	struct pass_checkpoints checkpoint;
	/* Of the null pass: in some steps one rank comes late to the barrier, see step.c. What such
	 * steps cost beyond compute and lateness goes into this histogram, not into that of stalls.
	 * NULL: no rank comes late. */
	struct hist *late;
	struct snapshot *snapshot; /* NULL: the pass is not published while it runs */

	struct loader loader;
	struct rank_sequence sequences[PASS_SOURCES];
	struct random random; /* draws of compute */
	struct accounts accounts;
	struct pass_meeting meeting;
	struct pass_row row;
	struct pass_proof proof;

	uint64_t runnable_ns;             /* at the start of the pass; see core/proc.h */
	uint64_t start_ns, now_ns;        /* now_ns: the end of the last step */
	uint64_t limit_ns;                /* 0: none */
	uint64_t steps_done, steps_total; /* training steps */
	int error;                        /* of this rank */
	uint32_t error_by;                /* the reader that met it */
};

/* Whether this rank reads from the store; else it has no loader. */
static inline bool pass_reads(const struct pass *p)
{
	return p->parallel->role == REPLICA_READS;
}

/* meeting.c. Meeting: how the ranks of a pass agree where they stand, whether they end, and when the phase is
 * shown and published.
 *
 * Where the ranks meet depends on `sync`. step: a status round at the end of each step is the
 * barrier; it also carries errors and requests to stop, so that all ranks end at the same step.
 * epoch, and evaluations: each epoch has a session of rolling status rounds, whose end is the
 * barrier. none: one session lasts for the whole pass, and the proofs of all epochs come after it.
 *
 * Belongs to the rank's main thread. */

/* The words of the pass in status rounds. PASS_WRITING: 1 while threads write a checkpoint. */
enum { PASS_P99_NS, PASS_COMPUTE_NS, PASS_WALL_NS, PASS_BYTES, PASS_WRITING };

/* Why this rank would end now. */
enum stop_reason meeting_stop_reason(const struct pass *p);

/* Tells who watches that the rank should have ended then; 0: no longer. */
void meeting_overdue(const struct pass *p, uint64_t since_ns);

/* What this rank says in a status round. */
void meeting_status(const struct pass *p, struct status *s);
void meeting_progress(struct pass *p);

/* Looks at the status round under way, and shows the progress. True: end now. To be called at least
 * every 10 ms. */
bool meeting_poll(struct pass *p);

/* A session of rolling rounds. At its end, this rank has finished: it answers until all have. */
void meeting_begin(struct pass *p);
void meeting_end(struct pass *p);

/* checkpoint.c. Checkpoints between the steps of a pass. All ranks have left the step's barrier, so no status
 * round is under way; readers go on reading ahead. What the training waits for its checkpoint is in
 * an account of its own. Belongs to the rank's main thread. */

/* After step k: a checkpoint, where one is due. Collective. False: the row ends here. */
bool pass_checkpoint(struct pass *p, uint64_t k);
/* After the last step: waits for a checkpoint that is still being written. Collective. */
void pass_checkpoint_end(struct pass *p);

/* epoch.c. What the readers have counted goes into the tally, once, when all rest. */

/* Where readers count their requests. */
extern const struct meter_layout train_meter;

/* Moves what the readers counted into the tally. */
void pass_count(struct pass *p);
/* What one of them has counted so far, and what only the main thread knows of the pass so far. */
void pass_count_reader(void *reader, struct tally *t);

/* step.c. Step: its batch, its compute, the other ranks, and what is counted of it. Belongs to the rank's
 * main thread. */

/* Step k of the row under way. False: the row ends here. */
bool pass_step(struct pass *p, uint64_t k);

/* epoch.c. Epoch: a row of the tally's epochs, which is an epoch or an evaluation: what it stands for, its
 * steps, its figures and its proof. Belongs to the rank's main thread. */

/* Steps of a whole epoch of that source. */
uint64_t epoch_steps(const struct pass *p, enum pass_source source);

/* What row i of the tally stands for: epochs in their order, and an evaluation after each `every`
 * of them. */
struct epoch_row epoch_at(const struct pass *p, uint64_t i);

/* Drops what the coming row reads from the page cache, where the job says so. The time that this
 * takes does not count for the phase. Collective. */
int epoch_cold(struct pass *p, struct err *err);

/* Runs the steps of p->row.of as row `index`. */
void epoch_run(struct pass *p, uint32_t index);

/* Proves row i. Collective: a rank that never came to that row (it was stopped, without
 * synchronisation) takes part with an empty one. */
int epoch_prove(struct pass *p, uint32_t i, struct err *err);

/* For a snapshot: adds to t, which has the tally of the pass already, what that will have only at
 * its end. */
void epoch_so_far(void *pass, struct tally *t);

/* pass.c. Pass: the loop of a training phase over epochs and steps, on a store. The phase itself is one
 * pass; another one measures the null AU. Belongs to the rank's main thread. */

/* Runs the pass and fills the tally. Collective; returns what all ranks agreed on. *stopped: why it
 * ended early. */
int pass_run(struct pass *p, enum stop_reason *stopped, struct err *err);

#endif

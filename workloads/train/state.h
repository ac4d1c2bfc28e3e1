/* SPDX-License-Identifier: Apache-2.0 */
/* State of a pass: what the files share that carry it out (pass.h). Each struct within is what one
 * of them keeps; the others read it.
 *
 * Belongs to the rank's main thread. */
#ifndef HAUL_WORKLOADS_TRAIN_STATE_H
#define HAUL_WORKLOADS_TRAIN_STATE_H

#include "workloads/common/status_rounds.h"
#include "workloads/train/input.h"
#include "workloads/train/loader/loader.h"
#include "workloads/train/parallel.h"
#include "workloads/train/proof.h"

enum pass_source { PASS_TRAIN, PASS_EVALUATION, PASS_SOURCES };

/* What the ranks tell each other; meeting.h. */
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

/* The row under way; epoch.h. */
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

/* Checkpoints after steps; checkpoint_step.h. */
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

#endif

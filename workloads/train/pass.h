/* A pass: the loop of a training phase over epochs and steps, on a store. The phase itself is one; the
 * null AU is measured by another.
 *
 * Where ranks meet: sync step: a status round at each step's end is the barrier, and carries errors
 * and requests to stop, so that all end at the same step. sync epoch, and evaluations: a session of
 * rolling rounds an epoch, whose end is the barrier. sync none: one session for the whole pass, and
 * the proofs of all epochs after it.
 *
 * Belongs to the rank's main thread. */
#ifndef HAUL_WORKLOADS_TRAIN_PASS_H
#define HAUL_WORKLOADS_TRAIN_PASS_H

#include "workloads/common/status_rounds.h"
#include "workloads/train/loader/loader.h"
#include "workloads/train/proof.h"
#include "workloads/train/train.h"

enum pass_source { PASS_TRAIN, PASS_EVALUATION, PASS_SOURCES };

struct pass_input {
	struct dataset dataset;
	struct store store;
	bool open;
	uint32_t depth; /* requests in flight a worker, at most */
	struct train_sizes sizes;
	bool whole; /* see struct source */
};

/* Where a row of the tally's epochs stands in the sequence of epochs and evaluations. */
struct epoch_row {
	enum pass_source source;
	uint64_t epoch; /* 1-based */
	uint64_t steps; /* it may do */
};

struct pass {
	/* Set by the caller. */
	struct phase_context *ctx; /* group, place, clock, stop, deadline, progress */
	const struct train_options *options;
	struct pass_input *inputs[PASS_SOURCES]; /* evaluation's is NULL where there is none */
	struct tally *tally;
	struct cold *cold; /* NULL: options->cold drops nothing */
	uint64_t seed;

	struct loader loader;
	struct status_rounds status_rounds;
	struct accounts accounts;
	struct random random; /* draws of compute */
	struct rank_sequence sequences[PASS_SOURCES];
	struct proof_part parts[PASS_SOURCES];
	uint32_t epoch_rows; /* epochs and evaluations at most */
	uint64_t *taken;     /* [epoch_rows]: batches taken */
	uint64_t open_bytes; /* of requests so far, when the stage began */
	struct residency open_residency;

	uint64_t runnable_ns;             /* at the start: see core/sched.h */
	uint64_t start_ns, now_ns;        /* now: the last step's end */
	uint64_t limit_ns;                /* 0: none */
	uint64_t steps_done, steps_total; /* training steps */
	enum stop_reason mine;            /* why this rank wants to end */
	bool rolling, unfinished, waiting, stopped;
	struct status merged;
	uint64_t shown_ns; /* when progress was last told */

	/* The stage under way. */
	struct epoch_row epoch_row;
	uint32_t epoch_row_index;
	uint64_t *row;
	uint64_t slept_ns;  /* of the last compute, as measured */
	uint64_t first_ns;  /* DLIO: load and compute of the first step */
	uint64_t waited_ns; /* a wait given up, for batch waited_for */
	uint64_t waited_for;
	int error;         /* of this rank */
	uint32_t error_by; /* the worker that met it */
};

/* Runs it: collective. Fills the tally. Returns what all ranks agreed on; *stopped: why it ended
 * early. */
int pass_run(struct pass *p, enum stop_reason *stopped, struct err *err);

/* Why this rank would end now. */
enum stop_reason pass_stop_reason(const struct pass *p);

/* Looks at the rounds under way, tells the progress. True: end now. At least every 10 ms. */
bool pass_poll(struct pass *p);

/* One step; train_step.c. False: the stage ends here. */
bool pass_step(struct pass *p, uint64_t k);

/* What this rank would say in a status round. */
void pass_status(const struct pass *p, struct status *s);
void pass_progress(struct pass *p);

/* Makes the stage that follows cold where the job says so; train_cold.c. Collective. */
int pass_cold(struct pass *p, struct err *err);
/* The files of a data set, to be dropped. Refers to in. */
struct cold_objects pass_objects(const struct pass_input *in);

/* What the workers, at rest, saw of the page cache so far. */
struct residency pass_residency(const struct pass *p);

/* Where readers count their requests; count.c. */
extern const struct meter_layout train_meter;

/* Moves what the loader's workers counted into the tally; train_count.c. */
void pass_count(struct pass *p);

/* The same pass with the same options on null://, whose compute and stall it puts into ctx->tally. Collective. */
int train_null(struct phase_context *ctx, const struct train_options *options,
	       const struct pass_input *train, struct err *err);

enum { PASS_SLICE_NS = 10000000 };

#endif

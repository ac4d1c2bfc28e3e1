/* SPDX-License-Identifier: Apache-2.0 */
/* The phase "train": epochs of batches from a data set, emulated compute, ranks that wait for each other, and where the
 * time went. Here are its options and measures, what it needs and how it is sized.
 *
 *	phase.c      the workload: opens what the passes need, runs them, agrees on the outcome
 *	options.c    the tables of options, and what is refused
 *	reads.c      how a phase reads its data set, and what a sample costs the store
 *	size.c       what a phase asks of the machine
 *	columns.c    the tables of measures, figures and histograms
 *	replica.c    which ranks share a batch, and which of them read it
 *	parallel.c   this rank among them; handover.c: how a batch goes from rank to rank
 *	input.c      a data set that is open on its store
 *	pass.c       the loop over epochs; epoch.c: one of them; step.c: one step; state.h: what they share
 *	meeting.c    what the ranks tell each other on the way
 *	count.c      what the readers counted
 *	checkpoint.c checkpoints between steps; checkpoint_step.c: the moment of one
 *	proof.c      each sample exactly once
 *	null.c       the same loop on null://
 *	loader/      threads that read ahead; docs/internals/training.md
 *	sampler/     the order of samples */
#ifndef HAUL_WORKLOADS_TRAIN_TRAIN_H
#define HAUL_WORKLOADS_TRAIN_TRAIN_H

#include "workloads/checkpoint/checkpoint.h"
#include "workloads/common/options.h"
#include "workloads/dataset/dataset.h"
#include "workloads/train/columns.h"
#include "workloads/train/replica.h"
#include "workloads/train/sampler/order.h"
#include "workloads/workload.h"

enum train_shuffle_order { SHUFFLE_NONE, SHUFFLE_EACH_EPOCH, SHUFFLE_ONCE };
enum train_sync { SYNC_STEP, SYNC_EPOCH, SYNC_NONE };

struct train_stream {
	uint64_t interleave, transfer;
};

struct train_loader {
	uint32_t kind;
	struct train_stream stream;
	uint64_t workers, prefetch;
	uint64_t depth; /* 0: see train_depth */
	uint64_t keep;  /* groups of samples kept of the file that a reader has open */
	bool pin_memory;
	uint64_t h2d; /* bytes per second; 0: not emulated */
};

struct train_shuffle {
	uint32_t order;
	bool files, samples; /* both: one permutation of all samples */
	bool whole_files;    /* but the samples of a file stay together */
	uint64_t window;     /* samples of the shuffle buffer; 0: none */
};

struct train_evaluation {
	char dataset[JOB_NAME_BYTES];
	uint64_t every, batch;
	struct draw compute;
};

/* Whether the training goes on while a checkpoint is written. */
struct train_async {
	uint32_t snapshot; /* enum checkpoint_snapshot */
	uint64_t d2h;      /* bytes per second; 0: as memory allows */
};

/* Checkpoints while it trains; neither number: none. */
struct train_checkpoint {
	uint64_t every_steps, every_epochs;
	uint64_t first_epoch; /* 0: every_epochs */
	char store[JOB_NAME_BYTES];
	struct train_async async;
	struct checkpoint_options options;
};

struct train_options {
	char dataset[JOB_NAME_BYTES];
	uint64_t epochs, steps, seconds_ns, batch;
	struct draw compute, preprocess;
	struct train_loader loader;
	struct train_shuffle shuffle;
	uint32_t sync;
	uint64_t warmup_steps;
	uint32_t decode, verify, on_error;
	uint32_t readers; /* enum train_readers */
	uint64_t buffers;
	struct train_evaluation evaluation;
	struct train_checkpoint checkpoint;
	struct cold_options cold;
	uint64_t null_steps;
};
extern const struct option train_options[];
extern const struct workload train_workload;

int train_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		struct err *err);
int train_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		 struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err);
int train_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
	       uint32_t ranks_per_node, struct demand *out, struct err *err);
/* Training steps, if storage keeps up. */
struct train_length {
	uint64_t epoch; /* of a whole epoch */
	uint64_t phase; /* of the phase, were there no limit of time */
	uint64_t done;  /* of the phase, until the limit of time */
	double part;    /* that the limit leaves of the phase: 1 where it leaves all */
};
/* steps: of an epoch, see train_steps. */
void train_length(const struct train_options *o, uint64_t steps, struct train_length *out);
uint64_t train_step_samples(const struct job *job, const struct job_phase *phase,
			    const struct job_dataset *dataset, uint32_t ranks);
/* What one rank reads, or gets, in the whole phase, expected, and its loader's buffers. Of place
 * only rank, ranks and local_rank are looked at. */
struct train_rank_bytes {
	double read;     /* from the store */
	double received; /* from the rank of its replica that reads */
	uint64_t memory;
};
int train_rank_bytes(const struct job *job, const struct job_phase *phase,
		     const struct rank_place *place, struct train_rank_bytes *out, struct err *err);

/* A row for each rank, where not all read alike. */
int train_tell(const struct job *job, const struct job_phase *phase,
	       const struct rank_place *places, uint32_t ranks, struct arena *arena,
	       struct plan_told *out, struct err *err);

void train_rows(const struct job_phase *phase, uint32_t rows_max[TALLY_TABLES_MAX]);

/* Whether the phase writes checkpoints; and what it asks of them. path: the caller's, which must
 * live as long. -EINVAL with the phase's path. */
enum { TRAIN_CHECKPOINT_PATH_BYTES = 80 };
static inline bool train_checkpoints(const struct train_options *o)
{
	return o->checkpoint.every_steps || o->checkpoint.every_epochs;
}
/* Whether this epoch, counted from 1, ends with a checkpoint. */
bool train_checkpoint_epoch(const struct train_checkpoint *c, uint64_t epoch);
int train_checkpoint_use(const struct job *job, const struct job_phase *phase,
			 char path[TRAIN_CHECKPOINT_PATH_BYTES], struct checkpoint_use *out,
			 struct err *err);
int train_checkpoint_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
			   struct err *err);
int train_checkpoint_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
			    struct phase_store out[PHASE_STORES_MAX], uint32_t *count,
			    struct err *err);
/* The number of checkpoints that the phase is expected to write, and what they ask of the machine,
 * all together. Both are zero where it writes none. */
int train_checkpoint_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
			  uint32_t ranks_per_node, uint64_t *count, struct demand *out,
			  struct err *err);
/* Removes them, in all trainings of the job. */
int train_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err);

/* A data set as the phase uses it. */
int train_dataset(const struct job *job, const struct job_phase *phase, const char *name,
		  struct dataset *d, const struct job_store **store, struct err *err);

void train_order(const struct train_options *o, const struct dataset *d, uint64_t seed,
		 struct order *order);

/* What a sample of mean size costs the store, on average over an epoch in that order. ranks:
 * replicas, each with a reader of its own sequence. */
struct train_reads {
	double bytes;
	double opens;
};
void train_reads(const struct train_options *o, const struct job_store *store,
		 const struct dataset *d, enum order_kind kind, uint64_t batch, uint32_t ranks,
		 struct train_reads *out);

/* Samples of the shuffle buffer; 0: there is none. */
uint64_t train_shuffle_samples(const struct train_options *o);

/* Files that are read side by side as streams; 0: samples are read one by one. */
uint32_t train_interleave(const struct train_options *o);

/* Steps of an epoch of d, in each of which all replicas take a batch. */
uint64_t train_steps(const struct train_options *o, const struct dataset *d, uint64_t batch,
		     uint32_t replicas);

/* Requests that a reader has in flight, for this data set on this store. */
uint32_t train_depth(const struct train_options *o, const struct job_store *store,
		     const struct dataset *d);
/* Buffers of a reader that has `depth` requests in flight, and the bytes of each. */
uint32_t train_buffer_count(const struct train_options *o, uint32_t depth);
uint64_t train_buffer_bytes(const struct train_options *o, uint32_t depth);
/* The longest range that is read at once (UINT64_MAX: any length); and the room for what is checked
 * of it. */
uint64_t train_longest(const struct train_options *o, const struct dataset *d);
uint64_t train_extent(const struct train_options *o, const struct dataset *d);
/* What the loader asks a store for at once, and the memory that it has for that. */
struct train_sizes {
	uint64_t wanted; /* the store's range, or the loader's piece */
	uint64_t
		request; /* as much of that as there is memory for; all of it where it is streamed */
	uint64_t buffer; /* 0 where the store gives no bytes */
};
/* capabilities: the backend's; range: the store's; budget: what a buffer may take. */
void train_sizes(const struct train_options *o, const struct dataset *d, uint32_t capabilities,
		 uint64_t range, uint64_t budget, struct train_sizes *out);

#endif

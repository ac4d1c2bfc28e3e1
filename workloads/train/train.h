/* SPDX-License-Identifier: Apache-2.0 */
/* The phase "train": epochs of batches from a data set, emulated compute, ranks that wait for each other, and where the
 * time went. Here are its options and measures, what it needs and how it is sized.
 *
 *	phase.c      the workload: opens what the passes need, runs them, also on null://, agrees on the outcome
 *	options.c    the tables of options, and what is refused
 *	reads.c      how a phase reads its data set, and what a sample costs the store
 *	size.c       what a phase asks of the machine
 *	columns.c    the tables of measures, figures and histograms
 *	parallel.c   which ranks share a batch, which of them read it, and this rank among them; handover.h: how a batch goes
 *	             from rank to rank
 *	state.h      what the files share that carry out a pass:
 *	input.c      a data set that is open on its store
 *	pass.c       the loop over epochs; step.c: one step; epoch.c: one epoch, and what the readers counted in it
 *	meeting.c    what the ranks tell each other on the way
 *	checkpoint.c checkpoints between steps, and the moment of one
 *	proof.h      each sample exactly once
 *	loader/      threads that read ahead; docs/internals/training.md
 *	sampler/     the order of samples */
#ifndef HAUL_WORKLOADS_TRAIN_TRAIN_H
#define HAUL_WORKLOADS_TRAIN_TRAIN_H

#include "core/job/job.h"
#include "core/measure/account.h"
#include "core/measure/tally.h"
#include "core/target.h"
#include "workloads/checkpoint/checkpoint.h"
#include "workloads/common/cold.h"
#include "workloads/common/options.h"
#include "workloads/dataset/dataset.h"
#include "workloads/train/sampler/rank_sequence.h"
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
	uint64_t count_ns;
};
extern const struct option train_options[];
extern const struct workload train_workload;

int train_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		struct err *err);
int train_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		 struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err);
void train_settle(const struct job *job, struct job_phase *phase, uint32_t ranks);
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

/* columns.c. What a training phase counts: the rows of ranks and of epochs, and the histograms. Each list
 * makes an enum here and a table in columns.c. */

/* clang-format off */
#define TRAIN_RANK_LIST(X, BLOCK) \
	X(TRAIN_STEPS, "steps", "", MAX, "training steps completed") \
	X(TRAIN_SAMPLES, "samples", "", SUM, "samples read whole, evaluation included", \
	  .role = ROLE_ITEMS) \
	X(TRAIN_SAMPLES_FAILED, "samples_failed", "", SUM, \
	  "samples that could not be read or were wrong") \
	X(TRAIN_SAMPLES_DROPPED, "samples_dropped", "", MAX, \
	  "samples of the data set that each epoch leaves out, because they fill no step of all ranks", \
	  .role = ROLE_ITEMS_DROPPED) \
	X(TRAIN_IDS_FROM_BYTES, "ids_from_bytes", "", SUM, \
	  "samples whose id was taken from the bytes read, not from the plan") \
	X(TRAIN_FILES_COUNTED, "files_counted", "", SUM, \
	  "files that haul did not make whose own header or index says how many samples they hold") \
	X(TRAIN_FILES_BY_SIZE, "files_by_size", "", SUM, \
	  "files that haul did not make that have the size of their samples, and nothing else") \
	X(TRAIN_COUNT_BYTES, "count_bytes", "bytes", SUM, \
	  "read before the phase to count samples, indexes included; not in bytes_read") \
	X(TRAIN_COUNT_NS, "count_ns", "ns", MAX, \
	  "counting samples before the phase; in no account and not in wall_ns") \
	X(TRAIN_HOLE_BYTES, "hole_bytes", "bytes", SUM, \
	  "of files that haul did not make: what was never written, though the files have the size") \
	X(TRAIN_LOGICAL_BYTES, "logical_bytes", "bytes", SUM, \
	  "payload of the samples that this rank read and steps used") \
	X(TRAIN_RECEIVED_SAMPLES, "received_samples", "", SUM, \
	  "samples of the batches that this rank got from the rank of its replica that read them") \
	X(TRAIN_RECEIVED_BYTES, "received_bytes", "bytes", SUM, "payload of those samples") \
	BLOCK(TRAIN_ACCOUNTS, ACCOUNTS, ACCOUNT_MEASURES) \
	X(TRAIN_WALL_SUM_NS, "wall_sum_ns", "ns", SUM, \
	  "sum of all accounts: the wall time, added over ranks", .role = ROLE_ALL_TIME) \
	X(TRAIN_OVERSLEEP_NS, "oversleep_ns", "ns", SUM, \
	  "compute and copies that ended late; part of haul_ns") \
	X(TRAIN_RUNNABLE_NS, "runnable_ns", "ns", SUM, \
	  "ready to run and without a core, all threads: the machine was busy") \
	X(TRAIN_AU_STEPS, "au_steps", "", SUM, "training steps beyond the warm-up") \
	X(TRAIN_AU_COMPUTE_NS, "au_compute_ns", "ns", SUM, "compute asked for in those steps") \
	X(TRAIN_AU_WALL_NS, "au_wall_ns", "ns", SUM, "wall time of those steps", \
	  .role = ROLE_MEASURED_TIME) \
	X(TRAIN_AU_RANKS_NS, "au_ranks_ns", "ns", SUM, "waiting for other ranks in those steps") \
	X(TRAIN_CHECKPOINTS, "checkpoints", "", MAX, "checkpoints that the training waited for") \
	X(TRAIN_AU_CHECKPOINT_NS, "au_checkpoint_ns", "ns", SUM, \
	  "blocked by checkpoints after those steps; not in au_wall_ns") \
	X(TRAIN_STALL_MEDIAN_NS, "step_stall_median_ns", "ns", MAX, \
	  "median over steps of wall time beyond the compute asked for") \
	X(TRAIN_MLPERF_SUM_PPB, "mlperf_sum_ppb", "", SUM, \
	  "sum over epochs of AU by DLIO's formula, in 1e-9") \
	X(TRAIN_MLPERF_EPOCHS, "mlperf_epochs", "", SUM, "epochs in that sum") \
	X(TRAIN_PAYLOAD_ERRORS, "payload_errors", "", SUM, \
	  "reads whose bytes are not what was written") \
	X(TRAIN_SHORT_OBJECTS, "short_objects", "", SUM, \
	  "reads that met the end of the object too early") \
	X(TRAIN_LATE, "late", "", SUM, "requests that took longer than the store's timeout") \
	X(TRAIN_SHORT_TRANSFERS, "short_transfers", "", SUM, \
	  "requests that needed more than one transfer") \
	X(TRAIN_LAST_STEP, "last_step", "", MAX, \
	  "number in its epoch of the last step completed") \
	COLD_LIST(X, TRAIN_) \
	X(TRAIN_NULL_COMPUTE_NS, "null_compute_ns", "ns", MAX, \
	  "mean compute of a step, beside the same loop without storage; 0: it was not run") \
	X(TRAIN_NULL_STALL_NS, "null_stall_ns", "ns", MAX, \
	  "median over steps of that loop of wall time beyond the compute, of the worst rank") \
	X(TRAIN_NULL_LATE_NS, "null_late_ns", "ns", MAX, \
	  "the same of steps in which one rank comes 1 ms late, from its arrival at the barrier on")

#define TRAIN_EPOCH_LIST(X, BLOCK) \
	X(EPOCH_NUMBER, "epoch", "", MAX, "from 1") \
	X(EPOCH_EVALUATION, "evaluation", "", MAX, "1: the evaluation after that epoch", \
	  .role = ROLE_EVALUATION) \
	X(EPOCH_STEPS, "steps", "", MAX, "steps completed") \
	X(EPOCH_WALL_NS, "wall_ns", "ns", MAX, "from the epoch's start to its last step's end") \
	X(EPOCH_AU_COMPUTE_NS, "au_compute_ns", "ns", SUM, "compute asked for, warm-up excluded") \
	X(EPOCH_AU_WALL_NS, "au_wall_ns", "ns", SUM, "wall time, warm-up excluded") \
	X(EPOCH_AU_RANKS_NS, "au_ranks_ns", "ns", SUM, \
	  "waiting for other ranks, warm-up excluded") \
	X(EPOCH_SAMPLES, "samples", "", SUM, "samples read whole", .role = ROLE_ITEMS) \
	X(EPOCH_SAMPLES_FAILED, "samples_failed", "", SUM, \
	  "samples that could not be read or were wrong") \
	X(EPOCH_ID_SUM, "id_sum", "id", SUM, "sum of the ids read, modulo 2^64") \
	X(EPOCH_ID_HASH, "id_hash", "id", SUM, "sum of mix64(id) of the ids read, modulo 2^64") \
	X(EPOCH_FAILED_ID_SUM, "failed_id_sum", "id", SUM, \
	  "sum of the ids that failed, as planned") \
	X(EPOCH_FAILED_ID_HASH, "failed_id_hash", "id", SUM, "sum of mix64(id) of those") \
	X(EPOCH_EXPECTED_SAMPLES, "expected_samples", "", SUM, \
	  "samples that the epoch should have, read or failed") \
	X(EPOCH_EXPECTED_ID_SUM, "expected_id_sum", "id", SUM, "sum of their ids") \
	X(EPOCH_EXPECTED_ID_HASH, "expected_id_hash", "id", SUM, "sum of mix64(id) of those") \
	X(EPOCH_JUDGED, "judged", "", MIN, \
	  "1 where all ranks ended at the same step, so that the proof applies") \
	X(EPOCH_PROVEN, "proven", "", MIN, "1 where each sample was read exactly once") \
	X(EPOCH_MLPERF_COMPUTE_NS, "mlperf_compute_ns", "ns", SUM, \
	  "DLIO's numerator: compute as slept, first step excluded") \
	X(EPOCH_MLPERF_WALL_NS, "mlperf_wall_ns", "ns", SUM, "DLIO's denominator") \
	X(EPOCH_BYTES_READ, "bytes_read", "bytes", SUM, \
	  "bytes received, prefetched ones included") \
	RESIDENCY_LIST(X, EPOCH_) \
	BLOCK(EPOCH_ACCOUNTS, ACCOUNTS, ACCOUNT_MEASURES)

#define TRAIN_HISTOGRAM_LIST(X) \
	X(TRAIN_HIST_READ, "read", "a read request, from its submission", \
	  .role = ROLE_READ_LATENCY) \
	X(TRAIN_HIST_OPEN, "open", "an open, from its submission") \
	X(TRAIN_HIST_READ_RESPONSE, "read_response", "a read request, from when it was due") \
	X(TRAIN_HIST_OPEN_RESPONSE, "open_response", "an open, from when it was due") \
	X(TRAIN_HIST_SAMPLE, "sample", "a sample, from its open to its last byte") \
	X(TRAIN_HIST_BATCH_WAIT, "batch_wait", "what a step waited for its batch") \
	X(TRAIN_HIST_STEP, "step", "a step, whole") \
	X(TRAIN_HIST_STEP_STALL, "step_stall", "a step beyond the compute asked for") \
	X(TRAIN_HIST_READ_FIRST_ATTEMPT, "read_first_attempt", \
	  "the first attempt at a read, where a store is tried again", .use = HIST_RARE)

/* The tables of a training's tally: X(enum, the struct table_kind). */
#define TRAIN_TABLE_LIST(X) \
	X(TRAIN_TABLE_EPOCHS, epoch_table) \
	X(TRAIN_TABLE_ENDPOINTS, endpoint_table)
#define TRAIN_TABLE_ENUM(id, kind) id,
/* clang-format on */

enum train_rank { TALLY_ENUM(TRAIN_RANK, TRAIN_RANK_LIST(MEASURE_ENUM, MEASURE_BLOCK_ENUM)) };
enum train_epoch { TRAIN_EPOCH_LIST(MEASURE_ENUM, MEASURE_BLOCK_ENUM) EPOCH_MEASURES };
enum train_hist { TRAIN_HISTOGRAM_LIST(HIST_ENUM) TRAIN_HISTS };

enum train_table { TRAIN_TABLE_LIST(TRAIN_TABLE_ENUM) TRAIN_TABLES };

/* The table of epochs has a row for each epoch and evaluation of the phase. */
extern const struct tally_schema train_schema;
extern const struct target train_targets[];

/* The row of epoch or evaluation i, from 0, and how many there are; train_epoch_begin makes the
 * row. */
uint64_t *train_epoch_begin(struct tally *t, uint32_t i);

static inline uint64_t *train_epoch_row(const struct tally *t, uint32_t i)
{
	return table_row(&t->tables[TRAIN_TABLE_EPOCHS], i);
}

static inline uint32_t train_epochs(const struct tally *t)
{
	return t->tables[TRAIN_TABLE_EPOCHS].rows;
}

/* parallel.c. Replicas: which ranks train on the same batch, and which of them read it (the option "readers").
 *
 * A data-parallel replica is tensor x pipeline ranks (cluster.tensor, cluster.pipeline) that hold one copy of the
 * model between them: the ranks from replica * tensor * pipeline on, tensor ranks fastest. In a step, all of them work
 * on the same batch.
 *
 *	readers   batches in a step   who reads a batch                the other ranks of the replica
 *	all       one per rank        the rank itself                  read batches of their own
 *	replica   one per replica     its first rank                   get it from that rank (handover.h)
 *	tensor    one per replica     every rank of the first          compute without a batch; they meet the
 *	                              pipeline stage, all of it        others at the end of the step
 *
 * With "all" a replica is one rank, whatever the cluster says. These are functions of numbers, so that the plan and
 * every rank come to the same result. */

enum train_readers { READERS_ALL, READERS_REPLICA, READERS_TENSOR };

struct replicas {
	uint32_t count;   /* as many batches are taken in a step */
	uint32_t ranks;   /* per replica */
	uint32_t readers; /* per replica: its first ranks, which read its batch from the store */
	bool handed_over; /* the others get the batch, too; else they compute without one */
};

/* readers: enum train_readers. The cluster's sizes divide ranks, as the plan has checked. */
void replicas_init(struct replicas *r, uint32_t readers, const struct job_cluster *cluster,
		   uint32_t ranks);

/* What a rank does for the batch of its replica. */
enum replica_role { REPLICA_READS, REPLICA_RECEIVES, REPLICA_HAS_NONE };
enum replica_role replicas_role(const struct replicas *r, uint32_t rank);

/* The number of the rank's replica, and of the rank in it. */
static inline uint32_t replicas_number(const struct replicas *r, uint32_t rank)
{
	return rank / r->ranks;
}
static inline uint32_t replicas_member(const struct replicas *r, uint32_t rank)
{
	return rank % r->ranks;
}

/* The number of a rank that reads, among all that do. */
uint32_t replicas_reader(const struct replicas *r, uint32_t rank);

#endif

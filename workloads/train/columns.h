/* SPDX-License-Identifier: Apache-2.0 */
/* What a training phase counts: the rows of ranks and of epochs, and the histograms. Each list
 * makes an enum here and a table in columns.c. */
#ifndef HAUL_WORKLOADS_TRAIN_COLUMNS_H
#define HAUL_WORKLOADS_TRAIN_COLUMNS_H

#include "core/measure/account.h"
#include "core/measure/tally.h"
#include "core/target.h"
#include "workloads/common/cold.h"

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
	  "the first attempt at a read, where a store is tried again")

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

#endif

#include <math.h>

#include "workloads/train/train.h"

#define ACCOUNT_MEASURES \
	{"compute_ns", "ns", MERGE_SUM, "emulated compute, the time asked for"}, \
		{"open_ns", "ns", MERGE_SUM, "waiting for storage: open, close, metadata"}, \
		{"first_byte_ns", "ns", MERGE_SUM, "waiting for storage: first byte"}, \
		{"transfer_ns", "ns", MERGE_SUM, "waiting for storage: transfer"}, \
		{"queue_ns", "ns", MERGE_SUM, \
		 "waiting for storage: a request due and not taken up yet"}, \
		{"ranks_ns", "ns", MERGE_SUM, "waiting for other ranks"}, \
		{"decode_ns", "ns", MERGE_SUM, "waiting for emulated preprocessing"}, \
		{"copy_ns", "ns", MERGE_SUM, "batches on their way to the accelerator"}, \
	{ \
		"haul_ns", "ns", MERGE_SUM, "haul itself: all other time" \
	}

static const struct measure train_rank_measures[] = {
	TALLY_COMMON_MEASURES,
	{"steps", "", MERGE_MAX, "training steps completed"},
	{"samples", "", MERGE_SUM, "samples read whole, evaluation included"},
	{"samples_failed", "", MERGE_SUM, "samples that could not be read or were wrong"},
	{"ids_from_bytes", "", MERGE_SUM,
	 "samples whose id was taken from the bytes read, not from the plan"},
	{"logical_bytes", "bytes", MERGE_SUM,
	 "payload of the samples that this rank read and steps used"},
	{"received_samples", "", MERGE_SUM,
	 "samples of the batches that this rank got from the rank of its replica that read them"},
	{"received_bytes", "bytes", MERGE_SUM, "payload of those samples"},
	ACCOUNT_MEASURES,
	{"wall_sum_ns", "ns", MERGE_SUM, "sum of all accounts: the wall time, added over ranks"},
	{"oversleep_ns", "ns", MERGE_SUM, "compute and copies that ended late; part of haul_ns"},
	{"runnable_ns", "ns", MERGE_SUM,
	 "ready to run and without a core, all threads: the machine was busy"},
	{"au_steps", "", MERGE_SUM, "training steps beyond the warm-up"},
	{"au_compute_ns", "ns", MERGE_SUM, "compute asked for in those steps"},
	{"au_wall_ns", "ns", MERGE_SUM, "wall time of those steps"},
	{"au_ranks_ns", "ns", MERGE_SUM, "waiting for other ranks in those steps"},
	{"step_stall_median_ns", "ns", MERGE_MAX,
	 "median over steps of wall time beyond the compute asked for"},
	{"mlperf_sum_ppb", "", MERGE_SUM, "sum over epochs of AU by DLIO's formula, in 1e-9"},
	{"mlperf_epochs", "", MERGE_SUM, "epochs in that sum"},
	{"payload_errors", "", MERGE_SUM, "reads whose bytes are not what was written"},
	{"short_objects", "", MERGE_SUM, "reads that met the end of the object too early"},
	{"late", "", MERGE_SUM, "requests that took longer than the store's timeout"},
	{"short_transfers", "", MERGE_SUM, "requests that needed more than one transfer"},
	{"last_step", "", MERGE_MAX, "number in its epoch of the last step completed"},
	COLD_MEASURES,
};
_Static_assert(sizeof(train_rank_measures) / sizeof(train_rank_measures[0]) == TRAIN_RANK_MEASURES,
	       "a row in train_rank_measures for each of enum train_rank");

static const struct measure train_epoch_measures[] = {
	{"epoch", "", MERGE_MAX, "1-based"},
	{"evaluation", "", MERGE_MAX, "1: the evaluation after that epoch"},
	{"steps", "", MERGE_MAX, "steps completed"},
	{"wall_ns", "ns", MERGE_MAX, "from the epoch's start to its last step's end"},
	{"au_compute_ns", "ns", MERGE_SUM, "compute asked for, warm-up excluded"},
	{"au_wall_ns", "ns", MERGE_SUM, "wall time, warm-up excluded"},
	{"au_ranks_ns", "ns", MERGE_SUM, "waiting for other ranks, warm-up excluded"},
	{"samples", "", MERGE_SUM, "samples read whole"},
	{"samples_failed", "", MERGE_SUM, "samples that could not be read or were wrong"},
	{"id_sum", "id", MERGE_SUM, "sum of the ids read, modulo 2^64"},
	{"id_hash", "id", MERGE_SUM, "sum of mix64(id) of the ids read, modulo 2^64"},
	{"failed_id_sum", "id", MERGE_SUM, "sum of the ids that failed, as planned"},
	{"failed_id_hash", "id", MERGE_SUM, "sum of mix64(id) of those"},
	{"expected_samples", "", MERGE_SUM, "samples that the epoch should have, read or failed"},
	{"expected_id_sum", "id", MERGE_SUM, "sum of their ids"},
	{"expected_id_hash", "id", MERGE_SUM, "sum of mix64(id) of those"},
	{"judged", "", MERGE_MIN,
	 "1 where all ranks ended at the same step, so that the proof applies"},
	{"proven", "", MERGE_MIN, "1 where each sample was read exactly once"},
	{"mlperf_compute_ns", "ns", MERGE_SUM,
	 "DLIO's numerator: compute as slept, first step excluded"},
	{"mlperf_wall_ns", "ns", MERGE_SUM, "DLIO's denominator"},
	{"bytes_read", "bytes", MERGE_SUM, "bytes received, prefetched ones included"},
	RESIDENCY_MEASURES,
	ACCOUNT_MEASURES,
};
_Static_assert(sizeof(train_epoch_measures) / sizeof(train_epoch_measures[0]) == EPOCH_MEASURES,
	       "a row in train_epoch_measures for each of enum train_epoch");

static double ratio(uint64_t above, uint64_t below)
{
	return below ? (double)above / (double)below : NAN;
}

static double seconds(uint64_t ns)
{
	return (double)ns * 1e-9;
}

static double rank_au(const uint64_t *row)
{
	return ratio(row[TRAIN_AU_COMPUTE_NS], row[TRAIN_AU_WALL_NS]);
}

static double rank_au_without_skew(const uint64_t *row)
{
	return ratio(row[TRAIN_AU_COMPUTE_NS], row[TRAIN_AU_WALL_NS] - row[TRAIN_AU_RANKS_NS]);
}

static double rank_au_median(const uint64_t *row)
{
	double compute = ratio(row[TRAIN_AU_COMPUTE_NS], row[TRAIN_AU_STEPS]);

	return compute / (compute + (double)row[TRAIN_STALL_MEDIAN_NS]);
}

static double rank_au_mlperf(const uint64_t *row)
{
	return ratio(row[TRAIN_MLPERF_SUM_PPB], row[TRAIN_MLPERF_EPOCHS]) * 1e-9;
}

static uint64_t storage_ns(const uint64_t *accounts)
{
	return accounts[ACCOUNT_OPEN] + accounts[ACCOUNT_FIRST_BYTE] + accounts[ACCOUNT_TRANSFER] +
	       accounts[ACCOUNT_QUEUE];
}

static double rank_compute_s(const uint64_t *row)
{
	return seconds(row[TRAIN_ACCOUNTS + ACCOUNT_COMPUTE]);
}

static double rank_storage_s(const uint64_t *row)
{
	return seconds(storage_ns(row + TRAIN_ACCOUNTS));
}

static double rank_ranks_s(const uint64_t *row)
{
	return seconds(row[TRAIN_ACCOUNTS + ACCOUNT_RANKS]);
}

static double rank_decode_s(const uint64_t *row)
{
	return seconds(row[TRAIN_ACCOUNTS + ACCOUNT_DECODE]);
}

static double rank_copy_s(const uint64_t *row)
{
	return seconds(row[TRAIN_ACCOUNTS + ACCOUNT_COPY]);
}

static double rank_haul_s(const uint64_t *row)
{
	return seconds(row[TRAIN_ACCOUNTS + ACCOUNT_HAUL]);
}

static double rank_samples_per_second(const uint64_t *row)
{
	return ratio(row[TRAIN_SAMPLES], row[TALLY_WALL_NS]) * 1e9;
}

static double rank_cached_share(const uint64_t *row)
{
	return ratio(row[TRAIN_RESIDENT_BYTES], row[TRAIN_RESIDENT_SAMPLED_BYTES]);
}

static const struct figure train_rank_figures[] = {
	{"au", "fraction", rank_au,
	 "accelerator utilisation: compute over wall time, warm-up excluded"},
	{"au_without_skew", "fraction", rank_au_without_skew,
	 "the same, were there no waiting for other ranks"},
	{"au_median", "fraction", rank_au_median,
	 "the same, of the median step (merged: the worst rank's)"},
	{"au_mlperf", "fraction", rank_au_mlperf, "by DLIO's formula, mean over epochs"},
	{"compute_s", "s", rank_compute_s, "account: compute"},
	{"storage_s", "s", rank_storage_s, "account: waiting for storage"},
	{"ranks_s", "s", rank_ranks_s, "account: waiting for other ranks"},
	{"decode_s", "s", rank_decode_s, "account: preprocessing"},
	{"copy_s", "s", rank_copy_s, "account: batches on their way to the accelerator"},
	{"haul_s", "s", rank_haul_s, "account: haul itself"},
	{"samples_per_second", "1/s", rank_samples_per_second,
	 "samples over the phase's wall time"},
	TALLY_COMMON_FIGURES,
	COLD_FIGURE(rank_cached_share),
};

static double epoch_au(const uint64_t *row)
{
	return ratio(row[EPOCH_AU_COMPUTE_NS], row[EPOCH_AU_WALL_NS]);
}

static double epoch_au_without_skew(const uint64_t *row)
{
	return ratio(row[EPOCH_AU_COMPUTE_NS], row[EPOCH_AU_WALL_NS] - row[EPOCH_AU_RANKS_NS]);
}

static double epoch_au_mlperf(const uint64_t *row)
{
	return ratio(row[EPOCH_MLPERF_COMPUTE_NS], row[EPOCH_MLPERF_WALL_NS]);
}

static double epoch_seconds(const uint64_t *row)
{
	return seconds(row[EPOCH_WALL_NS]);
}

static double epoch_storage_s(const uint64_t *row)
{
	return seconds(storage_ns(row + EPOCH_ACCOUNTS));
}

static double epoch_cached_share(const uint64_t *row)
{
	return ratio(row[EPOCH_RESIDENT_BYTES], row[EPOCH_RESIDENT_SAMPLED_BYTES]);
}

static const struct figure train_epoch_figures[] = {
	{"au", "fraction", epoch_au, "compute over wall time, warm-up excluded"},
	{"au_without_skew", "fraction", epoch_au_without_skew,
	 "the same, were there no waiting for other ranks"},
	{"au_mlperf", "fraction", epoch_au_mlperf, "by DLIO's formula"},
	{"seconds", "s", epoch_seconds, "from the epoch's start to its last step's end"},
	{"storage_s", "s", epoch_storage_s, "account: waiting for storage"},
	COLD_FIGURE(epoch_cached_share),
};

static const struct hist_kind train_hists[] = {
	{"read", "a read request, from its submission"},
	{"open", "an open, from its submission"},
	{"read_response", "a read request, from when it was due"},
	{"open_response", "an open, from when it was due"},
	{"sample", "a sample, from its open to its last byte"},
	{"batch_wait", "what a step waited for its batch"},
	{"step", "a step, whole"},
	{"step_stall", "a step beyond the compute asked for"},
	{"read_first_attempt", "the first attempt at a read, where a store is tried again"},
};
_Static_assert(sizeof(train_hists) / sizeof(train_hists[0]) == TRAIN_HISTS,
	       "a row for each of enum train_hist");

const struct tally_schema train_schema = {
	.rank = {train_rank_measures, TRAIN_RANK_MEASURES, train_rank_figures,
		 sizeof(train_rank_figures) / sizeof(train_rank_figures[0])},
	.epoch = {train_epoch_measures, EPOCH_MEASURES, train_epoch_figures,
		  sizeof(train_epoch_figures) / sizeof(train_epoch_figures[0])},
	.hists = train_hists,
	.hist_count = TRAIN_HISTS,
	.main_hist = TRAIN_HIST_READ,
};

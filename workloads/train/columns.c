/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a training phase: measures, figures, histograms, and the tables of epochs and
 * endpoints. */
#include "workloads/train/train.h"

#include <math.h>
#include <string.h>

#include "core/measure/quantile.h"
#include "core/numbers.h"

static const struct measure train_rank_measures[] =
	TALLY_ROWS(TRAIN_RANK_LIST(MEASURE_ROW, MEASURE_BLOCK_ROWS));

static const struct measure train_epoch_measures[] = {
	TRAIN_EPOCH_LIST(MEASURE_ROW, MEASURE_BLOCK_ROWS)};

static const struct hist_kind train_hists[] = {TRAIN_HISTOGRAM_LIST(HIST_ROW)};

/* The functions divide only where there was compute, since a loop without it has no utilisation. */
static double rank_au_median(const uint64_t *row)
{
	double compute = (double)row[TRAIN_AU_COMPUTE_NS], steps = (double)row[TRAIN_AU_STEPS];

	return compute > 0 && steps > 0
		       ? compute / (compute + steps * (double)row[TRAIN_STALL_MEDIAN_NS])
		       : NAN;
}

/* Whatever costs more: calm steps, or those in which a barrier has to recover from a late rank. */
static double rank_null_au(const uint64_t *row)
{
	uint64_t calm = row[TRAIN_NULL_STALL_NS], late = row[TRAIN_NULL_LATE_NS];
	uint64_t compute = row[TRAIN_NULL_COMPUTE_NS];

	return compute ? (double)compute / (double)(compute + (late > calm ? late : calm)) : NAN;
}

/* compute_s, ranks_s … of each account outside storage, and the terms of their sum within it. */
#define ACCOUNT_FIGURE(id, name, words, sort, help) \
	FIGURE_PER(#name "_s", "s", 1e-9, OF(TRAIN_ACCOUNTS + ACCOUNT_##id), OF_NONE, \
		   "account: " help)
#define RANK_STORAGE(id, name, words, sort, help)  TRAIN_ACCOUNTS + ACCOUNT_##id + 1,
#define EPOCH_STORAGE(id, name, words, sort, help) EPOCH_ACCOUNTS + ACCOUNT_##id + 1,

/* clang-format off */
static const struct figure train_rank_figures[] = {
	FIGURE_PER("au", "fraction", 1, OF(TRAIN_AU_COMPUTE_NS), OF(TRAIN_AU_WALL_NS),
		   "accelerator utilisation: compute over wall time, warm-up excluded",
		   .role = ROLE_UTILISATION, .needs = {NEED(TRAIN_AU_COMPUTE_NS)})
	FIGURE_PER("au_without_skew", "fraction", 1, OF(TRAIN_AU_COMPUTE_NS),
		   OF_DIFFERENCE(TRAIN_AU_WALL_NS, TRAIN_AU_RANKS_NS),
		   "the same, were there no waiting for other ranks",
		   .role = ROLE_UTILISATION_WITHOUT_SKEW, .needs = {NEED(TRAIN_AU_COMPUTE_NS)})
	FIGURE_PER("au_with_checkpoints", "fraction", 1, OF(TRAIN_AU_COMPUTE_NS),
		   OF_SUM(TRAIN_AU_WALL_NS, TRAIN_AU_CHECKPOINT_NS),
		   "the same as au, where the time that checkpoints block counts as wall time",
		   .needs = {NEED(TRAIN_CHECKPOINTS), NEED(TRAIN_AU_COMPUTE_NS)})
	FIGURE_ROW("au_median", "fraction", rank_au_median,
		   "au_compute_ns / (au_compute_ns + au_steps * step_stall_median_ns)",
		   "the same, of the median step (merged: the worst rank's)")
	FIGURE_PER("au_mlperf", "fraction", 1e-9, OF(TRAIN_MLPERF_SUM_PPB), OF(TRAIN_MLPERF_EPOCHS),
		   "by DLIO's formula, mean over epochs",
		   .role = ROLE_UTILISATION_MLPERF, .needs = {NEED(TRAIN_MLPERF_SUM_PPB)})
	FIGURE_ROW("null_au", "fraction", rank_null_au,
		   "null_compute_ns / (null_compute_ns + max(null_stall_ns, null_late_ns))",
		   "AU of the same loop without storage: compute over compute and the median stall, "
		   "calm or after a late rank",
		   .role = ROLE_UTILISATION_NULL)
	ACCOUNT_COMPUTE_LIST(ACCOUNT_FIGURE)
	FIGURE_PER("storage_s", "s", 1e-9, {ACCOUNT_STORAGE_LIST(RANK_STORAGE)}, OF_NONE,
		   "account: waiting for storage")
	ACCOUNT_OTHER_LIST(ACCOUNT_FIGURE)
	FIGURE_PER("samples_per_second", "1/s", 1e9, OF(TRAIN_SAMPLES), OF(TALLY_WALL_NS),
		   "samples over the phase's wall time", .role = ROLE_ITEM_RATE)
	FIGURE_PER("bytes_per_second", "B/s", 1e9, OF(TALLY_BYTES_READ), OF(TALLY_WALL_NS),
		   "bytes read over the phase's wall time", .role = ROLE_BYTE_RATE)
	FIGURE_PER("threads_starved", "", 1, OF(TRAIN_RUNNABLE_NS), OF(TRAIN_WALL_SUM_NS),
		   "threads of a rank that were ready to run without a core, on average",
		   .role = ROLE_STARVED)
	TALLY_COMMON_FIGURES
	COLD_FIGURE(TRAIN_)
};

static const struct figure train_epoch_figures[] = {
	FIGURE_PER("au", "fraction", 1, OF(EPOCH_AU_COMPUTE_NS), OF(EPOCH_AU_WALL_NS),
		   "compute over wall time, warm-up excluded",
		   .role = ROLE_UTILISATION, .needs = {NEED(EPOCH_AU_COMPUTE_NS)})
	FIGURE_PER("au_without_skew", "fraction", 1, OF(EPOCH_AU_COMPUTE_NS),
		   OF_DIFFERENCE(EPOCH_AU_WALL_NS, EPOCH_AU_RANKS_NS),
		   "the same, were there no waiting for other ranks",
		   .needs = {NEED(EPOCH_AU_COMPUTE_NS)})
	FIGURE_PER("au_mlperf", "fraction", 1, OF(EPOCH_MLPERF_COMPUTE_NS),
		   OF(EPOCH_MLPERF_WALL_NS),
		   "by DLIO's formula", .needs = {NEED(EPOCH_MLPERF_COMPUTE_NS)})
	FIGURE_PER("seconds", "s", 1e-9, OF(EPOCH_WALL_NS), OF_NONE,
		   "from the epoch's start to its last step's end")
	FIGURE_PER("storage_s", "s", 1e-9, {ACCOUNT_STORAGE_LIST(EPOCH_STORAGE)}, OF_NONE,
		   "account: waiting for storage")
	COLD_FIGURE(EPOCH_)
};

const struct target train_targets[] = {
	TARGET_FIGURE("target_au", "AU", "fraction", "au",
		      "AU to reach; 0: none")
	TARGET_FIGURE("target_rate", "rate of samples", "1/s", "samples_per_second",
		      "samples per second of all ranks to reach; 0: none")
	TARGET_FIGURE("target_bandwidth", "bandwidth", "B/s", "bytes_per_second",
		      "bytes per second that all ranks read, to reach; 0: none")
	TARGET_QUANTILE("target_p99", "99th percentile of reads", "read", QUANTILE_P99,
			"99th percentile of read requests to stay below; 0: none")
	TARGETS_END
};
/* clang-format on */

static const struct table_kind epoch_table = {
	.name = "epochs",
	.help = "a row per epoch, and per evaluation",
	.key = TABLE_NUMBER,
	.columns = {train_epoch_measures, EPOCH_MEASURES, train_epoch_figures,
		    COUNT(train_epoch_figures)},
	.rank_rows = "epoch_ranks",
};
#define TRAIN_TABLE_ROW(id, kind) [id] = &(kind),
static const struct table_kind *const train_tables[TRAIN_TABLES] = {
	TRAIN_TABLE_LIST(TRAIN_TABLE_ROW)};

const struct tally_schema train_schema = {
	TALLY_SCHEMA(train_rank_measures, train_rank_figures, train_hists, train_tables),
	.main_figures = {"samples_per_second"},
	.main_hist = TRAIN_HIST_READ,
	.steps = true,
};

uint64_t *train_epoch_begin(struct tally *t, uint32_t i)
{
	return table_numbered(&t->tables[TRAIN_TABLE_EPOCHS], i + 1ull);
}

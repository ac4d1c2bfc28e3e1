/* Tables of a training phase: measures, figures, histograms, and the tables of epochs and endpoints. */
#include "workloads/train/columns.h"

#include <math.h>
#include <string.h>

#include "backends/endpoint.h"
#include "core/numbers.h"

static const struct measure train_rank_measures[] = {
	TALLY_COMMON_LIST(MEASURE_ROW) TRAIN_RANK_LIST(MEASURE_ROW, MEASURE_BLOCK_ROWS)};

static const struct measure train_epoch_measures[] = {
	TRAIN_EPOCH_LIST(MEASURE_ROW, MEASURE_BLOCK_ROWS)};

static const struct hist_kind train_hists[] = {TRAIN_HISTOGRAM_LIST(HIST_ROW)};

static double ratio(uint64_t above, uint64_t below)
{
	return below ? (double)above / (double)below : NAN;
}

static double seconds(uint64_t ns)
{
	return (double)ns * 1e-9;
}

/* A loop without compute has no utilisation, rather than one of 0. */
static double utilisation(uint64_t compute_ns, uint64_t wall_ns)
{
	return compute_ns ? ratio(compute_ns, wall_ns) : NAN;
}

static double rank_au(const uint64_t *row)
{
	return utilisation(row[TRAIN_AU_COMPUTE_NS], row[TRAIN_AU_WALL_NS]);
}

static double rank_au_with_checkpoints(const uint64_t *row)
{
	return row[TRAIN_CHECKPOINTS]
		       ? utilisation(row[TRAIN_AU_COMPUTE_NS],
				     row[TRAIN_AU_WALL_NS] + row[TRAIN_AU_CHECKPOINT_NS])
		       : NAN;
}

static double rank_au_without_skew(const uint64_t *row)
{
	return utilisation(row[TRAIN_AU_COMPUTE_NS],
			   row[TRAIN_AU_WALL_NS] - row[TRAIN_AU_RANKS_NS]);
}

static double rank_au_median(const uint64_t *row)
{
	double compute = ratio(row[TRAIN_AU_COMPUTE_NS], row[TRAIN_AU_STEPS]);

	return compute > 0 ? compute / (compute + (double)row[TRAIN_STALL_MEDIAN_NS]) : NAN;
}

static double rank_au_mlperf(const uint64_t *row)
{
	return row[TRAIN_MLPERF_SUM_PPB]
		       ? ratio(row[TRAIN_MLPERF_SUM_PPB], row[TRAIN_MLPERF_EPOCHS]) * 1e-9
		       : NAN;
}

/* Whatever costs more: calm steps, or those in which a barrier has to recover from a late rank. */
static double rank_null_au(const uint64_t *row)
{
	uint64_t calm = row[TRAIN_NULL_STALL_NS], late = row[TRAIN_NULL_LATE_NS];

	return utilisation(row[TRAIN_NULL_COMPUTE_NS],
			   row[TRAIN_NULL_COMPUTE_NS] + (late > calm ? late : calm));
}

/* Threads of a rank that were ready without a core, on average. */
static double rank_starved(const uint64_t *row)
{
	return ratio(row[TRAIN_RUNNABLE_NS], row[TRAIN_WALL_SUM_NS]);
}

static uint64_t storage_ns(const uint64_t *accounts)
{
	uint64_t sum = 0;

	for (int i = 0; i < ACCOUNTS; i++)
		sum += account_kinds[i].role == ROLE_ACCOUNT_STORAGE ? accounts[i] : 0;
	return sum;
}

/* compute_s, ranks_s … of each account outside storage. */
#define ACCOUNT_SECONDS(id, name, words, sort, help) \
	static double rank_##name##_s(const uint64_t *row) \
	{ \
		return seconds(row[TRAIN_ACCOUNTS + ACCOUNT_##id]); \
	}
ACCOUNT_COMPUTE_LIST(ACCOUNT_SECONDS)
ACCOUNT_OTHER_LIST(ACCOUNT_SECONDS)

#define ACCOUNT_FIGURE(id, name, words, sort, help) \
	FIGURE_ROW(#name "_s", "s", rank_##name##_s, "account: " help)

static double rank_storage_s(const uint64_t *row)
{
	return seconds(storage_ns(row + TRAIN_ACCOUNTS));
}

static double rank_samples_per_second(const uint64_t *row)
{
	return ratio(row[TRAIN_SAMPLES], row[TALLY_WALL_NS]) * 1e9;
}

static double rank_bytes_per_second(const uint64_t *row)
{
	return ratio(row[TALLY_BYTES_READ], row[TALLY_WALL_NS]) * 1e9;
}

static double rank_cached_share(const uint64_t *row)
{
	return ratio(row[TRAIN_RESIDENT_BYTES], row[TRAIN_RESIDENT_SAMPLED_BYTES]);
}

/* clang-format off */
static const struct figure train_rank_figures[] = {
	FIGURE_ROW("au", "fraction", rank_au,
		   "accelerator utilisation: compute over wall time, warm-up excluded",
		   .role = ROLE_UTILISATION)
	FIGURE_ROW("au_without_skew", "fraction", rank_au_without_skew,
		   "the same, were there no waiting for other ranks",
		   .role = ROLE_UTILISATION_WITHOUT_SKEW)
	FIGURE_ROW("au_with_checkpoints", "fraction", rank_au_with_checkpoints,
		   "the same as au, where the time that checkpoints block counts as wall time")
	FIGURE_ROW("au_median", "fraction", rank_au_median,
		   "the same, of the median step (merged: the worst rank's)")
	FIGURE_ROW("au_mlperf", "fraction", rank_au_mlperf, "by DLIO's formula, mean over epochs",
		   .role = ROLE_UTILISATION_MLPERF)
	FIGURE_ROW("null_au", "fraction", rank_null_au,
		   "AU of the same loop without storage: compute over compute and the median stall, "
		   "calm or after a late rank",
		   .role = ROLE_UTILISATION_NULL)
	ACCOUNT_COMPUTE_LIST(ACCOUNT_FIGURE)
	FIGURE_ROW("storage_s", "s", rank_storage_s, "account: waiting for storage")
	ACCOUNT_OTHER_LIST(ACCOUNT_FIGURE)
	FIGURE_ROW("samples_per_second", "1/s", rank_samples_per_second,
		   "samples over the phase's wall time", .role = ROLE_ITEM_RATE)
	FIGURE_ROW("bytes_per_second", "B/s", rank_bytes_per_second,
		   "bytes read over the phase's wall time", .role = ROLE_BYTE_RATE)
	FIGURE_ROW("threads_starved", "", rank_starved,
		   "threads of a rank that were ready to run without a core, on average",
		   .role = ROLE_STARVED)
	TALLY_COMMON_FIGURES
	COLD_FIGURE(rank_cached_share)
};
/* clang-format on */

static double epoch_au(const uint64_t *row)
{
	return utilisation(row[EPOCH_AU_COMPUTE_NS], row[EPOCH_AU_WALL_NS]);
}

static double epoch_au_without_skew(const uint64_t *row)
{
	return utilisation(row[EPOCH_AU_COMPUTE_NS],
			   row[EPOCH_AU_WALL_NS] - row[EPOCH_AU_RANKS_NS]);
}

static double epoch_au_mlperf(const uint64_t *row)
{
	return utilisation(row[EPOCH_MLPERF_COMPUTE_NS], row[EPOCH_MLPERF_WALL_NS]);
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

/* clang-format off */
static const struct figure train_epoch_figures[] = {
	FIGURE_ROW("au", "fraction", epoch_au, "compute over wall time, warm-up excluded",
		   .role = ROLE_UTILISATION)
	FIGURE_ROW("au_without_skew", "fraction", epoch_au_without_skew,
		   "the same, were there no waiting for other ranks")
	FIGURE_ROW("au_mlperf", "fraction", epoch_au_mlperf, "by DLIO's formula")
	FIGURE_ROW("seconds", "s", epoch_seconds, "from the epoch's start to its last step's end")
	FIGURE_ROW("storage_s", "s", epoch_storage_s, "account: waiting for storage")
	COLD_FIGURE(epoch_cached_share)
};
/* clang-format on */

const struct target train_targets[] = {
	{.name = "target_au",
	 .label = "AU",
	 .unit = "fraction",
	 .figure = "au",
	 .help = "AU to reach; 0: none"},
	{.name = "target_rate",
	 .label = "rate of samples",
	 .unit = "1/s",
	 .figure = "samples_per_second",
	 .help = "samples per second of all ranks to reach; 0: none"},
	{.name = "target_bandwidth",
	 .label = "bandwidth",
	 .unit = "B/s",
	 .figure = "bytes_per_second",
	 .help = "bytes per second that all ranks read, to reach; 0: none"},
	{.name = "target_p99",
	 .label = "99th percentile of reads",
	 .unit = "ns",
	 .hist = "read",
	 .quantile = 0.99,
	 .bound = TARGET_MOST,
	 .help = "99th percentile of read requests to stay below; 0: none"},
	{.name = NULL},
};

#define TRAIN_EPOCHS_TABLE \
	.name = "epochs", .help = "a row per epoch, and per evaluation", .key = TABLE_NUMBER, \
	.columns = {train_epoch_measures, EPOCH_MEASURES, train_epoch_figures, \
		    COUNT(train_epoch_figures)}, \
	.rank_rows = "epoch_ranks"
static const struct table_kind no_epochs = {TRAIN_EPOCHS_TABLE};
#define TRAIN_TABLE_ROW(id, kind) [id] = &(kind),
static const struct table_kind *const train_tables[TRAIN_TABLES] = {
	TRAIN_TABLE_LIST(TRAIN_TABLE_ROW)};

const struct tally_schema train_schema = {
	.rank = {train_rank_measures, TRAIN_RANK_MEASURES, train_rank_figures,
		 COUNT(train_rank_figures)},
	.hists = train_hists,
	.hist_count = TRAIN_HISTS,
	.main_hist = TRAIN_HIST_READ,
	.tables = train_tables,
	.table_count = TRAIN_TABLES,
	.steps = true,
};

const struct tally_schema *train_schema_with(uint32_t epochs, struct arena *arena)
{
	struct {
		struct tally_schema schema;
		const struct table_kind *tables[TRAIN_TABLES];
		struct table_kind epochs;
	} *all = arena_alloc(arena, sizeof(*all));

	if (!all)
		return NULL;
	all->epochs = no_epochs;
	all->epochs.rows_max = epochs;
	memcpy(all->tables, train_tables, sizeof(train_tables));
	all->tables[TRAIN_TABLE_EPOCHS] = &all->epochs;
	all->schema = train_schema;
	all->schema.tables = all->tables;
	return &all->schema;
}

uint64_t *train_epoch_begin(struct tally *t, uint32_t i)
{
	return table_numbered(&t->tables[TRAIN_TABLE_EPOCHS], i + 1ull);
}

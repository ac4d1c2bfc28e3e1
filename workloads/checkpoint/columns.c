/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a phase of checkpoints: measures, figures, histograms, the rows of checkpoints. */

#include <math.h>
#include <string.h>

#include "backends/endpoint.h"
#include "workloads/checkpoint/checkpoint.h"

static const struct measure measures[] =
	TALLY_ROWS(CHECKPOINT_RANK_LIST(MEASURE_ROW, MEASURE_BLOCK_ROWS));
static const struct measure row_measures[] = {CHECKPOINT_ROW_LIST(MEASURE_ROW)};
static const struct hist_kind hists[] = {CHECKPOINT_HISTOGRAM_LIST(HIST_ROW)};

void checkpoint_count_pass(const struct repeat_took *took, uint64_t bytes, unsigned block,
			   uint64_t *row)
{
	struct repeat_took both = {.own_ns = 0};
	uint64_t sum[REPEAT_MEASURES] = {0};

	repeat_count(took, bytes, &row[block]);
	both.own_ns = row[CHECKPOINT_WRITE_NS] + row[CHECKPOINT_READ_NS];
	repeat_count(&both, row[CHECKPOINT_WRITE_DONE_BYTES] + row[CHECKPOINT_READ_DONE_BYTES],
		     sum);
	row[CHECKPOINT_NS_PER_GB] = sum[REPEAT_NS_PER_GB];
	if (took->slowest_ns)
		row[block == CHECKPOINT_WRITE_NS ? CHECKPOINT_WRITE_RATES
						 : CHECKPOINT_READ_RATES] +=
			(uint64_t)((unsigned __int128)bytes * 1000000000u / took->slowest_ns);
}

/* What is lost where making bytes and writing them do not overlap. */
static double checkpoint_write_overhead(const uint64_t *row)
{
	uint64_t fill = row[CHECKPOINT_FILL_NS], store = row[CHECKPOINT_STORE_NS];
	uint64_t busy = fill > store ? fill : store, wall = row[CHECKPOINT_WRITE_NS];

	return wall ? (busy < wall ? (double)(wall - busy) : 0) / (double)wall : NAN;
}

static double seconds_each(const uint64_t *row, unsigned ns, unsigned count)
{
	return row[count] ? (double)row[ns] * 1e-9 / (double)row[count] : NAN;
}

static double mtbf_seconds(const uint64_t *row)
{
	return row[CHECKPOINT_MTBF_NS] ? (double)row[CHECKPOINT_MTBF_NS] * 1e-9 : NAN;
}

static double lost_share(const uint64_t *row, double interval)
{
	double cost = seconds_each(row, CHECKPOINT_STALL_NS, CHECKPOINT_WRITTEN);
	double restart = row[CHECKPOINT_READ_BACK] ? seconds_each(row, CHECKPOINT_READ_SLOWEST_NS,
								  CHECKPOINT_READ_BACK)
						   : 0;

	return cost / interval + (interval / 2 + restart) / mtbf_seconds(row);
}

static double young_interval(const uint64_t *row)
{
	return sqrt(2 * seconds_each(row, CHECKPOINT_STALL_NS, CHECKPOINT_WRITTEN) *
		    mtbf_seconds(row));
}

double checkpoint_best_interval(const uint64_t *row)
{
	double cost = seconds_each(row, CHECKPOINT_STALL_NS, CHECKPOINT_WRITTEN);
	double mtbf = mtbf_seconds(row), x = cost / (2 * mtbf);

	return x >= 1 ? mtbf : young_interval(row) * (1 + sqrt(x) / 3 + x / 9) - cost;
}

double checkpoint_lost_at_best(const uint64_t *row)
{
	return lost_share(row, checkpoint_best_interval(row));
}

double checkpoint_lost(const uint64_t *row)
{
	return row[CHECKPOINT_INTERVAL_NS]
		       ? lost_share(row, (double)row[CHECKPOINT_INTERVAL_NS] * 1e-9)
		       : NAN;
}

/* clang-format off */
static const struct figure figures[] = {
	FIGURE_PER("bytes_rate_first_done", "B/s", 1e9,
		   OF_SUM(CHECKPOINT_WRITE_FIRST_BYTES, CHECKPOINT_READ_FIRST_BYTES),
		   OF_SUM(CHECKPOINT_WRITE_FIRST_NS, CHECKPOINT_READ_FIRST_NS),
		   "bytes written and read per second, each checkpoint until its first rank had done its part",
		   .role = ROLE_BYTE_RATE_FIRST)
	FIGURE_PER("bytes_rate_last_done", "B/s", 1e9,
		   OF_SUM(CHECKPOINT_WRITE_DONE_BYTES, CHECKPOINT_READ_DONE_BYTES),
		   OF_SUM(CHECKPOINT_WRITE_SLOWEST_NS, CHECKPOINT_READ_SLOWEST_NS),
		   "bytes written and read per second, each checkpoint until its last rank had done its part",
		   .role = ROLE_BYTE_RATE)
	FIGURE_PER("bytes_rate_slowest_rank", "B/s", 1e18, OF_NONE, OF(CHECKPOINT_NS_PER_GB),
		   "bytes of its own part that the slowest rank wrote and read per second",
		   .role = ROLE_BYTE_RATE_SLOWEST)
	FIGURE_PER("write_rate_first_done", "B/s", 1e9, OF(CHECKPOINT_WRITE_FIRST_BYTES),
		   OF(CHECKPOINT_WRITE_FIRST_NS),
		   "bytes written per second, each checkpoint until its first rank had written its part")
	FIGURE_PER("write_rate", "B/s", 1e9, OF(CHECKPOINT_WRITE_DONE_BYTES),
		   OF(CHECKPOINT_WRITE_SLOWEST_NS),
		   "bytes written per second, each checkpoint until its last rank had written its part",
		   .role = ROLE_WRITE_RATE)
	FIGURE_PER("write_rate_slowest_rank", "B/s", 1e18, OF_NONE, OF(CHECKPOINT_WRITE_NS_PER_GB),
		   "bytes of its own part that the slowest rank wrote per second")
	FIGURE_PER("write_rate_mlperf", "B/s", 1, OF(CHECKPOINT_WRITE_RATES),
		   OF(CHECKPOINT_WRITTEN),
		   "write_rate of each checkpoint, on average over the checkpoints, as MLPerf Storage tells it",
		   .role = ROLE_WRITE_RATE_MLPERF)
	FIGURE_PER("read_rate_first_done", "B/s", 1e9, OF(CHECKPOINT_READ_FIRST_BYTES),
		   OF(CHECKPOINT_READ_FIRST_NS),
		   "bytes read per second, each checkpoint until its first rank had read its part")
	FIGURE_PER("read_rate", "B/s", 1e9, OF(CHECKPOINT_READ_DONE_BYTES),
		   OF(CHECKPOINT_READ_SLOWEST_NS),
		   "bytes read per second, each checkpoint until its last rank had read its part",
		   .role = ROLE_READ_RATE)
	FIGURE_PER("read_rate_slowest_rank", "B/s", 1e18, OF_NONE, OF(CHECKPOINT_READ_NS_PER_GB),
		   "bytes of its own part that the slowest rank read per second")
	FIGURE_PER("read_rate_mlperf", "B/s", 1, OF(CHECKPOINT_READ_RATES),
		   OF(CHECKPOINT_READ_BACK),
		   "read_rate of each checkpoint, on average over the checkpoints, as MLPerf Storage tells it",
		   .role = ROLE_READ_RATE_MLPERF)
	FIGURE_PER("write_seconds", "s", 1e-9, OF(CHECKPOINT_WRITE_SLOWEST_NS),
		   OF(CHECKPOINT_WRITTEN),
		   "seconds that the slowest rank took to write a checkpoint, on average")
	FIGURE_ROW("write_overhead", "fraction", checkpoint_write_overhead,
		   "max(0, write_ns - max(fill_ns, store_ns)) / write_ns",
		   "of the writing time, what is beyond the longer of making bytes and storing them")
	FIGURE_PER("read_seconds", "s", 1e-9, OF(CHECKPOINT_READ_SLOWEST_NS),
		   OF(CHECKPOINT_READ_BACK),
		   "seconds that the slowest rank took to read a checkpoint, on average")
	FIGURE_PER("stall_seconds", "s", 1e-9, OF(CHECKPOINT_STALL_NS), OF(CHECKPOINT_WRITTEN),
		   "seconds that whoever asked for a checkpoint waited, on average")
	FIGURE_PER("durable_seconds", "s", 1e-9, OF(CHECKPOINT_DURABLE_NS), OF(CHECKPOINT_WRITTEN),
		   "seconds until all ranks had committed the files of a checkpoint, on average")
	FIGURE_PER("visible_seconds", "s", 1e-9, OF(CHECKPOINT_VISIBLE_NS), OF(CHECKPOINT_WRITTEN),
		   "seconds until the marker, or .metadata, of a checkpoint was published, on average")
	FIGURE_PER("unlinks_per_second", "/s", 1e9, OF(CHECKPOINT_REMOVED), OF(CHECKPOINT_PURGE_NS),
		   "files of older checkpoints removed per second of removing")
	FIGURE_ROW("best_interval", "s", checkpoint_best_interval,
		   "sqrt(2CM) (1 + sqrt(C / 2M) / 3 + C / 2M / 9) - C, with C = stall_seconds, M = mtbf",
		   "time between two checkpoints at which the least time is lost (Daly)")
	FIGURE_ROW("best_interval_young", "s", young_interval, "sqrt(2CM)", "the same by Young's first order")
	FIGURE_ROW("lost_share", "fraction", checkpoint_lost,
		   "C / T + (T / 2 + R) / M, with T = interval, R = read_seconds",
		   "of a training's time, what checkpoints every interval and failures cost")
	FIGURE_ROW("lost_share_best", "fraction", checkpoint_lost_at_best, "lost_share with T = best_interval",
		   "the same with the best interval")
	FIGURE_PER("read_amplification", "", 1, OF(CHECKPOINT_READ_DONE_BYTES),
		   OF(CHECKPOINT_NEEDED_BYTES),
		   "bytes read for each byte of tensors that the ranks restored")
	FIGURE_PER("collective_seconds", "s", 1e-9, OF(CHECKPOINT_COLLECTIVE_NS),
		   OF(CHECKPOINT_WRITTEN),
		   "seconds of a checkpoint in which plans and results were gathered and scattered, on average")
	FIGURE_PER("consolidate_seconds", "s", 1e-9, OF(CHECKPOINT_CONSOLIDATE_NS),
		   OF(CHECKPOINT_WRITTEN),
		   "seconds in which Hugging Face's files of a checkpoint were made of its shards, on average")
	FIGURE_PER("consolidate_writes_per_second", "/s", 1e9, OF(CHECKPOINT_CONSOLIDATE_WRITES),
		   OF(CHECKPOINT_CONSOLIDATE_NS), "writes into these files per second of that time")
	NULL_PASS_FIGURE(CHECKPOINT_)
	TALLY_COMMON_FIGURES
	COLD_FIGURE(CHECKPOINT_)
};

static const struct figure row_figures[] = {
	FIGURE_PER("write_rate", "B/s", 1e9, OF(CHECKPOINT_ROW_BYTES_WRITTEN),
		   OF(CHECKPOINT_ROW_WRITE_NS),
		   "bytes written per second of the slowest rank's time")
	FIGURE_PER("read_rate", "B/s", 1e9, OF(CHECKPOINT_ROW_BYTES_READ),
		   OF(CHECKPOINT_ROW_READ_NS),
		   "bytes read per second of the slowest rank's time")
	FIGURE_PER("write_rate_first_done", "B/s", 1e9, OF(CHECKPOINT_ROW_WRITE_FIRST_BYTES),
		   OF(CHECKPOINT_ROW_WRITE_FIRST_NS),
		   "bytes written per second of the first rank's time")
	FIGURE_PER("read_rate_first_done", "B/s", 1e9, OF(CHECKPOINT_ROW_READ_FIRST_BYTES),
		   OF(CHECKPOINT_ROW_READ_FIRST_NS),
		   "bytes read per second of the first rank's time")
};
/* clang-format on */

static const struct table_kind checkpoint_rows = {
	.name = "checkpoints",
	.help = "each checkpoint, written and read",
	.key = TABLE_NUMBER,
	.key_name = "checkpoint",
	.columns = {.measures = row_measures,
		    .measure_count = CHECKPOINT_ROW_MEASURES,
		    .figures = row_figures,
		    .figure_count = sizeof(row_figures) / sizeof(row_figures[0])},
	.rows_max = CHECKPOINT_COUNT_MAX,
};

static const struct table_kind *const tables[CHECKPOINT_TABLES] = {&checkpoint_rows,
								   &endpoint_table};

/* clang-format off */
const struct target checkpoint_targets[] = {
	TARGET_FIGURE("target_write_seconds", "seconds to write a checkpoint", "s", "write_seconds",
		      "seconds that the slowest rank may take to write a checkpoint, on average; 0: none",
		      .bound = TARGET_MOST)
	TARGET_FIGURE("target_read_seconds", "seconds to read a checkpoint", "s", "read_seconds",
		      "seconds that the slowest rank may take to read a checkpoint, on average; 0: none",
		      .bound = TARGET_MOST)
	TARGETS_END
};
/* clang-format on */

const struct tally_schema checkpoint_schema = {
	TALLY_SCHEMA(measures, figures, hists, tables),
	.main_figures = {"bytes_rate_last_done"},
};

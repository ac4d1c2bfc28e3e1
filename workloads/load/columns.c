/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a phase that loads a model: measures, figures, histograms, rows. */
#include "workloads/load/load.h"

#include "backends/endpoint.h"
#include "core/numbers.h"

static const struct measure measures[] =
	TALLY_ROWS(LOAD_RANK_LIST(MEASURE_ROW, MEASURE_BLOCK_ROWS));
static const struct measure row_measures[] = {LOAD_ROW_LIST(MEASURE_ROW)};
static const struct hist_kind hists[] = {LOAD_HISTOGRAM_LIST(HIST_ROW)};

/* clang-format off */
static const struct figure figures[] = {
	FIGURE_PER("bytes_rate_first_done", "B/s", 1e9, OF(LOAD_LOAD_FIRST_BYTES),
		   OF(LOAD_LOAD_FIRST_NS),
		   "bytes that all ranks read per second, each load until its first rank had its shard",
		   .role = ROLE_BYTE_RATE_FIRST)
	FIGURE_PER("bytes_rate_last_done", "B/s", 1e9, OF(LOAD_LOAD_DONE_BYTES),
		   OF(LOAD_LOAD_SLOWEST_NS),
		   "bytes that all ranks read per second, each load until its last rank had its shard",
		   .role = ROLE_BYTE_RATE)
	FIGURE_PER("bytes_rate_slowest_rank", "B/s", 1e18, OF_NONE, OF(LOAD_LOAD_NS_PER_GB),
		   "bytes that the slowest of the ranks that read got per second",
		   .role = ROLE_BYTE_RATE_SLOWEST)
	FIGURE_PER("load_seconds", "s", 1e-9, OF(LOAD_LOAD_SLOWEST_NS), OF(LOAD_LOADED),
		   "seconds that the slowest rank took to load its shard, on average")
	FIGURE_PER("read_amplification", "fraction", 1, OF(LOAD_STORE_BYTES), OF(LOAD_MODEL_BYTES),
		   "bytes asked of the store, of the bytes of the model: 1 where every byte was read once")
	FIGURE_PER("read_per_needed", "fraction", 1, OF(LOAD_STORE_BYTES), OF(LOAD_NEEDED_BYTES),
		   "bytes asked of the store, of the bytes that the ranks need")
	FIGURE_PER("read_per_needed_most", "fraction", 1e-6, OF(LOAD_READ_PPM), OF_NONE,
		   "the same of the rank that read the most for what it needs")
	NULL_PASS_FIGURE(LOAD_)
	TALLY_COMMON_FIGURES
	COLD_FIGURE(LOAD_)
};

static const struct figure row_figures[] = {
	FIGURE_PER("bytes_rate_first_done", "B/s", 1e9, OF(LOAD_ROW_FIRST_BYTES),
		   OF(LOAD_ROW_FIRST_NS),
		   "bytes read per second of the first rank's time")
	FIGURE_PER("bytes_rate_last_done", "B/s", 1e9, OF(LOAD_ROW_BYTES), OF(LOAD_ROW_LOAD_NS),
		   "bytes read per second of the slowest rank's time")
};
/* clang-format on */

static const struct table_kind load_rows = {
	.name = "loads",
	.help = "each time that the model was loaded",
	.key = TABLE_NUMBER,
	.key_name = "load",
	.columns = {.measures = row_measures,
		    .measure_count = LOAD_ROW_MEASURES,
		    .figures = row_figures,
		    .figure_count = COUNT(row_figures)},
	.rows_max = 1,
};

static const struct table_kind *const tables[LOAD_TABLES] = {&load_rows, &endpoint_table};

/* clang-format off */
const struct target load_targets[] = {
	TARGET_FIGURE("target_load_seconds", "seconds to load the model", "s", "load_seconds",
		      "seconds that the slowest rank may take to load its shard, on average; 0: none",
		      .bound = TARGET_MOST)
	TARGETS_END
};
/* clang-format on */

const struct tally_schema load_schema = {
	TALLY_SCHEMA(measures, figures, hists, tables),
	.main_figures = {"bytes_rate_last_done"},
	.tuned_by = "load_seconds",
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a phase "replay": measures, figures, histograms, rows of tiers. */
#include "workloads/replay/replay.h"

#include "backends/endpoint.h"
#include "core/measure/quantile.h"
#include "workloads/trace/trace.h"

static const struct measure measures[] = TALLY_ROWS(REPLAY_COLUMN_LIST(MEASURE_ROW));
static const struct measure tier_measures[] = {REPLAY_TIER_LIST(MEASURE_ROW)};
static const struct hist_kind replay_hists[] = {REPLAY_HISTOGRAM_LIST(HIST_ROW)};

/* clang-format off */
static const struct figure figures[] = {
	FIGURE_PER("bytes_rate", "B/s", 1e9, OF_SUM(TALLY_BYTES_READ, TALLY_BYTES_WRITTEN),
		   OF(TALLY_WALL_NS),
		   "bytes that the store moved per second, in both directions", .role = ROLE_BYTE_RATE)
	FIGURE_PER("read_rate", "B/s", 1e9, OF(TALLY_BYTES_READ), OF(TALLY_WALL_NS),
		   "bytes read from the store per second",
		   .role = ROLE_READ_RATE)
	FIGURE_PER("write_rate", "B/s", 1e9, OF(TALLY_BYTES_WRITTEN), OF(TALLY_WALL_NS),
		   "bytes written to the store per second",
		   .role = ROLE_WRITE_RATE)
	FIGURE_PER("row_rate", "1/s", 1e9, OF(REPLAY_REQUESTS), OF(TALLY_WALL_NS),
		   "rows of the trace replayed per second",
		   .role = ROLE_OPERATION_RATE)
	TALLY_COMMON_FIGURES
};
/* clang-format on */

static const struct table_kind replay_tier_table = {
	.name = "tiers",
	.help = "one row per tier of the trace",
	.key = TABLE_TEXT,
	.key_name = "tier",
	.columns = {.measures = tier_measures, .measure_count = REPLAY_TIER_MEASURES},
	.rows_max = TRACE_TIERS,
};

static const struct table_kind *const replay_tables[REPLAY_TABLES] = {&replay_tier_table,
								      &endpoint_table};

/* clang-format off */
const struct target replay_targets[] = {
	TARGET_FIGURE("target_bandwidth", "bandwidth", "B/s", "bytes_rate",
		      "bytes per second that all ranks read and write; 0: none")
	TARGET_FIGURE("target_rate", "rows of the trace", "1/s", "row_rate",
		      "rows per second that all ranks replay; 0: none")
	TARGET_QUANTILE("target_read_p99", "99th percentile of reads of objects", "read", QUANTILE_P99,
			"99th percentile of reads of whole objects to stay below; 0: none")
	TARGETS_END
};
/* clang-format on */

const struct tally_schema replay_schema = {
	TALLY_SCHEMA(measures, figures, replay_hists, replay_tables),
	.main_figures = {"row_rate"},
};

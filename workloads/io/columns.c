/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a phase of plain I/O: measures, figures, histograms. */
#include "workloads/io/io.h"

#include "backends/endpoint.h"
#include "core/measure/quantile.h"
#include "core/measure/window.h"

static const struct measure measures[] = TALLY_ROWS(IO_COLUMN_LIST(MEASURE_ROW));
static const struct hist_kind hists[] = {IO_HISTOGRAM_LIST(HIST_ROW)};
static const struct table_kind *const tables[] = {&endpoint_table};

/* clang-format off */
static const struct figure figures[] = {
	FIGURE_PER("bytes_rate_first_done", "B/s", 1e9, OF(IO_FIRST_DONE_BYTES),
		   OF(IO_FIRST_DONE_NS),
		   "bytes per second until the first thread had done its part",
		   .role = ROLE_BYTE_RATE_FIRST)
	FIGURE_PER("bytes_rate_last_done", "B/s", 1e9, OF(IO_DONE_BYTES), OF(IO_LAST_DONE_NS),
		   "bytes per second until the last one had", .role = ROLE_BYTE_RATE)
	FIGURE_PER("rate_first_done", "1/s", 1e9 / WINDOW_PARTS, OF(IO_FIRST_DONE_PARTS), OF(IO_FIRST_DONE_NS),
		   "operations per second until the first thread had done its part",
		   .role = ROLE_OPERATION_RATE_FIRST)
	FIGURE_PER("rate_last_done", "1/s", 1e9 / WINDOW_PARTS, OF(IO_DONE_PARTS), OF(IO_LAST_DONE_NS),
		   "operations per second until the last one had", .role = ROLE_OPERATION_RATE)
	FIGURE_PER("entries_rate", "1/s", 1e9, OF(IO_ENTRIES), OF(IO_LAST_DONE_NS),
		   "objects listed per second", .role = ROLE_ITEM_RATE, .needs = {NEED(IO_LISTS)})
	TALLY_COMMON_FIGURES
	COLD_FIGURE(IO_)
};

const struct target io_targets[] = {
	TARGET_FIGURE("target_rate", "rate of operations", "1/s", "rate_last_done",
		      "operations per second of all ranks to reach; 0: none")
	TARGET_FIGURE("target_bandwidth", "bandwidth", "B/s", "bytes_rate_last_done",
		      "bytes per second of all ranks to reach; 0: none")
	TARGET_QUANTILE("target_p99", "99th percentile of requests", TARGET_MAIN_HIST, QUANTILE_P99,
			"upper bound for the p99 of the phase's requests (reads, writes …), with arrivals from when they were due; 0: none")
	TARGETS_END
};
/* clang-format on */

const struct tally_schema io_schema = {
	TALLY_SCHEMA(measures, figures, hists, tables),
	.main_figures = {"bytes_rate_last_done", "entries_rate", "rate_last_done"},
};

/* Tables of a phase of plain I/O: measures, figures, histograms. */
#include "workloads/io/columns.h"

#include "backends/endpoint.h"
#include "core/numbers.h"

static const struct measure measures[] = {TALLY_COMMON_LIST(MEASURE_ROW)
						  IO_COLUMN_LIST(MEASURE_ROW)};
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
	FIGURE_PER("rate_first_done", "1/s", 1e9, OF(IO_FIRST_DONE), OF(IO_FIRST_DONE_NS),
		   "operations per second until the first thread had done its part",
		   .role = ROLE_OPERATION_RATE_FIRST)
	FIGURE_PER("rate_last_done", "1/s", 1e9, OF(IO_DONE), OF(IO_LAST_DONE_NS),
		   "operations per second until the last one had", .role = ROLE_OPERATION_RATE)
	FIGURE_PER("entries_rate", "1/s", 1e9, OF(IO_ENTRIES), OF(IO_LAST_DONE_NS),
		   "objects listed per second", .needs = {NEED(IO_LISTS)})
	TALLY_COMMON_FIGURES
	COLD_FIGURE(IO_)
};
/* clang-format on */

const struct target io_targets[] = {
	{.name = "target_rate",
	 .label = "rate of operations",
	 .unit = "1/s",
	 .figure = "rate_last_done",
	 .help = "operations per second of all ranks to reach; 0: none"},
	{.name = "target_bandwidth",
	 .label = "bandwidth",
	 .unit = "B/s",
	 .figure = "bytes_rate_last_done",
	 .help = "bytes per second of all ranks to reach; 0: none"},
	{.name = "target_p99",
	 .label = "99th percentile of requests",
	 .unit = "ns",
	 .hist = TARGET_MAIN_HIST,
	 .quantile = 0.99,
	 .bound = TARGET_MOST,
	 .help = "upper bound for the p99 of the phase's requests (reads, writes …); 0: none"},
	{.name = NULL},
};

const struct tally_schema io_schema = {
	.rank = {.measures = measures,
		 .measure_count = IO_MEASURES,
		 .figures = figures,
		 .figure_count = COUNT(figures)},
	.hists = hists,
	.hist_count = IO_HISTS,
	.main_figures = {"bytes_rate_last_done", "rate_last_done"},
	.tables = tables,
	.table_count = COUNT(tables),
};

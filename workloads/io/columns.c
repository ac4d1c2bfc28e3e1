/* Tables of a phase of plain I/O: measures, figures, histograms. */
#include "workloads/io/columns.h"

#include <math.h>

#include "backends/endpoint.h"

static const struct measure measures[] = {TALLY_COMMON_LIST(MEASURE_ROW)
						  IO_COLUMN_LIST(MEASURE_ROW)};
static const struct hist_kind hists[] = {IO_HISTOGRAM_LIST(HIST_ROW)};
static const struct table_kind *const tables[] = {&endpoint_table};

static double io_rate(const uint64_t *row, unsigned what, unsigned when)
{
	return row[what] && row[when] ? (double)row[what] * 1e9 / (double)row[when] : NAN;
}

static double io_bytes_first(const uint64_t *row)
{
	return io_rate(row, IO_FIRST_DONE_BYTES, IO_FIRST_DONE_NS);
}

static double io_bytes_last(const uint64_t *row)
{
	return io_rate(row, IO_DONE_BYTES, IO_LAST_DONE_NS);
}

static double io_done_first(const uint64_t *row)
{
	return io_rate(row, IO_FIRST_DONE, IO_FIRST_DONE_NS);
}

static double io_done_last(const uint64_t *row)
{
	return io_rate(row, IO_DONE, IO_LAST_DONE_NS);
}

static double io_entries_last(const uint64_t *row)
{
	return io_rate(row, IO_ENTRIES, IO_LAST_DONE_NS);
}

static double io_cached_share(const uint64_t *row)
{
	return row[IO_RESIDENT_SAMPLED_BYTES]
		       ? (double)row[IO_RESIDENT_BYTES] / (double)row[IO_RESIDENT_SAMPLED_BYTES]
		       : NAN;
}

/* clang-format off */
static const struct figure figures[] = {
	FIGURE_ROW("bytes_rate_first_done", "B/s", io_bytes_first,
		   "bytes per second until the first thread had done its part",
		   .role = ROLE_BYTE_RATE_FIRST)
	FIGURE_ROW("bytes_rate_last_done", "B/s", io_bytes_last,
		   "bytes per second until the last one had", .role = ROLE_BYTE_RATE)
	FIGURE_ROW("rate_first_done", "1/s", io_done_first,
		   "operations per second until the first thread had done its part",
		   .role = ROLE_OPERATION_RATE_FIRST)
	FIGURE_ROW("rate_last_done", "1/s", io_done_last,
		   "operations per second until the last one had", .role = ROLE_OPERATION_RATE)
	FIGURE_ROW("entries_rate", "1/s", io_entries_last, "objects listed per second")
	TALLY_COMMON_FIGURES
	COLD_FIGURE(io_cached_share)
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
	 .help = "99th percentile of the requests that the phase is made of (reads, writes …) to stay "
		 "below; 0: none"},
	{.name = NULL},
};

const struct tally_schema io_schema = {
	.rank = {.measures = measures,
		 .measure_count = IO_MEASURES,
		 .figures = figures,
		 .figure_count = sizeof(figures) / sizeof(figures[0])},
	.hists = hists,
	.hist_count = IO_HISTS,
	.tables = tables,
	.table_count = sizeof(tables) / sizeof(tables[0]),
};

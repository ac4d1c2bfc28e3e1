/* Tables of making a data set: measures, figures, histograms. */
#include "workloads/generate/columns.h"

#include <math.h>

#include "backends/endpoint.h"

static const struct measure measures[] = {TALLY_COMMON_LIST(MEASURE_ROW)
						  GENERATE_COLUMN_LIST(MEASURE_ROW)};
static const struct hist_kind hists[] = {GENERATE_HISTOGRAM_LIST(HIST_ROW)};
static const struct table_kind *const tables[] = {&endpoint_table};

static double write_rate(const uint64_t *row)
{
	return row[TALLY_WALL_NS]
		       ? (double)row[TALLY_BYTES_WRITTEN] * 1e9 / (double)row[TALLY_WALL_NS]
		       : NAN;
}

static double fill_rate(const uint64_t *row)
{
	return row[GENERATE_FILL_NS]
		       ? (double)row[TALLY_BYTES_WRITTEN] * 1e9 / (double)row[GENERATE_FILL_NS]
		       : NAN;
}

/* clang-format off */
static const struct figure figures[] = {
	FIGURE_ROW("write_rate", "B/s", write_rate, "bytes written per second of the phase",
		   .role = ROLE_BYTE_RATE)
	FIGURE_ROW("fill_rate", "B/s", fill_rate, "bytes made per second of a thread")
	TALLY_COMMON_FIGURES
};
/* clang-format on */

const struct tally_schema generate_schema = {
	.rank = {.measures = measures,
		 .measure_count = GENERATE_MEASURES,
		 .figures = figures,
		 .figure_count = sizeof(figures) / sizeof(figures[0])},
	.hists = hists,
	.hist_count = GENERATE_HISTS,
	.tables = tables,
	.table_count = sizeof(tables) / sizeof(tables[0]),
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of making a data set: measures, figures, histograms. */
#include "workloads/generate/columns.h"

#include "backends/endpoint.h"

static const struct measure measures[] = TALLY_ROWS(GENERATE_COLUMN_LIST(MEASURE_ROW));
static const struct hist_kind hists[] = {GENERATE_HISTOGRAM_LIST(HIST_ROW)};
static const struct table_kind *const tables[] = {&endpoint_table};

/* clang-format off */
static const struct figure figures[] = {
	FIGURE_PER("write_rate", "B/s", 1e9, OF(TALLY_BYTES_WRITTEN), OF(TALLY_WALL_NS),
		   "bytes written per second of the phase",
		   .role = ROLE_BYTE_RATE)
	FIGURE_PER("fill_rate", "B/s", 1e9, OF(TALLY_BYTES_WRITTEN), OF(GENERATE_FILL_NS),
		   "bytes made per second of a thread")
	TALLY_COMMON_FIGURES
};
/* clang-format on */

const struct tally_schema generate_schema = {
	TALLY_SCHEMA(measures, figures, hists, tables),
	.main_figures = {"write_rate"},
};

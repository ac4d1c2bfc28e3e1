/* Tables of a phase that loads a model: measures, figures, histograms, rows. */
#include "workloads/load/columns.h"

#include <math.h>
#include <string.h>

#include "backends/endpoint.h"

static const struct measure measures[] = {TALLY_COMMON_LIST(MEASURE_ROW)
						  LOAD_RANK_LIST(MEASURE_ROW, MEASURE_BLOCK_ROWS)};
static const struct measure row_measures[] = {LOAD_ROW_LIST(MEASURE_ROW)};
static const struct hist_kind hists[] = {LOAD_HISTOGRAM_LIST(HIST_ROW)};

static double load_ratio(uint64_t above, double factor, uint64_t below)
{
	return above && below ? (double)above * factor / (double)below : NAN;
}

static double load_bytes_rate(const uint64_t *row)
{
	return repeat_rate(&row[LOAD_LOAD_NS]);
}

static double load_bytes_first(const uint64_t *row)
{
	return repeat_rate_first(&row[LOAD_LOAD_NS]);
}

static double load_bytes_slowest(const uint64_t *row)
{
	return repeat_rate_slowest(&row[LOAD_LOAD_NS]);
}

static double load_null_rate(const uint64_t *row)
{
	return load_ratio(row[LOAD_NULL_BYTES], 1e9, row[LOAD_NULL_NS]);
}

static double load_seconds(const uint64_t *row)
{
	return load_ratio(row[LOAD_LOAD_SLOWEST_NS], 1e-9, row[LOAD_LOADED]);
}

static double load_cached_share(const uint64_t *row)
{
	return row[LOAD_RESIDENT_SAMPLED_BYTES]
		       ? (double)row[LOAD_RESIDENT_BYTES] / (double)row[LOAD_RESIDENT_SAMPLED_BYTES]
		       : NAN;
}

/* clang-format off */
static const struct figure figures[] = {
	FIGURE_ROW("bytes_rate_first_done", "B/s", load_bytes_first,
		   "bytes that all ranks read per second, each load until its first rank had its shard",
		   .role = ROLE_BYTE_RATE_FIRST)
	FIGURE_ROW("bytes_rate_last_done", "B/s", load_bytes_rate,
		   "bytes that all ranks read per second, each load until its last rank had its shard",
		   .role = ROLE_BYTE_RATE)
	FIGURE_ROW("bytes_rate_slowest_rank", "B/s", load_bytes_slowest,
		   "bytes that the slowest of the ranks that read got per second",
		   .role = ROLE_BYTE_RATE_SLOWEST)
	FIGURE_ROW("load_seconds", "s", load_seconds,
		   "seconds that the slowest rank took to load its shard, on average")
	NULL_PASS_FIGURE(load_null_rate)
	TALLY_COMMON_FIGURES
	COLD_FIGURE(load_cached_share)
};
/* clang-format on */

static double row_bytes_first(const uint64_t *row)
{
	return load_ratio(row[LOAD_ROW_FIRST_BYTES], 1e9, row[LOAD_ROW_FIRST_NS]);
}

static double row_bytes_rate(const uint64_t *row)
{
	return load_ratio(row[LOAD_ROW_BYTES], 1e9, row[LOAD_ROW_LOAD_NS]);
}

/* clang-format off */
static const struct figure row_figures[] = {
	FIGURE_ROW("bytes_rate_first_done", "B/s", row_bytes_first, "bytes read per second of the first rank's time")
	FIGURE_ROW("bytes_rate_last_done", "B/s", row_bytes_rate, "bytes read per second of the slowest rank's time")
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
		    .figure_count = sizeof(row_figures) / sizeof(row_figures[0])},
	.rows_max = 1,
};

static const struct table_kind *const tables[LOAD_TABLES] = {&load_rows, &endpoint_table};

const struct target load_targets[] = {
	{.name = "target_load_seconds",
	 .label = "seconds to load the model",
	 .unit = "s",
	 .figure = "load_seconds",
	 .bound = TARGET_MOST,
	 .help = "seconds that the slowest rank may take to load its shard, on average; 0: none"},
	{.name = NULL},
};

const struct tally_schema load_schema = {
	.rank = {.measures = measures,
		 .measure_count = LOAD_MEASURES,
		 .figures = figures,
		 .figure_count = sizeof(figures) / sizeof(figures[0])},
	.hists = hists,
	.hist_count = LOAD_HISTS,
	.tables = tables,
	.table_count = LOAD_TABLES,
};

const struct tally_schema *load_schema_with(uint32_t loads, struct arena *arena)
{
	struct {
		struct tally_schema schema;
		const struct table_kind *tables[LOAD_TABLES];
		struct table_kind rows;
	} *all = arena_alloc(arena, sizeof(*all));

	if (!all)
		return NULL;
	all->rows = load_rows;
	all->rows.rows_max = loads;
	memcpy(all->tables, tables, sizeof(tables));
	all->tables[LOAD_TABLE_ROWS] = &all->rows;
	all->schema = load_schema;
	all->schema.tables = all->tables;
	return &all->schema;
}

/* Tables of a phase of checkpoints: measures, figures, histograms, the rows of checkpoints. */
#include "workloads/checkpoint/columns.h"

#include <math.h>
#include <string.h>

#include "backends/endpoint.h"
#include "workloads/checkpoint/checkpoint.h"

static const struct measure measures[] = {
	TALLY_COMMON_LIST(MEASURE_ROW) CHECKPOINT_RANK_LIST(MEASURE_ROW, MEASURE_BLOCK_ROWS)};
static const struct measure row_measures[] = {CHECKPOINT_ROW_LIST(MEASURE_ROW)};
static const struct hist_kind hists[] = {CHECKPOINT_HISTOGRAM_LIST(HIST_ROW)};

static double checkpoint_rate(uint64_t bytes, uint64_t ns)
{
	return bytes && ns ? (double)bytes * 1e9 / (double)ns : NAN;
}

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

/* Sums of the blocks of writing and of reading. */
static double checkpoint_both_rate(const uint64_t *row, unsigned bytes, unsigned ns)
{
	const uint64_t *written = &row[CHECKPOINT_WRITE_NS], *read = &row[CHECKPOINT_READ_NS];

	return checkpoint_rate(written[bytes] + read[bytes], written[ns] + read[ns]);
}

static double checkpoint_bytes_first(const uint64_t *row)
{
	return checkpoint_both_rate(row, REPEAT_FIRST_BYTES, REPEAT_FIRST_NS);
}

static double checkpoint_bytes_last(const uint64_t *row)
{
	return checkpoint_both_rate(row, REPEAT_DONE_BYTES, REPEAT_SLOWEST_NS);
}

static double checkpoint_bytes_slowest(const uint64_t *row)
{
	return checkpoint_rate(1000000000u, row[CHECKPOINT_NS_PER_GB]);
}

static double checkpoint_write_rate(const uint64_t *row)
{
	return repeat_rate(&row[CHECKPOINT_WRITE_NS]);
}

static double checkpoint_write_first(const uint64_t *row)
{
	return repeat_rate_first(&row[CHECKPOINT_WRITE_NS]);
}

static double checkpoint_write_slowest(const uint64_t *row)
{
	return repeat_rate_slowest(&row[CHECKPOINT_WRITE_NS]);
}

static double checkpoint_read_rate(const uint64_t *row)
{
	return repeat_rate(&row[CHECKPOINT_READ_NS]);
}

static double checkpoint_read_first(const uint64_t *row)
{
	return repeat_rate_first(&row[CHECKPOINT_READ_NS]);
}

static double checkpoint_read_slowest(const uint64_t *row)
{
	return repeat_rate_slowest(&row[CHECKPOINT_READ_NS]);
}

/* MLPerf Storage divides the bytes of a checkpoint by the time of its slowest rank, and takes the mean. */
static double checkpoint_mean_rate(uint64_t rates, uint64_t count)
{
	return rates && count ? (double)rates / (double)count : NAN;
}

static double checkpoint_write_mlperf(const uint64_t *row)
{
	return checkpoint_mean_rate(row[CHECKPOINT_WRITE_RATES], row[CHECKPOINT_WRITTEN]);
}

static double checkpoint_read_mlperf(const uint64_t *row)
{
	return checkpoint_mean_rate(row[CHECKPOINT_READ_RATES], row[CHECKPOINT_READ_BACK]);
}

static double checkpoint_null_rate(const uint64_t *row)
{
	return checkpoint_rate(row[CHECKPOINT_NULL_BYTES], row[CHECKPOINT_NULL_NS]);
}

static double checkpoint_seconds(uint64_t ns, uint64_t count)
{
	return count ? (double)ns * 1e-9 / (double)count : NAN;
}

static double checkpoint_write_seconds(const uint64_t *row)
{
	return checkpoint_seconds(row[CHECKPOINT_WRITE_SLOWEST_NS], row[CHECKPOINT_WRITTEN]);
}

static double checkpoint_read_seconds(const uint64_t *row)
{
	return checkpoint_seconds(row[CHECKPOINT_READ_SLOWEST_NS], row[CHECKPOINT_READ_BACK]);
}

/* What is lost where making bytes and writing them do not overlap. */
static double checkpoint_write_overhead(const uint64_t *row)
{
	uint64_t fill = row[CHECKPOINT_FILL_NS], store = row[CHECKPOINT_STORE_NS];
	uint64_t busy = fill > store ? fill : store, wall = row[CHECKPOINT_WRITE_NS];

	return wall ? (busy < wall ? (double)(wall - busy) : 0) / (double)wall : NAN;
}

static double checkpoint_cached_share(const uint64_t *row)
{
	return row[CHECKPOINT_RESIDENT_SAMPLED_BYTES]
		       ? (double)row[CHECKPOINT_RESIDENT_BYTES] /
				 (double)row[CHECKPOINT_RESIDENT_SAMPLED_BYTES]
		       : NAN;
}

/* clang-format off */
static const struct figure figures[] = {
	FIGURE_ROW("bytes_rate_first_done", "B/s", checkpoint_bytes_first,
		   "bytes written and read per second, each checkpoint until its first rank had done its part",
		   .role = ROLE_BYTE_RATE_FIRST)
	FIGURE_ROW("bytes_rate_last_done", "B/s", checkpoint_bytes_last,
		   "bytes written and read per second, each checkpoint until its last rank had done its part",
		   .role = ROLE_BYTE_RATE)
	FIGURE_ROW("bytes_rate_slowest_rank", "B/s", checkpoint_bytes_slowest,
		   "bytes of its own part that the slowest rank wrote and read per second",
		   .role = ROLE_BYTE_RATE_SLOWEST)
	FIGURE_ROW("write_rate_first_done", "B/s", checkpoint_write_first,
		   "bytes written per second, each checkpoint until its first rank had written its part")
	FIGURE_ROW("write_rate", "B/s", checkpoint_write_rate,
		   "bytes written per second, each checkpoint until its last rank had written its part")
	FIGURE_ROW("write_rate_slowest_rank", "B/s", checkpoint_write_slowest,
		   "bytes of its own part that the slowest rank wrote per second")
	FIGURE_ROW("write_rate_mlperf", "B/s", checkpoint_write_mlperf,
		   "write_rate of each checkpoint, on average over the checkpoints, as MLPerf Storage tells it")
	FIGURE_ROW("read_rate_first_done", "B/s", checkpoint_read_first,
		   "bytes read per second, each checkpoint until its first rank had read its part")
	FIGURE_ROW("read_rate", "B/s", checkpoint_read_rate,
		   "bytes read per second, each checkpoint until its last rank had read its part")
	FIGURE_ROW("read_rate_slowest_rank", "B/s", checkpoint_read_slowest,
		   "bytes of its own part that the slowest rank read per second")
	FIGURE_ROW("read_rate_mlperf", "B/s", checkpoint_read_mlperf,
		   "read_rate of each checkpoint, on average over the checkpoints, as MLPerf Storage tells it")
	FIGURE_ROW("write_seconds", "s", checkpoint_write_seconds,
		   "seconds that the slowest rank took to write a checkpoint, on average")
	FIGURE_ROW("write_overhead", "fraction", checkpoint_write_overhead,
		   "of the writing time, what is beyond the longer of making bytes and storing them")
	FIGURE_ROW("read_seconds", "s", checkpoint_read_seconds,
		   "seconds that the slowest rank took to read a checkpoint, on average")
	NULL_PASS_FIGURE(checkpoint_null_rate)
	TALLY_COMMON_FIGURES
	COLD_FIGURE(checkpoint_cached_share)
};
/* clang-format on */

static double row_write_rate(const uint64_t *row)
{
	return checkpoint_rate(row[CHECKPOINT_ROW_BYTES_WRITTEN], row[CHECKPOINT_ROW_WRITE_NS]);
}

static double row_read_rate(const uint64_t *row)
{
	return checkpoint_rate(row[CHECKPOINT_ROW_BYTES_READ], row[CHECKPOINT_ROW_READ_NS]);
}

static double row_write_first(const uint64_t *row)
{
	return checkpoint_rate(row[CHECKPOINT_ROW_WRITE_FIRST_BYTES],
			       row[CHECKPOINT_ROW_WRITE_FIRST_NS]);
}

static double row_read_first(const uint64_t *row)
{
	return checkpoint_rate(row[CHECKPOINT_ROW_READ_FIRST_BYTES],
			       row[CHECKPOINT_ROW_READ_FIRST_NS]);
}

/* clang-format off */
static const struct figure row_figures[] = {
	FIGURE_ROW("write_rate", "B/s", row_write_rate, "bytes written per second of the slowest rank's time")
	FIGURE_ROW("read_rate", "B/s", row_read_rate, "bytes read per second of the slowest rank's time")
	FIGURE_ROW("write_rate_first_done", "B/s", row_write_first, "bytes written per second of the first rank's time")
	FIGURE_ROW("read_rate_first_done", "B/s", row_read_first, "bytes read per second of the first rank's time")
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

const struct target checkpoint_targets[] = {
	{.name = "target_write_seconds",
	 .label = "seconds to write a checkpoint",
	 .unit = "s",
	 .figure = "write_seconds",
	 .bound = TARGET_MOST,
	 .help = "seconds that the slowest rank may take to write a checkpoint, on average; 0: none"},
	{.name = "target_read_seconds",
	 .label = "seconds to read a checkpoint",
	 .unit = "s",
	 .figure = "read_seconds",
	 .bound = TARGET_MOST,
	 .help = "seconds that the slowest rank may take to read a checkpoint, on average; 0: none"},
	{.name = NULL},
};

const struct tally_schema checkpoint_schema = {
	.rank = {.measures = measures,
		 .measure_count = CHECKPOINT_MEASURES,
		 .figures = figures,
		 .figure_count = sizeof(figures) / sizeof(figures[0])},
	.hists = hists,
	.hist_count = CHECKPOINT_HISTS,
	.tables = tables,
	.table_count = CHECKPOINT_TABLES,
};

const struct tally_schema *checkpoint_schema_with(uint32_t checkpoints, struct arena *arena)
{
	struct {
		struct tally_schema schema;
		const struct table_kind *tables[CHECKPOINT_TABLES];
		struct table_kind rows;
	} *all = arena_alloc(arena, sizeof(*all));

	if (!all)
		return NULL;
	all->rows = checkpoint_rows;
	all->rows.rows_max = checkpoints;
	memcpy(all->tables, tables, sizeof(tables));
	all->tables[CHECKPOINT_TABLE_ROWS] = &all->rows;
	all->schema = checkpoint_schema;
	all->schema.tables = all->tables;
	return &all->schema;
}

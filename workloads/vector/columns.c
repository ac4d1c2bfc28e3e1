/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a phase of vector search: measures, figures, histograms. */
#include "workloads/vector/vector.h"

#include "backends/endpoint.h"
#include "core/measure/quantile.h"

static const struct measure measures[] = TALLY_ROWS(VECTOR_COLUMN_LIST(MEASURE_ROW));
static const struct hist_kind vector_hists[] = {VECTOR_HISTOGRAM_LIST(HIST_ROW)};
static const struct table_kind *const vector_tables[] = {&endpoint_table};

/* clang-format off */
static const struct figure figures[] = {
	FIGURE_PER("queries_rate", "1/s", 1e9, OF(VECTOR_QUERIES), OF(VECTOR_DONE_NS),
		   "queries per second until the last thread had done its part",
		   .needs = {NEED(VECTOR_QUERIES)}, .role = ROLE_ITEM_RATE)
	FIGURE_PER("joined_rate", "1/s", 1e9, OF(VECTOR_QUERIES), OF(VECTOR_JOINED_NS),
		   "segments spread over the ranks: queries per second of a client that waits for the slowest rank before it asks again",
		   .needs = {NEED(VECTOR_JOINED_NS)})
	FIGURE_PER("read_rate", "1/s", 1e9, OF(VECTOR_READS), OF(VECTOR_DONE_NS),
		   "reads per second", .needs = {NEED(VECTOR_READS)})
	FIGURE_PER("bytes_rate", "B/s", 1e9, OF_SUM(TALLY_BYTES_READ, TALLY_BYTES_WRITTEN),
		   OF(VECTOR_DONE_NS), "bytes read or written per second",
		   .role = ROLE_BYTE_RATE)
	FIGURE_PER("bytes_per_write", "bytes", 1, OF(VECTOR_BUILT_BYTES), OF(VECTOR_WRITES),
		   "bytes of a write of a build", .needs = {NEED(VECTOR_BUILT_BYTES)})
	FIGURE_PER("load_rate", "B/s", 1e9, OF(VECTOR_LOADED_BYTES), OF(VECTOR_READY_NS),
		   "bytes loaded per second, until the first search could begin",
		   .needs = {NEED(VECTOR_LOADED_BYTES)})
	FIGURE_PER("time_to_search", "s", 1e-9, OF(VECTOR_READY_NS), OF_NONE,
		   "from the first slice until the first search could begin",
		   .needs = {NEED(VECTOR_READY_NS)})
	FIGURE_PER("changes_rate", "1/s", 1e9, OF_SUM(VECTOR_INSERTS, VECTOR_DELETES),
		   OF(VECTOR_DONE_NS), "inserts and deletes merged per second",
		   .needs = {NEED(VECTOR_MERGES)})
	FIGURE_PER("merge_time", "s", 1e-9, OF(VECTOR_MERGE_NS), OF(VECTOR_MERGES),
		   "a merge on average", .needs = {NEED(VECTOR_MERGES)})
	FIGURE_PER("merge_bytes_per_change", "bytes", 1,
		   OF_SUM(VECTOR_MERGE_READ_BYTES, VECTOR_MERGE_WRITTEN_BYTES),
		   OF_SUM(VECTOR_INSERTS, VECTOR_DELETES),
		   "bytes that merges read and wrote for an insert or a delete",
		   .needs = {NEED(VECTOR_MERGES)})
	FIGURE_PER("reads_per_query", "", 1, OF_DIFFERENCE(VECTOR_EXPANDED, VECTOR_CACHED),
		   OF(VECTOR_QUERIES), "reads for a query, over all segments")
	FIGURE_PER("bytes_per_query", "bytes", 1, OF_DIFFERENCE(TALLY_BYTES_READ, VECTOR_MERGE_READ_BYTES),
		   OF(VECTOR_QUERIES), "bytes read for a query")
	FIGURE_PER("rounds_per_query", "", 1, OF(VECTOR_ROUNDS), OF(VECTOR_QUERIES),
		   "rounds of reads for a query, added over segments")
	FIGURE_PER("node_hit_rate", "fraction", 1, OF(VECTOR_CACHED), OF(VECTOR_EXPANDED),
		   "of the nodes looked at: those that were in the searcher's memory")
	FIGURE_PER("cpu_us_per_query", "us", 1e-3, OF_SUM(TALLY_CPU_USER_NS, TALLY_CPU_SYSTEM_NS),
		   OF(VECTOR_QUERIES), "processor time of the ranks' processes for a query")
	TALLY_COMMON_FIGURES
	COLD_FIGURE(VECTOR_)
};

const struct target vector_targets[] = {
	TARGET_FIGURE("target_rate", "queries", "1/s", "queries_rate",
		      "queries per second of all ranks to reach; 0: none")
	TARGET_QUANTILE("target_p99", "99th percentile of queries", "query", QUANTILE_P99,
			"upper bound for the p99 of queries; 0: none")
	TARGETS_END
};
/* clang-format on */

const struct tally_schema vector_schema = {
	TALLY_SCHEMA(measures, figures, vector_hists, vector_tables),
	.main_figures = {"queries_rate", "bytes_rate"},
	.main_hist = VECTOR_HIST_QUERY,
};

uint64_t vector_hists_filled(const struct job_phase *phase, uint32_t *named)
{
	const uint64_t reads = HIST_BIT(VECTOR_HIST_READ) | HIST_BIT(VECTOR_HIST_OPEN) |
			       HIST_BIT(VECTOR_HIST_CLOSE);
	const struct vector_options *o = phase->options;

	(void)named;
	if (o->operation == VECTOR_BUILD)
		return HIST_BIT(VECTOR_HIST_WRITE) | HIST_BIT(VECTOR_HIST_CLOSE);
	if (o->operation == VECTOR_LOAD)
		return reads;
	return reads | HIST_BIT(VECTOR_HIST_QUERY) |
	       (o->spread == VECTOR_SPREAD_SEGMENTS ? HIST_BIT(VECTOR_HIST_PART) : 0) |
	       (vector_changes(o) ? HIST_BIT(VECTOR_HIST_BESIDE_MERGE) |
					    HIST_BIT(VECTOR_HIST_BETWEEN_MERGES) |
					    HIST_BIT(VECTOR_HIST_MERGE_READ) |
					    HIST_BIT(VECTOR_HIST_INSERT_READ) |
					    HIST_BIT(VECTOR_HIST_MERGE_WRITE)
				  : 0);
}

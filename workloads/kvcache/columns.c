/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a phase "kvcache": measures, figures, histograms, rows of tiers and classes. */
#include "workloads/kvcache/kvcache.h"

#include <math.h>

#include "backends/endpoint.h"
#include "core/measure/quantile.h"
#include "workloads/kvcache/requests/source_options.h"

static const struct measure measures[] =
	TALLY_ROWS(KV_COLUMN_LIST(MEASURE_ROW, MEASURE_BLOCK_ROWS));
static const struct measure tier_measures[] = {KV_TIER_LIST(MEASURE_ROW)};
static const struct measure qos_measures[] = {KV_QOS_LIST(MEASURE_ROW)};
static const struct measure scale_measures[] = {KV_SCALE_LIST(MEASURE_ROW)};
static const struct hist_kind kv_hists[] = {KV_HISTOGRAM_LIST(HIST_ROW)};
static const struct hist_kind tier_hists[] = {KV_TIER_HISTOGRAM_LIST(HIST_ROW)};
static const struct hist_kind qos_hists[] = {KV_QOS_HISTOGRAM_LIST(HIST_ROW)};

enum { KV_DECISIONS_MAX = 10000 };

/* Without the cache, the fetched tokens would have been computed, too, and nothing looked up. */
static double saved_ns(const uint64_t *row)
{
	return (double)row[KV_SAVED_NS] - (double)row[KV_LOOKUP_NS] - (double)row[KV_STALL_NS];
}

static double saved_time(const uint64_t *row)
{
	return row[KV_SAVED_NS] ? saved_ns(row) / 1e9 : NAN;
}

static double saved_share(const uint64_t *row)
{
	return row[KV_SAVED_NS] ? saved_ns(row) / (double)(row[KV_SAVED_NS] + row[KV_COMPUTE_NS])
				: NAN;
}

/* clang-format off */
static const struct figure figures[] = {
	FIGURE_PER("bytes_rate", "B/s", 1e9, OF_SUM(TALLY_BYTES_READ, TALLY_BYTES_WRITTEN),
		   OF(TALLY_WALL_NS),
		   "bytes that the stores moved per second, in both directions", .role = ROLE_BYTE_RATE)
	FIGURE_PER("read_rate", "B/s", 1e9, OF(TALLY_BYTES_READ), OF(TALLY_WALL_NS),
		   "bytes read from the stores per second",
		   .role = ROLE_READ_RATE)
	FIGURE_PER("write_rate", "B/s", 1e9, OF(TALLY_BYTES_WRITTEN), OF(TALLY_WALL_NS),
		   "bytes written to the stores per second, those of entries that were moved there too",
		   .role = ROLE_WRITE_RATE)
	FIGURE_PER("entry_read_rate", "B/s", 1e9, OF(KV_ENTRY_READ_BYTES), OF(TALLY_WALL_NS),
		   "bytes of entries read from the stores per second, without those that moved")
	FIGURE_PER("entry_read_rate_mlperf", "B/s", 1e9, OF(KV_ENTRY_READ_BYTES), OF(KV_MLPERF_NS),
		   "the same bytes as MLPerf divides, also those after its duration by the duration: added over ranks, in GiB/s, "
		   "its tier_storage_read_bandwidth_gbps", .role = ROLE_ENTRY_READ_RATE)
	FIGURE_PER("entry_write_rate", "B/s", 1e9, OF(KV_ENTRY_WRITTEN_BYTES), OF(TALLY_WALL_NS),
		   "bytes of entries written to the stores per second, without those that moved")
	FIGURE_PER("entry_write_rate_mlperf", "B/s", 1e9, OF(KV_ENTRY_WRITTEN_BYTES), OF(KV_MLPERF_NS),
		   "the same bytes as MLPerf divides: its tier_storage_write_bandwidth_gbps",
		   .role = ROLE_ENTRY_WRITE_RATE)
	FIGURE_PER("request_rate", "1/s", 1e9, OF(KV_REQUESTS), OF(TALLY_WALL_NS),
		   "requests served per second",
		   .role = ROLE_ITEM_RATE)
	FIGURE_PER("served_share", "fraction", 1, OF(KV_REQUESTS),
		   OF_SUM3(KV_REQUESTS, KV_LEFT, KV_TURNED_AWAY),
		   "requests served to their end, of those and the ones that waited or were being served at the end")
	FIGURE_PER("offered_rate", "1/s", 1e9, OF(KV_OFFERED), OF(TALLY_WALL_NS),
		   "requests that fell due per second")
	FIGURE_PER("operation_rate", "1/s", 1e9, OF_SUM3(KV_ENTRY_READS, KV_ENTRY_WRITES, KV_MOVES),
		   OF(TALLY_WALL_NS),
		   "entries read, written or moved per second", .role = ROLE_OPERATION_RATE)
	FIGURE_PER("token_rate", "1/s", 1e9, OF(KV_TOKENS), OF(TALLY_WALL_NS),
		   "tokens generated per second", .role = ROLE_TOKEN_RATE)
	FIGURE_PER("storage_token_rate", "1/s", 1e9, OF(KV_TOKENS), OF(KV_STORAGE_NS),
		   "tokens generated per second that a request waited for its operations; it falls as more "
		   "requests are served at a time, however fast the store is",
		   .role = ROLE_WAITED_TOKEN_RATE)
	FIGURE_PER("hit_rate", "fraction", 1, OF(KV_HITS), OF_SUM(KV_HITS, KV_MISSES),
		   "reads whose entry was in one of the tiers, also those of a request's own entry while it decodes",
		   .role = ROLE_HIT_RATE)
	FIGURE_PER("hit_rate_prompt", "fraction", 1, OF(KV_HIT_PROMPT), OF_SUM(KV_HIT_PROMPT, KV_MISS_PROMPT),
		   "of reads of system prompts, those whose entry was in one of the tiers", .role = ROLE_HIT_RATE_PROMPT)
	FIGURE_PER("hit_rate_turn", "fraction", 1, OF(KV_HIT_TURN), OF_SUM(KV_HIT_TURN, KV_MISS_TURN),
		   "of reads of earlier turns of a conversation, those whose entry was in one of the tiers",
		   .role = ROLE_HIT_RATE_TURN)
	FIGURE_PER("hit_rate_retrieval", "fraction", 1, OF(KV_HIT_RETRIEVAL), OF_SUM(KV_HIT_RETRIEVAL, KV_MISS_RETRIEVAL),
		   "of reads of chunks of documents, those whose entry was in one of the tiers")
	FIGURE_PER("hit_rate_decode", "fraction", 1, OF(KV_HIT_DECODE), OF_SUM(KV_HIT_DECODE, KV_MISS_DECODE),
		   "of reads while decoding, most of which are of what the request has written itself, those whose entry was "
		   "in one of the tiers", .role = ROLE_HIT_RATE_DECODE)
	FIGURE_PER("goodput", "1/s", 1e9, OF(KV_GOOD), OF(TALLY_WALL_NS),
		   "serving: requests per second whose first token came in time")
	FIGURE_PER("good_share", "fraction", 1, OF(KV_GOOD), OF_SUM3(KV_REQUESTS, KV_LEFT, KV_TURNED_AWAY),
		   "serving: requests whose first token came in time, of all that fell due")
	FIGURE_PER("memory_hit_rate", "fraction", 1, OF(KV_BLOCKS_MEMORY), OF(KV_BLOCKS_ASKED),
		   "serving: blocks that were in memory in front of the store")
	FIGURE_PER("store_hit_rate", "fraction", 1, OF(KV_BLOCKS_STORE), OF(KV_BLOCKS_ASKED),
		   "serving: blocks that were in the store, behind those in memory")
	FIGURE_PER("fetch_per_compute", "fraction", 1, OF(KV_FETCH_NS), OF(KV_SAVED_NS),
		   "serving: time of fetches, by that of computing the same tokens: above 1, recomputing would have been faster")
	FIGURE_ROW("saved_time", "s", saved_time, "(saved_compute_ns - lookup_ns - stall_ns) / 1e9",
		   "serving: by how much first tokens came earlier than if all prompts had been computed, added over the requests; below "
		   "0: later")
	FIGURE_ROW("saved_share", "fraction", saved_share,
		   "(saved_compute_ns - lookup_ns - stall_ns) / (saved_compute_ns + missing_compute_ns)",
		   "serving: the same by the time of computing all prompts")
	FIGURE_PER("start_up", "s", 1e-9, OF(KV_START_UP_NS), OF_NONE,
		   "serving: the longest start-up of a server, from when nothing of it was under way any more until it served again",
		   .needs = {NEED(KV_START_UP_NS)})
	TALLY_COMMON_FIGURES
	COLD_FIGURE(KV_)
};

static const struct figure qos_figures[] = {
	FIGURE_PER("compliance", "fraction", 1, OF(KV_QOS_WITHIN_P95), OF(KV_QOS_REQUESTS),
		   "requests within the target of the 95th percentile; the class keeps it from 0.95 on",
		   .needs = {NEED(KV_QOS_P95_NS)})
};
/* clang-format on */

static const struct table_kind kv_tier_table = {
	.name = "tiers",
	.help = "one row per tier of the cache, from fast to slow",
	.key = TABLE_TEXT,
	.key_name = "tier",
	.columns = {.measures = tier_measures, .measure_count = KV_TIER_MEASURES},
	.hists = tier_hists,
	.hist_count = KV_TIER_HISTS,
	.rows_max = KV_TIERS_MAX,
};

static const struct table_kind kv_qos_table = {
	.name = "qos",
	.help = "one row per class of service",
	.key = TABLE_TEXT,
	.key_name = "class",
	.columns = {.measures = qos_measures,
		    .measure_count = KV_QOS_MEASURES,
		    .figures = qos_figures,
		    .figure_count = sizeof(qos_figures) / sizeof(qos_figures[0])},
	.hists = qos_hists,
	.hist_count = KV_QOS_HISTS,
	.rows_max = KV_CLASSES_MAX,
};

static const struct table_kind kv_scale_table = {
	.name = "autoscaling",
	.help = "one row per decision of autoscaling",
	.key = TABLE_NUMBER,
	.key_name = "decision",
	.columns = {.measures = scale_measures, .measure_count = KV_SCALE_MEASURES},
	.rows_max = KV_DECISIONS_MAX,
};

static const struct table_kind *const kv_tables[KV_TABLES] = {&kv_tier_table, &kv_qos_table,
							      &kv_scale_table, &endpoint_table};

/* clang-format off */
const struct target kvcache_targets[] = {
	TARGET_FIGURE("target_read_bandwidth", "bandwidth of reads", "B/s", "read_rate",
		      "bytes per second that all ranks read from the stores; 0: none")
	TARGET_FIGURE("target_hit_rate", "hit rate", "fraction", "hit_rate",
		      "part of the reads whose entry is there; 0: none")
	TARGET_QUANTILE("target_read_p95", "95th percentile of reads of entries", "read", QUANTILE_P95,
			"95th percentile of reads of whole entries to stay below; 0: none")
	TARGET_QUANTILE("target_request_p95", "95th percentile of requests", "request", QUANTILE_P95,
			"95th percentile of requests, from when they fall due to their last token, to stay below; 0: none")
	TARGET_QUANTILE("target_ttft_p95", "95th percentile of times to the first token", "ttft", QUANTILE_P95,
			"95th percentile of times to the first token to stay below, of the profile serving; 0: none")
	TARGET_FIGURE("target_good", "share of first tokens in time", "fraction", "good_share",
		      "part of the requests whose first token comes within serving.good; 0: none")
	TARGET_FIGURE("target_request_rate", "requests served", "1/s", "request_rate",
		      "requests per second that all ranks serve to their end; 0: none")
	TARGET_FIGURE("target_served", "share of requests served", "fraction", "served_share",
		      "part of the requests that fell due and were served to their end; 0: none")
	TARGETS_END
};
/* clang-format on */

const struct tally_schema kvcache_schema = {
	TALLY_SCHEMA(measures, figures, kv_hists, kv_tables),
	.main_figures = {"request_rate"},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* The phase "kvcache": the I/O of a server of large language models that keeps the keys and values of its conversations in
 * tiers, as MLPerf's key-value cache benchmark does it. docs/internals/kvcache.md has the design.
 *
 *	phase.c     the workload: opens, fills, runs, cleans up
 *	options.c   the table of options; setup.c: what they stand for, refusals
 *	size.c      what a phase asks of the machine; space.c: the capacity of a tier from what is free
 *	run.h       the state of a phase, and what each of the following does with it
 *	loop.c      the main thread: waits for users and I/O threads, and lets both go on; takes requests through their steps
 *	served.h    which requests wait, and are served; scale.c: autoscaling
 *	dispatch.c  what the tiers decide, as operations for the I/O threads, or on the bus of an accelerator
 *	worker.h    I/O threads: how tasks come to one, and back; which of them gets the next operation; transfer.c: how one moves entries,
 *	            in stages (stages.h) and pieces (pieces.h)
 *	part.c      a rank in its tensor group, where it leads or follows, and among servers that share a tier, also on several
 *	            nodes; board.h: what the group shares; shard.c: its part of an operation
 *	objects.h   names of entries in a store, and the description of what a run keeps there; removes them
 *	trace_run.c a trace of what would be done
 *	measures.c  from the main thread to the tally; columns.c: tables of measures, which are below
 *
 * Calls go one way: phase, loop, dispatch, then shard, part and served, and below them measures and part.
 *
 *	tiers/      entries, the tiers that they are in, and policies; requests/ users and what they ask; trace/ what
 *	would be done, without I/O */
#ifndef HAUL_WORKLOADS_KVCACHE_KVCACHE_H
#define HAUL_WORKLOADS_KVCACHE_KVCACHE_H

#include "core/measure/account.h"
#include "core/measure/tally.h"
#include "core/target.h"
#include "workloads/common/cold.h"
#include "workloads/common/options.h"
#include "workloads/kvcache/requests/autoscale.h"
#include "workloads/kvcache/requests/source_options.h"
#include "workloads/kvcache/serving/server_options.h"
#include "workloads/kvcache/tiers/tiers.h"
#include "workloads/model/kv_model.h"
#include "workloads/workload.h"

enum {
	KV_FOLDER_BYTES = 128,
	KV_STORES_MAX = 4, /* queues of a thread that are counted */
	KV_SERVED_MAX = 1 << 16,
	KV_SERVED_DEFAULT = 500,
	KV_SHARED_ENTRIES = 1 << 17,
	KV_THREADS_MAX = 1024
};

enum kv_tier_kind { KV_TIER_STORE, KV_TIER_CPU, KV_TIER_GPU };
/* Who has one capacity and one set of entries of a tier together. From KV_SHARED_NODE on, several
 * servers do (part.c). */
enum kv_tier_shared { KV_SHARED_NO, KV_SHARED_GROUP, KV_SHARED_NODE, KV_SHARED_ALL };
/* Whose way with entries: that of MLPerf's benchmark, or that of servers of blocks (serving/). */
enum kv_profile { KV_PROFILE_MLPERF, KV_PROFILE_SERVING };
enum kv_generation { KV_GENERATE_NONE, KV_GENERATE_FAST, KV_GENERATE_REALISTIC };

/* A tier of a rank. */
struct kv_tier_options {
	char name[KV_NAME_BYTES]; /* "": its kind, or the store's name */
	char store[JOB_NAME_BYTES];
	uint32_t kind, shared;
	uint64_t capacity;         /* bytes; of a store: 0 for 95 % of what is free, see space.c */
	uint64_t bandwidth;        /* of an accelerator; 0: it takes no time */
	uint64_t entries;          /* of several servers: at most; 0: KV_SHARED_ENTRIES */
	double high, low, largest; /* 0: those of mlperf-v3 */
	uint64_t admit_after, promote_after;
};

struct kv_policy_options {
	uint32_t write, order;
	uint64_t keys;
	uint64_t evictions_min, evictions_max; /* see struct kv_policy */
};

/* Whose rows a trace has of a tensor group. */
enum kv_trace_ranks { KV_TRACE_GROUP, KV_TRACE_ALL };
extern const char *const kv_trace_ranks_names[]; /* ends in NULL */

struct kvcache_options {
	struct kv_source_options source; /* first: its table fills it at the same address */
	uint32_t profile;                /* enum kv_profile */
	struct kv_server_options serving;
	struct model model;
	struct kv_tier_options tiers[KV_TIERS_MAX];
	uint32_t tier_count; /* 0: one, the phase's store with 95 % of what is free */
	struct kv_policy_options policy;
	struct kv_autoscale_options autoscaling;
	uint64_t duration_ns, requests;
	uint32_t generation;
	uint64_t token_ns;
	uint64_t served, threads, depth, chunk, allocations;
	uint64_t precondition, precondition_tokens;
	bool lookup;
	char folder[KV_FOLDER_BYTES];
	char trace[KV_PATH_BYTES]; /* "": none */
	uint32_t trace_format;     /* enum trace_format */
	uint32_t trace_ranks;      /* enum kv_trace_ranks */
	uint64_t trace_epoch_ns;
	uint32_t verify, on_error;
	double compress, dedup;
	uint64_t dedup_distance;
};
extern const struct option kvcache_options_table[];
extern const struct workload kvcache_workload;

/* Where the entries of a tier are. */
struct kv_tier_place {
	char name[JOB_NAME_BYTES];
	enum kv_tier_kind kind;
	uint32_t store;     /* its number among the stores of the phase */
	uint64_t bandwidth; /* see dispatch.c; 0: it takes no time */
	enum kv_tier_shared shared;
	/* Of all who share it, or KV_UNLIMITED. The rules of the tier have the capacity for the
	 * largest shards. */
	uint64_t capacity;
};

struct kv_buckets;
struct kv_slots;

/* What the options of a phase stand for, with all defaults in place. */
struct kv_setup {
	const struct kvcache_options *options;
	struct model model;
	struct kv_source_options source;
	struct kv_policy policy;
	struct kv_tier_rules rules[KV_TIERS_MAX];
	struct kv_tier_place tiers[KV_TIERS_MAX];
	const struct job_store *stores[KV_STORES_MAX];
	uint32_t tier_count, store_count;
	uint64_t tensor;           /* ranks that share each entry */
	bool servers_share;        /* the last tier is one of several servers */
	uint32_t shared_entries;   /* at most in it */
	uint32_t served;           /* requests at a time */
	uint64_t entry_bytes_most; /* of the largest shard */
	bool in_memory;            /* a tier is memory of the rank */
	bool looks_before_writes;  /* profile serving: what is there is not written again */
	uint64_t memory;           /* its capacity */
	const struct kv_slots
		*slots; /* profile serving: how a rank's file is cut; NULL: it has none */
	const struct kv_buckets *buckets; /* the same, with files of several blocks */
	uint64_t object_bytes_most; /* what is written as one: such a file, or the largest shard */
};

/* The chunk where it was left out, which the stores decide. */
void kv_complete(const struct job *job, struct job_phase *phase);
/* See struct workload. */
void kv_settle(const struct job *job, struct job_phase *phase, uint32_t ranks);

/* Checks the options. -EINVAL with a sentence that begins with the path of the phase. */
int kv_setup_of(const struct job *job, const struct job_phase *phase, struct kv_setup *out,
		struct err *err);
/* Ranks of a tensor group that hold a shard of each entry in a tier of that kind. */
uint64_t kv_setup_holders(const struct kv_setup *s, enum kv_tier_kind kind);
extern const char *const kv_shared_names[]; /* of enum kv_tier_shared; ends in NULL */

int kvcache_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		  struct err *err);
int kvcache_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		 uint32_t ranks_per_node, struct demand *out, struct err *err);
/* The bytes that a token has in the cache, of all ranks of a tensor group together; and what a user reads and writes per
 * second, and a request in all (the 95th percentile), of the requests that fall due in the phase. */
int kvcache_tell(const struct job *job, const struct job_phase *phase,
		 const struct rank_place *places, uint32_t ranks, struct arena *arena,
		 struct plan_told *out, struct err *err);
int kvcache_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		   struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err);
/* Removes what killed runs have left in the folders of all phases of this kind. 0 also where there
 * is no description, or the store keeps nothing. */
int kvcache_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err);

/* columns.c. What a phase "kvcache" counts: a rank's row, a row per tier, a row per class of service, and the
 * histograms. Each list makes an enum here and a table in columns.c. */

/* Hits and misses of reads by their cause, in the order of enum kv_step_cause: KV_HITS + cause. */
/* clang-format off */
#define KV_CAUSE_LIST(X, ID, n, what) \
	X(ID##_PROMPT, n "_prompt", "", SUM, what " of system prompts") \
	X(ID##_TURN, n "_turn", "", SUM, what " of earlier turns of a conversation") \
	X(ID##_PREFILL, n "_prefill", "", SUM, what " before a prefill; there are none") \
	X(ID##_RETRIEVAL, n "_retrieval", "", SUM, what " of chunks of documents") \
	X(ID##_DECODE, n "_decode", "", SUM, what " for decoding") \
	X(ID##_INGEST, n "_ingest", "", SUM, what " while documents are cut into chunks; there are none")

/* Of the profile serving; 0 in the other. */
#define KV_SERVER_LIST(X) \
	X(KV_TURNED_AWAY, "turned_away", "", SUM, "serving: requests that came while as many waited as may") \
	X(KV_LOOKUPS, "lookups", "", SUM, "serving: lookups of blocks that were answered") \
	X(KV_BLOCKS_ASKED, "blocks_asked", "", SUM, "serving: blocks of the prompts") \
	X(KV_BLOCKS_MEMORY, "blocks_memory", "", SUM, "serving: leading blocks that were in memory in front of the store") \
	X(KV_BLOCKS_STORE, "blocks_store", "", SUM, "serving: the leading blocks behind these that were in the store") \
	X(KV_GONE, "blocks_gone", "", SUM, "serving: blocks that were deleted between lookup and fetch") \
	X(KV_DROPPED, "blocks_dropped", "", SUM, "serving: blocks that were not written, since as many waited as may, or the phase was over") \
	X(KV_START_UP_NS, "start_up_ns", "ns", MAX, "serving: the longest start-up of a server, until it served again; 0: there was none, or nothing to read") \
	X(KV_START_UP_BLOCKS, "start_up_blocks", "", SUM, "serving: blocks that were found while servers started") \
	X(KV_START_UP_LOST, "start_up_lost", "", SUM, "serving: blocks that a server had written and did not find again") \
	X(KV_CONTEXT_TOKENS, "context_tokens", "", SUM, "serving: tokens of the prompts") \
	X(KV_FETCHED_TOKENS, "fetched_tokens", "", SUM, "serving: tokens of them that were fetched from the store") \
	X(KV_GOOD, "good", "", SUM, "serving: requests whose first token came within serving.good") \
	X(KV_TTFT_NS, "ttft_ns", "ns", SUM, "serving: times to the first token, added over the requests") \
	X(KV_LOOKUP_NS, "lookup_ns", "ns", SUM, "serving: the parts of them until it was known which blocks are there") \
	X(KV_STALL_NS, "stall_ns", "ns", SUM, "serving: the parts of them in which computing waited for blocks") \
	X(KV_FETCH_NS, "fetch_ns", "ns", SUM, "serving: times from the first fetch to the last block of a request, added over the requests") \
	X(KV_COMPUTE_NS, "missing_compute_ns", "ns", SUM, "serving: time of computing the tokens that were not there") \
	X(KV_SAVED_NS, "saved_compute_ns", "ns", SUM, "serving: what computing the fetched tokens would have taken") \
	X(KV_PAYS_TOKENS, "fetch_pays_from_tokens", "", MAX, \
	  "serving: the tokens from which on a fetch is faster than recomputing, by a line through the fetches; 0: never, or not known")

#define KV_COLUMN_LIST(X, BLOCK) \
	X(KV_USERS, "users", "", SUM, "users who ask, at the end; serving: 0 where requests arrive by themselves") \
	X(KV_OFFERED, "offered", "", SUM, "requests that fell due") \
	X(KV_CUT, "cut", "", SUM, "of them, requests of a recording that were longer than context_max or generate_max, and were cut", .role = ROLE_CUT) \
	X(KV_CUT_TOKENS, "cut_tokens", "", SUM, "tokens of context that were cut off", .role = ROLE_CUT_TOKENS) \
	X(KV_CUT_GENERATE, "cut_generate", "", SUM, "tokens of answers that were cut off") \
	X(KV_REQUESTS, "requests", "", SUM, "requests served to their end", .role = ROLE_ITEMS) \
	X(KV_LEFT, "left", "", SUM, "requests that waited, or were being served, when the phase ended", \
	  .role = ROLE_ITEMS_LEFT) \
	X(KV_WAITING_MOST, "waiting_most", "", MAX, "the most requests of a rank that waited at a time") \
	X(KV_TOKENS, "tokens", "", SUM, "tokens generated for the requests served") \
	X(KV_HITS, "hits", "", SUM, "reads of entries that were there") \
	X(KV_MISSES, "misses", "", SUM, "reads of entries that were not there") \
	KV_CAUSE_LIST(X, KV_HIT, "hits", "hits") \
	KV_CAUSE_LIST(X, KV_MISS, "misses", "misses") \
	X(KV_PRESENT, "already_there", "", SUM, "entries that were to be written and were there already") \
	X(KV_REFUSED, "refused", "", SUM, "entries that no tier took") \
	X(KV_ASKED, "asked", "", SUM, "questions to other nodes about entries of a tier that all ranks share") \
	X(KV_ENTRY_READS, "entry_reads", "", SUM, "entries read from stores, without those that moved") \
	X(KV_ENTRY_READ_BYTES, "entry_read_bytes", "bytes", SUM, "bytes of them") \
	X(KV_ENTRY_WRITES, "entry_writes", "", SUM, "entries written to stores, without those that were demoted") \
	X(KV_ENTRY_WRITTEN_BYTES, "entry_written_bytes", "bytes", SUM, "bytes of them") \
	X(KV_MOVES, "moves", "", SUM, "entries moved to a slower tier that is a store, or from one that is") \
	X(KV_STORAGE_NS, "request_storage_ns", "ns", SUM, "time that requests waited for their operations, added over the requests served") \
	X(KV_QUEUE_NS, "request_queue_ns", "ns", SUM, "time that requests waited to be served, added over the requests served") \
	X(KV_CREDIT_NS, "request_credit_ns", "ns", SUM, "time that requests waited because of max_concurrent_allocs") \
	X(KV_LATE_NS, "late_ns", "ns", MAX, "the longest that a request was seen after it fell due") \
	X(KV_MLPERF_NS, "mlperf_window_ns", "ns", MAX, \
	  "by which MLPerf's benchmark divides: the duration, or the time of the rank, where that is less") \
	X(KV_READ_P95_NS, "read_p95_ns", "ns", MAX, \
	  "95th percentile of reads of entries, of the rank where it was the longest: MLPerf's figure, which is no percentile of all reads", \
	  .role = ROLE_READ_P95) \
	X(KV_WRITE_P95_NS, "write_p95_ns", "ns", MAX, \
	  "the same of writes of entries", .role = ROLE_WRITE_P95) \
	X(KV_READ_DEVICE_P95_NS, "read_device_p95_ns", "ns", MAX, \
	  "the same of the device parts of reads, MLPerf's storage_read_device_p95_ms", .role = ROLE_READ_DEVICE_P95) \
	X(KV_WRITE_DEVICE_P95_NS, "write_device_p95_ns", "ns", MAX, \
	  "the same of the device parts of writes, MLPerf's storage_write_device_p95_ms", .role = ROLE_WRITE_DEVICE_P95) \
	X(KV_MEMORY_P95_NS, "memory_p95_ns", "ns", MAX, "the same of reads and writes of entries in the rank's memory; 0: none", \
	  .role = ROLE_MEMORY_P95) \
	X(KV_OPENS, "opens", "", SUM, "opens for reading") \
	X(KV_STATS, "stats", "", SUM, "lookups in stores") \
	X(KV_DELETES, "deletes", "", SUM, "deletes") \
	X(KV_PAYLOAD_ERRORS, "payload_errors", "", SUM, "entries whose bytes were wrong") \
	X(KV_FILL_NS, "fill_ns", "ns", SUM, "time of all threads making bytes") \
	X(KV_VERIFY_NS, "verify_ns", "ns", SUM, "time of all threads comparing bytes") \
	X(KV_COPY_NS, "memory_copy_ns", "ns", SUM, "time of all threads copying bytes in memory") \
	X(KV_CARRIED, "users_carried", "", SUM, \
	  "autoscaling by qos: the most users with whom an interval kept all limits, added over ranks", \
	  .role = ROLE_USERS_CARRIED) \
	KV_SERVER_LIST(X) \
	RESIDENCY_LIST(X, KV_) \
	BLOCK(KV_ACCOUNTS, ACCOUNTS, ACCOUNT_MEASURES)

#define KV_HISTOGRAM_LIST(X) \
	X(KV_HIST_READ, "read", "an entry read from a store, with its open and close", .role = ROLE_READ_LATENCY) \
	X(KV_HIST_WRITE, "write", "an entry written to a store, with its begin and commit", .role = ROLE_WRITE_LATENCY) \
	X(KV_HIST_READ_DEVICE, "read_device", "part of a read of an entry: the store's", .role = ROLE_READ_DEVICE_LATENCY) \
	X(KV_HIST_READ_HOST, "read_host", "part of a read of an entry: comparing its bytes") \
	X(KV_HIST_WRITE_DEVICE, "write_device", "part of a write of an entry: making it durable, where the store tells", .role = ROLE_WRITE_DEVICE_LATENCY, .use = HIST_RARE) \
	X(KV_HIST_WRITE_HOST, "write_host", "part of a write of an entry: the rest", .use = HIST_RARE) \
	X(KV_HIST_DEMOTE, "demote", "an entry moved to a slower tier: read, written and deleted", .use = HIST_RARE) \
	X(KV_HIST_STAT, "stat", "a lookup in a store", .use = HIST_RARE) \
	X(KV_HIST_DELETE, "delete", "a delete", .use = HIST_RARE) \
	X(KV_HIST_OPEN, "open", "an open for reading") \
	X(KV_HIST_SYNC, "sync", "part of a commit: making the bytes durable", .use = HIST_RARE) \
	X(KV_HIST_PUBLISH, "publish", "part of a commit: making the entry visible under its name", .use = HIST_OF_COMMITS) \
	X(KV_HIST_CHUNK_READ, "chunk_read", "a read of a chunk") \
	X(KV_HIST_CHUNK_WRITE, "chunk_write", "a write of a chunk") \
	X(KV_HIST_LATE, "late", "how long after it fell due a request was seen: haul's own delay") \
	X(KV_HIST_REQUEST, "request", "a request, from when it fell due to its last token", .role = ROLE_REQUEST_LATENCY) \
	X(KV_HIST_REQUEST_STORAGE, "request_storage", "the part of a request in which it waited for its operations") \
	X(KV_HIST_REQUEST_QUEUE, "request_queue", "the part of a request before it was served") \
	X(KV_HIST_TTFT, "ttft", "serving: a request, from when it fell due to its first token") \
	X(KV_HIST_STALL, "stall", "serving: the part of it in which computing waited for blocks") \
	X(KV_HIST_LOOKUP, "lookup", "serving: the part of it until it was known which blocks are there") \
	X(KV_HIST_FETCH, "fetch", "serving: the part of it until the last block had come") \
	X(KV_HIST_RECOMPUTE, "recompute", "serving: the part of it in which tokens were computed that the cache did not have")

/* Rows by the name of a tier. Operations count when they have ended. */
#define KV_TIER_LIST(X) \
	X(KV_TIER_READS, "reads", "", SUM, "entries read") \
	X(KV_TIER_READ_BYTES, "read_bytes", "bytes", SUM, "bytes of them") \
	X(KV_TIER_WRITES, "writes", "", SUM, "entries written") \
	X(KV_TIER_WRITTEN_BYTES, "written_bytes", "bytes", SUM, "bytes of them") \
	X(KV_TIER_DEMOTED_OUT, "demotions_out", "", SUM, "entries moved to a slower tier") \
	X(KV_TIER_DEMOTED_OUT_BYTES, "demoted_out_bytes", "bytes", SUM, "bytes of them") \
	X(KV_TIER_DEMOTED_IN, "demotions_in", "", SUM, "entries that came from a faster tier") \
	X(KV_TIER_DEMOTED_IN_BYTES, "demoted_in_bytes", "bytes", SUM, "bytes of them") \
	X(KV_TIER_PROMOTED, "promotions", "", SUM, "entries that came from a slower tier") \
	X(KV_TIER_PROMOTED_BYTES, "promoted_bytes", "bytes", SUM, "bytes of them") \
	X(KV_TIER_DELETED, "deletions", "", SUM, "entries deleted, to make room or as asked for") \
	X(KV_TIER_DELETED_BYTES, "deleted_bytes", "bytes", SUM, "bytes of them") \
	X(KV_TIER_REJECTED, "rejected", "", SUM, "entries not admitted yet, or that others were just deleting from a shared tier") \
	X(KV_TIER_ENTRIES, "entries", "", SUM, "entries at the end") \
	X(KV_TIER_USED_BYTES, "used_bytes", "bytes", SUM, "bytes of them") \
	X(KV_TIER_USED_MOST_BYTES, "used_most_bytes", "bytes", SUM, "the most bytes of a rank, or of all who share the tier, at a time, added over them") \
	X(KV_TIER_CAPACITY_BYTES, "capacity_bytes", "bytes", SUM, "capacity; 0: no limit")
#define KV_TIER_HISTOGRAM_LIST(X) \
	X(KV_TIER_HIST_READ, "read", "an entry read") \
	X(KV_TIER_HIST_WRITE, "write", "an entry written") \
	X(KV_TIER_HIST_DEMOTE, "demote", "an entry moved to the next tier")

/* Rows by the name of a class of service. */
#define KV_QOS_LIST(X) \
	X(KV_QOS_REQUESTS, "requests", "", SUM, "requests served to their end") \
	X(KV_QOS_TOKENS, "tokens", "", SUM, "tokens generated for them") \
	X(KV_QOS_WITHIN_P95, "within_p95", "", SUM, "of them, within the target of the 95th percentile") \
	X(KV_QOS_WITHIN_P99, "within_p99", "", SUM, "of them, within that of the 99th") \
	X(KV_QOS_WITHIN_P999, "within_p999", "", SUM, "of them, within that of the 99.9th") \
	X(KV_QOS_WITHIN_P9999, "within_p9999", "", SUM, "of them, within that of the 99.99th") \
	X(KV_QOS_P95_NS, "target_p95_ns", "ns", MAX, "target of the 95th percentile; 0: none", \
	  .counted_by = "target_p95_ns") \
	X(KV_QOS_P99_NS, "target_p99_ns", "ns", MAX, "target of the 99th; 0: none", \
	  .counted_by = "target_p99_ns") \
	X(KV_QOS_P999_NS, "target_p99_9_ns", "ns", MAX, "target of the 99.9th; 0: none", \
	  .counted_by = "target_p99_9_ns") \
	X(KV_QOS_P9999_NS, "target_p99_99_ns", "ns", MAX, "target of the 99.99th; 0: none", \
	  .counted_by = "target_p99_99_ns")
#define KV_QOS_HISTOGRAM_LIST(X) \
	X(KV_QOS_HIST_REQUEST, "request", "a request, from when it fell due to its last token")

/* Rows by number: decisions of autoscaling. */
#define KV_SCALE_LIST(X) \
	X(KV_SCALE_NS, "at_ns", "ns", MAX, "time since the first request could fall due") \
	X(KV_SCALE_USERS, "users", "", SUM, "users who ask from now on") \
	X(KV_SCALE_READ_P95_NS, "read_p95_ns", "ns", MAX, "95th percentile of reads of entries since the last decision") \
	X(KV_SCALE_WRITE_P95_NS, "write_p95_ns", "ns", MAX, "the same of writes") \
	X(KV_SCALE_WAITING, "waiting", "", SUM, "requests that wait") \
	X(KV_SCALE_TOKENS, "tokens_per_second", "1/s", SUM, "tokens generated per second since the last decision") \
	X(KV_SCALE_SATURATION_PPM, "saturation_ppm", "", MAX, "saturation, in millionths")
/* clang-format on */

enum kv_measure { TALLY_ENUM(KV, KV_COLUMN_LIST(MEASURE_ENUM, MEASURE_BLOCK_ENUM)) };
enum kv_hist { KV_HISTOGRAM_LIST(HIST_ENUM) KV_HISTS };
enum kv_tier_measure { KV_TIER_LIST(MEASURE_ENUM) KV_TIER_MEASURES };
enum kv_tier_hist { KV_TIER_HISTOGRAM_LIST(HIST_ENUM) KV_TIER_HISTS };
enum kv_qos_measure { KV_QOS_LIST(MEASURE_ENUM) KV_QOS_MEASURES };
enum kv_qos_hist { KV_QOS_HISTOGRAM_LIST(HIST_ENUM) KV_QOS_HISTS };
enum kv_scale_measure { KV_SCALE_LIST(MEASURE_ENUM) KV_SCALE_MEASURES };

enum { KV_TABLE_TIERS, KV_TABLE_QOS, KV_TABLE_AUTOSCALING, KV_TABLE_ENDPOINTS, KV_TABLES };
extern const struct tally_schema kvcache_schema;
extern const struct target kvcache_targets[];

#endif

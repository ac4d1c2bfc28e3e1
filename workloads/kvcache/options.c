/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options of the phase "kvcache". */
#include "workloads/kvcache/kvcache.h"

#include "core/time_ns.h"
#include "workloads/trace/trace.h"

enum {
	MS = 1000000,
	TOKENS_PRECONDITION = 2048,
	KEYS_DEFAULT = 1 << 20,
	/* Those of MLPerf's benchmark. */
	EVICTIONS_MIN = 1000,
	EVICTIONS_MAX = 5000
};

static const char *const tier_kinds[] = {"store", "cpu", "gpu", NULL};
const char *const kv_shared_names[] = {[KV_SHARED_NO] = "no",
				       [KV_SHARED_GROUP] = "group",
				       [KV_SHARED_NODE] = "node",
				       [KV_SHARED_ALL] = "all",
				       NULL};
static const char *const profile_names[] = {
	[KV_PROFILE_MLPERF] = "mlperf-v3", [KV_PROFILE_SERVING] = "serving", NULL};
static const char *const generation_names[] = {"none", "fast", "realistic", NULL};
static const char *const write_names[] = {"move", "back", "through", NULL};
const char *const kv_trace_ranks_names[] = {
	[KV_TRACE_GROUP] = "group", [KV_TRACE_ALL] = "all", NULL};
static const char *const order_names[] = {"lru", "fifo", NULL};

static const struct option tier_options[] = {
	OPT_TEXT(
		"store", struct kv_tier_options, store, .def_text = "",
		.help = "the store that keeps the entries; may be left out where there is only one"),
	OPT_CHOICE("kind", struct kv_tier_options, kind, .choices = tier_kinds,
		   .help = "cpu: memory of the rank; gpu: memory of an accelerator, which is "
			   "emulated: no bytes are moved"),
	OPT_TEXT("name", struct kv_tier_options, name, .def_text = "",
		 .help = "what it is called in results; left out: the store's name, or the kind"),
	OPT_BYTES(
		"capacity", struct kv_tier_options, capacity, .max = 1ull << 60,
		.help = "bytes that it holds, of a rank or of all who share it; 0: nothing in memory; in "
			"a store 95 % of what is free at the start, without what other tiers there may "
			"take; where the store does not tell, no limit"),
	OPT_RATE(
		"bandwidth", struct kv_tier_options, bandwidth,
		.help = "of kind gpu: bytes per second of a rank that are read and written there; 0: it "
			"takes no time"),
	OPT_CHOICE(
		"shared", struct kv_tier_options, shared, .choices = kv_shared_names,
		.help = "who has one capacity and one set of entries together: no: a rank for "
			"itself; group: the ranks of a tensor group; node, all: the ranks of a "
			"node, all ranks, which find each other's entries (the last tier, a store); "
			"with all on several nodes, each node has an even part of the capacity"),
	OPT_U64("entries", struct kv_tier_options, entries, .max = 1 << 24,
		.help = "entries at most that a node knows of a tier that is shared by a node or all ranks; 0: "
			"131072"),
	OPT_REAL(
		"high", struct kv_tier_options, high, .max_real = 1,
		.help = "part of the capacity beyond which room is made; 0: 0.8, or 1 for the last "
			"tier"),
	OPT_REAL("low", struct kv_tier_options, low, .max_real = 1,
		 .help = "room is made until no more than this part is full; 0: the same as high"),
	OPT_REAL("largest", struct kv_tier_options, largest, .max_real = 1,
		 .help = "an entry larger than this part of the capacity goes to the next tier; "
			 "0: 0.95"),
	OPT_U64("admit_after", struct kv_tier_options, admit_after, .max = 255,
		.help = "takes what is demoted or written through from its nth access on; 0: always"),
	OPT_U64("promote_after", struct kv_tier_options, promote_after, .max = 255,
		.help = "an entry that is read here moves up from its nth access on; 0: never"),
	OPT_END};

static const struct option policy_options[] = {
	OPT_CHOICE("write", struct kv_policy_options, write, .choices = write_names,
		   .help = "move: an entry is in one tier; back: what is promoted leaves a copy "
			   "below; through: an entry is written to all tiers below, too"),
	OPT_CHOICE("order", struct kv_policy_options, order, .choices = order_names,
		   .help = "which entries leave a tier first: those used least recently, or the "
			   "oldest"),
	OPT_U64("keys", struct kv_policy_options, keys, .def = KEYS_DEFAULT, .min = 1,
		.max = 1ull << 28,
		.help = "different keys whose accesses are counted, for admit_after and "
			"promote_after"),
	OPT_U64("evictions_min", struct kv_policy_options, evictions_min, .def = EVICTIONS_MIN,
		.min = 1, .max = UINT32_MAX,
		.help = "an attempt to make room may evict at most 100 entries more than the tier has, "
			"or this number if it is larger"),
	OPT_U64("evictions_max", struct kv_policy_options, evictions_max, .def = EVICTIONS_MAX,
		.min = 1, .max = UINT32_MAX,
		.help = "an attempt to make room evicts at most this number, even where evictions_min is "
			"larger"),
	OPT_END};

static void generation_preset(void *into)
{
	static const uint64_t token_ns[] = {[KV_GENERATE_NONE] = 0,
					    [KV_GENERATE_FAST] = 2 * MS,
					    [KV_GENERATE_REALISTIC] = 30 * MS};
	struct kvcache_options *o = into;

	o->token_ns = token_ns[o->generation];
}

const struct option kvcache_options_table[] = {
	OPT_CHOICE(
		"profile", struct kvcache_options, profile, .choices = profile_names,
		.help = "mlperf-v3: entries of whole requests in tiers, as MLPerf's benchmark has "
			"them; serving: blocks of tokens that prompts share, in one store of all "
			"ranks, as cache servers have them"),
	OPT_TABLE("serving", struct kvcache_options, serving, .table = kv_server_options_table,
		  .help = "profile serving: how blocks are looked up, fetched and written"),
	OPT_TABLE("model", struct kvcache_options, model, .table = model_options,
		  .help = "the model, which says how many bytes a token has"),
	OPT_LIST("tiers", struct kvcache_options, tiers, tier_count, .table = tier_options,
		 .help = "where entries are, from fast to slow; none: the phase's store, with 95 % "
			 "of what is free"),
	OPT_TABLE("policy", struct kvcache_options, policy, .table = policy_options,
		  .help = "how entries move between tiers"),
	OPT_TABLE("autoscaling", struct kvcache_options, autoscaling,
		  .table = kv_autoscale_options_table,
		  .help = "more or fewer users while the phase runs; each rank decides for itself"),
	OPT_TIME("duration", struct kvcache_options, duration_ns, .def = 60000ull * MS, .min = MS,
		 .max = 13 * NS_PER_D, .help = "time in which users ask"),
	OPT_U64("requests", struct kvcache_options, requests,
		.help = "the phase ends after this number of requests of a rank; 0: no limit"),
	OPT_CHOICE("generation", struct kvcache_options, generation, .choices = generation_names,
		   .preset = generation_preset,
		   .help = "time to generate a token: none, 2 ms or 30 ms"),
	OPT_TIME("token_time", struct kvcache_options, token_ns, .max = 18 * 60000ull * MS,
		 .usual = 60000000000, .help = "the same as a number"),
	OPT_U64("served", struct kvcache_options, served, .max = KV_SERVED_MAX,
		.help = "requests of a rank that are served at a time; 0: as many as there are "
			"users, at most 500"),
	OPTION_THREADS(
		struct kvcache_options, threads, KV_THREADS_MAX,
		"threads of a rank that move entries, each as many at a time as its depth says"),
	OPTION_DEPTH(struct kvcache_options, depth),
	OPT_BYTES(
		"chunk", struct kvcache_options, chunk, .def = 0, .max = 1 << 30,
		.help = "bytes of a read or write; entries are moved in such pieces; 0: 4 MiB, or as much "
			"as a part of an object of the stores must have"),
	OPT_U64("max_concurrent_allocs", struct kvcache_options, allocations, .max = KV_SERVED_MAX,
		.help = "requests of a rank that make room for entries and write them at a time; "
			"0: no limit"),
	OPT_BYTES(
		"precondition", struct kvcache_options, precondition, .max = 1ull << 60,
		.help = "bytes of entries that a rank writes before the first request; they count "
			"nowhere"),
	OPT_U64("precondition_tokens", struct kvcache_options, precondition_tokens,
		.def = TOKENS_PRECONDITION, .min = 1, .max = KV_TOKENS_MAX,
		.help = "tokens of each of them"),
	OPT_BOOL("lookup", struct kvcache_options, lookup,
		 .help = "the store is asked whether an entry exists before it is read"),
	OPT_TEXT("folder", struct kvcache_options, folder, .def_text = "kvcache",
		 .help = "where the entries lie in a store; it must not hold anything else"),
	OPT_TEXT(
		"trace", struct kvcache_options, trace, .def_text = "",
		.help = "a file (.csv, .csv.zst) to which rank 0 writes what all ranks would ask of "
			"their tiers, on a virtual clock; then no store is opened; ${VARIABLE} "
			"stands for that of the environment"),
	OPT_CHOICE(
		"trace_format", struct kvcache_options, trace_format, .choices = trace_format_names,
		.help = "csv: MLPerf's six columns; full: also deletes, requests, users and ranks; "
			"fio: an iolog; warp: an operation log"),
	OPT_CHOICE(
		"trace_ranks", struct kvcache_options, trace_ranks, .choices = kv_trace_ranks_names,
		.help = "of a tensor group. group: the rows of one rank, with an even part of the "
			"bytes, as MLPerf counts; all: those of every rank, with its shard"),
	OPT_TIME("trace_epoch", struct kvcache_options, trace_epoch_ns, .max = 50000 * NS_PER_D,
		 .help = "the time of the epoch at which the clock of a trace begins"),
	OPTION_VERIFY(struct kvcache_options, verify),
	OPTION_ON_ERROR(struct kvcache_options, on_error),
	OPTION_CONTENT(struct kvcache_options, "of an entry", 1 << 20),
	OPT_END};

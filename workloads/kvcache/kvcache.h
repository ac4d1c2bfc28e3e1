/* SPDX-License-Identifier: Apache-2.0 */
/* The phase "kvcache": the I/O of a server of large language models that keeps the keys and values of its conversations in
 * tiers, as MLPerf's key-value cache benchmark does it. docs/internals/kvcache.md has the design.
 *
 *	phase.c     the workload: opens, fills, runs, cleans up; phase.h: the parts of that
 *	options.c   the table of options; setup.c: what they stand for, refusals
 *	size.c      what a phase asks of the machine; space.c: the capacity of a tier from what is free
 *	run.h       the state of a phase, which these work on
 *	loop.c      the main thread: waits for users and I/O threads, and lets both go on
 *	serve.c     requests, step by step; served.h: which of them wait, and are served; scale.c: autoscaling
 *	dispatch.h  what the tiers decide, as operations for the I/O threads, or on the bus of an accelerator
 *	worker.h    I/O threads; transfer.c: how one moves entries; ring.h: how tasks come to it, and back
 *	loads.h     which I/O thread gets the next operation
 *	part.h      a rank in its tensor group, where it leads or follows, and among servers that share a tier; board.h: what the
 *	            group shares; shard.h: its part of an operation; remote.h: servers on several nodes
 *	objects.h   names of entries in a store, and the description of what a run keeps there; remove.c: removes them
 *	trace_run.c a trace of what would be done
 *	measures.h  from the main thread to the tally; columns.h: tables of measures
 *
 * Calls go one way: phase, loop, serve, dispatch, then shard, remote and served, and below them measures and part.
 *
 *	tiers/      entries, the tiers that they are in, and policies; requests/ users and what they ask; trace/ what
 *	would be done, without I/O */
#ifndef HAUL_WORKLOADS_KVCACHE_KVCACHE_H
#define HAUL_WORKLOADS_KVCACHE_KVCACHE_H

#include "workloads/common/options.h"
#include "workloads/kvcache/requests/autoscale.h"
#include "workloads/kvcache/requests/source_options.h"
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
 * servers do (part.h). */
enum kv_tier_shared { KV_SHARED_NO, KV_SHARED_GROUP, KV_SHARED_NODE, KV_SHARED_ALL };
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
	uint64_t memory;           /* its capacity */
};

/* The chunk where it was left out, which the stores decide. */
void kv_complete(const struct job *job, struct job_phase *phase);

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

#endif

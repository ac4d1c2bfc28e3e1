/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the profile mlperf-v3: who asks, and for what. Defaults are those of MLPerf's
 * benchmark. */
#ifndef HAUL_WORKLOADS_KVCACHE_SOURCE_OPTIONS_H
#define HAUL_WORKLOADS_KVCACHE_SOURCE_OPTIONS_H

#include <stdbool.h>

#include "core/option/option.h"

enum {
	KV_TEMPLATES_MAX = 8,
	KV_CLASSES_MAX = 8,
	KV_CLASSES_OF_MLPERF = 3,
	KV_NAME_BYTES = 24,
	KV_PATH_BYTES = 1024,
	KV_RETRIEVED_MAX = 32,  /* chunks of one retrieval */
	KV_CHUNKS_MAX = 4096,   /* of one document */
	KV_TURNS_MAX = 1 << 20, /* of one conversation */
	KV_USERS_MAX = 1 << 22
};

/* A kind of user. Each of its users has a context and a generation length, and a time to think, for
 * the whole run, drawn uniformly from these ranges. Each request asks for a quarter of the lengths
 * up to all of them. */
struct kv_template {
	char name[KV_NAME_BYTES];
	double share; /* of the users, in proportion to those of the others */
	uint64_t context_min, context_max, generate_min, generate_max; /* tokens */
	uint64_t think_min_ns, think_max_ns;
};

/* A class of service. */
struct kv_class {
	char name[KV_NAME_BYTES];
	double share;
	uint64_t priority;                          /* higher ones are served first */
	uint64_t p95_ns, p99_ns, p999_ns, p9999_ns; /* what their latencies should not exceed */
};

enum kv_mode { KV_MODE_BOTH, KV_MODE_PREFILL, KV_MODE_DECODE };
enum kv_retrieval_order { KV_RETRIEVE_ZIPF, KV_RETRIEVE_UNIFORM };

struct kv_conversation_options {
	bool enabled;
	double end; /* probability before each request */
	uint64_t turns;
	uint64_t held; /* conversations of a rank at most; 0: no limit */
};

struct kv_prefix_options {
	bool enabled;
	double probability;
	uint64_t prompts, tokens_min, tokens_max, shortest;
};

struct kv_rag_options {
	uint64_t documents;              /* 0: no retrieval */
	uint64_t held;                   /* 0: no limit */
	uint64_t tokens_min, tokens_max; /* of a document; 0: by the size of the model */
	uint64_t chunk_tokens, chunk_bytes, retrieved;
	uint64_t generate_min, generate_max;
	double probability;
	uint32_t order;
};

/* Recorded requests take the place of those of users. */
struct kv_arrivals_options {
	char file[KV_PATH_BYTES]; /* "": there are none */
	double speed;
	uint64_t from_ns, window_ns, context_max, generate_max;
	/* Of a list of conversations. */
	double rate; /* 0: not given */
	uint64_t characters, conversations;
	uint64_t cycles; /* times that the file is read; 0: without end */
	bool lenient;    /* rows that are wrong are left out */
};

struct kv_source_options {
	uint64_t users;
	/* No option: the check sets it to users, and whoever scales them to more. */
	uint64_t users_most;
	struct kv_arrivals_options arrivals;
	struct kv_template templates[KV_TEMPLATES_MAX];
	struct kv_class classes[KV_CLASSES_MAX];
	uint32_t template_count, class_count; /* 0: MLPerf's, see kv_source_check */
	uint64_t prefill_from, decode_batch;
	bool decode_reads;
	uint32_t mode;
	uint64_t stored_per_user, stored_tokens; /* decode only */
	struct kv_conversation_options conversation;
	struct kv_prefix_options prefix;
	struct kv_rag_options rag;
};
extern const struct option kv_source_options_table[];

/* Puts MLPerf's templates and classes where none are given, and checks rules that an option table
 * cannot express. Returns -EINVAL with "path/key: sentence". */
int kv_source_check(struct kv_source_options *o, const char *path, struct err *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Import of a run of MLPerf's key-value cache benchmark: see import_kvcache.h. */
#include "import/kvcache/import_kvcache.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "import/kvcache/kvc.h"

enum { URI_MAX = 1024 };

static const double seed_default = 42;

/* The flags of the benchmark's command line and the keys of its config.yaml. */
/* clang-format off */
#define UNUSED      "the original reads it and does not use it"
#define USED        UNUSED "; haul does"
#define OWN_RESULTS "haul writes all that it measures to results.h5; see haul report"
#define OWN_GPU     "the tier \"gpu\" of haul is emulated and has no memory of its own to keep free"
#define BOUNDS      "haul has bounds of its own for each option"

#define COPY(p, k, t)       {.path = (p), .kind = (k), .way = KEY_COPY, .to = (t)}
#define CHANGED(p, k, t, w) {.path = (p), .kind = (k), .way = KEY_CHANGED, .to = (t), .why = (w)}
#define SPECIAL(p, k)       {.path = (p), .kind = (k), .way = KEY_SPECIAL}
#define LEFT(p, k, w)       {.path = (p), .kind = (k), .way = KEY_LEFT, .why = (w)}

static const struct import_key kvc_keys[] = {
	/* Flags. */
	LEFT("log-level", KEY_TEXT, "haul run has --quiet"),
	SPECIAL("model", KEY_TEXT),
	SPECIAL("num-users", KEY_NUMBER),
	COPY("duration", KEY_NUMBER, "duration"),
	SPECIAL("gpu-mem-gb", KEY_NUMBER),
	SPECIAL("num-gpus", KEY_NUMBER),
	SPECIAL("tensor-parallel", KEY_NUMBER),
	SPECIAL("cpu-mem-gb", KEY_NUMBER),
	SPECIAL("cache-dir", KEY_TEXT),
	COPY("generation-mode", KEY_TEXT, "generation"),
	SPECIAL("performance-profile", KEY_TEXT),
	SPECIAL("disable-multi-turn", KEY_BOOL),
	SPECIAL("disable-prefix-caching", KEY_BOOL),
	SPECIAL("enable-rag", KEY_BOOL),
	SPECIAL("rag-num-docs", KEY_NUMBER),
	SPECIAL("enable-autoscaling", KEY_BOOL),
	SPECIAL("autoscaler-mode", KEY_TEXT),
	SPECIAL("target-saturation", KEY_NUMBER),
	SPECIAL("use-burst-trace", KEY_BOOL),
	SPECIAL("burst-trace-path", KEY_TEXT),
	SPECIAL("trace-speedup", KEY_NUMBER),
	SPECIAL("replay-cycles", KEY_NUMBER),
	LEFT("validation-trace", KEY_TEXT, "the original compares only the hit rate with that of the file, or with 65 % where there is none; set target_hit_rate"),
	SPECIAL("dataset-path", KEY_TEXT),
	SPECIAL("max-conversations", KEY_NUMBER),
	LEFT("output", KEY_TEXT, OWN_RESULTS),
	SPECIAL("seed", KEY_NUMBER),
	COPY("max-concurrent-allocs", KEY_NUMBER, "max_concurrent_allocs"),
	SPECIAL("request-rate", KEY_NUMBER),
	COPY("max-requests", KEY_NUMBER, "requests"),
	LEFT("xlsx-output", KEY_TEXT, OWN_RESULTS),
	LEFT("config", KEY_TEXT, "give the file itself to haul import"),
	SPECIAL("storage-capacity-gb", KEY_NUMBER),
	SPECIAL("precondition", KEY_BOOL),
	SPECIAL("precondition-size-gb", KEY_NUMBER),
	LEFT("precondition-threads", KEY_NUMBER, "the phase fills its tiers with all of its threads"),
	SPECIAL("prefill-only", KEY_BOOL),
	SPECIAL("decode-only", KEY_BOOL),
	COPY("io-trace-log", KEY_TEXT, "trace"),
	LEFT("enable-latency-tracing", KEY_BOOL, "haul has no tracing in the kernel; its histograms sync and publish are parts of a write, and --op-log has each request"),

	/* config.yaml. */
	SPECIAL("user_templates.*.context_range", KEY_RANGE),
	SPECIAL("user_templates.*.generation_range", KEY_RANGE),
	SPECIAL("user_templates.*.think_time_range", KEY_RANGE),
	SPECIAL("generation_timing.*", KEY_NUMBER),
	SPECIAL("qos_profiles.*.target_latency_p95_ms", KEY_NUMBER),
	SPECIAL("qos_profiles.*.target_latency_p99_ms", KEY_NUMBER),
	SPECIAL("qos_profiles.*.target_latency_p999_ms", KEY_NUMBER),
	SPECIAL("qos_profiles.*.target_latency_p9999_ms", KEY_NUMBER),
	SPECIAL("qos_profiles.*.priority", KEY_NUMBER),
	LEFT("qos_profiles.*.name", KEY_TEXT, "a class has the name of its key"),
	SPECIAL("qos_distribution.interactive_probability", KEY_NUMBER),
	SPECIAL("qos_distribution.responsive_threshold", KEY_NUMBER),
	SPECIAL("eviction.target_usage_ratio", KEY_NUMBER),
	SPECIAL("eviction.large_entry_limit_ratio", KEY_NUMBER),
	LEFT("eviction.max_recursion_depth", KEY_NUMBER, "haul has at most eight tiers, so the depth is never reached"),
	COPY("eviction.max_evictions_hard_cap", KEY_NUMBER, "policy.evictions_max"),
	COPY("eviction.max_evictions_min", KEY_NUMBER, "policy.evictions_min"),
	LEFT("gpu_backend.*", KEY_NUMBER, OWN_GPU),
	CHANGED("prefix_cache.min_prefix_length", KEY_NUMBER, "prefix.shortest", USED),
	COPY("prefix_cache.system_prompt_hit_probability", KEY_NUMBER, "prefix.probability"),
	LEFT("prefix_cache.max_prefix_entries", KEY_NUMBER, UNUSED),
	COPY("rag.chunk_size_tokens", KEY_NUMBER, "rag.chunk_tokens"),
	COPY("rag.top_k_chunks", KEY_NUMBER, "rag.retrieved"),
	COPY("rag.max_chunk_bytes", KEY_NUMBER, "rag.chunk_bytes"),
	COPY("rag.request_probability", KEY_NUMBER, "rag.probability"),
	SPECIAL("rag.retrieval_distribution", KEY_TEXT),
	CHANGED("rag.max_documents", KEY_NUMBER, "rag.held", "the original fails to delete what is beyond it; haul does"),
	SPECIAL("rag.large_model_doc_tokens_min", KEY_NUMBER),
	SPECIAL("rag.large_model_doc_tokens_max", KEY_NUMBER),
	SPECIAL("rag.small_model_doc_tokens_min", KEY_NUMBER),
	SPECIAL("rag.small_model_doc_tokens_max", KEY_NUMBER),
	COPY("conversation.max_conversations", KEY_NUMBER, "conversation.held"),
	COPY("conversation.max_turns_per_conv", KEY_NUMBER, "conversation.turns"),
	CHANGED("conversation.end_conversation_probability", KEY_NUMBER, "conversation.end",
		"the original always ends one of five conversations; haul does as the key says"),
	SPECIAL("autoscaler.min_users", KEY_NUMBER),
	SPECIAL("autoscaler.max_users", KEY_NUMBER),
	SPECIAL("autoscaler.scale_up_factor", KEY_NUMBER),
	SPECIAL("autoscaler.scale_down_factor", KEY_NUMBER),
	SPECIAL("autoscaler.consecutive_samples_required", KEY_NUMBER),
	COPY("decode.batch_size", KEY_NUMBER, "decode_batch"),
	SPECIAL("sharegpt.max_context_tokens", KEY_NUMBER),
	SPECIAL("sharegpt.max_generation_tokens", KEY_NUMBER),
	SPECIAL("sharegpt.chars_per_token_estimate", KEY_NUMBER),
	SPECIAL("saturation_detection.read_latency_p95_threshold_ms", KEY_NUMBER),
	SPECIAL("saturation_detection.write_latency_p95_threshold_ms", KEY_NUMBER),
	SPECIAL("saturation_detection.queue_depth_threshold", KEY_NUMBER),
	SPECIAL("saturation_detection.history_window_size", KEY_NUMBER),
	LEFT("validation_limits.*", KEY_NUMBER, BOUNDS),
	SPECIAL("model_configs.**", KEY_ANY),
	{.path = NULL},
};
/* clang-format on */

const struct import_tool import_kvcache_tool = {
	.keys = kvc_keys,
	.file = "a config.yaml",
	.name = "the benchmark",
	.unknown = "the benchmark has no such flag or key",
};

/* One key that is given; parts.c has those that are special. */
static int kvc_take(void *importer, const struct import_key *key, const char *path,
		    const cJSON *value)
{
	struct kvc *k = importer;

	if (key->way == KEY_COPY || key->way == KEY_CHANGED)
		kvc_put(k, key->to, cJSON_Duplicate(value, true));
	if (key->way == KEY_CHANGED)
		kvc_found(k, IMPORT_CHANGED, path, key->why);
	return 0;
}

static void kvc_add_store(struct kvc *k, cJSON *job)
{
	const char *folder = kvc_text(k, "cache-dir", "./kvcache");
	cJSON *stores = cJSON_AddObjectToObject(job, "stores");
	cJSON *store = cJSON_AddObjectToObject(stores, "cache");
	char uri[URI_MAX];

	snprintf(uri, sizeof(uri), "file://%s%s", folder[0] == '/' || folder[0] == '.' ? "" : "./",
		 folder);
	if (!store) {
		k->out->failed = true;
		return;
	}
	kvc_add_text(k, store, "uri", uri);
	kvc_add_text(k, store, "fsync", "file");
	if (kvc_at(k, "cache-dir"))
		kvc_found(
			k, IMPORT_CHANGED, "cache-dir",
			"entries lie in a folder of it, which must be empty; the original deletes "
			"all *.npy that it finds");
}

static int kvc_job(struct kvc *k, const char *name)
{
	cJSON *job = k->out->job = cJSON_CreateObject(), *phases, *entry;
	int rc;

	import_add_name(job, name, "kvcache");
	kvc_add_number(k, job, "seed", kvc_number(k, "seed", seed_default));
	kvc_add_cluster(k, job);
	kvc_add_store(k, job);
	phases = cJSON_AddArrayToObject(job, "phases");
	entry = cJSON_CreateObject();
	if (!cJSON_AddItemToArray(phases, entry))
		cJSON_Delete(entry);
	else
		k->phase = cJSON_AddObjectToObject(entry, "kvcache");
	if (!k->phase)
		return err_set(k->err, -ENOMEM, "no memory for the job");
	rc = import_walk(&import_kvcache_tool, k->out, k->tree, kvc_take, k, k->err);
	if (rc < 0)
		return rc;
	kvc_add_model(k);
	kvc_add_users(k);
	kvc_add_tiers(k);
	kvc_add_retrieval(k);
	kvc_add_modes(k);
	kvc_add_autoscaling(k);
	return k->out->failed ? err_set(k->err, -ENOMEM, "no memory for the job") : 0;
}

int import_kvcache(struct import *out, const char *name, const char *text, size_t length,
		   const char *const *flags, unsigned flag_count, struct err *err)
{
	struct kvc k = {.out = out, .err = err};
	int rc = 0;

	*out = (struct import){0};
	if (length)
		rc = import_read(&k.tree, &import_kvcache_tool, text, length, err);
	else
		k.tree = cJSON_CreateObject();
	if (rc == 0)
		rc = import_flags(k.tree, flags, flag_count, err);
	if (rc == 0)
		rc = kvc_job(&k, name);
	cJSON_Delete(k.tree);
	return rc;
}

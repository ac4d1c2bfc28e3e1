/* Keys of MLPerf's key-value cache benchmark: see keys.h. */
#include "import/kvcache/keys.h"

#include <stddef.h>
#include <string.h>

/* clang-format off */
#define UNUSED      "the original reads it and does not use it"
#define USED        UNUSED "; haul does"
#define OWN_RESULTS "haul writes all that it measures to results.h5; see haul report"
#define OWN_GPU     "the tier \"gpu\" of haul is emulated and has no memory of its own to keep free"
#define BOUNDS      "haul has bounds of its own for each option"

#define COPY(p, k, t)       {.path = (p), .kind = (k), .way = KVC_COPY, .to = (t)}
#define CHANGED(p, k, t, w) {.path = (p), .kind = (k), .way = KVC_CHANGED, .to = (t), .why = (w)}
#define SPECIAL(p, k)       {.path = (p), .kind = (k), .way = KVC_SPECIAL}
#define LEFT(p, k, w)       {.path = (p), .kind = (k), .way = KVC_LEFT, .why = (w)}

const struct kvc_key kvc_keys[] = {
	/* Flags. */
	LEFT("log-level", KVC_TEXT, "it is an option of haul run: --quiet, --verbose"),
	SPECIAL("model", KVC_TEXT),
	SPECIAL("num-users", KVC_NUMBER),
	COPY("duration", KVC_NUMBER, "duration"),
	SPECIAL("gpu-mem-gb", KVC_NUMBER),
	SPECIAL("num-gpus", KVC_NUMBER),
	SPECIAL("tensor-parallel", KVC_NUMBER),
	SPECIAL("cpu-mem-gb", KVC_NUMBER),
	SPECIAL("cache-dir", KVC_TEXT),
	COPY("generation-mode", KVC_TEXT, "generation"),
	SPECIAL("performance-profile", KVC_TEXT),
	SPECIAL("disable-multi-turn", KVC_BOOL),
	SPECIAL("disable-prefix-caching", KVC_BOOL),
	SPECIAL("enable-rag", KVC_BOOL),
	SPECIAL("rag-num-docs", KVC_NUMBER),
	SPECIAL("enable-autoscaling", KVC_BOOL),
	SPECIAL("autoscaler-mode", KVC_TEXT),
	SPECIAL("target-saturation", KVC_NUMBER),
	SPECIAL("use-burst-trace", KVC_BOOL),
	SPECIAL("burst-trace-path", KVC_TEXT),
	SPECIAL("trace-speedup", KVC_NUMBER),
	SPECIAL("replay-cycles", KVC_NUMBER),
	LEFT("validation-trace", KVC_TEXT, "the original compares only the hit rate with that of the file, or with 65 % where there is none; set target_hit_rate"),
	SPECIAL("dataset-path", KVC_TEXT),
	SPECIAL("max-conversations", KVC_NUMBER),
	LEFT("output", KVC_TEXT, OWN_RESULTS),
	SPECIAL("seed", KVC_NUMBER),
	COPY("max-concurrent-allocs", KVC_NUMBER, "max_concurrent_allocs"),
	SPECIAL("request-rate", KVC_NUMBER),
	COPY("max-requests", KVC_NUMBER, "requests"),
	LEFT("xlsx-output", KVC_TEXT, OWN_RESULTS),
	LEFT("config", KVC_TEXT, "give the file itself to haul import"),
	SPECIAL("storage-capacity-gb", KVC_NUMBER),
	SPECIAL("precondition", KVC_BOOL),
	SPECIAL("precondition-size-gb", KVC_NUMBER),
	LEFT("precondition-threads", KVC_NUMBER, "the phase fills its tiers with all of its threads"),
	SPECIAL("prefill-only", KVC_BOOL),
	SPECIAL("decode-only", KVC_BOOL),
	COPY("io-trace-log", KVC_TEXT, "trace"),
	LEFT("enable-latency-tracing", KVC_BOOL, "haul has no tracing in the kernel; its histograms sync and publish are parts of a write, and --op-log has each request"),

	/* config.yaml. */
	SPECIAL("user_templates.*.context_range", KVC_RANGE),
	SPECIAL("user_templates.*.generation_range", KVC_RANGE),
	SPECIAL("user_templates.*.think_time_range", KVC_RANGE),
	SPECIAL("generation_timing.*", KVC_NUMBER),
	SPECIAL("qos_profiles.*.target_latency_p95_ms", KVC_NUMBER),
	SPECIAL("qos_profiles.*.target_latency_p99_ms", KVC_NUMBER),
	SPECIAL("qos_profiles.*.target_latency_p999_ms", KVC_NUMBER),
	SPECIAL("qos_profiles.*.target_latency_p9999_ms", KVC_NUMBER),
	SPECIAL("qos_profiles.*.priority", KVC_NUMBER),
	LEFT("qos_profiles.*.name", KVC_TEXT, "a class has the name of its key"),
	SPECIAL("qos_distribution.interactive_probability", KVC_NUMBER),
	SPECIAL("qos_distribution.responsive_threshold", KVC_NUMBER),
	SPECIAL("eviction.target_usage_ratio", KVC_NUMBER),
	SPECIAL("eviction.large_entry_limit_ratio", KVC_NUMBER),
	LEFT("eviction.max_recursion_depth", KVC_NUMBER, "haul has at most eight tiers, so the depth is never reached"),
	COPY("eviction.max_evictions_hard_cap", KVC_NUMBER, "policy.evictions_max"),
	COPY("eviction.max_evictions_min", KVC_NUMBER, "policy.evictions_min"),
	LEFT("gpu_backend.*", KVC_NUMBER, OWN_GPU),
	CHANGED("prefix_cache.min_prefix_length", KVC_NUMBER, "prefix.shortest", USED),
	COPY("prefix_cache.system_prompt_hit_probability", KVC_NUMBER, "prefix.probability"),
	LEFT("prefix_cache.max_prefix_entries", KVC_NUMBER, UNUSED),
	COPY("rag.chunk_size_tokens", KVC_NUMBER, "rag.chunk_tokens"),
	COPY("rag.top_k_chunks", KVC_NUMBER, "rag.retrieved"),
	COPY("rag.max_chunk_bytes", KVC_NUMBER, "rag.chunk_bytes"),
	COPY("rag.request_probability", KVC_NUMBER, "rag.probability"),
	SPECIAL("rag.retrieval_distribution", KVC_TEXT),
	CHANGED("rag.max_documents", KVC_NUMBER, "rag.held", "the original fails to delete what is beyond it; haul does"),
	SPECIAL("rag.large_model_doc_tokens_min", KVC_NUMBER),
	SPECIAL("rag.large_model_doc_tokens_max", KVC_NUMBER),
	SPECIAL("rag.small_model_doc_tokens_min", KVC_NUMBER),
	SPECIAL("rag.small_model_doc_tokens_max", KVC_NUMBER),
	COPY("conversation.max_conversations", KVC_NUMBER, "conversation.held"),
	COPY("conversation.max_turns_per_conv", KVC_NUMBER, "conversation.turns"),
	CHANGED("conversation.end_conversation_probability", KVC_NUMBER, "conversation.end",
		"the original always ends one of five conversations; haul does as the key says"),
	SPECIAL("autoscaler.min_users", KVC_NUMBER),
	SPECIAL("autoscaler.max_users", KVC_NUMBER),
	SPECIAL("autoscaler.scale_up_factor", KVC_NUMBER),
	SPECIAL("autoscaler.scale_down_factor", KVC_NUMBER),
	SPECIAL("autoscaler.consecutive_samples_required", KVC_NUMBER),
	COPY("decode.batch_size", KVC_NUMBER, "decode_batch"),
	SPECIAL("sharegpt.max_context_tokens", KVC_NUMBER),
	SPECIAL("sharegpt.max_generation_tokens", KVC_NUMBER),
	SPECIAL("sharegpt.chars_per_token_estimate", KVC_NUMBER),
	SPECIAL("saturation_detection.read_latency_p95_threshold_ms", KVC_NUMBER),
	SPECIAL("saturation_detection.write_latency_p95_threshold_ms", KVC_NUMBER),
	SPECIAL("saturation_detection.queue_depth_threshold", KVC_NUMBER),
	SPECIAL("saturation_detection.history_window_size", KVC_NUMBER),
	LEFT("validation_limits.*", KVC_NUMBER, BOUNDS),
	SPECIAL("model_configs.**", KVC_ANY),
	{.path = NULL},
};
/* clang-format on */

/* Whether a path is the pattern, in which "*" stands for one part, and "**" for all that follows. */
static bool kvc_key_is(const char *pattern, const char *path)
{
	while (*pattern && *path) {
		if (strcmp(pattern, "**") == 0)
			return true;
		if (*pattern == '*') {
			pattern++;
			path += strcspn(path, ".");
		} else if (*pattern++ != *path++) {
			return false;
		}
	}
	return !*pattern && !*path;
}

const struct kvc_key *kvc_key_find(const char *path)
{
	for (const struct kvc_key *k = kvc_keys; k->path; k++)
		if (kvc_key_is(k->path, path))
			return k;
	return NULL;
}

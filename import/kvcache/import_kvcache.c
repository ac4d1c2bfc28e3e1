/* SPDX-License-Identifier: Apache-2.0 */
/* Import of a run of MLPerf's key-value cache benchmark: see import_kvcache.h. */
#include "import/kvcache/import_kvcache.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "import/kvcache/kvc.h"
#include "import/kvcache/parts.h"
#include "import/overrides.h"
#include "import/yaml/tree.h"

enum { JOB_NAME_MAX = 63, FLAG_BYTES = 1024, KEY_DEPTH_MAX = 4, URI_MAX = 1024 };

static const double seed_default = 42;

/* Keys of the benchmark: the flags of its command line and the keys of its config.yaml, and where
 * each of them goes. */
enum kvc_kind { KVC_NUMBER, KVC_TEXT, KVC_BOOL, KVC_RANGE, KVC_ANY };

/* How a key becomes part of the job. */
enum kvc_way {
	KVC_COPY,    /* to `to` of the phase */
	KVC_SPECIAL, /* parts.c does it */
	KVC_CHANGED, /* the same as KVC_COPY, with a finding */
	KVC_LEFT     /* a finding */
};

struct kvc_key {
	const char *path; /* "num-users"; "decode.batch_size"; "*": any one part; "**": any parts */
	enum kvc_kind kind;
	enum kvc_way way;
	const char *to;  /* "users", "rag.documents" */
	const char *why; /* of a finding */
};

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

static const struct kvc_key kvc_keys[] = {
	/* Flags. */
	LEFT("log-level", KVC_TEXT, "haul run has --quiet"),
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

/* Whether a path is the pattern, in which "*" stands for one part, and "**" for all that
 * follows. */
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

/* The key of a path, or NULL. */
static const struct kvc_key *kvc_key_find(const char *path)
{
	for (const struct kvc_key *k = kvc_keys; k->path; k++)
		if (kvc_key_is(k->path, path))
			return k;
	return NULL;
}

static bool kvc_is(const cJSON *value, enum kvc_kind kind)
{
	const cJSON *first = cJSON_GetArrayItem(value, 0), *second = cJSON_GetArrayItem(value, 1);

	switch (kind) {
	case KVC_NUMBER:
		return cJSON_IsNumber(value);
	case KVC_TEXT:
		return cJSON_IsString(value);
	case KVC_BOOL:
		return cJSON_IsBool(value);
	case KVC_RANGE:
		return cJSON_IsArray(value) && cJSON_GetArraySize(value) == 2 &&
		       cJSON_IsNumber(first) && cJSON_IsNumber(second) &&
		       first->valuedouble <= second->valuedouble;
	case KVC_ANY:
		break;
	}
	return true;
}

/* One key that is given. */
static int kvc_key(struct kvc *k, const char *path, const cJSON *value)
{
	static const char *const kinds[] = {[KVC_NUMBER] = "a number",
					    [KVC_TEXT] = "a text",
					    [KVC_BOOL] = "true or false",
					    [KVC_RANGE] = "two numbers, the smaller one first",
					    [KVC_ANY] = "anything"};
	const struct kvc_key *key = kvc_key_find(path);

	k->out->keys++;
	if (!key) {
		kvc_found(k, IMPORT_UNKNOWN, path, "the benchmark has no such flag or key");
		return 0;
	}
	if (!kvc_is(value, key->kind))
		return err_set(k->err, -EINVAL, "%s: must be %s", path, kinds[key->kind]);
	if (key->way == KVC_COPY || key->way == KVC_CHANGED)
		kvc_put(k, key->to, cJSON_Duplicate(value, true));
	if (key->way == KVC_CHANGED)
		kvc_found(k, IMPORT_CHANGED, path, key->why);
	else if (key->way == KVC_LEFT)
		kvc_found(k, IMPORT_LEFT, path, key->why);
	return 0;
}

/* All keys below one. */
static int kvc_keys_of(struct kvc *k, const char *path, const cJSON *value, unsigned depth)
{
	const cJSON *one;
	int rc = 0;

	if (cJSON_IsNull(value))
		return 0;
	if (!cJSON_IsObject(value))
		return kvc_key(k, path, value);
	if (depth == KEY_DEPTH_MAX)
		return err_set(k->err, -EINVAL, "%s: has keys below keys below keys", path);
	cJSON_ArrayForEach(one, value)
	{
		char below[IMPORT_KEY_BYTES];
		int n = snprintf(below, sizeof(below), "%s%s%s", path, *path ? "." : "",
				 one->string);

		if (n < 0 || (size_t)n >= sizeof(below))
			return err_set(k->err, -EINVAL, "%s: has a key that is too long", path);
		rc = kvc_keys_of(k, below, one, depth + 1);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Counts the values below a path that the benchmark has, and those that it has not. */
static void kvc_count(const char *path, const cJSON *value, unsigned depth, unsigned counts[2])
{
	char below[IMPORT_KEY_BYTES];
	const cJSON *one;

	if (!cJSON_IsObject(value) || depth == KEY_DEPTH_MAX) {
		counts[kvc_key_find(path) != NULL]++;
		return;
	}
	cJSON_ArrayForEach(one, value)
	{
		snprintf(below, sizeof(below), "%s%s%s", path, *path ? "." : "", one->string);
		kvc_count(below, one, depth + 1, counts);
	}
}

/* Whether the file is the benchmark's: most of its keys are. */
static int kvc_check_file(const struct kvc *k)
{
	unsigned counts[2] = {0, 0};

	kvc_count("", k->tree, 0, counts);
	if (counts[1] && counts[1] >= counts[0])
		return 0;
	return err_set(
		k->err, -EINVAL,
		"is not a config.yaml of the benchmark: of its %u keys, the benchmark has %u",
		counts[0] + counts[1], counts[1]);
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
	char cut[JOB_NAME_MAX + 1];
	int rc;

	snprintf(cut, sizeof(cut), "%s", json_text_plain(name) && *name ? name : "kvcache");
	kvc_add_text(k, job, "name", cut);
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
	rc = kvc_keys_of(k, "", k->tree, 0);
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

/* "--num-users=200" and "num-users=200" are the same. */
static int kvc_flags(struct kvc *k, const char *const *flags, unsigned count)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < count; i++) {
		const char *flag = flags[i] + (strncmp(flags[i], "--", 2) == 0 ? 2 : 0);
		char text[FLAG_BYTES];
		int n = snprintf(text, sizeof(text), "++%s%s", flag,
				 strchr(flag, '=') ? "" : "=true");

		if (n < 0 || (size_t)n >= sizeof(text))
			return err_set(k->err, -EINVAL, "%.64s: is too long", flags[i]);
		rc = override_apply(k->tree, text, k->err);
	}
	return rc;
}

int import_kvcache(struct import *out, const char *name, const char *text, size_t length,
		   const char *const *flags, unsigned flag_count, struct err *err)
{
	struct kvc k = {.out = out, .err = err};
	int rc = 0;

	*out = (struct import){0};
	if (length)
		rc = yaml_tree_read(&k.tree, text, length, err);
	else
		k.tree = cJSON_CreateObject();
	if (rc < 0)
		return rc;
	if (!cJSON_IsObject(k.tree)) {
		cJSON_Delete(k.tree);
		return err_set(err, -EINVAL, "is not a config.yaml: it must hold keys");
	}
	rc = length ? kvc_check_file(&k) : 0;
	if (rc == 0)
		rc = kvc_flags(&k, flags, flag_count);
	if (rc == 0)
		rc = kvc_job(&k, name);
	cJSON_Delete(k.tree);
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of an imported phase "kvcache": see kvc.h. */
#include "import/kvcache/kvc.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/numbers.h"
#include "core/units.h"

enum { TEMPLATES = 3, CLASSES = 3, PATH_BYTES = 96, GPU_GIB = 16 /* the original's default */ };

static const double ms = 0.001;
/* Threads that the original has at most, each of which serves one request at a time. */
static const double threads_most = 500;
/* Requests per second where the original has no bound. */
static const double rate_otherwise = 1000;
static const double users_most = 10000;

/* NULL: no memory; what is added to it then is lost, and the import has failed. */
static cJSON *part_object(struct kvc *k, cJSON *list)
{
	cJSON *one = cJSON_CreateObject();

	if (!one || !cJSON_AddItemToArray(list, one)) {
		cJSON_Delete(one);
		k->out->failed = true;
		return NULL;
	}
	return one;
}

/* A number of the keys, or the original's. */
static void part_number(struct kvc *k, const char *to, const char *from, double otherwise)
{
	kvc_put_number(k, to, kvc_number(k, from, otherwise));
}

/* Ranks that share an entry. */
static double part_tensor(const struct kvc *k)
{
	double tensor = kvc_number(k, "tensor-parallel", 1);

	return tensor >= 1 ? tensor : 1;
}

/* Whether requests are recorded: there are no users then. */
static bool part_recorded(const struct kvc *k)
{
	return kvc_at(k, "dataset-path") || kvc_true(k, "use-burst-trace");
}

/* The original is one process, which does the work of one tensor rank with the memory of all. haul
 * has a rank for each. */
void kvc_add_cluster(struct kvc *k, cJSON *job)
{
	double tensor = part_tensor(k);
	cJSON *cluster;

	if (tensor <= 1)
		return;
	cluster = cJSON_AddObjectToObject(job, "cluster");
	kvc_add_number(k, cluster, "ranks_per_node", tensor);
	kvc_add_number(k, cluster, "gpus", kvc_number(k, "num-gpus", 1));
	kvc_add_number(k, cluster, "tensor", tensor);
	kvc_found(k, IMPORT_CHANGED, "tensor-parallel",
		  "the original moves the shards of one rank and compares them with the memory of "
		  "all; here each rank moves its own and has its part of the memory");
}

/* A tier, of gib GiB for all ranks of a tensor group together. Ratios are not those of the last
 * one. */
static void part_tier(struct kvc *k, cJSON *tiers, const char *kind, double gib)
{
	cJSON *tier = part_object(k, tiers);
	double high = kvc_number(k, "eviction.target_usage_ratio", 0);
	double largest = kvc_number(k, "eviction.large_entry_limit_ratio", 0);

	kvc_add_text(k, tier, "kind", kind);
	kvc_add_number(k, tier, "capacity", floor(gib * GiB / part_tensor(k)));
	if (high > 0)
		kvc_add_number(k, tier, "high", high);
	if (largest > 0)
		kvc_add_number(k, tier, "largest", largest);
}

static void part_tier_store(struct kvc *k, cJSON *tiers, double gib)
{
	cJSON *tier = part_object(k, tiers);

	kvc_add_text(k, tier, "store", "cache");
	if (gib > 0)
		kvc_add_number(k, tier, "capacity", floor(gib * GiB / part_tensor(k)));
	else if (!kvc_at(k, "io-trace-log"))
		kvc_found(k, IMPORT_CHANGED, "storage-capacity-gb",
			  "without it, each process of the original takes 95 % of what is free; "
			  "haul's ranks share that");
}

void kvc_add_tiers(struct kvc *k)
{
	bool traces = kvc_at(k, "io-trace-log");
	double gpu =
		kvc_number(k, "gpu-mem-gb", traces ? GPU_GIB : 0) * kvc_number(k, "num-gpus", 1);
	double cpu = kvc_number(k, "cpu-mem-gb", 32);
	cJSON *tiers = cJSON_CreateArray();

	if (gpu > 0)
		part_tier(k, tiers, "gpu", gpu);
	if (gpu > 0 && !traces)
		kvc_found(k, IMPORT_CHANGED, "gpu-mem-gb",
			  "the original has this tier only where there is an accelerator; haul "
			  "emulates it");
	if (cpu > 0)
		part_tier(k, tiers, "cpu", cpu);
	part_tier_store(k, tiers, kvc_number(k, "storage-capacity-gb", 0));
	kvc_put(k, "tiers", tiers);
}

/* Numbers of a range: the given one, or the original's. */
static void part_range(struct kvc *k, cJSON *to, const char *section, const char *name,
		       const char *key, const char *const members[2], const double otherwise[2])
{
	char path[PATH_BYTES];
	const cJSON *range;

	snprintf(path, sizeof(path), "%s.%s.%s", section, name, key);
	range = kvc_at(k, path);
	for (int i = 0; i < 2; i++) {
		const cJSON *one = range ? cJSON_GetArrayItem(range, i) : NULL;

		kvc_add_number(k, to, members[i], one ? one->valuedouble : otherwise[i]);
	}
}

static void part_templates(struct kvc *k)
{
	static const struct {
		const char *name;
		double context[2], generate[2], think[2];
	} known[TEMPLATES] = {
		{"chatbot", {512, 4096}, {50, 200}, {0.1, 0.5}},
		{"coding", {4096, 25000}, {100, 500}, {0.2, 1.0}},
		{"document", {4096, 16384}, {200, 800}, {0.3, 1.5}},
	};
	static const char *const context[2] = {"context_min", "context_max"};
	static const char *const generate[2] = {"generate_min", "generate_max"};
	static const char *const think[2] = {"think_min", "think_max"};
	cJSON *list;

	if (!kvc_at(k, "user_templates"))
		return;
	if (part_recorded(k)) {
		kvc_found(k, IMPORT_LEFT, "user_templates",
			  "are for users, and the requests are recorded");
		return;
	}
	list = cJSON_CreateArray();
	for (int i = 0; i < TEMPLATES; i++) {
		cJSON *one = part_object(k, list);

		kvc_add_text(k, one, "name", known[i].name);
		part_range(k, one, "user_templates", known[i].name, "context_range", context,
			   known[i].context);
		part_range(k, one, "user_templates", known[i].name, "generation_range", generate,
			   known[i].generate);
		part_range(k, one, "user_templates", known[i].name, "think_time_range", think,
			   known[i].think);
	}
	kvc_put(k, "templates", list);
}

static void part_class(struct kvc *k, cJSON *one, const char *name, double share, double priority,
		       const double latency_ms[4])
{
	static const char *const from[4] = {"p95", "p99", "p999", "p9999"};
	static const char *const to[4] = {"p95", "p99", "p99.9", "p99.99"};
	char path[PATH_BYTES];

	kvc_add_text(k, one, "name", name);
	kvc_add_number(k, one, "share", share);
	snprintf(path, sizeof(path), "qos_profiles.%s.priority", name);
	kvc_add_number(k, one, "priority", kvc_number(k, path, priority));
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "qos_profiles.%s.target_latency_%s_ms", name, from[i]);
		kvc_add_number(k, one, to[i], kvc_number(k, path, latency_ms[i]) * ms);
	}
}

static void part_classes(struct kvc *k)
{
	static const struct {
		const char *name;
		double priority, latency_ms[4];
	} known[CLASSES] = {
		{"interactive", 3, {50, 100, 150, 200}},
		{"responsive", 2, {100, 200, 350, 500}},
		{"batch", 1, {1000, 5000, 7500, 10000}},
	};
	double interactive = kvc_number(k, "qos_distribution.interactive_probability", 0.15);
	double responsive = kvc_number(k, "qos_distribution.responsive_threshold", 0.5);
	double share[CLASSES] = {interactive, responsive - interactive, 1 - responsive};
	cJSON *list;

	if (!kvc_at(k, "qos_profiles") && !kvc_at(k, "qos_distribution"))
		return;
	list = cJSON_CreateArray();
	for (int i = 0; i < CLASSES; i++) {
		cJSON *one = part_object(k, list);

		part_class(k, one, known[i].name, share[i] > 0 ? share[i] : 0, known[i].priority,
			   known[i].latency_ms);
	}
	kvc_put(k, "classes", list);
	if (kvc_at(k, "qos_profiles"))
		kvc_found(k, IMPORT_CHANGED, "qos_profiles",
			  "the original reads it and reports its own defaults; haul takes it");
}

/* 0 stands for without end, in both. */
static void part_cycles(struct kvc *k)
{
	part_number(k, "arrivals.cycles", "replay-cycles", 0);
	if (kvc_at(k, "replay-cycles"))
		kvc_found(k, IMPORT_CHANGED, "replay-cycles",
			  "the original ends when the last request is queued and drops those that "
			  "wait; haul serves all of them");
}

/* ShareGPT. Its texts have no times. */
static void part_conversations(struct kvc *k)
{
	double rate = kvc_number(k, "request-rate", 0);

	kvc_put_text(k, "arrivals.file", kvc_text(k, "dataset-path", ""));
	kvc_found(
		k, IMPORT_CHANGED, "dataset-path",
		"the original forgets the earlier turns of its conversations, and each of its processes "
		"has all of them; haul reads earlier turns, and its ranks share the conversations");
	part_cycles(k);
	kvc_put_number(k, "arrivals.rate", rate > 0 ? rate : rate_otherwise);
	if (rate <= 0)
		kvc_found(
			k, IMPORT_CHANGED, "request-rate",
			"without it, the original's requests come as fast as a queue grows without end; "
			"in haul 1,000 per second");
	part_number(k, "arrivals.conversations", "max-conversations", 500);
	part_number(k, "arrivals.context_max", "sharegpt.max_context_tokens", 16384);
	part_number(k, "arrivals.generate_max", "sharegpt.max_generation_tokens", 2048);
	part_number(k, "arrivals.characters", "sharegpt.chars_per_token_estimate", 4);
	if (kvc_at(k, "sharegpt"))
		kvc_found(
			k, IMPORT_CHANGED, "sharegpt",
			"the original reads these keys and has 16384, 2048 and 4 in its code; haul takes "
			"them");
	if (kvc_true(k, "use-burst-trace"))
		kvc_found(k, IMPORT_LEFT, "use-burst-trace",
			  "with dataset-path, the original reads no trace");
}

static void part_burst(struct kvc *k)
{
	double speed = kvc_number(k, "trace-speedup", 1);

	kvc_put_text(k, "arrivals.file",
		     kvc_text(k, "burst-trace-path", "BurstGPT/data/BurstGPT_1.csv"));
	kvc_found(k, IMPORT_CHANGED, "burst-trace-path",
		  "each process of the original replays all of the trace; haul's ranks share it");
	part_cycles(k);
	if (speed > 0)
		kvc_put_number(k, "arrivals.speed", speed);
	else
		kvc_found(k, IMPORT_CHANGED, "trace-speedup",
			  "0 stands for as fast as possible, which grows a queue without end; haul "
			  "has the recorded times");
}

static void part_arrivals(struct kvc *k)
{
	static const char *const conversations[] = {"max-conversations", "request-rate",
						    "sharegpt"};
	static const char *const burst[] = {"burst-trace-path", "trace-speedup"};

	if (kvc_at(k, "replay-cycles") && !part_recorded(k))
		kvc_found(k, IMPORT_LEFT, "replay-cycles",
			  "no requests are recorded, so there is nothing to repeat");
	if (kvc_at(k, "dataset-path")) {
		part_conversations(k);
		return;
	}
	for (int i = 0; i < 3; i++)
		if (kvc_at(k, conversations[i]))
			kvc_found(
				k, IMPORT_LEFT, conversations[i],
				"it is for ShareGPT's conversations, and there is no dataset-path");
	if (kvc_true(k, "use-burst-trace"))
		part_burst(k);
	for (int i = 0; i < 2 && !kvc_true(k, "use-burst-trace"); i++)
		if (kvc_at(k, burst[i]))
			kvc_found(
				k, IMPORT_LEFT, burst[i],
				"without use-burst-trace, the original reads no trace, and neither "
				"does haul");
}

/* The time for a token of the mode that is chosen. */
static void part_generation(struct kvc *k)
{
	const char *mode = kvc_text(k, "generation-mode", "realistic");
	char path[PATH_BYTES];

	if (!kvc_at(k, "generation-mode"))
		kvc_put_text(k, "generation", mode);
	snprintf(path, sizeof(path), "generation_timing.%.32s", mode);
	if (kvc_at(k, path)) {
		kvc_put_number(k, "token_time", kvc_number(k, path, 0));
		kvc_found(k, IMPORT_CHANGED, path,
			  "the original reads it and does not use it; haul does");
	}
}

void kvc_add_users(struct kvc *k)
{
	double users = kvc_number(k, "num-users", 100);
	double threads = users < threads_most ? users : threads_most;

	part_arrivals(k);
	kvc_put_number(k, "users", users);
	kvc_put_number(k, "served", threads);
	kvc_put_number(k, "threads", threads);
	if (!kvc_at(k, "duration"))
		kvc_put_number(k, "duration", 60);
	part_generation(k);
	part_templates(k);
	part_classes(k);
}

/* The dimensions that a config.yaml gives a model. Members without a counterpart are left. */
static void part_dimensions(struct kvc *k, const cJSON *from)
{
	static const char *const names[][2] = {
		{"num_layers", "model.layers"},         {"hidden_dim", "model.hidden"},
		{"num_heads", "model.heads"},           {"kv_heads", "model.kv_heads"},
		{"kv_dim_per_head", "model.head_dim"},  {"kv_lora_rank", "model.kv_rank"},
		{"qk_rope_head_dim", "model.rope_dim"},
	};
	static const char *const types[][2] = {
		{"float32", "fp32"}, {"float16", "fp16"}, {"bfloat16", "bf16"}, {"int8", "int8"}};
	const cJSON *text = cJSON_GetObjectItemCaseSensitive(from, "attention_type");

	for (size_t i = 0; i < COUNT(names); i++) {
		const cJSON *value = cJSON_GetObjectItemCaseSensitive(from, names[i][0]);

		if (cJSON_IsNumber(value))
			kvc_put_number(k, names[i][1], value->valuedouble);
	}
	/* The kind of attention is only a label of the original, except for mla. */
	if (cJSON_IsString(text) && strcmp(text->valuestring, "mla") == 0)
		kvc_put_text(k, "model.attention", "mla");
	text = cJSON_GetObjectItemCaseSensitive(from, "dtype");
	for (size_t i = 0; cJSON_IsString(text) && i < COUNT(types); i++)
		if (strcmp(text->valuestring, types[i][0]) == 0)
			kvc_put_text(k, "model.type", types[i][1]);
}

void kvc_add_model(struct kvc *k)
{
	const char *name = kvc_text(k, "model", "llama3.1-8b");
	const cJSON *configs = kvc_at(k, "model_configs");
	/* Names of models have dots, so this is no path. */
	const cJSON *own = configs ? cJSON_GetObjectItemCaseSensitive(configs, name) : NULL;

	if (own && cJSON_IsObject(own)) {
		part_dimensions(k, own);
	} else if (strncmp(name, "gpt-oss", strlen("gpt-oss")) == 0) {
		/* The original counts all of its layers as full attention. */
		kvc_put_text(k, "model.name", name);
		kvc_put_number(k, "model.window_layers", 0);
		kvc_put_number(k, "model.window", 0);
	} else {
		kvc_put_text(k, "model", name);
	}
	if (cJSON_GetArraySize(configs) > (own ? 1 : 0))
		kvc_found(k, IMPORT_LEFT, "model_configs",
			  "only the model that is chosen is mapped");
}

/* Documents of large models are shorter. */
static bool part_large(const struct kvc *k)
{
	static const char *const large[] = {"llama3.1-70b-instruct", "qwen3-32b"};
	const char *name = kvc_text(k, "model", "llama3.1-8b");
	const cJSON *model = cJSON_GetObjectItemCaseSensitive(k->phase, "model");
	const cJSON *layers = cJSON_GetObjectItemCaseSensitive(model, "layers");
	const cJSON *hidden = cJSON_GetObjectItemCaseSensitive(model, "hidden");

	if (cJSON_IsObject(model))
		return (layers && layers->valuedouble >= 64) ||
		       (hidden && hidden->valuedouble >= 8192);
	return strcmp(name, large[0]) == 0 || strcmp(name, large[1]) == 0;
}

void kvc_add_retrieval(struct kvc *k)
{
	bool large = part_large(k);
	double least = kvc_number(
		k, large ? "rag.large_model_doc_tokens_min" : "rag.small_model_doc_tokens_min",
		large ? 1024 : 4000);
	double most = kvc_number(
		k, large ? "rag.large_model_doc_tokens_max" : "rag.small_model_doc_tokens_max",
		large ? 4096 : 12000);
	const char *order = kvc_text(k, "rag.retrieval_distribution", "zipfian");

	if (!kvc_true(k, "enable-rag")) {
		if (kvc_at(k, "rag-num-docs"))
			kvc_found(k, IMPORT_LEFT, "rag-num-docs", "there is no enable-rag");
		return;
	}
	part_number(k, "rag.documents", "rag-num-docs", 10);
	kvc_put_number(k, "rag.tokens_min", least);
	kvc_put_number(k, "rag.tokens_max", most);
	kvc_put_text(k, "rag.order", strcmp(order, "uniform") == 0 ? "uniform" : "zipf");
}

static void part_precondition(struct kvc *k)
{
	double gib = kvc_number(k, "precondition-size-gb", 0);

	if (!kvc_true(k, "precondition"))
		return;
	if (gib <= 0)
		gib = 2 * kvc_number(k, "storage-capacity-gb", 0);
	if (gib > 0)
		kvc_put_number(k, "precondition", floor(gib * GiB / part_tensor(k)));
	else
		kvc_found(k, IMPORT_LEFT, "precondition",
			  "it needs precondition-size-gb or storage-capacity-gb");
}

/* The health criteria of the original for latency, as far as they are of whole entries. They are no
 * part of its score. */
static void part_profile(struct kvc *k)
{
	const char *profile = kvc_text(k, "performance-profile", "");

	if (strcmp(profile, "latency") == 0) {
		kvc_put_number(k, "target_read_p95", 0.2);
		kvc_put_number(k, "target_hit_rate", 0.3);
		kvc_found(
			k, IMPORT_CHANGED, "performance-profile",
			"its criteria for reads and hits become targets; haul has none for writes "
			"and for memory");
	} else if (*profile) {
		kvc_found(k, IMPORT_LEFT, "performance-profile",
			  "its criteria are that bytes move at all");
	}
}

void kvc_add_modes(struct kvc *k)
{
	if (kvc_true(k, "disable-multi-turn"))
		kvc_put(k, "conversation.enabled", cJSON_CreateFalse());
	if (kvc_true(k, "disable-prefix-caching"))
		kvc_put(k, "prefix.enabled", cJSON_CreateFalse());
	if (kvc_true(k, "prefill-only"))
		kvc_put_text(k, "mode", "prefill");
	if (kvc_true(k, "decode-only"))
		kvc_put_text(k, "mode", "decode");
	part_precondition(k);
	part_profile(k);
}

/* Autoscaling changes no load in the original; the options of haul do what its flags and keys
 * promise. */
static const struct {
	const char *from, *to;
	double scale;
	bool unused; /* the original has a constant in its place */
} settings[] = {
	{"target-saturation", "autoscaling.target", 1, false},
	{"autoscaler.min_users", "autoscaling.users_min", 1, false},
	{"autoscaler.scale_up_factor", "autoscaling.up", 1, true},
	{"autoscaler.scale_down_factor", "autoscaling.down", 1, true},
	{"autoscaler.consecutive_samples_required", "autoscaling.samples", 1, true},
	{"saturation_detection.read_latency_p95_threshold_ms", "autoscaling.read_p95", 0.001, true},
	{"saturation_detection.write_latency_p95_threshold_ms", "autoscaling.write_p95", 0.001,
	 true},
	{"saturation_detection.queue_depth_threshold", "autoscaling.waiting", 1, true},
	{"saturation_detection.history_window_size", "autoscaling.history", 1, true},
};

/* Why there can be none; NULL: there can. */
static const char *autoscaling_refused(const struct kvc *k)
{
	if (!kvc_true(k, "enable-autoscaling"))
		return "there is no enable-autoscaling";
	if (part_recorded(k))
		return "the requests are recorded, so there are no users to change";
	if (kvc_at(k, "io-trace-log"))
		return "a trace has no latencies to decide by";
	return NULL;
}

static void autoscaling_leave(struct kvc *k, const char *why)
{
	static const char *const parts[] = {"enable-autoscaling", "autoscaler-mode",
					    "target-saturation", "autoscaler",
					    "saturation_detection"};

	for (size_t i = 0; i < COUNT(parts); i++)
		if (kvc_at(k, parts[i]))
			kvc_found(k, IMPORT_LEFT, parts[i], why);
}

void kvc_add_autoscaling(struct kvc *k)
{
	const char *why = autoscaling_refused(k);
	double users = kvc_number(k, "num-users", 100);
	double most = kvc_number(k, "autoscaler.max_users", users_most);

	if (why) {
		autoscaling_leave(k, why);
		return;
	}
	kvc_put_text(k, "autoscaling.mode", kvc_text(k, "autoscaler-mode", "qos"));
	kvc_put_number(k, "autoscaling.users_max", most > users ? most : users);
	for (size_t i = 0; i < COUNT(settings); i++) {
		const char *from = settings[i].from;

		if (!kvc_at(k, from))
			continue;
		kvc_put_number(k, settings[i].to, kvc_number(k, from, 0) * settings[i].scale);
		if (settings[i].unused)
			kvc_found(k, IMPORT_CHANGED, from,
				  "the original reads it and decides nothing by it; haul does");
	}
	kvc_found(k, IMPORT_CHANGED, "enable-autoscaling",
		  "the original starts and stops no user, so it changes no load; haul does");
}

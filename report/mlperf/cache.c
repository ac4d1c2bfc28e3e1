/* SPDX-License-Identifier: Apache-2.0 */
/* The leaf of key-value caches: all options and trials of a series are one. */

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/json_path.h"
#include "core/measure/quantile.h"
#include "core/units.h"
#include "report/cache.h"
#include "report/mlperf/leaf.h"

static const double ms_ns = 1e6;
enum { OPTIONS_OTHER = 4 };

static bool cache_is_measured(const struct mlperf_phase *p)
{
	return phase_purpose(p->phase) == PURPOSE_CACHE && !cache_serves(p->phase) &&
	       !p->phase->record.warmup;
}

static const char *cache_model(const struct mlperf_phase *p)
{
	const char *name = json_text_at(p->tree, "job.model.name", "");

	return *name ? name : p->phase->record.name;
}

/* The option of the rules that the phase is, else a number after those. */
static unsigned cache_option(const struct mlperf_phase *p)
{
	double users = json_number_at(p->tree, "job.users", 0);
	const char *model = json_text_at(p->tree, "job.model.name", "");

	if (strcmp(model, "llama3.1-8b") == 0 && users == 200)
		return 1;
	if (strcmp(model, "llama3.1-8b") == 0 && users == 100)
		return 2;
	if (strncmp(model, "llama3.1-70b", strlen("llama3.1-70b")) == 0)
		return 3;
	return OPTIONS_OTHER + (unsigned)p->phase->record.number;
}

/* Added over the ranks, as the benchmark does. */
static double cache_sum(const struct mlperf_phase *p, enum role role)
{
	const struct results_table *ranks = results_ranks(p->phase);
	double sum = 0;

	for (uint64_t i = 0; i < ranks->row_count; i++) {
		double value = results_role_value(ranks, i, role);

		sum += isfinite(value) ? value : 0;
	}
	return sum;
}

static void cache_rank(cJSON *to, const struct results_table *ranks, uint64_t i,
		       const struct mlperf_phase *p)
{
	static const struct {
		const char *key;
		double unit;
		enum role role;
		bool stats;
	} figures[] = {
		{"avg_throughput_tokens_per_sec", 1, ROLE_TOKEN_RATE, false},
		{"storage_throughput_tokens_per_sec", 1, ROLE_WAITED_TOKEN_RATE, false},
		{"tier_storage_read_bandwidth_gbps", 1073741824.0, ROLE_ENTRY_READ_RATE, true},
		{"tier_storage_write_bandwidth_gbps", 1073741824.0, ROLE_ENTRY_WRITE_RATE, true},
		{"storage_read_p95_ms", 1e6, ROLE_READ_P95, true},
		{"storage_write_p95_ms", 1e6, ROLE_WRITE_P95, true},
		{"storage_read_device_p95_ms", 1e6, ROLE_READ_DEVICE_P95, true},
		{"storage_write_device_p95_ms", 1e6, ROLE_WRITE_DEVICE_P95, true},
	};
	cJSON *summary = cJSON_AddObjectToObject(to, "summary"), *stats;

	json_add_number(to, "seed", json_number_at(p->tree, "seed", 0));
	json_add_number(summary, "elapsed_time", json_number_at(p->tree, "job.duration", 0));
	stats = cJSON_AddObjectToObject(summary, "cache_stats");
	for (size_t k = 0; k < sizeof(figures) / sizeof(*figures); k++) {
		double value = results_role_value(ranks, i, figures[k].role);

		if (isfinite(value))
			json_add_number(figures[k].stats ? stats : summary, figures[k].key,
					value / figures[k].unit);
	}
}

static void cache_trial(const struct tree_folder *leaf, const struct mlperf_phase *p,
			unsigned trial)
{
	const struct results_table *ranks = results_ranks(p->phase);
	char stamp[LEAF_STAMP_BYTES], name[96];
	uint64_t last = 0;

	leaf_stamp(stamp, p, &last);
	for (uint64_t i = 0; i < ranks->row_count; i++) {
		struct tree_folder rank =
			place_below(leaf, "option_%u/trial_%u/rank_%llu", cache_option(p), trial,
				    (unsigned long long)i);
		cJSON *json = json_object();

		cache_rank(json, ranks, i, p);
		snprintf(name, sizeof(name), "kvcache_results_%s.json", stamp);
		place_json(&rank, name, json);
	}
	snprintf(name, sizeof(name), "kvcache_opt%u_trial%u_%s.stdout.log", cache_option(p), trial,
		 stamp);
	place_text(leaf, name, p->phase->record.message);
	snprintf(name, sizeof(name), "kvcache_opt%u_trial%u_%s.stderr.log", cache_option(p), trial,
		 stamp);
	place_text(leaf, name, p->phase->record.error);
}

/* Means over the trials, of percentiles the greatest. */
struct cache_sums {
	double read, write, tokens, waited, latency, read_device, write_device;
	unsigned trials;
	uint64_t ranks;
	bool failed, memory_tier;
};

static void cache_add(struct cache_sums *s, const struct mlperf_phase *p)
{
	const struct results_phase_read *phase = p->phase;
	const struct results_hist *h;
	const cJSON *tier;

	s->trials++;
	s->ranks = results_ranks(phase)->row_count;
	s->failed |= strcmp(phase->record.status, "failed") == 0;
	s->read += cache_sum(p, ROLE_ENTRY_READ_RATE) / GiB;
	s->write += cache_sum(p, ROLE_ENTRY_WRITE_RATE) / GiB;
	s->tokens += cache_sum(p, ROLE_TOKEN_RATE);
	s->waited += cache_sum(p, ROLE_WAITED_TOKEN_RATE);
	s->read_device = fmax(s->read_device,
			      results_role_value(&phase->merged, 0, ROLE_READ_DEVICE_P95) / ms_ns);
	s->write_device =
		fmax(s->write_device,
		     results_role_value(&phase->merged, 0, ROLE_WRITE_DEVICE_P95) / ms_ns);
	phase = results_whole(phase);
	for (uint32_t i = 0; i < phase->hist_count; i++) {
		h = &phase->hists[i];
		if (strcmp(h->name, "request") == 0)
			s->latency = fmax(s->latency,
					  (double)quantile_ns(&h->hist, QUANTILE_P95) / ms_ns);
	}
	cJSON_ArrayForEach(tier, json_at(p->tree, "job.tiers"))
	{
		s->memory_tier |= strcmp(json_text_at(tier, "kind", ""), "cpu") == 0;
	}
}

static void cache_put_option(cJSON *options, const struct cache_sums *s, unsigned option)
{
	cJSON *one, *ranks;
	char key[16];

	snprintf(key, sizeof(key), "%u", option);
	one = cJSON_AddObjectToObject(options, key);
	json_add_number(one, "option", option);
	json_add_number(one, "aggregated_read_bandwidth_gbps", s->read / s->trials);
	json_add_number(one, "aggregated_write_bandwidth_gbps", s->write / s->trials);
	json_add_number(one, "aggregated_avg_throughput_tokens_per_sec", s->tokens / s->trials);
	json_add_number(one, "aggregated_storage_throughput_tokens_per_sec", s->waited / s->trials);
	json_add_number(one, "aggregated_p95_latency_ms", s->latency);
	json_add_number(one, "aggregated_device_read_p95_ms", s->read_device);
	json_add_number(one, "aggregated_device_write_p95_ms", s->write_device);
	json_add_number(one, "rank_count", (double)s->ranks);
	json_add_number(one, "trial_count", s->trials);
	cJSON_AddBoolToObject(one, "partial_failure", s->failed);
	cJSON_AddArrayToObject(one, "missing_files");
	ranks = cJSON_AddArrayToObject(one, "cpu_tier_ranks");
	for (uint64_t i = 0; s->memory_tier && i < s->ranks; i++)
		cJSON_AddItemToArray(ranks, json_number((double)i));
}

static void cache_head(cJSON *to, const struct mlperf_phase *p, const char *stamp, unsigned trials)
{
	json_add_text(to, "schema_version", "1.0");
	json_add_text(to, "run_datetime", stamp);
	json_add_number(to, "npernode", json_number_at(p->tree, "ranks_per_node", 0));
	json_add_number(to, "host_count", json_number_at(p->tree, "nodes", 0));
	json_add_number(to, "total_ranks", json_number_at(p->tree, "ranks", 0));
	json_add_number(to, "trials_per_option", trials);
}

/* Whether an earlier phase is of the same option. */
static bool cache_is_known(const struct mlperf_export *e, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (cache_is_measured(&e->phases[k]) &&
		    cache_option(&e->phases[k]) == cache_option(&e->phases[i]))
			return true;
	return false;
}

void leaf_caches(const struct tree_folder *system, const struct mlperf_export *e)
{
	const struct mlperf_phase *first = NULL;
	cJSON *summary = json_object(), *options = cJSON_CreateObject();
	char stamp[LEAF_STAMP_BYTES];
	uint64_t last = 0;
	unsigned trials = 0;
	bool failed = false;
	struct tree_folder leaf;

	for (uint32_t i = 0; i < e->count; i++) {
		struct cache_sums sums = {0};

		if (!cache_is_measured(&e->phases[i]) || cache_is_known(e, i))
			continue;
		if (!first) {
			first = &e->phases[i];
			leaf_stamp(stamp, first, &last);
			leaf = place_below(system, "kv_cache/%s/run/%s", cache_model(first), stamp);
		}
		for (uint32_t k = i; k < e->count; k++) {
			if (!cache_is_measured(&e->phases[k]) ||
			    cache_option(&e->phases[k]) != cache_option(&e->phases[i]))
				continue;
			cache_trial(&leaf, &e->phases[k], sums.trials);
			cache_add(&sums, &e->phases[k]);
		}
		cache_put_option(options, &sums, cache_option(&e->phases[i]));
		trials = sums.trials > trials ? sums.trials : trials;
		failed |= sums.failed;
	}
	if (first) {
		cache_head(summary, first, stamp, trials);
		cJSON_AddItemToObject(summary, "options", options);
		cJSON_AddBoolToObject(summary, "partial_failure", failed);
		cJSON_AddObjectToObject(summary, "trial_failures");
		place_json(&leaf, "summary.json", summary);
		leaf_metadata(&leaf, e, first, "kv_cache", "run", stamp);
	} else {
		json_free(summary);
		cJSON_Delete(options);
	}
}

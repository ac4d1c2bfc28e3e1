/* SPDX-License-Identifier: Apache-2.0 */
/* Trees that rules are judged of: see phase_tree.h. */
#include "plan/phase_tree.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/json_path.h"
#include "workloads/model/model.h"

static cJSON *tree_copy(cJSON *to, const char *key, const cJSON *value)
{
	cJSON *copy = value ? cJSON_Duplicate(value, 1) : NULL;

	if (copy)
		cJSON_AddItemToObject(to, key, copy);
	return copy;
}

void phase_tree_name_model(struct cJSON *keys)
{
	cJSON *model = json_at(keys, "model");
	const struct model numbers = {
		.vocabulary = json_whole_at(model, "vocabulary", 0),
		.hidden = json_whole_at(model, "hidden", 0),
		.feed_forward = json_whole_at(model, "feed_forward", 0),
		.layers = json_whole_at(model, "layers", 0),
		.heads = json_whole_at(model, "heads", 0),
		.kv_heads = json_whole_at(model, "kv_heads", 0),
	};
	const char *name = model_known(&numbers);

	if (!name || strcmp(json_text_at(model, "name", ""), "custom") != 0)
		return;
	cJSON_DeleteItemFromObjectCaseSensitive(model, "name");
	json_add_text(model, "name", name);
}

static void tree_stores(cJSON *to, const cJSON *job_json, const cJSON *keys, const char *store)
{
	const cJSON *several = json_at(job_json, "datasets");
	const cJSON *dataset = several ? cJSON_GetObjectItemCaseSensitive(
						 several, json_text_at(keys, "dataset", ""))
				       : json_at(job_json, "dataset");
	cJSON *copy;
	char scheme[32];

	if (json_at(keys, "dataset"))
		tree_copy(to, "dataset", dataset);
	copy = tree_copy(to, "store",
			 cJSON_GetObjectItemCaseSensitive(json_at(job_json, "stores"), store));
	if (copy && sscanf(json_text_at(copy, "uri", ""), "%31[a-z0-9+]", scheme) == 1)
		json_add_text(copy, "scheme", scheme);
}

void phase_tree_checkpoints(const struct job *job, const struct cJSON *job_json, double *written,
			    double *read)
{
	for (uint32_t i = 0; i < job->phase_count; i++) {
		const cJSON *keys = json_at(job_json, job->phases[i].path);
		const char *operation = json_text_at(keys, "operation", "");
		double count = json_number_at(keys, "count", 0);

		if (workload_purpose(&job->phases[i]) != PURPOSE_CHECKPOINTS)
			continue;
		*written += strcmp(operation, "read") == 0 ? 0 : count;
		*read += strcmp(operation, "write") == 0 ? 0 : count;
	}
}

static void tree_whole(cJSON *to, const struct job *job, const cJSON *job_json,
		       const struct job_phase *phase)
{
	double written = 0, read = 0, caches = 0;
	cJSON *whole = cJSON_AddObjectToObject(to, "whole");

	phase_tree_checkpoints(job, job_json, &written, &read);
	for (uint32_t i = 0; &job->phases[i] != phase; i++)
		caches += workload_purpose(&job->phases[i]) == PURPOSE_CACHE;
	json_add_number(whole, "caches_before", caches);
	json_add_number(whole, "checkpoints_written", written);
	json_add_number(whole, "checkpoints_read", read);
}

static void tree_tiers(cJSON *needs, const cJSON *keys)
{
	const cJSON *tier;
	double memory = 0;

	cJSON_ArrayForEach(tier, json_at(keys, "tiers"))
	{
		memory += strcmp(json_text_at(tier, "kind", ""), "store") == 0
				  ? 0
				  : json_number_at(tier, "capacity", 0);
	}
	json_add_number(needs, "memory_tier_bytes", memory);
}

static void tree_needs(cJSON *to, const cJSON *dataset, const cJSON *phase, double nodes,
		       double memory, enum purpose purpose)
{
	double per_file = json_number_at(dataset, "samples_per_file", 0);
	double file = per_file * json_number_at(dataset, "sample_bytes", 0);
	double checkpoint = json_number_at(phase, "totals.bytes", 0);
	cJSON *needs = cJSON_AddObjectToObject(to, "needs");
	double per_step = per_file > 0 ? json_number_at(phase, "global_batch", 0) / per_file : 0;

	if (per_step > 0) {
		json_add_number(needs, "files_per_step", per_step);
		/* The most steps whose files, rounded down, are there. */
		json_add_number(needs, "steps",
				ceil((json_number_at(phase, "files", 0) + 1) / per_step) - 1);
	}
	if (file > 0 && memory > 0)
		json_add_number(needs, "files_of_memory", nodes * memory / file);
	if (checkpoint > 0)
		json_add_number(needs, "bytes_per_node", checkpoint / nodes);
	if (purpose == PURPOSE_CACHE)
		tree_tiers(needs, json_at(to, "job"));
}

struct cJSON *phase_tree_of(const struct job *job, const struct plan *plan,
			    const struct cJSON *job_json, const struct cJSON *plan_json, uint32_t i,
			    double memory)
{
	const struct job_phase *p = plan->phases[i].phase;
	const cJSON *phase = cJSON_GetArrayItem(json_at(plan_json, "phases"), (int)i);
	const cJSON *keys = json_at(job_json, p->path);
	cJSON *tree = json_object();

	json_add_text(tree, "kind", p->section->name);
	json_add_text(tree, "name", p->name);
	json_add_number(tree, "seed", (double)job->seed);
	json_add_number(tree, "ranks", plan->phases[i].ranks);
	json_add_number(tree, "nodes", plan->phases[i].nodes);
	json_add_number(tree, "ranks_per_node", plan->phases[i].ranks_per_node);
	if (memory > 0)
		json_add_number(tree, "node_memory_bytes", memory);
	phase_tree_name_model(tree_copy(tree, "job", keys));
	tree_stores(tree, job_json, keys, plan->phases[i].stores[0].store->name);
	tree_copy(tree, "plan", phase);
	tree_whole(tree, job, job_json, p);
	tree_needs(tree, json_at(tree, "dataset"), phase, plan->nodes, memory,
		   workload_purpose(plan->phases[i].phase));
	return tree;
}

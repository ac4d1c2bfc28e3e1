/* SPDX-License-Identifier: Apache-2.0 */
/* Trees that rules are judged of: see check_tree.h. */
#include "cli/check_tree.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "workloads/model/model.h"

static const cJSON *tree_get(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

static double tree_number(const cJSON *object, const char *key)
{
	const cJSON *value = tree_get(object, key);

	return cJSON_IsNumber(value) ? value->valuedouble : 0;
}

static const char *tree_text(const cJSON *object, const char *key)
{
	const cJSON *value = tree_get(object, key);

	return cJSON_IsString(value) ? value->valuestring : "";
}

/* What a path such as "/phases/0/together/1/train" names. */
static const cJSON *tree_at(const cJSON *at, const char *path)
{
	char part[JOB_NAME_BYTES];

	while (at && *path == '/') {
		size_t n = strcspn(++path, "/");

		snprintf(part, sizeof(part), "%.*s", (int)n, path);
		at = cJSON_IsArray(at) ? cJSON_GetArrayItem(at, atoi(part)) : tree_get(at, part);
		path += n;
	}
	return at;
}

static cJSON *tree_copy(cJSON *to, const char *key, const cJSON *value)
{
	cJSON *copy = value ? cJSON_Duplicate(value, 1) : NULL;

	if (copy)
		cJSON_AddItemToObject(to, key, copy);
	return copy;
}

/* A model that is given by its numbers, as imports do, has the name that rules know it by. */
static void tree_name_model(cJSON *keys)
{
	cJSON *model = cJSON_GetObjectItemCaseSensitive(keys, "model");
	const struct model numbers = {
		.vocabulary = (uint64_t)tree_number(model, "vocabulary"),
		.hidden = (uint64_t)tree_number(model, "hidden"),
		.feed_forward = (uint64_t)tree_number(model, "feed_forward"),
		.layers = (uint64_t)tree_number(model, "layers"),
		.heads = (uint64_t)tree_number(model, "heads"),
		.kv_heads = (uint64_t)tree_number(model, "kv_heads"),
	};
	const char *name = model_known(&numbers);

	if (!name || strcmp(tree_text(model, "name"), "custom") != 0)
		return;
	cJSON_DeleteItemFromObjectCaseSensitive(model, "name");
	json_add_text(model, "name", name);
}

static void tree_stores(cJSON *to, const cJSON *job_json, const cJSON *keys, const char *store)
{
	const cJSON *several = tree_get(job_json, "datasets");
	const cJSON *dataset = several ? tree_get(several, tree_text(keys, "dataset"))
				       : tree_get(job_json, "dataset");
	cJSON *copy;
	char scheme[32];

	if (tree_get(keys, "dataset"))
		tree_copy(to, "dataset", dataset);
	copy = tree_copy(to, "store", tree_get(tree_get(job_json, "stores"), store));
	if (copy && sscanf(tree_text(copy, "uri"), "%31[a-z0-9+]", scheme) == 1)
		json_add_text(copy, "scheme", scheme);
}

/* Checkpoints that all phases of the job write, and read, and caches before this phase. */
static void tree_whole(cJSON *to, const struct job *job, const cJSON *job_json,
		       const struct job_phase *phase)
{
	double written = 0, read = 0, caches = 0;
	cJSON *whole = cJSON_AddObjectToObject(to, "whole");

	for (uint32_t i = 0; i < job->phase_count; i++) {
		const cJSON *keys = tree_at(job_json, job->phases[i].path);
		const char *operation = tree_text(keys, "operation");
		double count = tree_number(keys, "count");

		if (strcmp(job->phases[i].section->name, "checkpoint") != 0)
			continue;
		written += strcmp(operation, "read") == 0 ? 0 : count;
		read += strcmp(operation, "write") == 0 ? 0 : count;
	}
	for (uint32_t i = 0; &job->phases[i] != phase; i++)
		caches += strcmp(job->phases[i].section->name, "kvcache") == 0;
	json_add_number(whole, "caches_before", caches);
	json_add_number(whole, "checkpoints_written", written);
	json_add_number(whole, "checkpoints_read", read);
}

static void tree_tiers(cJSON *needs, const cJSON *keys)
{
	const cJSON *tier;
	double memory = 0;

	cJSON_ArrayForEach(tier, tree_get(keys, "tiers"))
	{
		memory += strcmp(tree_text(tier, "kind"), "store") == 0
				  ? 0
				  : tree_number(tier, "capacity");
	}
	json_add_number(needs, "memory_tier_bytes", memory);
}

static void tree_needs(cJSON *to, const cJSON *dataset, const cJSON *phase, double nodes,
		       double memory)
{
	double per_file = tree_number(dataset, "samples_per_file");
	double file = per_file * tree_number(dataset, "sample_bytes");
	double checkpoint = tree_number(tree_get(phase, "totals"), "bytes");
	cJSON *needs = cJSON_AddObjectToObject(to, "needs");
	double per_step = per_file > 0 ? tree_number(phase, "global_batch") / per_file : 0;

	if (per_step > 0) {
		json_add_number(needs, "files_per_step", per_step);
		/* The most steps whose files, rounded down, are there. */
		json_add_number(needs, "steps",
				ceil((tree_number(phase, "files") + 1) / per_step) - 1);
	}
	if (file > 0 && memory > 0)
		json_add_number(needs, "files_of_memory", nodes * memory / file);
	if (checkpoint > 0)
		json_add_number(needs, "bytes_per_node", checkpoint / nodes);
	if (strcmp(tree_text(to, "kind"), "kvcache") == 0)
		tree_tiers(needs, tree_get(to, "job"));
}

struct cJSON *check_tree_of(const struct job *job, const struct plan *plan,
			    const struct cJSON *job_json, const struct cJSON *plan_json, uint32_t i,
			    double memory)
{
	const struct job_phase *p = plan->phases[i].phase;
	const cJSON *phase = cJSON_GetArrayItem(tree_get(plan_json, "phases"), (int)i);
	const cJSON *keys = tree_at(job_json, p->path);
	cJSON *tree = json_object();

	json_add_text(tree, "kind", p->section->name);
	json_add_text(tree, "name", p->name);
	json_add_number(tree, "seed", (double)job->seed);
	json_add_number(tree, "ranks", plan->phases[i].ranks);
	json_add_number(tree, "nodes", plan->phases[i].nodes);
	json_add_number(tree, "ranks_per_node", plan->phases[i].ranks_per_node);
	if (memory > 0)
		json_add_number(tree, "node_memory_bytes", memory);
	tree_name_model(tree_copy(tree, "job", keys));
	tree_stores(tree, job_json, keys, plan->phases[i].stores[0].store->name);
	tree_copy(tree, "plan", phase);
	tree_whole(tree, job, job_json, p);
	tree_needs(tree, tree_get(tree, "dataset"), phase, plan->nodes, memory);
	return tree;
}

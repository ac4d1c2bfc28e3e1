/* SPDX-License-Identifier: Apache-2.0 */
/* Resolved job as text: every option with its value, so that results.h5 records what ran. */
#include <string.h>

#include "core/job/internal.h"
#include "core/json.h"

static bool text_add(cJSON *object, const char *key, cJSON *item)
{
	if (item && cJSON_AddItemToObject(object, key, item))
		return true;
	cJSON_Delete(item);
	return false;
}

static bool text_add_stores(cJSON *root, const struct job *job)
{
	cJSON *stores = cJSON_AddObjectToObject(root, "stores");
	const struct job_store *s;
	uint32_t i;

	for (i = 0; i < job->store_count && stores; i++) {
		s = &job->stores[i];
		if (!text_add(stores, s->name, options_to_json(s->section->tables, s->options)))
			return false;
	}
	return stores != NULL;
}

static bool text_add_datasets(cJSON *root, const struct job *job, const struct job_schema *schema)
{
	const struct job_dataset *d = job->datasets;
	cJSON *into = root;
	uint32_t i;

	if (!job->dataset_count)
		return true;
	if (!d->name[0])
		return text_add(root, "dataset",
				options_to_json(schema->dataset->tables, d->options));
	into = cJSON_AddObjectToObject(root, "datasets");
	for (i = 0; i < job->dataset_count && into; i++, d++)
		if (!text_add(into, d->name, options_to_json(schema->dataset->tables, d->options)))
			return false;
	return into != NULL;
}

static bool text_append(cJSON *list, cJSON *item)
{
	if (list && item && cJSON_AddItemToArray(list, item))
		return true;
	cJSON_Delete(item);
	return false;
}

static bool text_move(cJSON *to, cJSON *from)
{
	bool ok = true;

	while (ok && from->child) {
		cJSON *item = cJSON_DetachItemViaPointer(from, from->child);

		ok = text_add(to, item->string, item);
	}
	return ok;
}

/* {"together": [...], ...}, in which the caller puts the phases. */
static cJSON *text_together(const struct job_together *together, cJSON **members)
{
	cJSON *object = cJSON_CreateObject();
	cJSON *own = options_to_json(job_together_tables, together);
	bool ok;

	*members = object ? cJSON_AddArrayToObject(object, JOB_TOGETHER) : NULL;
	ok = *members && own && text_move(object, own);
	cJSON_Delete(own);
	if (ok)
		return object;
	cJSON_Delete(object);
	return NULL;
}

/* The options that all phases have come first, then those of the kind, then its targets. */
static cJSON *phase_to_json(const struct job_phase *phase)
{
	cJSON *object =
		options_to_json(phase->together ? job_member_tables : job_phase_tables, phase);
	cJSON *own = options_to_json(phase->section->tables, phase->options), *targets;
	struct job_target_options asked;
	bool ok = object && own;

	job_target_options(&asked, phase->section);
	targets = options_to_json(asked.tables, phase->targets);
	if (ok && !phase->store[0])
		cJSON_DeleteItemFromObjectCaseSensitive(object, "store");
	if (ok && phase->together)
		cJSON_DeleteItemFromObjectCaseSensitive(object,
							phase->set.nodes[0] ? "ranks" : "nodes");
	ok = ok && text_move(object, own) && targets && text_move(object, targets);
	cJSON_Delete(own);
	cJSON_Delete(targets);
	if (ok)
		return object;
	cJSON_Delete(object);
	return NULL;
}

/* {"kind": {...}} */
static cJSON *text_phase(const struct job_phase *phase)
{
	cJSON *object = cJSON_CreateObject();

	if (object && text_add(object, phase->section->name, phase_to_json(phase)))
		return object;
	cJSON_Delete(object);
	return NULL;
}

static bool text_add_phases(cJSON *root, const struct job *job)
{
	cJSON *phases = cJSON_AddArrayToObject(root, "phases"), *into = phases;
	const struct job_together *open = NULL;

	for (uint32_t i = 0; i < job->phase_count && phases; i++) {
		const struct job_phase *phase = &job->phases[i];

		if (phase->together != open)
			into = phases;
		if (phase->together && phase->together != open &&
		    !text_append(phases, text_together(phase->together, &into)))
			return false;
		open = phase->together;
		if (!text_append(into, text_phase(phase)))
			return false;
	}
	return phases != NULL;
}

char *job_text(const struct job *job, const struct job_schema *schema)
{
	cJSON *root = options_to_json(job_tables, job);
	char *text = NULL;

	if (root && text_add(root, "cluster", options_to_json(job_cluster_tables, &job->cluster)) &&
	    text_add_stores(root, job) && text_add_datasets(root, job, schema) &&
	    text_add_phases(root, job))
		text = json_print(root);
	cJSON_Delete(root);
	return text;
}

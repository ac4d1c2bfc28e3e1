/* SPDX-License-Identifier: Apache-2.0 */
/* `haul plan --json`: keys are added, never renamed. Sizes are in bytes, times in seconds, and the
 * seed is a decimal string. Unbounded figures (a demand without compute time) are null. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>

#include "core/json.h"
#include "facts/json.h"
#include "plan/datasize.h"
#include "plan/found.h"
#include "plan/notes.h"
#include "plan/option_ref.h"
#include "plan/rows.h"
#include "plan/space.h"
#include "plan/together.h"
#include "workloads/dataset/dataset.h"

/* What is there of it already, where that was looked at. */
static void dataset_add_found(cJSON *json, const struct job *job,
			      const struct job_dataset *described)
{
	struct there f;
	cJSON *there;

	found_look(job, described, &f);
	if (f.state == FOUND_UNKNOWN)
		return;
	there = cJSON_AddObjectToObject(json, "there");
	cJSON_AddStringToObject(there, "state", found_names[f.state]);
	json_add_number(there, "files", (double)f.files);
	if (f.why[0])
		cJSON_AddStringToObject(there, "why", f.why);
}

static cJSON *dataset_json(const struct plan *plan, const struct job *job,
			   const struct job_dataset *described)
{
	const struct dataset_options *options = described->options;
	const struct job_store *store = look_store(job, options);
	cJSON *json = cJSON_CreateObject();
	struct dataset d;

	if (dataset_init(&d, options, job->seed, "", NULL) < 0)
		return json;
	cJSON_AddStringToObject(json, "name", described->name);
	cJSON_AddStringToObject(json, "store", store ? store->name : "");
	cJSON_AddStringToObject(json, "format", format_names[d.options.format]);
	json_add_number(json, "files", (double)options->files);
	json_add_number(json, "samples", (double)d.samples);
	json_add_number(json, "bytes", dataset_bytes_expected(&d));
	if (!plan->past)
		dataset_add_found(json, job, described);
	return json;
}

/* Free space on a store's file system; null where it cannot be told from here. */
static cJSON *space_json(const struct plan *plan, const struct job_store *store,
			 const struct phase_store *asked)
{
	cJSON *json;
	struct space s;

	if (asked && asked->told > 0) {
		json = cJSON_CreateObject();
		json_add_number(json, "free_bytes", asked->free_bytes);
		return json;
	}
	if (plan->past || !store || !space_look(store, &s))
		return cJSON_CreateNull();
	json = cJSON_CreateObject();
	cJSON_AddStringToObject(json, "path", s.path);
	json_add_number(json, "free_bytes", s.free_bytes);
	json_add_number(json, "free_inodes", s.inodes_counted ? (double)s.free_inodes : NAN);
	return json;
}

static double datasize_missing(const void *row, int which)
{
	const struct datasize *s = row;

	(void)which;
	return s->has < s->files ? (double)(s->files - s->has) : 0;
}

static double datasize_folders(const void *row, int each)
{
	const struct datasize *s = row;

	return !s->folders ? NAN : (double)(each ? s->files_per_folder : s->folders);
}

#define SIZE(type, member, key) COLUMN(type, struct datasize, member, key, NULL)
static const struct column datasize_columns[] = {
	SIZE(U64, files, "files"),
	SIZE(U64, files_steps, "files_for_steps"),
	SIZE(U64, files_memory, "files_for_memory"),
	SIZE(REAL, bytes, "bytes"),
	SIZE(U64, inodes, "inodes"),
	SIZE(U64, advised_folders, "folders_advised"),
	{.type = COLUMN_VALUE, .key = "files_missing", .number = datasize_missing},
	{.type = COLUMN_VALUE, .key = "folders", .number = datasize_folders},
	{.type = COLUMN_VALUE, .key = "files_per_folder", .number = datasize_folders, .which = 1},
	COLUMNS_END};

static void plan_add_datasize(cJSON *to, const struct plan *plan, const struct job *job,
			      const struct plan_phase *p)
{
	struct datasize s;
	cJSON *json;

	if (!datasize_of(plan, job, p, &s))
		return;
	json = cJSON_AddObjectToObject(to, "datasize");
	cJSON_AddStringToObject(json, "dataset", s.dataset->name);
	json_add_number(json, "node_memory_bytes", plan->node_memory_bytes);
	json_row(json, datasize_columns, &s);
	cJSON_AddItemToObject(json, "space", space_json(plan, s.store, NULL));
}

/* Keys of the phase itself: its totals over all stores, and the free space on the first store. */
static void plan_add_stores(cJSON *to, const struct plan *plan, const struct plan_phase *p)
{
	cJSON *list = cJSON_AddArrayToObject(to, "stores");
	double bytes = 0, inodes = 0;

	for (uint32_t i = 0; i < p->store_count; i++) {
		const struct phase_store *s = &p->stores[i];
		cJSON *json = cJSON_CreateObject();

		cJSON_AddStringToObject(json, "role", s->role);
		cJSON_AddStringToObject(json, "store", s->store->name);
		json_add_number(json, "space_bytes", s->space_bytes);
		json_add_number(json, "inodes", (double)s->inodes);
		if (s->space_bytes > 0 || s->inodes)
			cJSON_AddItemToObject(json, "space", space_json(plan, s->store, s));
		cJSON_AddItemToArray(list, json);
		bytes += s->space_bytes;
		inodes += (double)s->inodes;
	}
	json_add_number(to, "space_bytes", bytes);
	json_add_number(to, "inodes", inodes);
	if (bytes > 0 || inodes > 0)
		cJSON_AddItemToObject(to, "space",
				      space_json(plan, p->stores[0].store, &p->stores[0]));
}

static cJSON *phase_json(const struct plan *plan, const struct job *job, const struct plan_phase *p)
{
	cJSON *json = cJSON_CreateObject();
	uint64_t after_ns = job_phase_after_ns(p->phase, p > plan->phases ? p[-1].phase : NULL);

	json_row(json, plan_phase_columns, p);
	plan_add_stores(json, plan, p);
	json_row(json, plan_demand_columns, p);
	plan_rows_json(json, p);
	if (after_ns)
		json_add_number(json, "after_seconds", (double)after_ns / 1e9);
	if (p->phase->together) {
		json_add_number(json, "ranks", p->ranks);
		json_add_number(json, "nodes", p->nodes);
	}
	plan_add_datasize(json, plan, job, p);
	return json;
}

static void plan_add_datasets(cJSON *json, const struct plan *plan, const struct job *job)
{
	cJSON *all;
	uint32_t i;

	if (!job->dataset_count)
		return;
	cJSON_AddItemToObject(json, "dataset", dataset_json(plan, job, &job->datasets[0]));
	if (job->dataset_count == 1)
		return;
	all = cJSON_AddArrayToObject(json, "datasets");
	for (i = 0; i < job->dataset_count; i++)
		cJSON_AddItemToArray(all, dataset_json(plan, job, &job->datasets[i]));
}

static void plan_add_interfaces(cJSON *json, const struct job *job)
{
	cJSON *all = NULL, *list;

	for (uint32_t i = 0; i < job->store_count; i++) {
		const struct texts *names = store_interfaces(&job->stores[i]);

		if (!names)
			continue;
		if (!all)
			all = cJSON_AddObjectToObject(json, "interfaces");
		list = cJSON_AddArrayToObject(all, job->stores[i].name);
		for (uint32_t k = 0; k < names->count; k++)
			cJSON_AddItemToArray(list, cJSON_CreateString(names->items[k]));
	}
}

cJSON *plan_object(const struct plan *plan, const struct job *job)
{
	cJSON *json = cJSON_CreateObject(), *list;
	struct notes notes;
	char seed[24];
	uint32_t i;

	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)job->seed);
	cJSON_AddStringToObject(json, "name", job->name);
	cJSON_AddStringToObject(json, "seed", seed);
	json_add_number(json, "nodes", plan->nodes);
	json_add_number(json, "ranks", plan->ranks);
	plan_add_datasets(json, plan, job);
	plan_add_interfaces(json, job);
	json_add_number(json, "memory_bytes_per_node", (double)plan->memory_bytes_per_node);
	if (plan->results_bytes) {
		json_add_number(json, "results_bytes", (double)plan->results_bytes);
		json_add_number(json, "publication_bytes", (double)plan->publication_bytes);
	}
	list = cJSON_AddArrayToObject(json, "phases");
	for (i = 0; i < plan->phase_count; i++)
		cJSON_AddItemToArray(list, phase_json(plan, job, &plan->phases[i]));
	plan_together_json(json, plan);
	class_json(json, plan->classes, plan->class_count);
	list = cJSON_AddArrayToObject(json, "notes");
	notes_gather(&notes, plan, job);
	for (i = 0; i < notes.count; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(notes.text[i]));
	return json;
}

char *plan_json(const struct plan *plan, const struct job *job)
{
	cJSON *json = plan_object(plan, job);
	char *text = json_print(json);

	cJSON_Delete(json);
	return text;
}

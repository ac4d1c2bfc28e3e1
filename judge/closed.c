/* SPDX-License-Identifier: Apache-2.0 */
/* Phases beside an edition's workloads: see judge.h. */
#include "judge/judge.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/file/cache.h"
#include "core/json.h"
#include "core/json_path.h"
#include "core/uri.h"
#include "import/mlpstorage/import_workload.h"
#include "plan/phase_tree.h"
#include "plan/plan.h"

/* A phase that is compared, as one object: see edition_compare. */
struct closed_shape {
	struct cJSON *json;
	const char *kind;
	uint32_t ranks;
};

bool closed_is_benchmark(const struct job_phase *phase)
{
	enum purpose purpose = workload_purpose(phase);

	return edition_benchmark_of(purpose) || purpose == PURPOSE_SEARCH;
}

const char *closed_edition(const struct editions *editions, const char *edition)
{
	const struct edition_workload *latest = edition_latest(editions, "training", "");

	for (enum purpose i = 0; editions && i <= PURPOSE_CACHE; i++)
		if (edition_benchmark_of(i) &&
		    edition_find(editions, edition, edition_benchmark_of(i), ""))
			return edition;
	return latest ? latest->edition : NULL;
}

static void shape_add(cJSON *to, const char *key, const cJSON *value)
{
	if (value)
		cJSON_AddItemToObject(to, key, cJSON_Duplicate(value, true));
}

/* The name of the store that a phase works on; "": it names none, and the job has one. */
static const char *shape_store(const cJSON *keys, const cJSON *dataset)
{
	const cJSON *tier;
	const char *name = json_text_at(keys, "store", "");

	name = *name ? name : json_text_at(dataset, "store", "");
	cJSON_ArrayForEach(tier, json_at(keys, "tiers"))
	{
		name = *name ? name : json_text_at(tier, "store", "");
	}
	return name;
}

/* Stores are compared themselves, whatever a job calls them; which is whose is left to compare
 * where there are several. */
static void shape_forget(cJSON *keys, const char *store)
{
	const char *named = json_text_at(keys, "store", NULL);

	if (named && (!*named || strcmp(named, store) == 0))
		cJSON_DeleteItemFromObjectCaseSensitive(keys, "store");
}

static void shape_forget_names(cJSON *shape, cJSON *keys, const char *store)
{
	cJSON *saves = cJSON_GetObjectItemCaseSensitive(keys, "checkpoint"), *tier;

	shape_forget(keys, store);
	shape_forget(cJSON_GetObjectItemCaseSensitive(shape, "dataset"), store);
	cJSON_ArrayForEach(tier, cJSON_GetObjectItemCaseSensitive(keys, "tiers"))
	{
		shape_forget(tier, store);
	}
	cJSON_DeleteItemFromObjectCaseSensitive(keys, "dataset");
	if (json_at(shape, "checkpoints"))
		cJSON_DeleteItemFromObjectCaseSensitive(saves, "store");
	else
		shape_forget(saves, store);
}

/* Of a job with all its defaults. path: of the phase. */
static cJSON *shape_of(const cJSON *job, const char *path, const char *kind)
{
	static const char *const apart[] = {"stores", "dataset", "datasets", "phases", "ways"};
	const cJSON *keys = json_at(job, path), *datasets = json_at(job, "datasets"), *one;
	const cJSON *dataset = datasets ? json_at(datasets, json_text_at(keys, "dataset", ""))
					: json_at(job, "dataset");
	const cJSON *stores = json_at(job, "stores"), *store;
	const char *saves = json_text_at(keys, "checkpoint.store", "");
	cJSON *shape = json_object(), *copy;

	cJSON_ArrayForEach(one, job)
	{
		bool is_apart = false;

		for (size_t i = 0; i < sizeof(apart) / sizeof(*apart); i++)
			is_apart |= strcmp(one->string, apart[i]) == 0;
		if (!is_apart)
			shape_add(shape, one->string, one);
	}
	dataset = json_at(keys, "dataset") ? dataset : NULL;
	store = cJSON_GetObjectItemCaseSensitive(stores, shape_store(keys, dataset));
	store = store ? store : stores ? stores->child : NULL;
	shape_add(shape, "dataset", dataset);
	shape_add(shape, "store", store);
	if (json_true_at(keys, "checkpoint.every_epochs") ||
	    json_true_at(keys, "checkpoint.every_steps"))
		shape_add(shape, "checkpoints",
			  *saves ? cJSON_GetObjectItemCaseSensitive(stores, saves) : store);
	copy = cJSON_Duplicate(keys, true);
	cJSON_AddItemToObject(shape, kind, copy);
	phase_tree_name_model(copy);
	shape_forget_names(shape, copy, store && store->string ? store->string : "");
	return shape;
}

static bool uri_is_of_files(const cJSON *uri)
{
	const char *text =
		cJSON_IsArray(uri) ? json_text_at(uri, "0", "") : json_text_at(uri, "", "");

	return strncmp(text, "file:", 5) == 0 || strncmp(text, "direct:", 7) == 0;
}

/* Puts the stores of the edition's job where those of the phase are, so that both have the defaults
 * of one kind of store. Options of files are those of no other store. */
static void reference_move(cJSON *job, const cJSON *uri)
{
	cJSON *store;

	cJSON_ArrayForEach(store, json_at(job, "stores"))
	{
		while (!uri_is_of_files(uri) && store->child)
			cJSON_DeleteItemFromObjectCaseSensitive(store, store->child->string);
		cJSON_DeleteItemFromObjectCaseSensitive(store, "uri");
		shape_add(store, "uri", uri);
	}
}

/* The job as JSON, in which what says the same is written the same. */
static int closed_settle(struct cJSON **out, struct job *job, uint32_t ranks, struct err *err)
{
	for (uint32_t i = 0; i < job->phase_count; i++) {
		const struct workload *w = job->phases[i].section->owner;

		if (w->settle)
			w->settle(job, &job->phases[i], ranks);
	}
	return check_job_json(out, job, err);
}

/* The same of a copy of j's job, whose own shape of phase i is made. */
static int closed_own(struct cJSON **out, const struct check_job *j, uint32_t i, struct err *err)
{
	const struct job_phase *phase = j->plan.phases[i].phase;
	char *text = job_text(&j->job, plan_schema());
	struct job copy = {0};
	cJSON *json = NULL;
	int rc = text ? job_parse(&copy, plan_schema(), "the job", text, strlen(text), NULL, 0, err)
		      : err_set(err, -ENOMEM, "no memory for the comparison");

	free(text);
	if (rc == 0)
		rc = closed_settle(&json, &copy, j->plan.phases[i].ranks, err);
	*out = rc == 0 ? shape_of(json, phase->path, phase->section->name) : NULL;
	json_free(json);
	job_free(&copy);
	return rc;
}

/* The edition's job of a phase as a shape, with the URI that the edition names. */
static int reference_shape(cJSON **out, struct import *made, int option,
			   const struct closed_shape *own, struct err *err)
{
	cJSON *was = cJSON_Duplicate(
		cJSON_GetObjectItemCaseSensitive(
			json_at(made->job, "stores") ? json_at(made->job, "stores")->child : NULL,
			"uri"),
		true);
	char path[64], *text;
	cJSON *json = NULL;
	struct job job = {0};
	int rc;

	reference_move(made->job, json_at(own->json, "store.uri"));
	text = json_print(made->job);
	rc = text ? job_parse(&job, plan_schema(), "the edition's job", text, strlen(text), NULL, 0,
			      err)
		  : err_set(err, -ENOMEM, "no memory for the edition's job");
	free(text);
	if (rc == 0)
		rc = closed_settle(&json, &job, own->ranks, err);
	snprintf(path, sizeof(path), "phases.%d.%s", option < 0 ? 0 : option, own->kind);
	*out = rc == 0 ? shape_of(json, path, own->kind) : NULL;
	if (*out && was)
		cJSON_ReplaceItemInObjectCaseSensitive(json_at(*out, "store"), "uri", was);
	else
		cJSON_Delete(was);
	json_free(json);
	job_free(&job);
	return rc;
}

/* The difference in the key by which workloads are told from each other; NULL: there is none. */
static const struct edition_difference *closed_identity(const struct closed_phase *p)
{
	const char *key = json_text_at(edition_member(p->workload, "identity"), "", "");

	for (uint32_t i = 0; i < p->differences.count && i < DIFFERENCES_MAX; i++)
		if (strcmp(p->differences.rows[i].key, key) == 0)
			return &p->differences.rows[i];
	return NULL;
}

/* What is invalid counts twice, and more than all other keys that of another workload. */
static uint32_t closed_distance(const struct closed_phase *p)
{
	return 2 * p->differences.count - p->differences.open +
	       (closed_identity(p) ? 4 * DIFFERENCES_MAX : 0);
}

/* One workload, on an accelerator, or an option. Takes made. */
static int closed_try(struct closed_phase *out, struct closed_phase *best, struct import *made,
		      const struct closed_shape *own, struct err *err)
{
	cJSON *wanted = NULL;
	int rc = reference_shape(&wanted, made, out->option, own, err);

	import_free(made);
	memset(&out->differences, 0, sizeof(out->differences));
	if (rc == 0)
		rc = edition_compare(&out->differences, out->workload, own->json, wanted);
	json_free(wanted);
	if (rc < 0)
		return rc;
	if (!best->workload || closed_distance(out) < closed_distance(best) ||
	    (closed_distance(out) == closed_distance(best) && best->whatif && !out->whatif))
		*best = *out;
	return 0;
}

static int closed_try_workload(struct closed_phase *best, struct closed_phase *one,
			       const struct edition_workload *w, const struct closed_shape *own,
			       struct err *err)
{
	const char *accelerators[EDITION_WORKLOADS_MAX];
	unsigned i = 0;
	int rc = 0;

	edition_accelerators(w, accelerators);
	do {
		const struct import_changes changes = {.accelerator = accelerators[i]};
		struct import made;

		one->workload = w;
		one->option = -1;
		one->whatif = edition_is_whatif(w, accelerators[i]);
		snprintf(one->accelerator, sizeof(one->accelerator), "%s",
			 accelerators[i] ? accelerators[i] : "");
		rc = import_workload(&made, w, &changes, err);
		if (rc == 0)
			rc = closed_try(one, best, &made, own, err);
		else
			import_free(&made);
	} while (rc == 0 && accelerators[i] && accelerators[++i]);
	return rc;
}

static int closed_try_options(struct closed_phase *best, struct closed_phase *one,
			      const struct edition_workload *benchmark,
			      const struct closed_shape *own, struct err *err)
{
	int count = cJSON_GetArraySize(edition_member(benchmark, "options")), rc = 0;

	for (int i = 0; i < count && rc == 0; i++) {
		struct import made;

		one->workload = benchmark;
		one->option = i;
		one->whatif = false;
		one->accelerator[0] = '\0';
		rc = import_cache_options(&made, benchmark, NULL, err);
		if (rc == 0)
			rc = closed_try(one, best, &made, own, err);
		else
			import_free(&made);
	}
	return rc;
}

/* A store in memory is never closed, wherever its URI is. Of a run that is over, results tell where its
 * stores were: their folders may be elsewhere today, or hang (judge/check_job.c). */
static void closed_add_memory(struct closed_phase *best, const cJSON *uri)
{
	int count = cJSON_IsArray(uri) ? cJSON_GetArraySize(uri) : 1;

	for (int i = 0; i < count; i++) {
		const cJSON *one = cJSON_IsArray(uri) ? cJSON_GetArrayItem(uri, i) : uri;
		const char *text = json_text_at(one, "", "");
		char expanded[URI_BYTES], *path;

		if (!uri_is_of_files(one) || uri_expand(text, NULL, expanded, NULL) < 0)
			continue;
		path = strstr(expanded, "://");
		if (path && file_cache_is_memory(path + 3))
			edition_differs(
				&best->differences, false, "store.uri", text, "a storage",
				"store.uri %s is in the memory of the node, and on no storage",
				text);
	}
}

int closed_find(struct closed_phase *out, const struct editions *editions, const char *edition,
		const struct check_job *j, uint32_t i, struct err *err)
{
	const struct job_phase *phase = j->plan.phases[i].phase;
	const char *kind = phase->section->name;
	const char *benchmark = edition_benchmark_of(workload_purpose(phase));
	const char *of = benchmark ? closed_edition(editions, edition) : NULL;
	const struct edition_workload *all = of ? edition_find(editions, of, benchmark, "") : NULL;
	struct closed_shape own = {.kind = kind, .ranks = j->plan.phases[i].ranks};
	const struct edition_workload *w;
	struct closed_phase *one;
	int rc = 0;

	memset(out, 0, sizeof(*out));
	/* Another edition has such workloads. */
	out->whatif = benchmark && !all;
	if (!all)
		return 0;
	one = calloc(1, sizeof(*one));
	rc = one ? closed_own(&own.json, j, i, err)
		 : err_set(err, -ENOMEM, "no memory for the comparison");
	if (rc < 0) {
		free(one);
		return rc;
	}
	if (edition_member(all, "options"))
		rc = closed_try_options(out, one, all, &own, err);
	for (unsigned k = 0; rc == 0 && (w = edition_workload(editions, of, benchmark, k)); k++)
		rc = closed_try_workload(out, one, w, &own, err);
	if (rc == 0 && out->workload) {
		const struct edition_difference *other = closed_identity(out);

		/* Of another workload, that is what there is to say. */
		out->whatif |= other != NULL;
		if (other) {
			struct edition_difference only = *other;

			out->differences.rows[0] = only;
			out->differences.open = only.open;
			out->differences.count = 1;
		}
		if (!j->past)
			closed_add_memory(out, json_at(own.json, "store.uri"));
	}
	json_free(own.json);
	free(one);
	return rc;
}

void closed_name(char *text, size_t bytes, const struct closed_phase *p)
{
	const cJSON *option =
		p->option < 0
			? NULL
			: cJSON_GetArrayItem(edition_member(p->workload, "options"), p->option);

	if (option)
		snprintf(text, bytes, "option %d, %s", p->option + 1,
			 json_text_at(option, "name", ""));
	else
		snprintf(text, bytes, "%s%s%s", p->workload->name, *p->accelerator ? " on " : "",
			 p->accelerator);
}

void closed_add_edition(struct cJSON *tree, const struct closed_phase *p)
{
	cJSON *to = cJSON_AddObjectToObject(tree, "edition");
	const cJSON *parallel;

	if (!p->workload || !edition_member(p->workload, "processes"))
		return;
	parallel = json_at(edition_member(p->workload, "parameters"), "model.parallelism");
	json_add_number(to, "processes",
			json_number_at(edition_member(p->workload, "processes"), "", 0));
	json_add_number(to, "replica",
			json_number_at(parallel, "tensor", 1) *
				json_number_at(parallel, "pipeline", 1));
	if (edition_member(p->workload, "subset"))
		json_add_number(
			to, "subset",
			json_number_at(edition_member(p->workload, "subset"), "processes", 0));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A job, and what haul says of it: see judge.h. */
#include "judge/judge.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/json_path.h"
#include "core/numbers.h"
#include "plan/phase_tree.h"
#include "report/json/json.h"

enum { TEXT_DEPTH = 64, TEXT_VALUES = 1 << 20 };

int check_job_json(struct cJSON **out, const struct job *job, struct err *err)
{
	char *text = job_text(job, plan_schema());
	int rc = text ? json_parse(out, text, strlen(text), TEXT_DEPTH, TEXT_VALUES, err)
		      : err_set(err, -ENOMEM, "no memory for the job");

	free(text);
	return rc;
}

int check_job_plan(struct check_job *j, uint32_t ranks, uint32_t nodes, double memory,
		   struct err *err)
{
	int rc = plan_scale(&j->job, ranks, nodes, err);

	/* A job whose data set follows the memory says how much that is. */
	if (memory <= 0)
		memory = (double)j->job.cluster.memory;
	if (rc == 0)
		rc = plan_check(&j->job, ranks, nodes, false, err);
	if (rc == 0)
		rc = plan_make(&j->plan, &j->job, ranks, nodes, err);
	if (rc < 0)
		return rc;
	j->memory = memory;
	j->plan.past = j->past;
	j->plan.node_memory_bytes = memory;
	j->plan.node_memory_told = true;
	j->plan.sizes = j->sizes;
	j->plan_json = plan_object(&j->plan, &j->job);
	return check_job_json(&j->job_json, &j->job, err);
}

int check_job_of_file(struct check_job *j, const struct results_file *f, double memory,
		      struct err *err)
{
	const char *sets[RECORD_SETS_MAX];
	uint32_t count = f->phase_count ? min_u32(f->phases[0].set_count, RECORD_SETS_MAX) : 0;
	int rc;

	for (uint32_t i = 0; i < f->phase_count; i++)
		if (f->phases[i].record.combination > 1)
			return err_set(
				err, -EINVAL,
				"%s: has several combinations of a sweep, and rules judge one",
				f->path);
	j->past = true;
	if (!f->job_text || !*f->job_text)
		return err_set(err, -EINVAL, "%s: has no job", f->path);
	for (uint32_t i = 0; i < count; i++)
		sets[i] = f->phases[0].sets[i];
	rc = job_parse(&j->job, plan_schema(), f->path, f->job_text, strlen(f->job_text), sets,
		       count, err);
	return rc < 0 ? rc
		      : check_job_plan(j, (uint32_t)f->ranks, (uint32_t)f->nodes,
				       memory > 0 ? memory : f->node_memory_bytes, err);
}

void check_job_free(struct check_job *j)
{
	json_free(j->plan_json);
	json_free(j->job_json);
	plan_free(&j->plan);
	job_free(&j->job);
}

struct cJSON *check_job_tree(const struct check_job *j, uint32_t i)
{
	return phase_tree_of(&j->job, &j->plan, j->job_json, j->plan_json, i, j->memory);
}

/* What the run saw of a store when it opened it; "": it is not told. */
static const char *ran_file_system(const struct results_file *f, const char *store)
{
	for (uint64_t i = 0; i < f->store_count; i++)
		if (strcmp(f->stores[i].name, store) == 0)
			return f->stores[i].file_system;
	return "";
}

/* How many stores of a phase were in the memory of the node. Nothing is added where that of one in
 * files is not told. */
static void ran_add_memory(cJSON *result, const struct results_file *f,
			   const struct plan_phase *phase)
{
	static const char *const memory[] = {"tmpfs", "ramfs", "hugetlbfs"};
	unsigned count = 0;

	for (uint32_t i = 0; i < phase->store_count; i++) {
		const struct job_store *store = phase->stores[i].store;
		const char *on = ran_file_system(f, store->name);

		if (!*on && (strcmp(store->section->name, "file") == 0 ||
			     strcmp(store->section->name, "direct") == 0))
			return;
		for (size_t k = 0; k < COUNT(memory); k++)
			count += strcmp(on, memory[k]) == 0;
	}
	json_add_number(result, "stores_in_memory", count);
}

const struct plan_phase *check_job_phase(const struct check_job *j,
					 const struct results_phase_read *p)
{
	for (uint32_t i = 0; i < j->plan.phase_count; i++)
		if (strcmp(j->plan.phases[i].phase->name, p->record.name) == 0)
			return &j->plan.phases[i];
	return NULL;
}

struct cJSON *check_job_ran(const struct check_job *j, const struct results_file *f,
			    const struct results_phase_read *p)
{
	const struct plan_phase *planned = check_job_phase(j, p);
	const struct report_options o = {.color = false};
	cJSON *tree, *result;
	const cJSON *doubt;
	unsigned voids = 0;

	if (!planned)
		return NULL;
	tree = check_job_tree(j, (uint32_t)(planned - j->plan.phases));
	result = json_phase(f, p, &o);
	cJSON_ArrayForEach(doubt, json_at(result, "doubts"))
	{
		voids += json_true_at(doubt, "voids");
	}
	json_add_number(result, "voids", voids);
	ran_add_memory(result, f, planned);
	cJSON_AddItemToObject(tree, "result", result);
	return tree;
}

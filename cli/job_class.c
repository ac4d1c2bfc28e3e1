/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of what haul runs: see job_class.h. */
#include "cli/job_class.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/check_tree.h"
#include "core/json.h"
#include "import/mlpstorage/job_class.h"
#include "results-schema/results_read.h"

enum { TEXT_DEPTH = 64, TEXT_VALUES = 1 << 20 };

int class_of_plan(struct workload_class out[CLASSES_MAX], const struct job *job,
		  const struct plan *plan, const struct cJSON *job_json, struct err *err)
{
	int count = 0, rc = 0;

	for (uint32_t i = 0; i < plan->phase_count && count < CLASSES_MAX && rc >= 0; i++) {
		const struct job_phase *p = plan->phases[i].phase;
		cJSON *tree = check_tree_of(job, plan, job_json, NULL, i, 0);
		const struct job_class phase = {
			.kind = p->section->name,
			.ranks = plan->phases[i].ranks,
			.keys = cJSON_GetObjectItemCaseSensitive(tree, "job"),
			.dataset = cJSON_GetObjectItemCaseSensitive(tree, "dataset"),
			.store = cJSON_GetObjectItemCaseSensitive(tree, "store")};

		rc = job_class_of(&out[count], &phase, err);
		if (rc == 1)
			snprintf(out[count++].phase, CLASS_PHASE_BYTES, "%s", p->name);
		json_free(tree);
	}
	return rc < 0 ? rc : count;
}

int class_job_json(struct cJSON **out, const struct job *job, struct err *err)
{
	char *text = job_text(job, plan_schema());
	int rc = text ? json_parse(out, text, strlen(text), TEXT_DEPTH, TEXT_VALUES, err)
		      : err_set(err, -ENOMEM, "no memory for the job");

	free(text);
	return rc;
}

int class_add_to_plan(struct plan *plan, const struct job *job, struct err *err)
{
	cJSON *json = NULL;
	int rc = class_job_json(&json, job, err);

	if (rc == 0)
		rc = class_of_plan(plan->classes, job, plan, json, err);
	json_free(json);
	plan->class_count = rc > 0 ? (uint32_t)rc : 0;
	return rc < 0 ? rc : 0;
}

uint32_t class_of_results(struct workload_class out[CLASSES_MAX], const struct results_file *f)
{
	struct plan plan = {0};
	struct job job = {0};
	cJSON *json = NULL;
	int rc;

	for (uint32_t i = 0; i < f->phase_count; i++)
		if (f->phases[i].record.combination > 1)
			return 0;
	if (!f->job_text || !*f->job_text)
		return 0;
	rc = job_parse(&job, plan_schema(), f->path, f->job_text, strlen(f->job_text), NULL, 0,
		       NULL);
	if (rc == 0)
		rc = plan_scale(&job, (uint32_t)f->ranks, (uint32_t)f->nodes, NULL);
	if (rc == 0)
		rc = plan_make(&plan, &job, (uint32_t)f->ranks, (uint32_t)f->nodes, NULL);
	if (rc == 0)
		rc = class_job_json(&json, &job, NULL);
	if (rc == 0)
		rc = class_of_plan(out, &job, &plan, json, NULL);
	json_free(json);
	plan_free(&plan);
	job_free(&job);
	return rc > 0 ? (uint32_t)rc : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of what haul runs: see job_class.h. */
#include "cli/job_class.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "cli/check_job.h"
#include "cli/edition.h"
#include "core/json.h"
#include "core/json_path.h"
#include "mlperf/job_class.h"
#include "plan/phase_tree.h"

static struct job_class class_facts(const struct editions *editions, const cJSON *tree,
				    const struct plan_phase *p)
{
	return (struct job_class){.editions = editions,
				  .purpose = workload_purpose(p->phase),
				  .ranks = p->ranks,
				  .keys = json_at(tree, "job"),
				  .dataset = json_at(tree, "dataset"),
				  .store = json_at(tree, "store")};
}

int class_of_plan(struct workload_class out[CLASSES_MAX], const struct editions *editions,
		  const struct job *job, const struct plan *plan, const struct cJSON *job_json,
		  struct err *err)
{
	int count = 0, rc = 0;

	for (uint32_t i = 0; i < plan->phase_count && count < CLASSES_MAX && rc >= 0; i++) {
		cJSON *tree = phase_tree_of(job, plan, job_json, NULL, i, 0);
		const struct job_class phase = class_facts(editions, tree, &plan->phases[i]);

		rc = job_class_of(&out[count], &phase, err);
		if (rc == 1)
			snprintf(out[count++].phase, CLASS_PHASE_BYTES, "%s",
				 plan->phases[i].phase->name);
		json_free(tree);
	}
	return rc < 0 ? rc : count;
}

void class_add_dlio(struct cJSON *tree, const struct editions *editions, const struct plan_phase *p)
{
	const struct job_class phase = class_facts(editions, tree, p);
	cJSON *dlio = job_class_parameters(&phase);
	struct workload_class class;
	const char *on;

	if (!dlio)
		return;
	if (job_class_of(&class, &phase, NULL) == 1) {
		on = strstr(class.of, " on ");
		json_add_text(dlio, "class", class.hash);
		if (on) {
			char accelerator[32];

			snprintf(accelerator, sizeof(accelerator), "%.*s",
				 (int)strcspn(on + strlen(" on "), " "), on + strlen(" on "));
			json_add_text(dlio, "accelerator", accelerator);
		}
	}
	cJSON_AddItemToObject(tree, "dlio", dlio);
}

/* Of the editions' files those are read by which a phase may have a class. */
static int class_of_any(struct workload_class out[CLASSES_MAX], const struct job *job,
			const struct plan *plan, const struct cJSON *job_json, struct err *err)
{
	struct editions *editions = NULL;
	bool trains = false, saves = false;
	int rc = 0;

	for (uint32_t i = 0; i < plan->phase_count; i++) {
		trains |= workload_purpose(plan->phases[i].phase) == PURPOSE_TRAINING;
		saves |= workload_purpose(plan->phases[i].phase) == PURPOSE_CHECKPOINTS;
	}
	if ((trains || saves) &&
	    edition_data(&editions,
			 trains && saves ? NULL
					 : edition_benchmark_of(trains ? PURPOSE_TRAINING
								       : PURPOSE_CHECKPOINTS),
			 NULL) == 0)
		rc = class_of_plan(out, editions, job, plan, job_json, err);
	editions_free(editions);
	return rc;
}

int class_add_to_plan(struct plan *plan, const struct job *job, struct err *err)
{
	cJSON *json = NULL;
	int rc = check_job_json(&json, job, err);

	if (rc == 0)
		rc = class_of_any(plan->classes, job, plan, json, err);
	json_free(json);
	plan->class_count = rc > 0 ? (uint32_t)rc : 0;
	return rc < 0 ? rc : 0;
}

uint32_t class_of_results(struct workload_class out[CLASSES_MAX], const struct results_file *f)
{
	struct check_job j = {.job_json = NULL};
	int rc = check_job_of_file(&j, f, 0, NULL);

	if (rc == 0)
		rc = class_of_any(out, &j.job, &j.plan, j.job_json, NULL);
	check_job_free(&j);
	return rc > 0 ? (uint32_t)rc : 0;
}

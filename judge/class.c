/* SPDX-License-Identifier: Apache-2.0 */
/* Classes (core/rule/class.h) of the phases of a plan: see judge.h. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/json_path.h"
#include "judge/judge.h"
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

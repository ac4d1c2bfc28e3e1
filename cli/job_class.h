/* SPDX-License-Identifier: Apache-2.0 */
/* Classes (core/rule/class.h) of what haul runs: of the phases of a plan, and of results. */
#ifndef HAUL_CLI_JOB_CLASS_H
#define HAUL_CLI_JOB_CLASS_H

#include "core/rule/class.h"
#include "mlperf/editions.h"
#include "plan/plan.h"

struct results_file;
struct cJSON;

/* Those of all phases that have one; the first CLASSES_MAX. Returns how many. job_json:
 * check_job_json. */
int class_of_plan(struct workload_class out[CLASSES_MAX], const struct editions *editions,
		  const struct job *job, const struct plan *plan, const struct cJSON *job_json,
		  struct err *err);
/* The same for a plan, which keeps them. */
int class_add_to_plan(struct plan *plan, const struct job *job, struct err *err);

/* Those of the job that a results file keeps. 0 where it has none, and where a sweep ran several
 * jobs. */
uint32_t class_of_results(struct workload_class out[CLASSES_MAX], const struct results_file *f);

/* Adds "dlio" to the facts of a phase (plan/phase_tree.h): its "model", "accelerator", "class",
 * "parameters" and the "keys" that count. Nothing where it is no workload of mlpstorage. */
void class_add_dlio(struct cJSON *tree, const struct editions *editions,
		    const struct plan_phase *p);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A job, and what haul says of it: what rules, classes and exports are of. */
#ifndef HAUL_CLI_CHECK_JOB_H
#define HAUL_CLI_CHECK_JOB_H

#include "plan/plan.h"
#include "results-schema/results_read.h"

struct cJSON;

struct check_job {
	struct rule_sizes sizes; /* that the plan tells; the caller's */
	struct job job;
	struct plan plan;
	double memory;                      /* of a node, 0: unknown */
	bool past;                          /* of a run that is over */
	struct cJSON *job_json, *plan_json; /* with all defaults; plan_object */
};

/* The job as JSON, with all its defaults. The caller frees it with json_free. */
int check_job_json(struct cJSON **out, const struct job *job, struct err *err);

/* Plans the job that was parsed. Free it in either case. */
int check_job_plan(struct check_job *j, uint32_t ranks, uint32_t nodes, double memory,
		   struct err *err);
/* The job that a results file keeps, on its ranks and nodes; memory 0: that of its nodes. -EINVAL
 * with a sentence for a file without a job, and of a sweep. */
int check_job_of_file(struct check_job *j, const struct results_file *f, double memory,
		      struct err *err);
void check_job_free(struct check_job *j);

/* Facts of phase i of the plan (plan/phase_tree.h). The caller frees them with json_free. */
struct cJSON *check_job_tree(const struct check_job *j, uint32_t i);
/* The plan of a phase that ran; NULL: the job has no such phase. */
const struct plan_phase *check_job_phase(const struct check_job *j,
					 const struct results_phase_read *p);
/* The facts of that phase, with "result". NULL as there. */
struct cJSON *check_job_ran(const struct check_job *j, const struct results_file *f,
			    const struct results_phase_read *p);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A job beside MLPerf's editions: its plan and what haul says of it (check_job.c), its classes (class.c), and by what
 * its phases differ from the edition's own job of their workload (closed.c, mlperf/compare.h). */
#ifndef HAUL_JUDGE_JUDGE_H
#define HAUL_JUDGE_JUDGE_H

#include "mlperf/compare.h"
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

/* Classes of all phases that have one; the first CLASSES_MAX. Returns how many. job_json:
 * check_job_json. */
int class_of_plan(struct workload_class out[CLASSES_MAX], const struct editions *editions,
		  const struct job *job, const struct plan *plan, const struct cJSON *job_json,
		  struct err *err);
/* Adds "dlio" to the facts of a phase (plan/phase_tree.h): its "model", "accelerator", "class",
 * "parameters" and the "keys" that count. Nothing where it is no workload of mlpstorage. */
void class_add_dlio(struct cJSON *tree, const struct editions *editions,
		    const struct plan_phase *p);

struct closed_phase {
	const struct edition_workload
		*workload;                    /* NULL: the edition has none of the phase's kind */
	char accelerator[EDITION_NAME_BYTES]; /* "": the workload has none */
	int option;                           /* of a benchmark of caches, from 0 on; else -1 */
	bool whatif;                          /* the edition takes no submission of it */
	struct edition_differences differences;
};

/* The workload of the edition that phase i differs least from. */
int closed_find(struct closed_phase *out, const struct editions *editions, const char *edition,
		const struct check_job *j, uint32_t i, struct err *err);

/* "unet3d on b200". */
void closed_name(char *text, size_t bytes, const struct closed_phase *p);

/* The edition whose files say what its workloads are: the edition itself, or, of one that has none,
 * such as a draft, the latest that has. NULL: there are no files. */
const char *closed_edition(const struct editions *editions, const char *edition);

/* Adds what rules ask of a workload, the processes of a submission, to the facts of its phase. */
void closed_add_edition(struct cJSON *tree, const struct closed_phase *p);

/* Whether the phase is one of a benchmark, as its purpose tells. */
bool closed_is_benchmark(const struct job_phase *phase);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs for tests of workloads, parsed by the real parser, with all stores and one kind of phase. */
#ifndef HAUL_TESTS_WORKLOADS_GENERATE_JOB_TEXT_H
#define HAUL_TESTS_WORKLOADS_GENERATE_JOB_TEXT_H

#include "core/job/job.h"
#include "workloads/workload.h"

/* Parses a job with phases of this workload. Returns 0, or prints the error and returns it. */
int job_of_text(struct job *job, const struct workload *workload, const char *text);

#endif

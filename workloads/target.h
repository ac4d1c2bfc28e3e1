/* SPDX-License-Identifier: Apache-2.0 */
/* Results of targets (core/target.h): what a phase reached over all ranks of its group. */
#ifndef HAUL_WORKLOADS_TARGET_H
#define HAUL_WORKLOADS_TARGET_H

#include "core/group/group.h"
#include "core/job/job.h"
#include "core/measure/tally.h"

/* The results of those targets that the job asks for, the same on every rank. Collective. Returns
 * -ENOMEM with a sentence. */
int workload_targets(const struct job_phase *phase, const struct tally *t, struct group *g,
		     struct target_result out[TARGETS_MAX], uint32_t *count, struct err *err);

#endif

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

/* What a phase of the kind may be judged by beside its targets: a target by its name, with or without
 * "target_", or a figure by its own. A time shall be small, all else great. -ENOENT: there is none of
 * that name. */
int workload_judge_by(const struct section *section, const struct tally_schema *schema,
		      const char *name, struct target *out);

/* What the phase reached by that, the same on every rank; by->name NULL: by its main figure, whose
 * name and unit it says. Collective. Returns -ENOMEM with a sentence. */
int workload_judge(const struct section *section, const struct target *by, const struct tally *t,
		   struct group *g, struct target_result *out, struct err *err);

#endif

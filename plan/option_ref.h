/* SPDX-License-Identifier: Apache-2.0 */
/* Look-up of an option's value by its name, so that the plan can reason about any workload's
 * options ("depth", "verify", "dataset") without knowing the workload. Read-only, any thread. */
#ifndef HAUL_PLAN_OPTION_REF_H
#define HAUL_PLAN_OPTION_REF_H

#include "core/job/job.h"
#include "core/option/option.h"
#include "workloads/dataset/dataset.h"

struct option_ref {
	const struct option *option;
	const void *value; /* of the type that belongs to the option's kind */
	char path[192];    /* "/phases/1/train/loader/depth" */
};

/* Finds the first option of that name and kind, nested tables included. base is the section's
 * struct, path its JSON path. Returns whether there is such an option. */
bool option_find(const struct section *section, const void *base, const char *path,
		 const char *name, enum option_kind kind, struct option_ref *found);

/* The store of a data set: the one it names, else the only one of the job. NULL: the job does not
 * say which store. */
const struct job_store *look_store(const struct job *job, const struct dataset_options *dataset);

/* The network interfaces that a store's connections begin at. NULL: the job names none. */
const struct texts *store_interfaces(const struct job_store *store);

#endif

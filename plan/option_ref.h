/* Looking an option's value up by its name, so that the plan can reason about any workload's options
 * ("depth", "verify", "dataset") without knowing the workload. Read-only, any thread. */
#ifndef HAUL_PLAN_OPTION_REF_H
#define HAUL_PLAN_OPTION_REF_H

#include "core/job/job.h"
#include "core/option/option.h"
#include "workloads/dataset/dataset.h"

struct option_ref {
	const struct option *option;
	const void *value; /* of the kind that option says */
	char path[192];    /* "/phases/1/train/loader/depth" */
};

/* Finds the first option of that name and kind, nested tables included. base is the section's
 * struct, path its JSON path. Returns whether there is one. */
bool option_find(const struct section *section, const void *base, const char *path,
		 const char *name, enum option_kind kind, struct option_ref *found);

/* The store a data set lies in: the one it names, else the job's only one. NULL: it says not which. */
const struct job_store *look_store(const struct job *job, const struct dataset_options *dataset);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/dataset/find.h"

#include <errno.h>
#include <stdio.h>

int dataset_find(const struct job *job, const struct job_phase *phase, const char *dataset,
		 const struct job_dataset **d, const struct job_store **s, struct err *err)
{
	const struct dataset_options *options;
	const char *store = phase->store;

	if (!dataset[0] && job->dataset_count == 0)
		return err_set(err, -EINVAL, "%s: needs a data set; describe it in \"dataset\"",
			       phase->path);
	*d = !dataset[0] && job->dataset_count == 1 ? &job->datasets[0]
						    : job_find_dataset(job, dataset);
	if (!*d && !dataset[0])
		return err_set(
			err, -EINVAL,
			"%s: does not say which data set; add \"dataset\": \"%s\" or another name",
			phase->path, job->datasets[0].name);
	if (!*d)
		return err_set(err, -EINVAL, "%s/dataset: there is no data set \"%s\"", phase->path,
			       dataset);
	options = (*d)->options;
	if (!store[0])
		store = options->store;
	if (!store[0] && job->store_count == 1)
		store = job->stores[0].name;
	if (!store[0])
		return err_set(err, -EINVAL,
			       "%s: does not say which store; add \"store\" to the data set",
			       phase->path);
	*s = job_find_store(job, store);
	if (!*s)
		return err_set(err, -EINVAL, "%s: there is no store \"%s\"", phase->path, store);
	return 0;
}

void dataset_path(const struct job_dataset *d, char path[DATASET_PATH_BYTES])
{
	snprintf(path, DATASET_PATH_BYTES, "/dataset%s%s", d->name[0] ? "s/" : "", d->name);
}

int dataset_find_init(const struct job *job, const struct job_phase *phase, const char *dataset,
		      struct dataset *d, const struct job_store **s, char path[DATASET_PATH_BYTES],
		      struct err *err)
{
	const struct job_dataset *described;
	int rc = dataset_find(job, phase, dataset, &described, s, err);

	if (rc < 0)
		return rc;
	dataset_path(described, path);
	return dataset_init(d, described->options, job->seed, path, err);
}

/* Data sets that grow with the run: their number of files, for a number of ranks. */
#include <errno.h>

#include "plan/plan.h"
#include "workloads/dataset/dataset.h"
#include "workloads/dataset/find.h"

/* Samples of a step of the phases that read the data set; 0: none does, or its size does not depend
 * on them. All must agree. */
static int scale_step_samples(const struct job *job, const struct job_dataset *dataset,
			      uint32_t ranks, const char *path, uint64_t *out, struct err *err)
{
	const struct dataset_options *options = dataset->options;

	*out = 0;
	for (uint32_t i = 0; options->steps_per_epoch && i < job->phase_count; i++) {
		const struct job_phase *phase = &job->phases[i];
		const struct workload *workload = phase->section->owner;
		uint64_t samples = workload->step_samples
					   ? workload->step_samples(job, phase, dataset,
								    plan_phase_ranks(phase, ranks))
					   : 0;

		if (samples && *out && samples != *out)
			return err_set(err, -EINVAL,
				       "%s/steps_per_epoch: phases with different batches train on "
				       "this data set; give files or files_per_rank",
				       path);
		if (samples)
			*out = samples;
	}
	return 0;
}

int plan_scale(struct job *job, uint32_t ranks, uint32_t nodes, struct err *err)
{
	int rc = plan_sets(job, ranks, nodes, err);

	for (uint32_t i = 0; rc == 0 && i < job->dataset_count; i++) {
		struct job_dataset *dataset = &job->datasets[i];
		char path[DATASET_PATH_BYTES];
		uint64_t samples;

		dataset_path(dataset, path);
		rc = scale_step_samples(job, dataset, ranks, path, &samples, err);
		if (rc == 0)
			rc = dataset_scale(dataset->options, ranks, samples, path, err);
	}
	return rc;
}

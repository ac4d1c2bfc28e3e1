/* Look-up of a job's stores and data sets by name, and of what holds for a phase: see job.h. */
#include <string.h>

#include "core/job/job.h"

const struct job_store *job_find_store(const struct job *job, const char *name)
{
	uint32_t i;

	for (i = 0; i < job->store_count; i++)
		if (!strcmp(job->stores[i].name, name))
			return &job->stores[i];
	return NULL;
}

const struct job_dataset *job_find_dataset(const struct job *job, const char *name)
{
	uint32_t i;

	for (i = 0; i < job->dataset_count; i++)
		if (!strcmp(job->datasets[i].name, name))
			return &job->datasets[i];
	return NULL;
}

uint64_t job_phase_after_ns(const struct job_phase *phase, const struct job_phase *before)
{
	if (!phase->together)
		return phase->after_ns;
	return before && before->together == phase->together ? 0 : phase->together->after_ns;
}

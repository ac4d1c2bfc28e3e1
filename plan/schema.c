/* What a job may hold: the sections of every backend and every workload, in their tables' order. */
#include "plan/plan.h"
#include "workloads/dataset/dataset.h"

const struct job_schema *plan_schema(void)
{
	static const struct job_schema schema = {
		.stores = backend_sections,
		.dataset = &dataset_section,
		.phases = workload_sections,
	};

	return &schema;
}

/* Table of workloads: every kind of phase. See workload.h. */
#include "workloads/workload.h"

#include <stddef.h>

#include "workloads/generate/generate.h"
#include "workloads/io/io.h"
#include "workloads/train/train.h"

static const struct workload *const workloads[] = {
	&generate_workload,
	&train_workload,
	&io_workload,
	NULL,
};

const struct workload *const *workload_table(void)
{
	return workloads;
}
